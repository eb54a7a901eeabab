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

use std::io::{self, Write, stdout};
use std::process::ExitCode;

use clap::FromArgMatches;
use clap::error::ErrorKind;
use engram_adapters::Registry;
use engram_core::error::AdapterError;
use engram_core::json_schema::json_schema;

mod adapters;
mod answer_schema;
mod answers;
mod args;
mod audit;
mod check;
mod commits;
mod complete;
mod conform;
mod conversion;
mod detect;
mod drift;
#[cfg(all(unix, feature = "record"))]
mod episode;
mod exit;
mod export;
mod fail_on;
mod files;
mod filter;
mod help;
mod homes;
mod index;
mod ingest;
mod inputs;
mod interrupt;
mod kept;
mod keys;
mod list;
mod man;
#[cfg(feature = "mcp")]
mod mcp;
mod message;
mod money;
mod once;
mod output;
mod places;
mod pool;
#[cfg(all(unix, feature = "record"))]
mod profile;
#[cfg(all(unix, feature = "record"))]
mod profile_file;
mod progress;
mod project;
mod reading;
#[cfg(all(unix, feature = "record"))]
mod record;
#[cfg(test)]
mod reference;
mod report;
mod roots;
mod show;
mod size;
mod skill;
mod small_file;
mod stats;
mod summary;
mod table;
mod tape_dir;
mod tapes;
mod unicode;
mod units;
#[cfg(all(unix, feature = "record"))]
mod verdict;
mod when;
mod write;

use args::{Command, CommandLine};
use exit::Exit;
use report::{ErrorFormat, Reporter};

/// Runs the command with the arguments of this process, over these adapters, and returns its exit code.
///
/// It takes over the process: it hears interrupts, and writes to standard output and standard error.
pub fn run(registry: Registry) -> ExitCode {
    complete::answer(&registry, help::command);
    let line = help::command()
        .try_get_matches()
        .and_then(|matches| CommandLine::from_arg_matches(&matches));
    let exit = match line {
        Ok(line) => dispatch(&line, &registry),
        Err(error) => refused(&error),
    };
    exit.into()
}

fn dispatch(line: &CommandLine, registry: &Registry) -> Exit {
    let report = Reporter::new(line.error_format, line.quiet, line.verbose);
    interrupt::listen();
    let done = match &line.command {
        Command::Ingest(args) => ingest::run(args, registry, &report),
        Command::List(args) => list::run(args, registry, &report),
        Command::Files(args) => files::run(args, registry, &report),
        Command::Detect(args) => detect::run(args, registry, &report),
        Command::Audit(args) => audit::run(args, registry, &report),
        Command::Drift(args) => drift::run(args, registry, &report),
        Command::Stats(args) => stats::run(args, registry, &report),
        Command::Show(args) => show::run(args, registry, &report),
        Command::Export(args) => export::run(args, &report, |target| {
            commits::run(target, registry, &report)
        }),
        Command::Units(args) => units::run(args, registry, &report),
        Command::Check(args) => check::run(args, &report),
        Command::Conform(args) => conform::run(args, registry, &report),
        #[cfg(all(unix, feature = "record"))]
        Command::Record(args) => record::run(args, &report),
        #[cfg(all(unix, feature = "record"))]
        Command::Shape(args) => record::shape::run(args, &report),
        #[cfg(all(unix, feature = "record"))]
        Command::Matrix(args) => record::matrix::run(args, &report),
        Command::Adapters(args) => adapters::run(args, registry),
        Command::Index(args) => index::run(args, &report),
        Command::Explain(args) => index::explain(args, registry, &report),
        Command::Blame(args) => index::blame(args, registry, &report),
        Command::Grep(args) => index::grep(args, registry, &report),
        Command::Query(args) => index::query(args, registry, &report),
        #[cfg(feature = "mcp")]
        Command::Mcp => mcp::run(&report),
        Command::Skill(args) => skill::run(args, &report),
        #[cfg(feature = "record")]
        Command::Schema(args) if args.profile => print(&engram_profiles::schema::json_schema()),
        Command::Schema(args) if args.answers => print(&answer_schema::json_schema()),
        Command::Schema(_) => print(&json_schema()),
        #[cfg(all(unix, feature = "record"))]
        Command::Episode(args) => episode::run(args, &report),
        #[cfg(all(unix, feature = "record"))]
        Command::Profile(args) => profile::run(args, &report),
        Command::Completions(args) => complete::script(args.shell).and_then(|it| print(&it)),
        Command::Man(args) => man::run(args, &report),
    };
    done.unwrap_or_else(|error| output_failed(error, &report))
}

fn print(text: &str) -> io::Result<Exit> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(Exit::Success)
}

/// It is not a failure if the reader closes the pipe.
fn output_failed(error: io::Error, report: &Reporter) -> Exit {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Exit::Success;
    }
    report.failure(&AdapterError::from(error).path("standard output"))
}

/// Help and version are not errors. A usage error uses the requested error format.
fn refused(error: &clap::Error) -> Exit {
    let is_answer = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    let words: Vec<_> = std::env::args_os().collect();
    let json = words.iter().any(|word| word == "--error-format=json")
        || words
            .windows(2)
            .any(|pair| pair == ["--error-format", "json"]);
    if json && !is_answer {
        let text = error.render().to_string();
        Reporter::new(ErrorFormat::Json, true, false)
            .usage(text.strip_prefix("error: ").unwrap_or(&text).trim_end());
    } else {
        // The reader may have closed the pipe.
        let _ = error.print();
    }
    if is_answer {
        Exit::Success
    } else {
        Exit::Usage
    }
}

/// The page with a first adapter, compiled with the tests of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../docs/first-adapter.md")]
struct FirstAdapter;
