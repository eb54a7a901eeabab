//! The state of a run over many sessions: the tapes that get names, the entries of the index, and the summary at the end.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use engram_adapters::Registry;
use engram_adapters::open::store::{LostRecords, SkippedSession};
use engram_adapters::sessions::{OtherForm, Stamp};
use engram_core::error::{AdapterError, ErrorCode};

use super::convert::{Converted, Outcome, Work};
use super::run_summary::RunSummary;
use super::totals::Totals;
use super::unread::{Unread, no_store};
use crate::args::Ingest;
use crate::exit::{Exit, Tally};
use crate::interrupt;
use crate::message::{is_full, sentence};
use crate::report::{Reporter, shown};
use crate::summary::{
    count, link_line, lost_line, other_form_line, session, skipped_line, warnings,
};
use crate::tape_dir::{
    Entry, Failure, INDEX, Index, Key, OutDir, Placed, Placement, Placer, Setup, State, Superseded,
    Target, container, files, is_missing, tape_stem,
};

/// How often tapes get their names, and the index is saved, during a run: what a killed run has done since then is done again.
const SAVE_EVERY: Duration = Duration::from_secs(2);
/// The most tapes that wait for their names. In a large index it is a share of it, because each save writes all of it.
const MAX_PENDING: usize = 256;
/// The share of the index.
const PENDING_SHARE: usize = 4;
/// A save may take this share of the time.
const SAVE_SHARE: u32 = 10;
/// The state of a source that changed while it was read: it is read again.
const CHANGED: &str = "it changed while it was read";

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
    /// older copy of a session in that part, or lack what is stated there.
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

    /// Decides on the name of a tape, and writes it into the index. The tape gets it when the index is saved.
    fn decide(&mut self, work: &Work, converted: Converted) -> Result<(), AdapterError> {
        let Converted {
            overview,
            summary,
            tape,
            fallback_id,
            ..
        } = &converted;
        let session_id = summary
            .session_id
            .as_deref()
            .filter(|id| !id.is_empty())
            .unwrap_or(fallback_id);
        let stem = tape_stem(session_id, summary.agent_id.as_deref());
        let name = (summary.harness, stem.to_lowercase());
        if self
            .pending_names
            .get(&name)
            .is_some_and(|pending| pending.is_alone || pending.hashes.contains(&tape.hash))
        {
            self.name_pending();
        }
        let ending = if self.setting.args.zstd {
            ".tape.jsonl.zst"
        } else {
            ".tape.jsonl"
        };
        let key = work.key.as_ref();
        let target = Target {
            key,
            harness: summary.harness,
            stem: &stem,
            ending,
            extends_old: converted.extends_old,
            setup: &self.setting.setup,
        };
        let decided = self.placer.decide(&self.out, &self.index, tape, &target);
        let placement = decided.map_err(|error| self.at_directory(summary.harness, error))?;
        let before = key.and_then(|key| self.index.get(key)).cloned();
        self.index.forget_missing(&placement.tape, key);
        let state = if placement.placed == Placed::Unchanged {
            State::Current
        } else {
            State::Writing
        };
        let full = self.full_stamp(work, &overview.beside);
        let (hash, bytes, overview) = (tape.hash.clone(), tape.bytes, overview.clone());
        let Placement {
            tape,
            supersedes,
            replaces_hash,
            ..
        } = placement.clone();
        self.note(work, state, |entry| {
            entry.stamp = full.unwrap_or_else(|| entry.stamp.clone());
            (entry.tape, entry.tape_hash, entry.tape_bytes) = (Some(tape), Some(hash), Some(bytes));
            (entry.supersedes, entry.overview, entry.replaces_hash) =
                (supersedes, Some(overview), replaces_hash);
        });
        let path = work
            .input
            .as_ref()
            .map(|input| input.path().to_owned())
            .unwrap_or_default();
        let has_entry = work
            .key
            .as_ref()
            .and_then(|key| self.index.get(key))
            .is_some_and(|entry| entry.tape.as_ref() == Some(&placement.tape));
        let names = self.pending_names.entry(name).or_default();
        names.is_alone |= placement.placed == Placed::Replaced || !has_entry;
        names
            .hashes
            .extend((placement.placed == Placed::New).then(|| converted.tape.hash.clone()));
        self.pending.push(Pending {
            path,
            key: work.key.clone(),
            before,
            converted,
            placement,
        });
        Ok(())
    }

    /// Saves the index, and gives the tapes the names that it has for them.
    fn name_pending(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let mut pending = std::mem::take(&mut self.pending);
        self.pending_names.clear();
        self.save_for(&mut pending);
        let mut directories = BTreeSet::new();
        for mut pending in pending {
            directories.insert(OutDir::directory_name(pending.converted.summary.harness));
            if let Err(error) = self.name(&mut pending) {
                self.report_failure(&pending.path, &error);
                self.take_back(pending);
            }
        }
        for directory in directories {
            if let Err(error) = files::sync_directory(&self.out.path(&directory)) {
                self.report_failure(
                    Path::new(""),
                    &AdapterError::from(error).path(self.out.path(&directory).to_string_lossy()),
                );
            }
        }
    }

    /// Saves the index with the entries of these tapes: a tape that the index does not have must not get its name. If there is no room for
    /// all of them, the last ones are put off, which makes room. If the index cannot be saved at all, none is left.
    fn save_for(&mut self, pending: &mut Vec<Pending>) {
        while let Err(error) = self.try_save() {
            let has_no_room = is_full(error.kind()) || error.kind() == io::ErrorKind::FileTooLarge;
            self.report_unsaved(error);
            if !has_no_room || pending.is_empty() {
                for pending in pending.drain(..) {
                    self.report_failure(&pending.path, &self.not_saved());
                    self.take_back(pending);
                }
                return;
            }
            for pending in pending.split_off(pending.len() / 2) {
                self.totals.stopped += 1;
                self.take_back(pending);
            }
        }
    }

    /// A tape that gets no name, as if its source had not been read: the next run reads it.
    fn take_back(&mut self, pending: Pending) {
        let Pending {
            key,
            before,
            converted,
            placement,
            ..
        } = pending;
        self.placer.give_back(&placement);
        converted
            .tape
            .file
            .iter()
            .for_each(|file| interrupt::forget(file));
        match (before, key) {
            (Some(before), _) => self.index.insert(before),
            (None, Some(key)) => self.index.remove(&key),
            (None, None) => {}
        }
    }

    fn not_saved(&self) -> AdapterError {
        let error = io::Error::other("no tape is written without its line in the index");
        AdapterError::from(error).path(self.out.path(INDEX).to_string_lossy())
    }

    fn name(&mut self, pending: &mut Pending) -> Result<(), AdapterError> {
        let Pending {
            path,
            key,
            converted,
            placement,
            ..
        } = pending;
        let Converted {
            overview,
            summary,
            tape,
            ..
        } = converted;
        let named = self
            .placer
            .commit(&self.out, tape, placement)
            .map_err(|error| self.at_directory(summary.harness, error))?;
        if !named {
            let error = io::Error::new(
                io::ErrorKind::AlreadyExists,
                "another program has taken the name; run engram again",
            );
            return Err(
                AdapterError::from(error).path(self.out.path(&placement.tape).to_string_lossy())
            );
        }
        if let Some(key) = key {
            self.index.settle(key);
            match self.placer.remove_other_form(&self.out, placement) {
                Ok(None) => {}
                Ok(Some(removed)) => self.index.forget_superseded(key, removed),
                // It stays, and the index says why.
                Err(error) => {
                    let error = self.at_directory(summary.harness, error);
                    self.report_failure(path, &error);
                }
            }
        }
        self.tally.success();
        self.totals.converted(overview, summary, placement.placed);
        let (report, path) = (&self.setting.report, shown(path));
        let tape = self.out.path(&placement.tape);
        report.detail(&format!(
            "{path} -> {} ({}): {}",
            shown(&tape),
            placement.placed,
            session(summary)
        ));
        warnings(summary)
            .iter()
            .for_each(|warning| report.detail(&format!("warning: {path}: {warning}")));
        Ok(())
    }

    fn at_directory(&self, harness: &str, error: io::Error) -> AdapterError {
        AdapterError::from(error).path(
            self.out
                .path(&OutDir::directory_name(harness))
                .to_string_lossy(),
        )
    }

    /// The state of a source with the files beside it.
    fn full_stamp(&self, work: &Work, beside: &[String]) -> Option<Stamp> {
        let (key, before) = (work.key.as_ref()?, work.stamp.as_ref()?);
        // If the source has changed meanwhile, its next stamp shows it. A stamp of a store looks at all of its files, so none is taken
        // here.
        if beside.is_empty() {
            return Some(before.clone());
        }
        let (path, registry) = (Path::new(&key.0), &self.setting.registry);
        let is_as_before = Stamp::of(registry, path, &[]).is_ok_and(|now| now == *before);
        let changed = || Stamp {
            with: Some(CHANGED.to_owned()),
            ..before.clone()
        };
        Some(if is_as_before {
            Stamp::of(registry, path, beside).unwrap_or_else(|_| changed())
        } else {
            changed()
        })
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

    /// Counts a failure. The same words are said once.
    fn report_failure(&mut self, path: &Path, error: &AdapterError) {
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

    /// Sources that were opened and gave nothing, and sessions that their stores do not have any more.
    fn settle(&mut self) {
        self.settle_unread();
        self.settle_gone();
        for (source, stamp) in &self.setting.changed {
            for key in self.unseen(source) {
                let has_tape = self
                    .index
                    .get(&key)
                    .is_some_and(|entry| entry.tape.is_some());
                let lost = self
                    .index
                    .get(&(source.clone(), None))
                    .and_then(|store| store.error.clone());
                match lost {
                    _ if !has_tape => self.index.remove(&key),
                    Some(lost) => self.index.set_failed(&key, &lost),
                    None => self.index.set_state(
                        &key,
                        if key.1.is_some() {
                            State::Gone
                        } else {
                            State::NoSession
                        },
                    ),
                }
            }
            let key = (source.clone(), None);
            if !self.answered.contains(source) && self.index.get(&key).is_none() {
                self.index.insert(Entry::new(
                    &key,
                    State::Nothing,
                    stamp.clone(),
                    &self.setting.setup,
                ));
            }
        }
    }

    /// Sources that could not be read: their tapes are those of the last time that they could.
    fn settle_unread(&mut self) {
        for (source, failure) in self.setting.unread.failures() {
            for key in self.unseen(source) {
                if self
                    .index
                    .get(&key)
                    .is_some_and(|entry| entry.tape.is_some() && entry.state != State::Gone)
                {
                    let message = self.setting.report.clean(&failure.message).into_owned();
                    self.index.set_failed(
                        &key,
                        &Failure {
                            message,
                            ..failure.clone()
                        },
                    );
                    self.seen.insert(key);
                }
            }
        }
    }

    /// Sources that are not there any more. Their tapes stay: harnesses delete old logs.
    fn settle_gone(&mut self) {
        let searched = &self.setting.searched;
        let is_searched = |source: &str| {
            searched
                .iter()
                .any(|searched| Path::new(source).starts_with(searched))
        };
        let is_read = |source: &str| self.setting.unread.why(source).is_none();
        let with_tapes = self
            .index
            .sources_with_tapes()
            .filter(|(source, _)| is_searched(source) && is_read(source));
        let gone: Vec<Key> = with_tapes
            .filter(|(source, _)| is_missing(Path::new(source)))
            .flat_map(|(source, _)| {
                self.index
                    .of_source(source)
                    .filter(|entry| entry.tape.is_some())
                    .map(Entry::key)
            })
            .collect();
        self.totals.gone = gone.len() as u64;
        gone.iter()
            .for_each(|key| self.index.set_state(key, State::Gone));
    }

    /// The entries of a source that have no outcome.
    fn unseen(&self, source: &str) -> Vec<Key> {
        self.index
            .of_source(source)
            .map(Entry::key)
            .filter(|key| !self.seen.contains(key))
            .collect()
    }

    /// Reports the sources with tapes in which the search for sessions found nothing.
    fn report_unread(&mut self) {
        for error in self.setting.unread.take_new_errors() {
            self.report_failure(Path::new(""), &error);
        }
    }

    /// Saves the index, and reports if that failed.
    fn save(&mut self) {
        if let Err(error) = self.try_save() {
            self.report_unsaved(error);
        }
    }

    fn try_save(&mut self) -> io::Result<()> {
        let started = Instant::now();
        let saved = self.index.save(self.out.root());
        self.saved = Instant::now();
        self.save_every = SAVE_EVERY.max(started.elapsed() * SAVE_SHARE);
        saved
    }

    fn report_unsaved(&mut self, error: io::Error) {
        if is_full(error.kind()) {
            self.setting.is_full.store(true, Ordering::Relaxed);
        }
        let path = self.out.path(INDEX);
        self.report_failure(
            &path,
            &AdapterError::from(error).path(path.to_string_lossy()),
        );
    }

    /// Takes what stores have lost. The index has it as a failure of the store, so that the next run looks at the store again.
    pub fn lost(&mut self, lost: &[LostRecords]) {
        for lost in lost {
            let Some(source) = container(&self.setting.changed, &lost.path) else {
                continue;
            };
            let Some(stamp) = self.setting.changed.get(&source) else {
                continue;
            };
            let key = (source, None);
            let mut entry = Entry::new(&key, State::Failed, stamp.clone(), &self.setting.setup);
            let message = self.setting.report.clean(&lost_line(lost)).into_owned();
            entry.error = Some(Failure {
                code: ErrorCode::IncompleteStore.as_str().to_owned(),
                message,
            });
            self.seen.insert(key);
            self.index.insert(entry);
        }
        self.totals.lost = lost.to_vec();
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
