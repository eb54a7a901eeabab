//! A revert that is not committed: the user went back to an earlier message, and the later ones are still there.

use engram_core::event::{Meta, Seq};
use engram_core::steps::Emitter;

use crate::shared::value::{Field, raw_str};

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
