//! `engram export`: tapes, and what they prove of commits, in the forms that other programs read.

mod args;
mod atif;
mod commits;
mod documents;
mod hf;
mod inputs;
mod otlp;
#[cfg(feature = "parquet")]
mod parquet;
mod place;

use std::io;
use std::path::Path;

use engram_adapters::Registry;

use self::args::Target;
pub use self::args::{Export, To};
use crate::args::Ingest;
use crate::exit::Exit;
use crate::report::Reporter;

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Export, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
    match &args.target {
        Target::Hf(args) => hf::run(args, report),
        Target::Atif(args) => atif::run(args, report),
        Target::Otlp(args) => otlp::run(args, report),
        #[cfg(feature = "parquet")]
        Target::Parquet(args) => parquet::run(args, report),
        Target::AgentTrace(args) => commits::agent_trace(args, registry, report),
        Target::GitNotes(args) => commits::git_notes(args, registry, report),
    }
}

/// `engram ingest --to`: writes tapes with `ingest` to a directory that nobody sees, and exports them.
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
    ingest: impl FnOnce(&Path, &Reporter) -> Exit,
) -> io::Result<Exit> {
    match to {
        #[cfg(feature = "parquet")]
        To::Parquet => parquet::ingest(args, out, report, ingest),
    }
}
