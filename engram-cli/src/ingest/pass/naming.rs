//! How tapes get their names: decided for each, and given when the index has been saved.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

use engram_adapters::sessions::Stamp;
use engram_command::interrupt;
use engram_command::message::is_full;
use engram_command::report::shown;
use engram_command::summary::{session, warnings};
use engram_core::error::AdapterError;

use super::{Pass, Pending, SAVE_EVERY};
use crate::ingest::convert::{Converted, Work};
use crate::tape_dir::{INDEX, OutDir, Placed, Placement, State, Target, files, tape_stem};

/// A save may take this share of the time.
const SAVE_SHARE: u32 = 10;
/// The state of a source that changed while it was read: it is read again.
const CHANGED: &str = "it changed while it was read";

impl Pass {
    /// Decides on the name of a tape, and writes it into the index. The tape gets it when the index is saved.
    pub(super) fn decide(&mut self, work: &Work, converted: Converted) -> Result<(), AdapterError> {
        let Converted {
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
        self.note_tape(work, &converted, &placement);
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

    /// Writes a tape into the entry of its source, with the name that it gets.
    fn note_tape(&mut self, work: &Work, converted: &Converted, placement: &Placement) {
        let state = if placement.placed == Placed::Unchanged {
            State::Current
        } else {
            State::Writing
        };
        let Converted { overview, tape, .. } = converted;
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
    }

    /// Saves the index, and gives the tapes the names that it has for them.
    pub(super) fn name_pending(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let mut pending = std::mem::take(&mut self.pending);
        self.pending_names.clear();
        self.sync(&mut pending);
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

    /// Waits until these tapes are on the disk: what the index says of them must be true after a loss of power. If that fails, none is left.
    fn sync(&mut self, pending: &mut Vec<Pending>) {
        let tapes = pending
            .iter()
            .filter_map(|pending| pending.converted.tape.file.as_deref());
        let tapes: Vec<&Path> = tapes.collect();
        let Err(error) = files::sync_contents(self.out.root(), &tapes) else {
            return;
        };
        let error = AdapterError::from(error).path(self.out.root().to_string_lossy());
        for pending in pending.drain(..) {
            self.report_failure(&pending.path, &error);
            self.take_back(pending);
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

    /// Saves the index, and reports if that failed.
    pub(super) fn save(&mut self) {
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
}
