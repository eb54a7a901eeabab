//! What becomes of the sources and sessions that had no outcome: not read, lost or gone.

use std::path::Path;

use engram_adapters::open::store::LostRecords;
use engram_command::summary::lost_line;
use engram_core::error::ErrorCode;

use super::Pass;
use crate::tape_dir::{Entry, Failure, Key, State, container, is_missing};

impl Pass {
    /// Sources that were opened and gave nothing, and sessions that their stores do not have any more.
    pub(super) fn settle(&mut self) {
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
                    None if key.1.is_some() => self.index.set_state(&key, State::Gone),
                    None => self.index.set_state(&key, State::NoSession),
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
    pub(super) fn settle_gone(&mut self) {
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
    pub(super) fn report_unread(&mut self) {
        for error in self.setting.unread.take_new_errors() {
            self.report_failure(Path::new(""), &error);
        }
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
}
