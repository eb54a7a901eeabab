//! The session that the events belong to.

use std::mem;

use engram_core::emit::Emitter;
use engram_core::event::Author;

use crate::shared::restorable::Restorable;
use crate::shared::value::{Field, raw_str, text};

/// The session that the events belong to. A log may continue under another session's id.
pub struct CurrentSession {
    session_id: Restorable<Option<String>>,
    is_subagent: bool,
    /// The prompt of the sub-agent is in an earlier record.
    has_task: bool,
    /// The prompt of the sub-agent is in the current record.
    is_task: bool,
    has_header: Restorable<bool>,
}

impl CurrentSession {
    /// The session that the head of the log names.
    pub fn new(session_id: Option<String>) -> Self {
        CurrentSession {
            session_id: Restorable::new(session_id),
            is_subagent: false,
            has_task: false,
            is_task: false,
            has_header: Restorable::new(false),
        }
    }

    /// Remembers a header. True for the first one.
    pub fn add_header(&mut self, role: Field<'_>) -> bool {
        self.is_subagent = raw_str(role) == "subagent";
        let is_first = !*self.has_header;
        self.has_header.set(true);
        is_first
    }

    /// True in the log of a sub-agent.
    pub fn is_subagent(&self) -> bool {
        self.is_subagent
    }

    /// Who wrote a prompt. A sub-agent has one task, which the call that started it gives; what follows in the user's place is the
    /// harness's.
    pub fn prompt_author(&mut self) -> Author {
        match (self.is_subagent, self.has_task) {
            (false, _) => Author::Person,
            (true, true) => Author::Harness,
            (true, false) => {
                self.is_task = true;
                Author::Agent
            }
        }
    }

    /// True if the following events belong to another session than the previous ones.
    pub fn switch_to(&mut self, session_id: Field<'_>, out: &mut Emitter<'_>) -> bool {
        let Some(session_id) = text(session_id).map(|id| id.decode_lossy()) else { return false };
        if self.session_id.as_deref() == Some(&*session_id) {
            return false;
        }
        out.set_source(Some(&*session_id), self.is_subagent.then_some(&*session_id));
        self.session_id.set(Some(session_id.into_owned()));
        true
    }

    /// The record is converted: its session stays. The emitter keeps it, too.
    pub fn commit(&mut self) {
        self.session_id.commit();
        self.has_header.commit();
        self.has_task |= mem::take(&mut self.is_task);
    }

    /// The record is malformed: the session before it comes back, as in the emitter.
    pub fn roll_back(&mut self) {
        self.session_id.roll_back();
        self.has_header.roll_back();
        self.is_task = false;
    }
}
