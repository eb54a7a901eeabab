//! `engram record --sweep`: every published version, newest first.

use std::io::{self, Write, stdout};

use engram_recorder::error::{Fault, RecorderError};
use engram_recorder::harness::{HARNESSES, Harness};
use engram_recorder::isolation::Isolation;
use engram_recorder::scenario::Scenario;
use engram_recorder::shape::Shape;
use engram_recorder::sweep::Sweep as Sweeper;

use super::args::{Record, chosen};
use crate::exit::Exit;
use crate::report::{Reporter, printable};

/// Runs a sweep.
///
/// # Errors
/// If nothing could be swept.
pub fn run(
    args: &Record,
    which: &str,
    isolation: &Isolation,
    report: &Reporter,
) -> Result<io::Result<Exit>, RecorderError> {
    let all = Scenario::read_all(&args.scenarios)?;
    let harnesses: Vec<&'static dyn Harness> = HARNESSES
        .iter()
        .filter(|harness| which == "all" || harness.family() == which)
        .copied()
        .collect();
    if harnesses.is_empty() {
        return Err(RecorderError::new(
            Fault::UnknownHarness,
            format!("nothing records `{which}`"),
        ));
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
        report.note(&format!(
            "{}: {} versions, {} to run",
            harness.family(),
            listed.0.len(),
            due.len()
        ));
        let known = if due.is_empty() {
            Shape::default()
        } else {
            Shape::of_harness(harness.family(), &args.sweep.known)?
        };
        for version in due {
            let row = sweep.run(&version, &known)?;
            let why = printable(&row.why);
            if let Err(error) = writeln!(
                out,
                "{}@{version}\t{}\t{}\t{why}",
                harness.family(),
                row.outcome.as_str(),
                row.checks
            )
            .and_then(|()| out.flush())
            {
                return Ok(Err(error));
            }
        }
    }
    Ok(Ok(Exit::Success))
}
