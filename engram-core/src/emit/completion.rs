//! Completion of events with what the session stated before them.

use std::mem;

use super::Emitter;
use super::stated::{Missing, Speaker};
use crate::event::{Event, SessionFacts};

impl Emitter<'_> {
    /// Emits relative paths as they are: for a call that ran in a directory which the log does not state.
    pub fn with_paths_as_stated<T>(&mut self, emit: impl FnOnce(&mut Self) -> T) -> T {
        let before = mem::replace(&mut self.keeps_paths, true);
        let emitted = emit(self);
        self.keeps_paths = before;
        emitted
    }

    fn speaker(&self) -> Speaker<'_> {
        Speaker { session: self.session(), agent: self.source.agent_id.as_deref() }
    }

    pub(super) fn missing(&self, event: &Event<'_>) -> Option<Missing> {
        let missing = self.stated.missing(event, self.speaker())?;
        let is_path = matches!(missing, Missing::File(_) | Missing::Link { .. });
        (!is_path || !self.keeps_paths).then_some(missing)
    }

    pub(super) fn remember(&mut self, facts: &SessionFacts<'_>) {
        if let Some(stated) = self.stated.after(facts, self.speaker()) {
            let before = mem::replace(&mut self.stated, stated);
            self.checkpoint.stated.get_or_insert(before);
        }
    }
}
