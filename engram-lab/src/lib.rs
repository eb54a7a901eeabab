//! The `engram-lab` command as a library: [`run`] is the command over any set of adapters.
//!
//! It is for those who keep adapters true ([drift], the compatibility kit, recordings of new versions), and for those who run agents under
//! profiles. What a user of tapes needs is in `engram`.
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use engram_adapters::Registry;
//!
//! fn main() -> ExitCode {
//!     engram_lab::run(Registry::builtin())
//! }
//! ```
//!
//! [drift]: engram_core::drift

use std::io;
use std::process::ExitCode;

use engram_adapters::Registry;
use engram_command::exit::Exit;
use engram_command::output::print;
use engram_command::program::{Group, Program, Reporting};
use engram_command::report::Reporter;
use engram_command::{complete, man};
use engram_profiles::schema;

mod args;
mod conform;
mod drift;
#[cfg(unix)]
mod episode;
#[cfg(unix)]
mod profile;
#[cfg(unix)]
mod profile_file;
#[cfg(unix)]
mod record;
#[cfg(test)]
mod tests;
mod units;
#[cfg(unix)]
mod verdict;

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
            "Adapters and what harnesses write",
            &["drift", "conform", "record", "shape", "matrix"],
        ),
        ("Agents under profiles", &["profile", "episode", "schema"]),
        ("Many machines", &["units"]),
        ("Shell", &["completions", "man", "help"]),
    ];

    fn reporting(&self) -> &Reporting {
        &self.reporting
    }

    fn run(&self, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
        match &self.command {
            Command::Drift(args) => drift::run(args, registry, report),
            Command::Conform(args) => conform::run(args, registry, report),
            #[cfg(unix)]
            Command::Record(args) => record::run(args, report),
            #[cfg(unix)]
            Command::Shape(args) => record::shape::run(args, report),
            #[cfg(unix)]
            Command::Matrix(args) => record::matrix::run(args, report),
            #[cfg(unix)]
            Command::Profile(args) => profile::run(args, report),
            #[cfg(unix)]
            Command::Episode(args) => episode::run(args, report),
            Command::Units(args) => units::run(args, registry, report),
            Command::Schema => print(&schema::json_schema()),
            Command::Completions(args) => complete::run::<CommandLine>(args),
            Command::Man(args) => man::run::<CommandLine>(args, report),
        }
    }
}

/// The examples of the page of the crate.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
