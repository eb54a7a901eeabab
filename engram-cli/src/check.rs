//! `engram check`: tapes against every rule of the format.

use std::io::{self, BufReader, Read, Write, stdin, stdout};
use std::path::Path;

use engram_adapters::open;
use engram_core::check::check_stream;
use engram_core::error::AdapterError;

use crate::args::Check;
use crate::exit::{Exit, Tally};
use crate::report::{Reporter, printable, shown};
use crate::summary::count;

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Check, report: &Reporter) -> io::Result<Exit> {
    let mut tally = Tally::default();
    let mut violations = 0;
    for path in &args.tapes {
        let before = violations;
        match check_one(path, &mut violations)? {
            Err(error) => tally.failure(report.failure(&AdapterError::from(error).path(path.to_string_lossy()))),
            Ok(()) if violations > before => tally.failure(Exit::Some),
            Ok(()) => tally.success(),
        }
    }
    report.note(&format!("{} checked, {}", count(args.tapes.len() as u64, "tape"), count(violations, "violation")));
    Ok(tally.exit())
}

/// Checks one tape and prints what breaks a rule. The outer error is that of standard output, the inner one that of the tape.
fn check_one(path: &Path, violations: &mut u64) -> io::Result<io::Result<()>> {
    let mut out = stdout().lock();
    let mut printed = Ok(());
    let checked = tape(path).and_then(|tape| {
        check_stream(tape, &mut |violation| {
            *violations += 1;
            if printed.is_ok() {
                printed = writeln!(out, "{}", printable(&format!("{}:{violation}", shown(path))));
            }
        })
    });
    printed.and_then(|()| out.flush()).map(|()| checked)
}

fn tape(path: &Path) -> io::Result<BufReader<impl Read>> {
    let reader: Box<dyn Read> = if path.as_os_str() == "-" { Box::new(stdin()) } else { Box::new(open::file(path)?) };
    Ok(BufReader::with_capacity(256 << 10, open::content(reader)?))
}
