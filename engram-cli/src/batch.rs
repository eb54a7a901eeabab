//! Many sessions at a time, a tape file each. A failed session leaves nothing and stops nothing.

use std::io;
use std::path::Path;

use engram_adapters::open::store::LeftAside;
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::pipeline::Summary;
use tempfile::TempPath;

use crate::args::Ingest;
use crate::artifact::{Artifact, Found, Way};
use crate::exit::{Exit, Tally};
use crate::out_dir::{OutDir, Placed, stem};
use crate::pool::in_order;
use crate::report::{Reporter, shown};
use crate::summary::{Totals, aside, count, session, warnings};
use crate::write::write_tape;

/// What became of one artifact.
enum Fate {
    /// Its tape is written, but has no name yet: names are given in the order of the input.
    Converted(Artifact, Box<Summary>, TempPath),
    /// A file without content, come upon in a directory.
    Empty,
    /// A file that is no session, come upon in a directory.
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
    /// A run that has not begun yet.
    pub fn new(args: &'b Ingest, out: &Path, report: &'b Reporter) -> Self {
        let (tally, totals) = (Tally::default(), Totals::default());
        Batch { args, report, out: OutDir::new(out), tally, totals, unchanged: 0, empty: 0, no_session: 0 }
    }

    /// Converts everything and reports on it, in the order of the input.
    pub fn run(mut self, way: &Way, found: &Found) -> Exit {
        let (args, temporaries) = (self.args, self.out.clone());
        let work = |artifact: &Result<Artifact, AdapterError>| match artifact {
            Ok(artifact) => to_temporary(args, way, artifact, &temporaries),
            Err(error) => Fate::Failed(error.clone()),
        };
        let done = in_order(args.conversion.jobs, &found.artifacts, work, |_, fate| self.take(fate));
        self.report.end_progress();
        match done {
            Ok(()) => self.end(&found.left_aside),
            Err(error) => self.report.failure(&error),
        }
    }

    fn take(&mut self, fate: Fate) {
        match fate {
            Fate::Empty => self.empty += 1,
            Fate::NoSession => self.no_session += 1,
            Fate::Failed(error) => self.tally.failure(self.report.failure(&error)),
            Fate::Converted(artifact, summary, tape) => match self.place(&artifact, &summary, tape) {
                Ok(placed) => self.converted(&artifact, &summary, &placed),
                Err(error) => {
                    let folder = self.out.folder(summary.harness);
                    self.tally.failure(self.report.failure(&AdapterError::from(error).path(folder.to_string_lossy())));
                }
            },
        }
    }

    fn place(&mut self, artifact: &Artifact, summary: &Summary, tape: TempPath) -> io::Result<Placed> {
        let ending = if self.args.zstd { ".tape.jsonl.zst" } else { ".tape.jsonl" };
        self.out.place(tape, summary.harness, &stem_of(artifact, summary), ending)
    }

    fn converted(&mut self, artifact: &Artifact, summary: &Summary, placed: &Placed) {
        self.totals.add(summary);
        self.tally.success();
        let path = shown(artifact.path());
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

    fn end(self, left_aside: &[LeftAside]) -> Exit {
        if self.tally.is_empty() {
            return self.report.no_session(&self.args.paths);
        }
        left_aside.iter().for_each(|left| self.report.note(&aside(left)));
        let sessions = count(self.totals.sessions(), "session");
        self.report.note(&format!("{sessions} converted ({} unchanged), {} failed", self.unchanged, self.tally.failed()));
        let passed_over = self.empty + self.no_session;
        if passed_over > 0 {
            self.report.note(&format!("  no session in {}, {} of them empty", count(passed_over, "file"), self.empty));
        }
        if !left_aside.is_empty() {
            self.report.note(&format!("  left aside {}, named above", count(left_aside.len() as u64, "session")));
        }
        if self.totals.sessions() > 0 {
            self.totals.lines().iter().for_each(|line| self.report.note(line));
        }
        self.tally.exit()
    }
}

fn to_temporary(args: &Ingest, way: &Way, artifact: &Artifact, out: &OutDir) -> Fate {
    let opened = match way.open(artifact) {
        Ok(opened) => opened,
        Err(error) if error.code == ErrorCode::UnknownHarness && !artifact.is_named() => {
            return if artifact.is_empty() { Fate::Empty } else { Fate::NoSession };
        }
        Err(error) => return Fate::Failed(error),
    };
    let harness = opened.entry.adapter.describe().harness_family;
    let folder = out.folder(harness);
    let at_folder = |error: io::Error| AdapterError::from(error).path(folder.to_string_lossy());
    let written = out.temporary(harness).map_err(at_folder).and_then(|mut file| {
        let summary = write_tape(opened, way, args.zstd, file.as_file_mut(), &folder)?;
        file.as_file().sync_all().map_err(at_folder)?;
        Ok((summary, file.into_temp_path()))
    });
    written.map_or_else(Fate::Failed, |(summary, file)| Fate::Converted(artifact.clone(), Box::new(summary), file))
}

/// The stem of the tape's name: session and agent, or the artifact's own name where the source gives no id.
fn stem_of(artifact: &Artifact, summary: &Summary) -> String {
    let own_name = || match artifact {
        Artifact::Stdin => "stdin".into(),
        Artifact::Stored(stored) => stored.session.id.as_str().into(),
        Artifact::File(candidate) => candidate.path.file_stem().map_or_else(|| "session".into(), |name| name.to_string_lossy()),
    };
    let session = summary.session_id.as_deref().filter(|id| !id.is_empty()).map_or_else(own_name, Into::into);
    match summary.agent_id.as_deref().filter(|id| !id.is_empty()) {
        Some(agent) => format!("{}.{}", stem(&session), stem(agent)),
        None => stem(&session),
    }
}
