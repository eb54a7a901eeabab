//! `engram ingest`: converts one session to standard output, or all of them to files.

use std::io::{self, Seek, SeekFrom, Write, stdout};
use std::path::Path;

use engram_adapters::Registry;
use engram_adapters::open::store::SkippedSession;
use engram_adapters::sessions::{SessionOptions, store_at_root};
use tempfile::SpooledTempFile;

use crate::args::Ingest;
use crate::batch::Batch;
use crate::exit::Exit;
use crate::inputs::{SessionInput, find, session_options};
use crate::report::{Reporter, shown};
use crate::summary::{Ahead, session, skipped_line, warnings};
use crate::write::write_tape;

/// A tape for standard output is kept in memory up to this size, then in a temporary file.
const SPOOL_BYTES: usize = 8 << 20;

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Ingest, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
    let options = match session_options(&args.conversion, registry, report.bar()) {
        Ok(options) => options,
        Err(error) => return Ok(report.failure(&error)),
    };
    let found = find(&args.paths, &options);
    report.start_progress(found.sessions.iter().flatten().map(SessionInput::bytes).sum());
    // The root folder of a store is itself what the caller named, not a folder to search.
    let searches = args.paths.iter().any(|path| path.is_dir() && store_at_root(registry, path).is_none());
    match (&args.out, &found.sessions[..]) {
        (Some(out), _) => Ok(Batch::new(args, out, report).run(&options, &found)),
        (None, [Ok(input)]) if !searches => to_stdout(args, &options, input, &found.skipped, report),
        (None, [Err(error)]) if !searches => Ok(report.failure(error)),
        (None, _) => {
            report.end_progress();
            Ok(report.usage("several sessions, or a directory, need `--out DIR`"))
        }
    }
}

/// Writes one session to standard output, completely or not at all.
fn to_stdout(
    args: &Ingest,
    options: &SessionOptions,
    input: &SessionInput,
    skipped: &[SkippedSession],
    report: &Reporter,
) -> io::Result<Exit> {
    let mut spool = SpooledTempFile::new(SPOOL_BYTES);
    let converted = input.open(options).and_then(|source| write_tape(source, args.form(), &mut spool, Path::new("-")));
    report.end_progress();
    let summary = match converted {
        Ok(summary) => summary,
        Err(error) => return Ok(report.failure(&error)),
    };
    spool.seek(SeekFrom::Start(0))?;
    let mut out = stdout().lock();
    io::copy(&mut spool, &mut out)?;
    out.flush()?;
    let path = shown(input.path());
    report.note(&format!("{path}: {}", session(&summary)));
    let mut ahead = Ahead::default();
    ahead.add(&summary);
    warnings(&summary).into_iter().chain(ahead.warning()).for_each(|warning| report.note(&format!("warning: {path}: {warning}")));
    skipped.iter().for_each(|skipped| report.note(&skipped_line(skipped)));
    Ok(Exit::Success)
}
