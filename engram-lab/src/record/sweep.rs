//! `engram-lab record --sweep`: every published version, newest first.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write, stdout};
use std::sync::{Mutex, PoisonError};
use std::thread;

use engram_command::exit::Exit;
use engram_command::report::{Reporter, printable};
use engram_recorder::error::{Fault, RecorderError};
use engram_recorder::harness::{HARNESSES, Harness};
use engram_recorder::isolation::Isolation;
use engram_recorder::matrix::{Matrix, Row, Version};
use engram_recorder::scenario::Scenario;
use engram_recorder::sweep::Sweep as Sweeper;

use super::args::{Record, chosen, set_of};

/// A harness, with its lines as they were at the beginning.
struct Swept<'s> {
    sweeper: Sweeper<'s>,
    matrix: Matrix,
}

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
    let is_meant = |harness: &&&'static dyn Harness| which == "all" || harness.family() == which;
    let (mut swept, mut due) = (Vec::new(), Vec::new());
    for harness in HARNESSES.iter().filter(is_meant) {
        let sweeper = sweeper(args, *harness, &all, isolation)?;
        let matrix = sweeper.refresh()?;
        let versions = sweeper.due(&matrix);
        report.note(&format!(
            "{}: {} versions, {} to run",
            harness.family(),
            matrix.0.len(),
            versions.len()
        ));
        let own = versions.into_iter().enumerate();
        due.extend(own.map(|(rank, version)| (rank, swept.len(), version)));
        swept.push(Swept { sweeper, matrix });
    }
    if swept.is_empty() {
        let what = format!("nothing records `{which}`");
        return Err(RecorderError::new(Fault::UnknownHarness, what));
    }
    // The newest ones of all harnesses come first.
    due.sort_by_key(|(rank, ..)| *rank);
    let due = due.into_iter().map(|(_, at, version)| (at, version));
    run_all(&swept, due.collect(), args.sweep.jobs)
}

fn sweeper<'s>(
    args: &'s Record,
    harness: &'static dyn Harness,
    all: &'s BTreeMap<String, Scenario>,
    isolation: &'s Isolation,
) -> Result<Sweeper<'s>, RecorderError> {
    let family = harness.family();
    let set = |is_wide: bool| match args.scenario.as_slice() {
        [] => set_of(all, is_wide, family),
        ids => chosen(all, ids, family),
    };
    Ok(Sweeper {
        harness,
        core: set(args.wide)?,
        wide: set(true)?,
        directory: &args.scenarios,
        installer: args.installer(),
        matrix: &args.sweep.matrix,
        out: &args.out,
        isolation,
        shard: args.sweep.shard,
        most: args.sweep.most,
        only_new: args.sweep.new,
        keep: args.sweep.keep,
        again: args.sweep.again,
    })
}

/// Runs the versions, so many at the same time, and prints the outcome of each.
fn run_all(
    swept: &[Swept<'_>],
    due: VecDeque<(usize, Version)>,
    jobs: u8,
) -> Result<io::Result<Exit>, RecorderError> {
    let (due, failed) = (Mutex::new(due), Mutex::new(None));
    let next = || {
        due.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front()
    };
    let fail = |error: Failure| {
        due.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.get_or_insert(error);
    };
    let work = || {
        while let Some((at, version)) = next() {
            let Swept { sweeper, matrix } = &swept[at];
            let done = sweeper.run(&version, matrix).map_err(Failure::Recorder);
            let printed = done.and_then(|row| {
                print(sweeper.harness.family(), &version, &row).map_err(Failure::Print)
            });
            if let Err(error) = printed {
                fail(error);
            }
        }
    };
    thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        None => Ok(Ok(Exit::Success)),
        Some(Failure::Print(error)) => Ok(Err(error)),
        Some(Failure::Recorder(error)) => Err(error),
    }
}

/// Why a sweep stops.
enum Failure {
    Recorder(RecorderError),
    Print(io::Error),
}

fn print(harness: &str, version: &Version, row: &Row) -> io::Result<()> {
    let what: Vec<&str> = [row.why.as_str(), &row.new]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    let (outcome, checks) = (row.outcome.as_str(), &row.checks);
    let what = what.join("; ");
    let what = printable(&what);
    let mut out = stdout().lock();
    writeln!(out, "{harness}@{version}\t{outcome}\t{checks}\t{what}")?;
    out.flush()
}
