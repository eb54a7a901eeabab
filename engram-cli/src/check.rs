//! `engram check`: checks tapes against every rule of the format.

use std::io::{self, BufReader, Read, Write, stdin, stdout};
use std::path::{Path, PathBuf};

use engram_adapters::open;
use engram_core::check::check_stream;
use engram_core::error::{AdapterError, ErrorCode};
use walkdir::WalkDir;

use crate::args::Check;
use crate::exit::{Exit, Tally};
use crate::report::{Reporter, one_line, shown};
use crate::summary::count;

/// Name endings of tapes.
const TAPE_ENDINGS: [&str; 2] = [".tape.jsonl", ".tape.jsonl.zst"];

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Check, report: &Reporter) -> io::Result<Exit> {
    let mut tally = Tally::default();
    let (mut tapes, mut violations) = (0, 0);
    for path in args.tapes.iter().flat_map(|path| tapes_at(path)) {
        let before = violations;
        let path = match path {
            Err(error) => {
                tally.failure(report.failure(&error));
                continue;
            }
            Ok(path) => path,
        };
        let checked = check_one(&path, &mut violations)?;
        tapes += u64::from(checked.is_ok());
        match checked {
            Err(error) => tally.failure(report.failure(&AdapterError::from(error).path(path.to_string_lossy()))),
            Ok(()) if violations > before => tally.failure(Exit::PartialFailure),
            Ok(()) => tally.success(),
        }
    }
    report.note(&format!("{} checked, {}", count(tapes, "tape"), count(violations, "violation")));
    Ok(tally.exit())
}

/// The tape at `path`, or the tapes in that folder, in the order of their names. A folder without tapes is an error, since
/// nothing was checked.
fn tapes_at(path: &Path) -> Vec<Result<PathBuf, AdapterError>> {
    if !path.is_dir() {
        return vec![Ok(path.to_owned())];
    }
    let entries = WalkDir::new(path).sort_by_file_name().into_iter();
    let found: Vec<_> = entries
        .filter_map(|entry| match entry {
            Ok(entry) if entry.file_type().is_file() && is_tape(entry.path()) => Some(Ok(entry.into_path())),
            Ok(_) => None,
            Err(error) => Some(Err(AdapterError::from(io::Error::from(error)).path(path.to_string_lossy()))),
        })
        .collect();
    if found.is_empty() {
        let error = AdapterError::new(ErrorCode::Io).expected("tapes, named `*.tape.jsonl` or `*.tape.jsonl.zst`").found("none");
        return vec![Err(error.path(path.to_string_lossy()))];
    }
    found
}

fn is_tape(path: &Path) -> bool {
    let name = path.to_string_lossy();
    TAPE_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Checks one tape and prints its violations. The outer error is that of standard output, the inner one that of the tape.
fn check_one(path: &Path, violations: &mut u64) -> io::Result<io::Result<()>> {
    let mut out = stdout().lock();
    let mut printed = Ok(());
    let checked = tape(path).and_then(|tape| {
        check_stream(tape, &mut |violation| {
            *violations += 1;
            if printed.is_ok() {
                printed = writeln!(out, "{}", one_line(&format!("{}:{violation}", shown(path))));
            }
        })
    });
    printed.and_then(|()| out.flush()).map(|()| checked)
}

fn tape(path: &Path) -> io::Result<BufReader<impl Read>> {
    let reader: Box<dyn Read> = if path.as_os_str() == "-" { Box::new(stdin()) } else { Box::new(open::file(path)?) };
    Ok(BufReader::with_capacity(256 << 10, open::content(reader)?))
}
