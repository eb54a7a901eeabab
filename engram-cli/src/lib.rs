//! The `engram` command as a library: [`run`] is the command over any set of adapters.
//!
//! An adapter of another crate gets every subcommand, with help, progress and exit codes:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use engram_adapters::Registry;
//!
//! fn main() -> ExitCode {
//!     engram_cli::run(Registry::builtin())
//! }
//! ```

use std::io;
use std::process::ExitCode;

use engram_adapters::Registry;
use engram_command::exit::Exit;
use engram_command::output::print;
use engram_command::program::{Group, Program, Reporting};
use engram_command::report::Reporter;
use engram_command::{complete, man};
use engram_core::json_schema::json_schema;

mod acp;
mod adapters;
mod answer_schema;
mod answers;
mod args;
mod audit;
mod check;
mod commits;
mod detect;
mod export;
mod fail_on;
mod files;
mod ids;
mod index;
mod ingest;
mod list;
#[cfg(feature = "mcp")]
mod mcp;
mod money;
mod once;
mod reading;
mod repeats;
mod roots;
mod show;
mod skill;
mod stats;
mod tape_dir;
mod tapes;
mod unicode;
mod units;
mod when;
mod write;

use args::{Command, CommandLine};

/// Runs the command with the arguments of this process, over these adapters, and returns its exit code.
///
/// It takes over the process: it hears interrupts, and writes to standard output and standard error.
pub fn run(registry: Registry) -> ExitCode {
    engram_command::run::<CommandLine>(registry)
}

impl Program for CommandLine {
    const GROUPS: &'static [Group] = &[
        (
            "Every day",
            &[
                "ingest", "list", "show", "files", "stats", "explain", "blame", "grep", "query",
                "export", "skill", "mcp",
            ],
        ),
        (
            "Tapes and logs",
            &[
                "acp", "index", "detect", "adapters", "check", "audit", "schema",
            ],
        ),
        ("Shell", &["completions", "man", "help"]),
    ];

    fn reporting(&self) -> &Reporting {
        &self.reporting
    }

    fn run(&self, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
        match &self.command {
            Command::Ingest(args) => ingest::run(args, registry, report),
            Command::List(args) => list::run(args, registry, report),
            Command::Files(args) => files::run(args, registry, report),
            Command::Detect(args) => detect::run(args, registry, report),
            Command::Audit(args) => audit::run(args, registry, report),
            Command::Stats(args) => stats::run(args, registry, report),
            Command::Show(args) => show::run(args, registry, report),
            Command::Export(args) => export::run(args, report, |target| {
                commits::run(target, registry, report)
            }),
            Command::Check(args) => check::run(args, report),
            Command::Adapters(args) => adapters::run(args, registry),
            Command::Index(args) => index::run(args, report),
            Command::Explain(args) => index::explain(args, registry, report),
            Command::Blame(args) => index::blame(args, registry, report),
            Command::Grep(args) => index::grep(args, registry, report),
            Command::Query(args) => index::query(args, registry, report),
            #[cfg(feature = "mcp")]
            Command::Mcp => mcp::run(report),
            Command::Acp(args) => acp::run(args, report),
            Command::Skill(args) => skill::run(args, report),
            Command::Schema(args) => match args.answers.as_deref() {
                None => print(&json_schema()),
                Some(command) => {
                    let one = (command != args::ALL_ANSWERS).then_some(command);
                    print(&answer_schema::json_schema(one))
                }
            },
            Command::Completions(args) => complete::run::<CommandLine>(args),
            Command::Man(args) => man::run::<CommandLine>(args, report),
        }
    }

    /// A recorder passes signals on.
    fn hears_interrupts(&self) -> bool {
        !matches!(self.command, Command::Acp(_))
    }

    fn about_unknown(name: &str) -> Option<String> {
        LAB.contains(&name).then(|| {
            format!("`{name}` is a command of `engram-lab`: cargo install engram-tape-lab")
        })
    }
}

/// The commands of `engram-lab`, to be named where somebody looks for them here.
const LAB: [&str; 8] = [
    "conform", "drift", "episode", "matrix", "profile", "record", "shape", "units",
];

/// The page with a first adapter, compiled with the tests of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../docs/first-adapter.md")]
struct FirstAdapter;

#[cfg(test)]
mod tests;
