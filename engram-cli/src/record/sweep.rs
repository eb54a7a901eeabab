//! `engram record --sweep`: every published version, newest first.

use std::io::{self, Write, stdout};
use std::path::PathBuf;

use clap::Args;
use engram_recorder::error::{Fault, RecorderError};
use engram_recorder::harness::{HARNESSES, Harness};
use engram_recorder::isolation::Isolation;
use engram_recorder::matrix::Outcome;
use engram_recorder::scenario::Scenario;
use engram_recorder::shape::Shape;
use engram_recorder::sweep::Sweep as Sweeper;

use super::{Record, chosen};
use crate::exit::Exit;
use crate::report::{Reporter, printable};

/// Arguments of a sweep.
#[derive(Debug, Args)]
pub struct Sweep {
    /// Record the published versions of this harness that have no outcome yet, newest first, and keep each outcome in the matrix; `all`
    /// for every harness
    #[arg(long, value_name = "HARNESS", conflicts_with = "what")]
    pub sweep: Option<String>,
    /// In a sweep, only versions that are newer than every one that was run
    #[arg(long, requires = "sweep")]
    pub new: bool,
    /// In a sweep, the most versions that are run now
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub most: usize,
    /// In a sweep, only part I of N parts of the versions
    #[arg(long, value_name = "I/N", value_parser = shard, default_value = "0/1")]
    pub shard: (usize, usize),
    /// In a sweep, also versions with this outcome
    #[arg(long, value_name = "OUTCOME", value_parser = outcome)]
    pub again: Option<Outcome>,
    /// In a sweep, do not delete what was installed
    #[arg(long)]
    pub keep: bool,
    /// The directory of the matrix
    #[arg(long, value_name = "DIR", default_value = "matrix")]
    pub matrix: PathBuf,
    /// The script that lists and installs versions
    #[arg(long, value_name = "FILE", default_value = "scripts/install-harness")]
    pub installer: PathBuf,
    /// The tree of recordings whose structure is known
    #[arg(long, value_name = "DIR", default_value = "fixtures")]
    pub known: PathBuf,
}

fn shard(text: &str) -> Result<(usize, usize), String> {
    let numbers = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    numbers.filter(|(part, of): &(usize, usize)| part < of).ok_or_else(|| "expected I/N, with I from 0 and below N".to_owned())
}

fn outcome(text: &str) -> Result<Outcome, String> {
    let words: Vec<&str> = Outcome::ALL.iter().map(|outcome| outcome.as_str()).collect();
    Outcome::ALL.into_iter().find(|outcome| outcome.as_str() == text).ok_or_else(|| format!("expected one of {}", words.join(", ")))
}

/// Runs a sweep.
///
/// # Errors
/// If nothing could be swept.
pub fn run(args: &Record, which: &str, isolation: &Isolation, report: &Reporter) -> Result<io::Result<Exit>, RecorderError> {
    let all = Scenario::read_all(&args.scenarios)?;
    let harnesses: Vec<&'static dyn Harness> =
        HARNESSES.iter().filter(|harness| which == "all" || harness.family() == which).copied().collect();
    if harnesses.is_empty() {
        return Err(RecorderError::new(Fault::UnknownHarness, format!("nothing records `{which}`")));
    }
    let mut out = stdout().lock();
    for harness in harnesses {
        let matrix = args.sweep.matrix.join(format!("{}.tsv", harness.family()));
        let sweep = Sweeper {
            harness,
            scenarios: chosen(&all, &args.scenario, harness.family())?,
            directory: &args.scenarios,
            installer: &args.sweep.installer,
            installed: &args.installed,
            matrix: &matrix,
            out: &args.out,
            isolation,
            known: &args.sweep.known,
            shard: args.sweep.shard,
            most: args.sweep.most,
            only_new: args.sweep.new,
            keep: args.sweep.keep,
            again: args.sweep.again,
        };
        let listed = sweep.refresh()?;
        let due = sweep.due(&listed);
        report.note(&format!("{}: {} versions, {} to run", harness.family(), listed.0.len(), due.len()));
        let known = if due.is_empty() { Shape::default() } else { Shape::of_harness(harness.family(), &args.sweep.known)? };
        for version in due {
            let row = sweep.run(&version, &known)?;
            let why = printable(&row.why);
            if let Err(error) =
                writeln!(out, "{}@{version}\t{}\t{}\t{why}", harness.family(), row.outcome.as_str(), row.checks).and_then(|()| out.flush())
            {
                return Ok(Err(error));
            }
        }
    }
    Ok(Ok(Exit::Success))
}
