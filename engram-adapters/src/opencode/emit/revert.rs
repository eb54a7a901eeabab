//! Reverts: the user went back to an earlier message. Until the next prompt the later messages are still there; then the table of events of
//! a database has them.

use std::collections::VecDeque;

use engram_core::emit::{Pointer, RecordHeader};
use engram_core::event::{Meta, Seq};
use engram_core::steps::Emitter;

use crate::shared::value::{Field, Value, is_true, raw_str};

/// The revert that the session's own record states.
#[derive(Default)]
pub struct Revert {
    /// The first message that is reverted.
    message_id: Option<String>,
    /// The first part of it that is reverted; all of them if there is none.
    part_id: Option<String>,
    has_files: bool,
    /// The last event before that message, or before that part.
    to: Option<Seq>,
}

impl Revert {
    /// Remembers a revert.
    pub fn set(&mut self, revert: Field<'_>) {
        let Some(revert) = revert else { return };
        let id = |member| Some(raw_str(revert.member(member)).to_owned()).filter(|id| !id.is_empty());
        (self.message_id, self.part_id) = (id("messageID"), id("partID"));
        self.has_files = revert.member("snapshot").is_some();
    }

    /// Notes that the message with this id comes next.
    pub fn reach(&mut self, message_id: &str, out: &Emitter<'_>) {
        if self.to.is_none() && self.message_id.as_deref() == Some(message_id) {
            self.to = out.last_seq();
        }
    }

    /// Notes that the part with this id comes next.
    pub fn reach_part(&mut self, part_id: &str, out: &Emitter<'_>) {
        if self.to.is_some() && self.part_id.as_deref() == Some(part_id) {
            self.to = out.last_seq();
        }
    }

    /// The event at the end of the session; none if the session has no revert, or if its message is gone.
    pub fn event(&self) -> Option<Meta<'static>> {
        self.to.map(|to| Meta::Rewind { to, files: self.has_files })
    }
}

/// Turns that were taken back for good, in their order.
#[derive(Default)]
pub struct Undone {
    turns: VecDeque<Turns>,
    /// The last event before the first of them, once it is reached.
    to: Option<Seq>,
}

/// The messages that one revert took back.
struct Turns {
    message_ids: Vec<String>,
    has_files: bool,
}

impl Undone {
    /// What the session's own record states.
    pub fn of(reverts: Field<'_>) -> Undone {
        let turns = |revert: Value<'_>| {
            let ids = revert.member("messageIDs").into_iter().flat_map(Value::elements);
            Turns { message_ids: ids.map(|id| id.raw_str().to_owned()).collect(), has_files: is_true(revert.member("files")) }
        };
        Undone { turns: reverts.into_iter().flat_map(Value::elements).map(turns).collect(), to: None }
    }

    /// Notes that the message with this id comes next. The first one that was not taken back is where the user went on.
    pub fn reach(&mut self, message_id: &str, out: &mut Emitter<'_>) {
        let Some(turns) = self.turns.front() else { return };
        match (turns.message_ids.iter().any(|id| id == message_id), self.to) {
            (true, None) => self.to = out.last_seq(),
            (false, Some(_)) => {
                self.end(out);
                // Those of the next revert may follow at once.
                self.reach(message_id, out);
            }
            _ => {}
        }
    }

    /// Emits where the user went back to, if turns that were taken back have been reached.
    pub fn end(&mut self, out: &mut Emitter<'_>) {
        if let (Some(to), Some(turns)) = (self.to.take(), self.turns.pop_front()) {
            let rewind = Meta::Rewind { to, files: turns.has_files };
            out.of_record(0, RecordHeader::default(), |out| out.emit(rewind, Pointer::At("/reverts")));
        }
    }
}
