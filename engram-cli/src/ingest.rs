//! `engram ingest`: session logs in, tapes out.

use std::io::{self, Seek, SeekFrom, Write, stdout};
use std::path::Path;

use engram_core::drive::Summary;
use engram_core::error::{AdapterError, ErrorCode};
use tempfile::{SpooledTempFile, TempPath};

use crate::args::Ingest;
use crate::artifact::{Artifact, Way, artifacts};
use crate::exit::{Exit, Tally};
use crate::out_dir::{OutDir, Placed, stem};
use crate::pool::in_order;
use crate::report::{Reporter, shown};
use crate::summary::{Totals, count, session, warnings};

/// A tape for standard output is held in memory up to this size, then in a temporary file.
const SPOOL_BYTES: usize = 8 << 20;

/// Runs the command.
pub fn run(args: &Ingest, report: &mut Reporter) -> Exit {
    let mut tally = Tally::default();
    let mut found = Vec::new();
    for artifact in artifacts(&args.paths) {
        match artifact {
            Ok(artifact) => found.push(artifact),
            Err(error) => {
                report.error(&error);
                tally.failure(error.code);
            }
        }
    }
    let needs_directory = args.paths.iter().any(|path| path.is_dir()) || found.len() + tally.failed() > 1;
    if needs_directory && args.out.is_none() {
        report.usage("several sessions, or a directory, need `--out DIR`");
        return Exit::Usage;
    }
    report.start_progress(found.iter().map(Artifact::bytes).sum());
    let way = match Way::new(&args.conversion, report.bar()) {
        Ok(way) => way,
        Err(error) => {
            report.error(&error);
            return Exit::from(error.code);
        }
    };
    let exit = match (&args.out, &found[..]) {
        (Some(out), _) => to_directory(args, &way, &found, out, report, tally),
        (None, [artifact]) => to_stdout(args, &way, artifact, report),
        (None, _) => tally.exit(),
    };
    report.end_progress();
    exit
}

/// One session, whole or not at all, to standard output.
fn to_stdout(args: &Ingest, way: &Way, artifact: &Artifact, report: &Reporter) -> Exit {
    let mut spool = SpooledTempFile::new(SPOOL_BYTES);
    let converted = way.open(artifact).and_then(|opened| tape(|sink| opened.convert(way, sink), args.zstd, &mut spool, Path::new("-")));
    let summary = match converted {
        Ok(summary) => summary,
        Err(error) => {
            report.error(&error);
            return Exit::from(error.code);
        }
    };
    report.end_progress();
    match spool.seek(SeekFrom::Start(0)).and_then(|_| io::copy(&mut spool, &mut stdout().lock())).and_then(|_| stdout().flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Exit::Success,
        Err(error) => {
            report.error(&AdapterError::from(error).path("-"));
            return Exit::Io;
        }
        Ok(()) => {}
    }
    tell(artifact, &summary, None, report);
    Exit::Success
}

/// What became of one artifact.
enum Fate {
    Converted(Box<Summary>, TempPath),
    /// A file without content, come upon in a directory.
    Empty,
    /// A file that is no session, come upon in a directory.
    NoSession,
    Failed(AdapterError),
}

/// Every session to a file of its own. A failed one leaves nothing and stops nothing.
fn to_directory(args: &Ingest, way: &Way, found: &[Artifact], out: &Path, report: &Reporter, mut tally: Tally) -> Exit {
    let (mut totals, mut empty, mut no_session, mut unchanged) = (Totals::default(), 0, 0, 0);
    let ending = if args.zstd { ".tape.jsonl.zst" } else { ".tape.jsonl" };
    let mut names = OutDir::new(out);
    let temporaries = OutDir::new(out);
    let take = |artifact: &Artifact, fate| match fate {
        Fate::Empty => empty += 1,
        Fate::NoSession => no_session += 1,
        Fate::Failed(error) => {
            report.error(&error);
            tally.failure(error.code);
        }
        Fate::Converted(summary, tape) => match names.place(tape, summary.harness, &stem_of(artifact, &summary), ending) {
            Ok(placed) => {
                totals.add(&summary);
                tally.success();
                unchanged += u64::from(matches!(placed, Placed::Unchanged(_)));
                tell(artifact, &summary, Some(&placed), report);
            }
            Err(error) => {
                report.error(&AdapterError::from(error).path(names.folder(summary.harness).to_string_lossy()));
                tally.failure(Exit::Io);
            }
        },
    };
    if let Err(error) = in_order(args.conversion.jobs, found, |artifact| to_temporary(args, way, artifact, &temporaries), take) {
        report.error(&error);
        return Exit::Io;
    }
    report.end_progress();
    if totals.sessions() == 0 && tally.failed() == 0 {
        let paths: Vec<_> = args.paths.iter().map(|path| shown(path)).collect();
        report.error(&AdapterError::new(ErrorCode::UnknownHarness).expected("a session").path(paths.join(", ")));
        return Exit::NotRecognised;
    }
    let passed_over = format!("{empty} empty, {} no session", count(no_session, "file"));
    report.note(&format!(
        "{} converted ({unchanged} unchanged), {} failed; {passed_over}",
        count(totals.sessions(), "session"),
        tally.failed()
    ));
    totals.lines().iter().for_each(|line| report.note(line));
    tally.exit()
}

fn to_temporary(args: &Ingest, way: &Way, artifact: &Artifact, out: &OutDir) -> Fate {
    let opened = match way.open(artifact) {
        Ok(opened) => opened,
        Err(error) if error.code == ErrorCode::UnknownHarness && !artifact.is_named() => {
            return if artifact.bytes() == 0 { Fate::Empty } else { Fate::NoSession };
        }
        Err(error) => return Fate::Failed(error),
    };
    let harness = opened.entry.adapter.describe().harness_family;
    let folder = out.folder(harness);
    let at_folder = |error: io::Error| AdapterError::from(error).path(folder.to_string_lossy());
    let written = out.temporary(harness).map_err(at_folder).and_then(|mut file| {
        let summary = tape(|sink| opened.convert(way, sink), args.zstd, file.as_file_mut(), &folder)?;
        file.as_file().sync_all().map_err(at_folder)?;
        Ok((summary, file.into_temp_path()))
    });
    written.map_or_else(Fate::Failed, |(summary, file)| Fate::Converted(Box::new(summary), file))
}

/// Writes a tape to `file`, compressed or not. `place` is named when writing fails.
fn tape(
    convert: impl FnOnce(&mut dyn Write) -> Result<Summary, AdapterError>,
    compress: bool,
    file: &mut dyn Write,
    place: &Path,
) -> Result<Summary, AdapterError> {
    let mut sink = Sink { file, failed: false };
    let at_place = |error: io::Error| AdapterError::from(error).path(place.to_string_lossy());
    let converted = if compress {
        let mut encoder = zstd::Encoder::new(&mut sink, zstd::DEFAULT_COMPRESSION_LEVEL).map_err(at_place)?;
        convert(&mut encoder).and_then(|summary| encoder.finish().map(|_| summary).map_err(at_place))
    } else {
        convert(&mut sink)
    };
    converted.map_err(|error| if sink.failed { error.path(place.to_string_lossy()) } else { error })
}

/// Remembers that writing failed: the conversion's error alone does not say on which side.
struct Sink<'f> {
    file: &'f mut dyn Write,
    failed: bool,
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).inspect_err(|_| self.failed = true)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().inspect_err(|_| self.failed = true)
    }
}

/// The stem of the tape's name: session and agent, or the artifact's own name where the source gives no id.
fn stem_of(artifact: &Artifact, summary: &Summary) -> String {
    let own_name = || match artifact {
        Artifact::Stdin => "stdin".into(),
        Artifact::File(candidate) => candidate.path.file_stem().map_or_else(|| "session".into(), |name| name.to_string_lossy()),
    };
    let session = summary.session_id.as_deref().filter(|id| !id.is_empty()).map_or_else(own_name, Into::into);
    match summary.agent_id.as_deref().filter(|id| !id.is_empty()) {
        Some(agent) => format!("{}.{}", stem(&session), stem(agent)),
        None => stem(&session),
    }
}

fn tell(artifact: &Artifact, summary: &Summary, placed: Option<&Placed>, report: &Reporter) {
    let path = shown(artifact.path());
    let target = match placed {
        None => String::new(),
        Some(Placed::Written(file)) => format!(" -> {}", shown(file)),
        Some(Placed::Unchanged(file)) => format!(" == {}", shown(file)),
    };
    report.note(&format!("{path}{target}: {}", session(summary)));
    for warning in warnings(summary) {
        report.note(&format!("warning: {path}: {warning}"));
    }
}
