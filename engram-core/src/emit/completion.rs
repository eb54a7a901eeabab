//! Completion of events with what the session stated before them.

use std::mem;

use super::Emitter;
use super::stated::Missing;
use crate::event::{Event, SessionFacts};

impl Emitter<'_> {
    /// Emits relative paths as they are: for a call that ran in a directory which the log does not state.
    pub fn with_paths_as_stated<T>(&mut self, emit: impl FnOnce(&mut Self) -> T) -> T {
        let before = mem::replace(&mut self.keeps_paths, true);
        let emitted = emit(self);
        self.keeps_paths = before;
        emitted
    }

    pub(super) fn missing(&self, event: &Event<'_>) -> Option<Missing> {
        let missing = self.stated.missing(event, self.source.agent_id.as_deref())?;
        let is_path = matches!(missing, Missing::File(_) | Missing::Link { .. });
        (!is_path || !self.keeps_paths).then_some(missing)
    }

    pub(super) fn remember(&mut self, facts: &SessionFacts<'_>) {
        if let Some(stated) = self.stated.after(facts, self.source.agent_id.as_deref()) {
            let before = mem::replace(&mut self.stated, stated);
            self.checkpoint.stated.get_or_insert(before);
        }
    }
}
