//! Completion of events with what the session stated before them.

use std::mem;

use super::Emitter;
use super::calls::call_key;
use super::stated::{Missing, Speaker};
use crate::event::{Event, SessionFacts};
use crate::keys::hash64;
use crate::text::Text;

impl Emitter<'_> {
    /// Emits relative paths as they are: for a call that ran in a directory which the log does not state.
    pub fn with_paths_as_stated<T>(&mut self, emit: impl FnOnce(&mut Self) -> T) -> T {
        let before = mem::replace(&mut self.keeps_paths, true);
        let emitted = emit(self);
        self.keeps_paths = before;
        emitted
    }

    /// Keeps the sessions of the artifact apart, or not.
    pub(crate) fn set_apart(&mut self, is_apart: bool) {
        self.is_apart = is_apart;
    }

    /// The session among whose facts the current record's are, as a canonical JSON string. `None` if the artifact is one session.
    fn session(&self) -> Option<&str> {
        self.source.session_id.as_deref().filter(|_| self.is_apart)
    }

    /// The key of a call of the current session.
    pub(super) fn call_key(&self, call_id: Text<'_>) -> u64 {
        let key = call_key(call_id);
        self.session().map_or(key, |session| hash64((session, key)))
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
