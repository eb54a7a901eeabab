//! The token counts of a turn, which are emitted after all that the log states of the turn.
//!
//! From 0.39.0 on the harness writes a turn when the model has answered, and again with its calls when they have ended.

use engram_core::emit::{Emitter, Fault, Pointer, RecordHeader, RecordLocation};
use engram_core::event::{Meta, Tokens, Usage};
use engram_core::text::Text;

use crate::gemini::descriptor::rule;
use crate::gemini::schema::{Part, Record, parts};
use crate::shared::record_facts::fact_of;
use crate::shared::restorable::Restorable;
use crate::shared::time::tape_time;
use crate::shared::value::{Field, Value, non_empty_text, raw_str};

/// The place of the counts in their line.
const TOKENS: Pointer<'static> = Pointer::At("/tokens");

/// The counts of the last turn, if they are not emitted yet.
#[derive(Default)]
pub struct PendingUsage {
    pending: Restorable<Option<Pending>>,
}

/// Counts, and what their event needs of its line. Strings are raw JSON, except the time.
struct Pending {
    tokens: Tokens,
    location: RecordLocation,
    time: Option<String>,
    id: Option<String>,
    model: Option<String>,
    /// What the turn states, as hashes.
    keys: [Option<u64>; 2],
    /// The line gave no other event.
    is_alone: bool,
}

impl PendingUsage {
    /// Takes the counts of a turn. The last turn has none left: [`PendingUsage::flush_before`] emitted them, or this is its line again.
    pub fn set(&mut self, turn: &Record<'_>, tokens: Tokens, is_alone: bool, location: RecordLocation) {
        let owned = |field: Field<'_>| field.map(|value| value.raw().to_owned());
        let time = tape_time(turn.timestamp()).map(|time| time.into_owned());
        let pending = Pending { tokens, location, time, id: owned(turn.id()), model: owned(turn.model()), keys: keys(turn), is_alone };
        self.pending.set(Some(pending));
    }

    /// Emits the counts if this line shows that the turn is complete.
    ///
    /// # Errors
    /// As [`Emitter::emit`].
    pub fn flush_before(&mut self, line: &Record<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
        match &*self.pending {
            Some(pending) if pending.ends_before(line) => self.flush(out),
            _ => Ok(()),
        }
    }

    /// Emits the counts that are pending.
    ///
    /// # Errors
    /// As [`Emitter::emit`].
    pub fn flush(&mut self, out: &mut Emitter<'_>) -> Result<(), Fault> {
        if let Some(pending) = &*self.pending {
            pending.emit(out)?;
            self.pending.set(None);
        }
        // The event is attributed to an earlier line, and stays even if the current one is malformed.
        self.pending.commit();
        Ok(())
    }

    /// The record is converted: its counts stay.
    pub fn commit(&mut self) {
        self.pending.commit();
    }

    /// The record is malformed: its counts are forgotten.
    pub fn roll_back(&mut self) {
        self.pending.roll_back();
    }
}

impl Pending {
    /// False for the turn again, for results as the model gets them, and for the time of the last change.
    fn ends_before(&self, line: &Record<'_>) -> bool {
        if let Some(changes) = line.changes() {
            return changes.members().any(|(name, _)| name != "lastUpdated");
        }
        match raw_str(line.kind()) {
            "gemini" => line.id().is_none() || line.id().map(Value::raw) != self.id.as_deref() || !self.is_of(line),
            "user" => !has_only_responses(line.content()),
            _ => true,
        }
    }

    /// True if a turn with the id of this one is this one again: it has its time, its counts or its text.
    fn is_of(&self, turn: &Record<'_>) -> bool {
        tape_time(turn.timestamp()).as_deref() == self.time.as_deref()
            || keys(turn).iter().zip(&self.keys).any(|(one, other)| one.is_some() && one == other)
    }

    fn emit(&self, out: &mut Emitter<'_>) -> Result<(), Fault> {
        let here = out.location();
        out.attribute_to(self.location, RecordHeader { t: self.time.as_deref(), id: token(&self.id), replay: false });
        let usage = Usage { message_id: token(&self.id), model: token(&self.model), tokens: self.tokens, ..Usage::default() };
        out.emit(Meta::Usage(usage), TOKENS)?;
        if self.is_alone {
            out.duplicate_was_mapped("gemini", rule::REWRITTEN);
        }
        out.attribute_to(here, RecordHeader::default());
        Ok(())
    }
}

/// The counts and the text of a turn.
fn keys(turn: &Record<'_>) -> [Option<u64>; 2] {
    let content = turn.content().filter(|content| non_empty_text(Some(*content)).is_some() || content.is_array());
    [turn.tokens().map(fact_of), content.map(fact_of)]
}

/// The text of a kept JSON string.
fn token(raw: &Option<String>) -> Option<Text<'_>> {
    raw.as_deref().map(Text::Token).filter(|text| !text.is_empty())
}

/// True for a message with nothing but results of calls.
fn has_only_responses(content: Field<'_>) -> bool {
    let is_response = |part: Part<'_>| part.response().is_some();
    content.is_some_and(Value::is_array) && parts(content).all(is_response)
}
