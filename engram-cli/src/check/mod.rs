//! `engram check`: checks tapes against every rule of the format.

use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};

use engram_command::exit::{Exit, Tally};
use engram_command::places;
use engram_command::report::{Reporter, one_line, shown};
use engram_command::summary::count;
use engram_core::check::{MAX_VIOLATIONS, check_stream};
use engram_core::error::AdapterError;

mod home;

use self::home::Home;
use crate::args::Check;
use crate::tape_dir::{OutDir, Repaired, has_index, repair, verify};
use crate::tapes::{begins_as_tape, open_tape, tape_error, tapes_at};

/// The message for a file that is not a tape: each of its lines would break a rule.
const NOT_A_TAPE: &str = "not a tape: it does not begin with `{\"seq\":0`; if it is a log, `engram ingest` makes its tape";

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Check, report: &Reporter) -> io::Result<Exit> {
    let mut tally = Tally::default();
    let (mut tapes, mut violations) = (0, 0);
    let default: Vec<PathBuf> = match args.tapes.is_empty() {
        true => places::tapes_dir().into_iter().collect(),
        false => Vec::new(),
    };
    let named = || args.tapes.iter().chain(&default);
    for root in named().filter(|path| path.is_dir()) {
        let before = violations;
        let checked = if args.repair {
            repaired(root, report)
        } else {
            Ok(())
        };
        match checked.and_then(|()| check_index(root, &mut violations, report)) {
            Err(error) => tally
                .failure(report.failure(&AdapterError::from(error).path(root.to_string_lossy()))),
            Ok(()) if violations > before => tally.failure(Exit::PartialFailure),
            Ok(()) => {}
        }
    }
    let mut home = Home::default();
    let paths = named().flat_map(|root| {
        let is_home = root.is_dir();
        tapes_at(root).into_iter().map(move |path| (path, is_home))
    });
    for (path, is_home) in paths {
        let before = violations;
        let path = match path {
            Err(error) => {
                tally.failure(report.failure(&error));
                continue;
            }
            Ok(path) => path,
        };
        let mut checked = check_one(&path, &mut violations, report)?;
        // What is no valid tape says nothing about other tapes.
        if is_home && checked.is_ok() && violations == before {
            checked = check_beside(&path, &mut home, &mut violations, report)?;
        }
        tapes += u64::from(checked.is_ok());
        match checked {
            Err(error) => tally.failure(report.failure(&tape_error(&path, error))),
            Ok(()) if violations > before => tally.failure(Exit::PartialFailure),
            Ok(()) => tally.success(),
        }
    }
    report.note(&format!(
        "{} checked, {}",
        count(tapes, "tape"),
        count(violations, "violation")
    ));
    Ok(tally.exit())
}

/// Makes the index of a directory again.
fn repaired(root: &Path, report: &Reporter) -> io::Result<()> {
    let wait = || report.note("another engram is writing to this directory; waiting for it");
    let Repaired {
        kept,
        made,
        dropped,
    } = repair(&OutDir::open(root, wait)?)?;
    let (kept, made, dropped) = (
        count(kept as u64, "line"),
        count(made as u64, "line"),
        count(dropped as u64, "line"),
    );
    report.note(&format!(
        "{}: the index is made again: {kept} stay, {made} are new, {dropped} were not true",
        shown(root)
    ));
    Ok(())
}

/// Compares a directory with its index, if it has one, and prints what differs.
fn check_index(root: &Path, violations: &mut u64, report: &Reporter) -> io::Result<()> {
    if !has_index(root) {
        return Ok(());
    }
    let mut out = stdout().lock();
    let (mut printed, before) = (Ok(()), *violations);
    verify(root, &mut |what, why| {
        *violations += 1;
        if printed.is_ok() && *violations - before <= MAX_VIOLATIONS {
            let fault = format!("{}: {why}", shown(&root.join(what)));
            printed = say(&fault, &mut out, report);
        }
    })?;
    let more = (*violations - before).saturating_sub(MAX_VIOLATIONS);
    if printed.is_ok() && more > 0 {
        printed = say(&format!("{}: {more} more", shown(root)), &mut out, report);
    }
    printed.and_then(|()| out.flush())
}

/// Compares a tape with the others of its directory, and prints what they must not share. The errors are as in [`check_one`].
fn check_beside(
    path: &Path,
    home: &mut Home,
    violations: &mut u64,
    report: &Reporter,
) -> io::Result<io::Result<()>> {
    let found = match home.add(path) {
        Ok(found) => found,
        Err(error) => return Ok(Err(error)),
    };
    let mut out = stdout().lock();
    for what in found {
        *violations += 1;
        say(&format!("{}: {what}", shown(path)), &mut out, report)?;
    }
    out.flush().map(Ok)
}

/// Checks one tape and prints its violations. The outer error is that of standard output, the inner one that of the tape.
fn check_one(path: &Path, violations: &mut u64, report: &Reporter) -> io::Result<io::Result<()>> {
    let mut out = stdout().lock();
    let (mut printed, before) = (Ok(()), *violations);
    let checked = open_tape(path).and_then(|mut tape| {
        if !begins_as_tape(&mut tape)? {
            *violations += 1;
            printed = say(&format!("{}: {NOT_A_TAPE}", shown(path)), &mut out, report);
            return Ok(());
        }
        check_stream(tape, &mut |violation| {
            *violations += 1;
            if printed.is_ok() {
                printed = say(&format!("{}:{violation}", shown(path)), &mut out, report);
            }
        })
    });
    if printed.is_ok() && *violations - before >= MAX_VIOLATIONS {
        printed = say(
            &format!("{}: the rest is not checked", shown(path)),
            &mut out,
            report,
        );
    }
    printed.and_then(|()| out.flush()).map(|()| checked)
}

/// Prints a fault: for a person on standard output, for a program as an object on standard error.
fn say(fault: &str, out: &mut dyn Write, report: &Reporter) -> io::Result<()> {
    if report.is_json() {
        report.finding("bad_tape", fault);
        return Ok(());
    }
    writeln!(out, "{}", one_line(fault))
}
