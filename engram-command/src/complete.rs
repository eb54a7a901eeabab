//! What a shell completes: commands, options, harnesses, adapters and kinds of events. The shell asks the command itself, by the variable
//! `COMPLETE`.

use std::ffi::OsStr;
use std::io;
use std::sync::OnceLock;

use clap::Args;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};
use engram_adapters::Registry;
use engram_core::event::Kind;

use crate::exit::Exit;
use crate::output;
use crate::program::Program;

/// The variable by which a shell asks.
const VARIABLE: &str = "COMPLETE";

static REGISTRY: OnceLock<Registry> = OnceLock::new();

/// Answers the shell and ends the process, if it is the shell that asks.
pub fn answer(registry: &Registry, command: fn() -> clap::Command) {
    if std::env::var_os(VARIABLE).is_some() {
        REGISTRY.get_or_init(|| registry.clone());
        CompleteEnv::with_factory(command).var(VARIABLE).complete();
    }
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
}

/// Prints the script that makes a shell ask a command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run<P: Program>(args: &Completions) -> io::Result<Exit> {
    output::print(&script(args.shell, P::command().get_name())?)
}

/// The script that makes a shell ask.
///
/// # Errors
/// If the shell is not known.
fn script(shell: Shell, name: &str) -> io::Result<String> {
    let shells = Shells::builtins();
    let known = shells
        .completer(&shell.to_string())
        .ok_or_else(|| io::Error::other("an unknown shell"))?;
    let mut script = Vec::new();
    known.write_registration(VARIABLE, name, name, name, &mut script)?;
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// The harnesses.
pub fn harnesses() -> ArgValueCompleter {
    ArgValueCompleter::new(|begin: &OsStr| {
        words(begin, |registry| {
            let adapters = registry.adapters();
            adapters
                .map(|adapter| adapter.descriptor().harness_family)
                .collect()
        })
    })
}

/// The adapters.
pub fn adapters() -> ArgValueCompleter {
    ArgValueCompleter::new(|begin: &OsStr| {
        words(begin, |registry| {
            registry.adapters().map(|adapter| adapter.id()).collect()
        })
    })
}

/// The kinds of events.
pub fn kinds() -> ArgValueCompleter {
    ArgValueCompleter::new(|begin: &OsStr| {
        words(begin, |_| {
            Kind::ALL.iter().map(|kind| kind.as_str()).collect()
        })
    })
}

fn words(begin: &OsStr, all: impl Fn(&Registry) -> Vec<&'static str>) -> Vec<CompletionCandidate> {
    let begin = begin.to_string_lossy();
    let mut words = all(REGISTRY.get_or_init(Registry::builtin));
    words.sort_unstable();
    words.dedup();
    words
        .into_iter()
        .filter(|word| word.starts_with(&*begin))
        .map(CompletionCandidate::new)
        .collect()
}
