//! Converts many sessions in parallel, each to a tape file. A failed session leaves no file and does not stop the others.

use std::io;
use std::path::Path;

use engram_adapters::open::store::SkippedSession;
use engram_adapters::sessions::SessionOptions;
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::pipeline::Summary;
use tempfile::TempPath;

use crate::args::Ingest;
use crate::exit::{Exit, Tally};
use crate::inputs::{Inputs, SessionInput};
use crate::out_dir::{OutDir, Placed, stem};
use crate::pool::in_order;
use crate::report::{Reporter, shown};
use crate::summary::{Totals, count, session, skipped_line, warnings};
use crate::write::write_tape;

/// What became of one input.
enum Outcome {
    /// Its tape is written, but has no name yet: names are given in the order of the input.
    Converted(SessionInput, Box<Summary>, TempPath),
    /// An empty file in a searched folder.
    Empty,
    /// A file in a searched folder that is not a session.
    NoSession,
    Failed(AdapterError),
}

/// A run of `engram ingest` over many sessions.
pub struct Batch<'b> {
    args: &'b Ingest,
    report: &'b Reporter,
    out: OutDir,
    tally: Tally,
    totals: Totals,
    unchanged: u64,
    empty: u64,
    no_session: u64,
}

impl<'b> Batch<'b> {
    /// A run that has not started.
    pub fn new(args: &'b Ingest, out: &Path, report: &'b Reporter) -> Self {
        let (tally, totals) = (Tally::default(), Totals::default());
        Batch { args, report, out: OutDir::new(out), tally, totals, unchanged: 0, empty: 0, no_session: 0 }
    }

    /// Converts everything and reports on it, in the order of the input.
    pub fn run(mut self, options: &SessionOptions, inputs: &Inputs) -> Exit {
        let (args, temporaries) = (self.args, self.out.clone());
        let work = |input: &Result<SessionInput, AdapterError>| match input {
            Ok(input) => to_temporary(args, options, input, &temporaries),
            Err(error) => Outcome::Failed(error.clone()),
        };
        let done = in_order(args.conversion.jobs, &inputs.sessions, work, |_, outcome| self.take(outcome));
        self.report.end_progress();
        match done {
            Ok(()) => self.end(&inputs.skipped),
            Err(error) => self.report.failure(&error),
        }
    }

    fn take(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Empty => self.empty += 1,
            Outcome::NoSession => self.no_session += 1,
            Outcome::Failed(error) => self.tally.failure(self.report.failure(&error)),
            Outcome::Converted(input, summary, tape) => match self.place(&input, &summary, tape) {
                Ok(placed) => self.converted(&input, &summary, &placed),
                Err(error) => {
                    let folder = self.out.folder(summary.harness);
                    self.tally.failure(self.report.failure(&AdapterError::from(error).path(folder.to_string_lossy())));
                }
            },
        }
    }

    fn place(&mut self, input: &SessionInput, summary: &Summary, tape: TempPath) -> io::Result<Placed> {
        let ending = if self.args.zstd { ".tape.jsonl.zst" } else { ".tape.jsonl" };
        self.out.place(tape, summary.harness, &stem_of(input, summary), ending)
    }

    fn converted(&mut self, input: &SessionInput, summary: &Summary, placed: &Placed) {
        self.totals.add(summary);
        self.tally.success();
        let path = shown(input.path());
        let target = match placed {
            Placed::Written(file) => format!("-> {}", shown(file)),
            Placed::Unchanged(file) => {
                self.unchanged += 1;
                format!("== {}", shown(file))
            }
        };
        self.report.note(&format!("{path} {target}: {}", session(summary)));
        warnings(summary).iter().for_each(|warning| self.report.note(&format!("warning: {path}: {warning}")));
    }

    fn end(self, skipped: &[SkippedSession]) -> Exit {
        if self.tally.is_empty() {
            return self.report.no_session(&self.args.paths);
        }
        skipped.iter().for_each(|skipped| self.report.note(&skipped_line(skipped)));
        let sessions = count(self.totals.sessions(), "session");
        self.report.note(&format!("{sessions} converted ({} unchanged), {} failed", self.unchanged, self.tally.failed()));
        let other_files = self.empty + self.no_session;
        if other_files > 0 {
            self.report.note(&format!("  skipped {} without a session, {} of them empty", count(other_files, "file"), self.empty));
        }
        if !skipped.is_empty() {
            self.report.note(&format!("  skipped {}, listed above", count(skipped.len() as u64, "session")));
        }
        if self.totals.sessions() > 0 {
            self.totals.lines().iter().for_each(|line| self.report.note(line));
        }
        self.tally.exit()
    }
}

fn to_temporary(args: &Ingest, options: &SessionOptions, input: &SessionInput, out: &OutDir) -> Outcome {
    let source = match input.open(options) {
        Ok(source) => source,
        Err(error) if error.code == ErrorCode::UnknownHarness && !input.is_named() => {
            return if input.is_empty() { Outcome::Empty } else { Outcome::NoSession };
        }
        Err(error) => return Outcome::Failed(error),
    };
    let harness = source.harness();
    let folder = out.folder(harness);
    let at_folder = |error: io::Error| AdapterError::from(error).path(folder.to_string_lossy());
    let written = out.temporary(harness).map_err(at_folder).and_then(|mut file| {
        let summary = write_tape(source, args.form(), file.as_file_mut(), &folder)?;
        file.as_file().sync_all().map_err(at_folder)?;
        Ok((summary, file.into_temp_path()))
    });
    written.map_or_else(Outcome::Failed, |(summary, file)| Outcome::Converted(input.clone(), Box::new(summary), file))
}

/// The stem of the tape's name: session and agent; without a session id, the file's name or the id in the store.
fn stem_of(input: &SessionInput, summary: &Summary) -> String {
    let session = summary.session_id.as_deref().filter(|id| !id.is_empty());
    let session = session.map_or_else(|| input.fallback_id(), Into::into);
    match summary.agent_id.as_deref().filter(|id| !id.is_empty()) {
        Some(agent) => format!("{}.{}", stem(&session), stem(agent)),
        None => stem(&session),
    }
}
