//! `engram ingest`: one session to standard output, or all of them to files.

use std::io::{self, Seek, SeekFrom, Write, stdout};
use std::path::Path;

use engram_adapters::open::openers::root;
use engram_adapters::open::store::LeftAside;
use tempfile::SpooledTempFile;

use crate::args::Ingest;
use crate::artifact::{Artifact, Way, artifacts};
use crate::batch::Batch;
use crate::exit::Exit;
use crate::report::{Reporter, shown};
use crate::summary::{aside, session, warnings};
use crate::write::write_tape;

/// A tape for standard output is held in memory up to this size, then in a temporary file.
const SPOOL_BYTES: usize = 8 << 20;

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Ingest, report: &mut Reporter) -> io::Result<Exit> {
    let found = artifacts(&args.paths, args.conversion.limits());
    report.start_progress(found.artifacts.iter().flatten().map(Artifact::bytes).sum());
    let way = match Way::new(&args.conversion, report.bar()) {
        Ok(way) => way,
        Err(error) => return Ok(report.failure(&error)),
    };
    // The root folder of a store is no directory to search, but what the caller named.
    let searches = args.paths.iter().any(|path| path.is_dir() && root(path).is_none());
    match (&args.out, &found.artifacts[..]) {
        (Some(out), _) => Ok(Batch::new(args, out, report).run(&way, &found)),
        (None, [Ok(artifact)]) if !searches => to_stdout(args, &way, artifact, &found.left_aside, report),
        (None, [Err(error)]) if !searches => Ok(report.failure(error)),
        (None, _) => {
            report.end_progress();
            Ok(report.usage("several sessions, or a directory, need `--out DIR`"))
        }
    }
}

/// One session, whole or not at all, to standard output.
fn to_stdout(args: &Ingest, way: &Way, artifact: &Artifact, left_aside: &[LeftAside], report: &Reporter) -> io::Result<Exit> {
    let mut spool = SpooledTempFile::new(SPOOL_BYTES);
    let converted = way.open(artifact).and_then(|opened| write_tape(opened, way, args.zstd, &mut spool, Path::new("-")));
    report.end_progress();
    let summary = match converted {
        Ok(summary) => summary,
        Err(error) => return Ok(report.failure(&error)),
    };
    spool.seek(SeekFrom::Start(0))?;
    let mut out = stdout().lock();
    io::copy(&mut spool, &mut out)?;
    out.flush()?;
    let path = shown(artifact.path());
    report.note(&format!("{path}: {}", session(&summary)));
    warnings(&summary).iter().for_each(|warning| report.note(&format!("warning: {path}: {warning}")));
    left_aside.iter().for_each(|left| report.note(&aside(left)));
    Ok(Exit::Success)
}
