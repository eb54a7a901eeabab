//! What a shell completes that only this machine knows: ids of sessions, harnesses, adapters and kinds of events. The shell asks the command
//! itself, by the variable `COMPLETE`.

use std::ffi::OsStr;
use std::io;
use std::sync::OnceLock;

use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};
use engram_adapters::Registry;
use engram_core::event::Kind;

use crate::places;
use crate::report::one_line;
use crate::tape_dir::Index;

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

/// The script that makes a shell ask.
///
/// # Errors
/// If the shell is not known.
pub fn script(shell: Shell) -> io::Result<String> {
    let shells = Shells::builtins();
    let known = shells
        .completer(&shell.to_string())
        .ok_or_else(|| io::Error::other("an unknown shell"))?;
    let mut script = Vec::new();
    known.write_registration(VARIABLE, "engram", "engram", "engram", &mut script)?;
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// Sessions that have a tape, by their ids.
pub fn ids() -> ArgValueCompleter {
    ArgValueCompleter::new(sessions)
}

/// As [`ids`], and files.
pub fn ids_and_files() -> ArgValueCompleter {
    ArgValueCompleter::new(|begin: &OsStr| {
        let mut found = sessions(begin);
        found.extend(PathCompleter::any().complete(begin));
        found
    })
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

fn sessions(begin: &OsStr) -> Vec<CompletionCandidate> {
    let begin = begin.to_string_lossy();
    let index = places::tapes_dir().and_then(|root| Index::load(&root).ok());
    let index = index.unwrap_or_default();
    let overviews = index.entries().filter_map(|entry| entry.overview.as_ref());
    let of_session = |overview: &engram_core::overview::Overview| {
        let id = overview.session_id.as_deref()?;
        let fits = overview.agent_id.is_none() && id.starts_with(&*begin);
        let title = overview
            .title
            .as_deref()
            .map(|title| one_line(title).into_owned());
        fits.then(|| {
            CompletionCandidate::new(one_line(id).into_owned()).help(title.map(Into::into))
        })
    };
    overviews.filter_map(of_session).collect()
}
