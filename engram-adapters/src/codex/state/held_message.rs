//! A message in the user's place, kept until a record states whether a person sent it, and the lines that wait for that record.

use engram_core::emit::{Emitter, KeptText, RecordLocation};

use crate::shared::value::{Field, KeptRecord, Value};

/// The limit of waiting lines, and of their bytes. At the limit the message counts as one that nobody sent.
const MAX_LINES: usize = 8;
const MAX_BYTES: usize = 1 << 20;

/// A message that is kept: its record, and where it is.
#[derive(Debug)]
pub struct HeldMessage {
    /// The JSON of the message.
    pub json: KeptText,
    pub location: RecordLocation,
    pub t: Option<String>,
    /// The record's own id, as a JSON token.
    pub id: Option<String>,
    pub replay: bool,
}

/// A line that waits, and where it is.
#[derive(Debug)]
pub struct WaitingLine {
    pub record: KeptRecord,
    pub location: RecordLocation,
    is_message: bool,
}

/// What is known of the message before the current record.
#[derive(Debug)]
pub struct Released {
    id: Option<String>,
    repeats_message: bool,
}

/// A message that no record has decided, and the lines after it. The record that states who sent it is mostly directly after it.
#[derive(Debug, Default)]
pub struct Held {
    message: Option<HeldMessage>,
    waiting: Vec<WaitingLine>,
    /// The id of the message before the current record, as a JSON token.
    released_id: Option<String>,
    repeats_message: bool,
    has_twins: bool,
    /// The record before the current one was malformed. What is known of the message before it stays.
    follows_malformed: bool,
}

impl Held {
    /// Keeps a message until the next record.
    pub fn hold(&mut self, message: HeldMessage) {
        self.message = Some(message);
    }

    /// True if a message is kept.
    pub fn is_holding(&self) -> bool {
        self.message.is_some()
    }

    /// Removes the message. What was recorded of the record before is forgotten.
    pub fn take(&mut self) -> Option<HeldMessage> {
        if !self.follows_malformed {
            self.repeats_message = false;
            self.released_id = None;
        }
        let message = self.message.take()?;
        self.released_id.clone_from(&message.id);
        Some(message)
    }

    /// The message that is kept.
    pub fn message(&self) -> Option<&HeldMessage> {
        self.message.as_ref()
    }

    /// Lets a line wait until the message is decided. False if there is no room for it.
    pub fn wait(&mut self, line: Value<'_>, is_message: bool, out: &Emitter) -> bool {
        let bytes: usize = self.waiting.iter().map(|line| line.record.bytes()).sum();
        if self.waiting.len() >= MAX_LINES || bytes + line.raw().len() > MAX_BYTES {
            return false;
        }
        let record = KeptRecord::of(line, out);
        let has_room = record.is_some();
        self.waiting.extend(record.map(|record| WaitingLine { record, location: out.location(), is_message }));
        has_room
    }

    /// True if a line waits.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// True if a message waits.
    pub fn has_waiting_message(&self) -> bool {
        self.waiting.iter().any(|line| line.is_message)
    }

    /// Takes the lines that wait, oldest first.
    pub fn take_waiting(&mut self) -> Vec<WaitingLine> {
        std::mem::take(&mut self.waiting)
    }

    /// Takes what is known of the message before the current record, while other records are converted.
    pub fn take_released(&mut self) -> Released {
        Released { id: self.released_id.take(), repeats_message: std::mem::take(&mut self.repeats_message) }
    }

    /// Restores what is known of the message before the current record.
    pub fn restore_released(&mut self, released: Released) {
        (self.released_id, self.repeats_message) = (released.id, released.repeats_message);
    }

    /// Ends a record.
    pub fn end_record(&mut self, is_converted: bool) {
        self.follows_malformed = !is_converted;
    }

    /// True if the message before the current record has this id.
    pub fn is_released(&self, id: Field<'_>) -> bool {
        self.released_id.as_deref().is_some_and(|released| id.is_some_and(|id| id.raw() == released))
    }

    /// Records whether the current record repeats the whole text of the message before it.
    pub fn set_repeats_message(&mut self, repeats: bool) {
        self.repeats_message = repeats;
        self.has_twins |= repeats;
    }

    /// True when the log has stated of any message that a person sent it.
    pub fn has_twins(&self) -> bool {
        self.has_twins
    }

    /// True when the current record repeats the whole text of the message before it.
    pub fn repeats_message(&self) -> bool {
        self.repeats_message
    }
}
