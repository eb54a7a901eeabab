//! What a person can go back to: each message, with the last event before it.

use engram_core::event::Seq;
use engram_core::keys::hash64;

use crate::shared::restorable::RestorableMap;
use crate::shared::value::{Field, Value};

/// The last event before each message.
#[derive(Default)]
pub struct RewindPoints {
    before: RestorableMap<Seq>,
}

impl RewindPoints {
    /// A message with this id comes next. Only the first message with an id counts.
    pub fn begin_message(&mut self, id: Field<'_>, last: Option<Seq>) {
        if let Some((id, last)) = id.zip(last) {
            self.before.insert_new(hash64(id.raw()), last);
        }
    }

    /// The last event before the message with this id, if the log has it. A rewind removes the message itself, too.
    pub fn before(&self, id: Value<'_>) -> Option<Seq> {
        self.before.get(hash64(id.raw()))
    }

    /// The record is converted.
    pub(super) fn commit(&mut self) {
        self.before.commit();
    }

    /// The record is malformed: its messages are forgotten.
    pub(super) fn roll_back(&mut self) {
        self.before.roll_back();
    }
}
