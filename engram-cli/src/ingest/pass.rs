//! The state of a run over many sessions: the tapes that get names, the entries of the index, and the summary at the end.

mod naming;
mod settle;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use engram_adapters::Registry;
use engram_adapters::open::store::SkippedSession;
use engram_adapters::sessions::{OtherForm, Stamp};
use engram_command::exit::{Exit, Output, Tally};
use engram_command::interrupt;
use engram_command::message::sentence;
use engram_command::report::Reporter;
use engram_command::summary::{count, link_line, lost_line, other_form_line, skipped_line};
use engram_core::error::AdapterError;

use super::convert::{Converted, Outcome, Work};
use super::run_summary::RunSummary;
use super::totals::Totals;
use super::unread::{Unread, no_store};
use crate::args::Ingest;
use crate::tape_dir::{
    Entry, Failure, Index, Key, OutDir, Placement, Placer, Setup, State, Superseded,
};

/// How often tapes get their names, and the index is saved, during a run: what a killed run has done since then is done again.
const SAVE_EVERY: Duration = Duration::from_secs(2);
/// The most tapes that wait for their names. In a large index it is a share of it, because each save writes all of it.
const MAX_PENDING: usize = 256;
/// The share of the index.
const PENDING_SHARE: usize = 4;

/// What a run needs in addition to the sessions.
pub struct Setting {
    /// The arguments.
    pub args: Ingest,
    /// The adapters.
    pub registry: Registry,
    /// Where messages go.
    pub report: Reporter,
    /// What decides about tapes.
    pub setup: Setup,
    /// The states of the sources that are read, before they were opened.
    pub changed: BTreeMap<String, Stamp>,
    /// The sources with tapes that cannot be read.
    pub unread: Unread,
    /// Errors that were reported before and are not reported again.
    pub old_errors: HashSet<String>,
    /// The absolute paths that were searched.
    pub searched: Vec<String>,
    /// True when there is no room for more tapes.
    pub is_full: Arc<AtomicBool>,
}

/// A run over many sessions.
pub struct Pass {
    setting: Setting,
    out: Arc<OutDir>,
    index: Index,
    placer: Placer,
    tally: Tally,
    totals: Totals,
    /// The sources that have an outcome.
    answered: BTreeSet<String>,
    /// The sessions that have an outcome.
    seen: BTreeSet<Key>,
    errors: HashSet<String>,
    output: Output,
    pending: Vec<Pending>,
    /// By the harness, and the name without number, in lower case.
    pending_names: HashMap<(&'static str, String), PendingName>,
    saved: Instant,
    save_every: Duration,
    has_ended: bool,
}

/// A tape that has a name in the index only.
struct Pending {
    path: PathBuf,
    key: Option<Key>,
    /// The entry of the source before.
    before: Option<Entry>,
    converted: Converted,
    placement: Placement,
}

/// The pending tapes with one name. Another one may be decided on before they have it if they are other tapes in new files, and the index
/// has them.
#[derive(Default)]
struct PendingName {
    /// No other one may be decided on.
    is_alone: bool,
    hashes: HashSet<String>,
}

impl Pass {
    /// A run that has converted nothing.
    pub fn new(setting: Setting, out: Arc<OutDir>, index: Index) -> Pass {
        Pass {
            setting,
            out,
            index,
            placer: Placer::default(),
            tally: Tally::default(),
            totals: Totals::default(),
            answered: BTreeSet::new(),
            seen: BTreeSet::new(),
            errors: HashSet::new(),
            output: Output::Whole,
            pending: Vec::new(),
            pending_names: HashMap::new(),
            saved: Instant::now(),
            save_every: SAVE_EVERY,
            has_ended: false,
        }
    }

    /// Counts a source that has not changed since it was read.
    pub fn unchanged(&mut self, source: &str) {
        for entry in self.index.of_source(source) {
            match (entry.state, &entry.overview) {
                (State::Current, Some(overview)) if self.setting.args.filter.wants(overview) => {
                    self.totals.unchanged(overview);
                    self.tally.success();
                }
                (State::Current | State::Filtered, _) => self.totals.filtered += 1,
                (State::NoSession, _) => self.totals.other_files += 1,
                (State::OtherForm, _) => self.totals.other_forms += 1,
                _ => {}
            }
        }
    }

    /// Takes the outcome of one session.
    pub fn take(&mut self, work: &Work, outcome: Outcome) {
        if let Some(key) = &work.key {
            self.answered.insert(key.0.clone());
        }
        match outcome {
            Outcome::OtherUnit => self.seen.extend(work.key.clone()),
            Outcome::OtherHarness => {
                self.totals.filtered += 1;
                self.seen.extend(work.key.clone());
            }
            Outcome::NoSession if self.was_store(work) => {
                let path = work
                    .input
                    .as_ref()
                    .map(|input| input.path().to_owned())
                    .unwrap_or_default();
                self.failed(work, &no_store(&path));
            }
            Outcome::NoSession => {
                self.totals.other_files += 1;
                self.note(work, State::NoSession, |_| {});
            }
            Outcome::Filtered(overview) => {
                self.totals.filtered += 1;
                // The overview of an entry with a tape is that of the tape.
                self.note(work, State::Filtered, |entry| {
                    entry.overview = entry.overview.take().or(Some(*overview))
                });
            }
            Outcome::Stopped => {
                self.totals.stopped += 1;
                self.seen.extend(work.key.clone());
            }
            Outcome::Failed(error) => self.failed(work, &error),
            Outcome::Converted(converted) if self.is_older_copy(work, &converted) => {
                // Its entry gets the reason at the end, as those of the sessions that were not found.
                converted
                    .tape
                    .file
                    .iter()
                    .for_each(|file| interrupt::forget(file));
            }
            Outcome::Converted(converted) => {
                if let Err(error) = self.decide(work, *converted) {
                    self.failed(work, &error);
                }
            }
        }
        let most = MAX_PENDING.max(self.index.len() / PENDING_SHARE);
        if self.pending.len() >= most || self.saved.elapsed() > self.save_every {
            self.name_pending();
        }
    }

    /// Takes another form of a session, which is not converted. A tape that was made from it before stays, and is superseded.
    pub fn other_form(&mut self, work: &Work, used: Option<Key>) {
        self.totals.other_forms += 1;
        let (Some(key), Some(used)) = (&work.key, used) else {
            return;
        };
        self.answered.insert(key.0.clone());
        let old = self.index.get(key).and_then(|entry| entry.tape.clone());
        self.note(work, State::OtherForm, |entry| {
            entry.form_of = Some(used.clone())
        });
        let Some(mut entry) = old.as_ref().and(self.index.get(&used)).cloned() else {
            return;
        };
        for tape in old
            .into_iter()
            .filter(|tape| entry.tape.as_ref() != Some(tape))
        {
            if entry
                .supersedes
                .iter()
                .all(|superseded| superseded.tape != tape)
            {
                entry.supersedes.push(Superseded {
                    tape,
                    why: "it was made from another form of the session".to_owned(),
                });
                self.index.insert(entry.clone());
            }
        }
    }

    /// True if the source was a store of sessions that have tapes.
    fn was_store(&self, work: &Work) -> bool {
        let source = work
            .key
            .as_ref()
            .map(|key| key.0.as_str())
            .unwrap_or_default();
        self.index.of_source(source).any(|entry| {
            entry.session.is_some() && entry.tape.is_some() && entry.state != State::Gone
        })
    }

    /// True if a part of the store, or of what it is read with, cannot be read, and the session adds nothing to its tape: it may be an
    /// older copy of a session in that part, or lack what is given there.
    fn is_older_copy(&self, work: &Work, new: &Converted) -> bool {
        let Some(key) = work
            .key
            .as_ref()
            .filter(|key| key.1.is_some() && self.setting.unread.why(&key.0).is_some())
        else {
            return false;
        };
        let old = self.index.get(key).filter(|entry| {
            entry.tape.is_some() && entry.tape_hash.as_ref() != Some(&new.tape.hash)
        });
        let (Some(old), new) = (old.and_then(|entry| entry.overview.as_ref()), &new.overview)
        else {
            return false;
        };
        // The same text gives another tape if the options have changed.
        let is_same_text = (&new.input_hash, &new.beside) == (&old.input_hash, &old.beside);
        !is_same_text && new.end <= old.end && new.events <= old.events
    }

    fn failed(&mut self, work: &Work, error: &AdapterError) {
        let path = work
            .input
            .as_ref()
            .map(|input| input.path().to_owned())
            .unwrap_or_default();
        self.report_failure(&path, error);
        let failure = Failure::of(&self.setting.report.clean_error(error));
        self.note(work, State::Failed, |entry| entry.error = Some(failure));
    }

    /// Whether all tapes could be written.
    pub fn output(&self) -> Output {
        if self.totals.stopped > 0 {
            Output::Short
        } else {
            self.output
        }
    }

    /// Counts a failure. The same words are said once.
    fn report_failure(&mut self, path: &Path, error: &AdapterError) {
        let is_of_output = |path: &String| Path::new(path).starts_with(self.out.root());
        if error.path.as_ref().is_some_and(is_of_output) {
            self.output = Output::Short;
        }
        let error = self.setting.report.clean_error(error);
        self.totals.failed(path, &error);
        let message = sentence(&error);
        let is_said = self.setting.old_errors.contains(&message) || self.errors.contains(&message);
        let exit = if is_said {
            Exit::from(error.code)
        } else {
            self.setting.report.failure(&error)
        };
        self.tally.failure(exit);
        self.errors.insert(message);
    }

    /// Writes down what became of a source. The tape that it has stays the one that it had, if `change` does not name another.
    fn note(&mut self, work: &Work, state: State, change: impl FnOnce(&mut Entry)) {
        let (Some(key), Some(stamp)) = (&work.key, &work.stamp) else {
            return;
        };
        let mut entry = Entry::new(key, state, stamp.clone(), &self.setting.setup);
        if let Some(old) = self.index.get(key) {
            (entry.tape, entry.tape_hash, entry.tape_bytes) =
                (old.tape.clone(), old.tape_hash.clone(), old.tape_bytes);
            (entry.supersedes, entry.overview) = (old.supersedes.clone(), old.overview.clone());
        }
        change(&mut entry);
        self.seen.insert(key.clone());
        self.index.insert(entry);
    }

    /// The end of a run that looked at everything.
    pub fn end(
        &mut self,
        skipped: &[SkippedSession],
        forms: &[OtherForm],
        links_out: &[PathBuf],
        paths: &[PathBuf],
    ) -> Exit {
        self.name_pending();
        self.report_unread();
        self.settle_gone();
        self.totals.skipped_sessions = skipped.len() as u64;
        self.totals.links_out = links_out.len() as u64;
        let report = self.setting.report.clone();
        if self.totals.is_empty() && self.totals.filtered == 0 {
            self.out.remove_if_new();
            links_out
                .iter()
                .for_each(|link| report.note(&link_line(link)));
            self.totals
                .lost
                .iter()
                .for_each(|lost| report.note(&format!("warning     {}", lost_line(lost))));
            let exit = report.no_session(paths);
            return self.told(exit);
        }
        self.settle();
        self.save();
        skipped
            .iter()
            .for_each(|skipped| report.detail(&skipped_line(skipped)));
        links_out
            .iter()
            .for_each(|link| report.detail(&link_line(link)));
        forms
            .iter()
            .for_each(|form| report.detail(&other_form_line(form)));
        self.totals
            .lines(self.out.root(), report.is_verbose())
            .iter()
            .for_each(|line| report.note(line));
        self.warn_of_secrets();
        let exit = self
            .totals
            .verdict
            .exit(&self.setting.args.fail_on, self.tally.exit(), &report);
        self.told(exit)
    }

    /// Tapes from before that a run with `--redact` could not replace may contain secrets.
    fn warn_of_secrets(&self) {
        let others = self.index.made_otherwise(&self.setting.setup.options);
        if self.setting.args.redact && others > 0 {
            self.setting.report.note(&format!(
                "warning     {} in this directory may contain secrets: made before, and not replaced. Write redacted tapes to a new directory.",
                count(others as u64, "older tape")
            ));
        }
    }

    /// The end of one of the later runs of `--watch`: a line if there is news.
    pub fn end_quietly(&mut self) -> Exit {
        self.name_pending();
        self.report_unread();
        self.settle();
        self.save();
        let has_new_errors = self
            .errors
            .iter()
            .any(|error| !self.setting.old_errors.contains(error));
        if self.totals.has_news() || has_new_errors {
            self.setting.report.note(&self.totals.converted_line());
        }
        let exit = self.tally.exit();
        self.told(exit)
    }

    /// The end of a run that was interrupted.
    pub fn interrupted(&mut self) {
        if self.has_ended {
            return;
        }
        self.name_pending();
        self.save();
        let report = self.setting.report.clone();
        report.end_progress();
        report.note("interrupted; this is what is there, and the next run does the rest");
        self.totals
            .lines(self.out.root(), false)
            .iter()
            .for_each(|line| report.note(line));
        self.told(Exit::Interrupted);
    }

    fn told(&mut self, exit: Exit) -> Exit {
        self.has_ended = true;
        let Setting { args, report, .. } = &self.setting;
        RunSummary::new(&self.totals, exit, &args.fail_on)
            .write(args.summary.as_deref(), report)
            .unwrap_or(exit)
    }

    /// The errors of this run.
    pub fn errors(&self) -> &HashSet<String> {
        &self.errors
    }
}
