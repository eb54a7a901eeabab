//! `engram export`: tapes, and what they prove of commits, in the forms that other programs read.

mod args;
mod atif;
#[cfg(feature = "parquet")]
mod dataset;
mod documents;
mod hf;
mod inputs;
mod otlp;
#[cfg(feature = "parquet")]
mod parquet;
mod place;
mod repeats;

use std::io;
use std::path::Path;

use engram_command::exit::{Exit, Output};
use engram_command::report::Reporter;

#[cfg(feature = "parquet")]
pub use self::args::Partition;
use self::args::Target;
pub use self::args::{AgentTrace, Export, GitNotes, To};
use crate::args::Ingest;

/// What is asked of commits, which the index answers.
pub enum OfCommits<'a> {
    /// Agent Trace.
    AgentTrace(&'a AgentTrace),
    /// Git notes.
    GitNotes(&'a GitNotes),
}

/// Runs the command. `of_commits` answers what is asked of commits.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(
    args: &Export,
    report: &Reporter,
    of_commits: impl FnOnce(OfCommits<'_>) -> io::Result<Exit>,
) -> io::Result<Exit> {
    match &args.target {
        Target::Hf(args) => hf::run(args, report),
        Target::Atif(args) => atif::run(args, report),
        Target::Otlp(args) => otlp::run(args, report),
        #[cfg(feature = "parquet")]
        Target::Parquet(args) => parquet::run(args, report),
        Target::AgentTrace(args) => of_commits(OfCommits::AgentTrace(args)),
        Target::GitNotes(args) => of_commits(OfCommits::GitNotes(args)),
    }
}

/// `engram ingest --to`: writes tapes with `ingest` beside what is made of them, and exports those that are new.
///
/// # Errors
/// When standard output cannot be written to.
#[cfg_attr(
    not(feature = "parquet"),
    expect(unused_variables, reason = "without it there is no form to write")
)]
pub fn ingest(
    to: To,
    args: &Ingest,
    out: &Path,
    report: &Reporter,
    ingest: impl FnOnce(&Path, &Reporter) -> (Exit, Output),
) -> io::Result<Exit> {
    match to {
        #[cfg(feature = "parquet")]
        To::Parquet => dataset::ingest(args, out, report, ingest),
    }
}
