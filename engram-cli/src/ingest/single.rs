//! One session to standard output, completely or not at all.

use std::env::temp_dir;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Seek, SeekFrom, Write, stdout};

use engram_adapters::open::store::{LostRecords, SkippedSession};
use engram_adapters::sessions::SessionOptions;
use engram_command::exit::Exit;
use engram_command::inputs::SessionInput;
use engram_command::output;
use engram_command::report::{Reporter, printable_json, shown};
use engram_command::summary::{Ahead, lost_line, session, skipped_line, warnings};
use engram_core::overview::Overview;
use tempfile::SpooledTempFile;

use super::run_summary::RunSummary;
use super::totals::Totals;
use super::verdict::Verdict;
use crate::args::Ingest;
use crate::write::write_tape;

/// A tape for standard output is kept in memory up to this size, then in a temporary file.
const SPOOL_BYTES: usize = 8 << 20;

/// Converts one session and prints its tape.
///
/// # Errors
/// When standard output cannot be written to.
pub fn to_stdout(
    args: &Ingest,
    options: &SessionOptions,
    input: &SessionInput,
    skipped: &[SkippedSession],
    lost: &[LostRecords],
    report: &Reporter,
) -> io::Result<Exit> {
    if output::stdout_is_input([input.path()].into_iter()) {
        return Ok(report.usage(&output::same_as_input(input.path())));
    }
    let mut spool = SpooledTempFile::new(SPOOL_BYTES);
    let converted = input
        .open(options)
        .and_then(|source| write_tape(source, args.form(), &mut spool, &temp_dir()));
    report.end_progress();
    let written = match converted {
        Ok(written) => written,
        Err(error) => {
            let exit = report.failure(&error);
            let mut totals = Totals::default();
            totals.failed(input.path(), &report.clean_error(&error));
            return Ok(RunSummary::new(&totals, exit, &[])
                .write(args.summary.as_deref(), report)
                .unwrap_or(exit));
        }
    };
    spool.seek(SeekFrom::Start(0))?;
    let mut out = stdout().lock();
    if out.is_terminal() && !args.zstd {
        print_lines(&mut spool, &mut out)?;
    } else {
        io::copy(&mut spool, &mut out)?;
    }
    out.flush()?;
    let (summary, path) = (&written.summary, shown(input.path()));
    report.note(&format!("{path}: {}", session(summary)));
    let mut ahead = Ahead::default();
    ahead.add(summary);
    warnings(summary)
        .into_iter()
        .chain(ahead.warning())
        .for_each(|warning| report.note(&format!("warning: {path}: {warning}")));
    lost.iter()
        .for_each(|lost| report.note(&format!("warning: {}", lost_line(lost))));
    skipped
        .iter()
        .for_each(|skipped| report.note(&skipped_line(skipped)));
    Ok(judged(args, &written.overview, report))
}

fn judged(args: &Ingest, overview: &Overview, report: &Reporter) -> Exit {
    let mut totals = Totals::default();
    totals.verdict = Verdict::of(overview);
    totals.count_new(overview);
    let exit = totals.verdict.exit(&args.fail_on, Exit::Success, report);
    RunSummary::new(&totals, exit, &args.fail_on)
        .write(args.summary.as_deref(), report)
        .unwrap_or(exit)
}

/// A terminal must not obey what a log contains. Each line remains the same JSON value.
fn print_lines(tape: &mut dyn Read, out: &mut dyn Write) -> io::Result<()> {
    for line in BufReader::new(tape).lines() {
        writeln!(out, "{}", printable_json(&line?))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tape_on_a_terminal_is_the_same_json_without_commands() {
        let tape = "{\"a\":\"\u{9b}31m\u{202e}é\"}\n{\"b\":1}\n";
        let mut out = Vec::new();
        print_lines(&mut tape.as_bytes(), &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert_eq!(out, "{\"a\":\"\\u009b31m\\u202eé\"}\n{\"b\":1}\n");
    }
}
