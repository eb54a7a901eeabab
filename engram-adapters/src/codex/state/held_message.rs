//! A message in the user's place, kept until the next record states whether a person sent it.

use engram_core::emit::RecordLocation;

use crate::shared::value::Field;

/// A message that is kept: its record, and where it is.
#[derive(Debug)]
pub struct HeldMessage {
    /// The JSON of the message.
    pub json: String,
    pub location: RecordLocation,
    pub t: Option<String>,
    /// The record's own id, as a JSON token.
    pub id: Option<String>,
    pub replay: bool,
}

/// The last record, if it is such a message. The record that states who sent it is directly after it.
#[derive(Debug, Default)]
pub struct Held {
    message: Option<HeldMessage>,
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
