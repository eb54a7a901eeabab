//! Which facts the log has stated before, so that the tape states each once.

use super::message_facts::{CONTENT, TOKENS, set_facts};
use super::occurrences::{HistoryPass, OccurrenceCount};
pub use super::repeated_turns::RepeatedParts;
use super::repeated_turns::RepeatedTurns;
use super::seen_calls::SeenCalls;
pub use super::seen_calls::{CallKey, CallList, StatedId};
use crate::gemini::schema::{Form, FunctionResponse, Record};
use crate::shared::record_facts::{RecordFacts, Repetition};
use crate::shared::restorable::Restorable;
use crate::shared::seen_set::SeenSet;
use crate::shared::value::{Field, Value, non_empty_text, raw_str};
use engram_core::keys::hash64;

/// Which facts the log has stated before.
pub struct Dedup {
    /// Lines repeat facts. A document states every fact once, responses excepted.
    form: Form,
    occurrences: OccurrenceCount,
    calls: SeenCalls,
    turns: RepeatedTurns,
    /// Thoughts, each with its turn, and its number among equal ones.
    thoughts: SeenSet,
    /// The key of what a person wrote while tools ran. It comes before a result, and again in the message with the results.
    interjection: Restorable<Option<u64>>,
    /// Records with an id or a time.
    records: SeenSet,
    /// What the messages of a document with each id have stated.
    messages: RecordFacts,
    facts: Vec<u64>,
    /// Repetitions in the current record.
    duplicates: u64,
    /// The current message may be one that the log had before.
    may_be_again: bool,
}

impl Dedup {
    /// Nothing has been stated yet.
    pub fn new(form: Form) -> Self {
        Dedup {
            form,
            occurrences: OccurrenceCount::default(),
            calls: SeenCalls::default(),
            turns: RepeatedTurns::default(),
            thoughts: SeenSet::default(),
            interjection: Restorable::default(),
            records: SeenSet::default(),
            messages: RecordFacts::default(),
            facts: Vec::new(),
            duplicates: 0,
            may_be_again: false,
        }
    }

    /// Starts a record.
    pub fn begin_record(&mut self) {
        self.duplicates = 0;
    }

    /// The record is converted: what it stated stays.
    pub fn commit(&mut self) {
        self.occurrences.commit();
        self.calls.commit();
        self.turns.commit();
        self.thoughts.commit();
        self.interjection.commit();
        self.records.commit();
        self.messages.commit();
    }

    /// The record is malformed: what it stated is forgotten.
    pub fn roll_back(&mut self) {
        self.occurrences.roll_back();
        self.calls.roll_back();
        self.turns.roll_back();
        self.thoughts.roll_back();
        self.interjection.roll_back();
        self.records.roll_back();
        self.messages.roll_back();
    }

    /// True if something in the current record was a repetition.
    pub fn has_duplicates(&self) -> bool {
        self.duplicates > 0
    }

    /// True if no record with these bytes was read before.
    pub fn is_new_record(&mut self, bytes: &str) -> bool {
        self.records.insert(bytes)
    }

    /// True if the document has all that this message states in messages with its id.
    pub fn is_repeated_message(&mut self, message: &Record<'_>) -> bool {
        let Some(id) = non_empty_text(message.id()) else {
            self.messages.begin_without_id();
            return false;
        };
        set_facts(&mut self.facts, message);
        self.messages.begin(id.raw(), raw_str(message.timestamp()), &self.facts) == Repetition::Whole
    }

    /// Counts a text. True if it is new: always outside of a history, and in one if the log does not have the text as often.
    pub fn is_new_text(&mut self, text: u64, pass: Option<&mut HistoryPass>) -> bool {
        let Some(pass) = pass else {
            self.occurrences.add(text);
            return true;
        };
        let is_new = self.occurrences.add_in_history(pass, text);
        !self.count_duplicate(!is_new)
    }

    /// Counts a text that is new by other means.
    pub fn add_text(&mut self, text: u64) {
        self.occurrences.add(text);
    }

    /// Begins a message.
    pub fn begin_message(&mut self, id: Field<'_>) {
        self.may_be_again = self.form == Form::Lines || non_empty_text(id).is_some();
        self.calls.begin_message(hash64(id.map(Value::raw)));
    }

    /// The next call of the message with this id, and whether the log has not stated it before.
    pub fn next_call(&mut self, call: StatedId, list: CallList, pass: Option<&mut HistoryPass>) -> (CallKey, bool) {
        let (call, is_known) = self.calls.next_call(call, list, &mut self.occurrences, pass);
        (call, !self.count_duplicate(is_known && self.may_be_again))
    }

    /// True if the log has not stated the result of the call before.
    pub fn is_first_result(&mut self, call: CallKey) -> bool {
        let repeats = self.may_be_again && self.calls.insert_result(call);
        !self.count_duplicate(repeats)
    }

    /// True if the log has stated the result of the call.
    pub fn has_result(&self, call: CallKey) -> bool {
        self.calls.has_result(call)
    }

    /// Notes the response in a call's own result.
    pub fn insert_response(&mut self, id: u64, response: &FunctionResponse<'_>) {
        self.calls.insert_response(id, response);
    }

    /// True if a response in a user message is a repetition. In lines the response or the call's own result may come first; in a
    /// document the call is first.
    pub fn repeats_response(&mut self, id: u64, response: Value<'_>) -> bool {
        match self.form {
            Form::Lines => !self.is_first_result(self.calls.of_response(id)),
            _ => self.repeats_own_response(id, &FunctionResponse::lenient(response)),
        }
    }

    /// True if the call's own result has this response.
    pub fn repeats_own_response(&mut self, id: u64, response: &FunctionResponse<'_>) -> bool {
        let repeats = self.calls.has_response(id, response);
        self.count_duplicate(repeats)
    }

    /// Notes what a person wrote while tools ran.
    pub fn set_interjection(&mut self, text: u64) {
        self.interjection.set(Some(text));
    }

    /// True if the text is the last interjection, for the first time after it.
    pub fn repeats_interjection(&mut self, text: u64) -> bool {
        let repeats = *self.interjection == Some(text);
        if repeats {
            self.interjection.set(None);
        }
        self.count_duplicate(repeats)
    }

    /// The parts of a turn that an earlier record with its id has.
    #[inline(never)]
    pub fn repeated_parts(&mut self, turn: &Record<'_>, in_history: bool) -> RepeatedParts {
        let Some(id) = non_empty_text(turn.id()) else { return RepeatedParts::default() };
        if self.form != Form::Lines {
            return RepeatedParts { text: self.messages.is_stated(CONTENT), thoughts: false, tokens: self.messages.is_stated(TOKENS) };
        }
        let id = hash64(id.raw());
        let repeated = if in_history { self.turns.get(id, turn) } else { self.turns.insert(id, turn) };
        self.count_duplicate(repeated.any());
        repeated
    }

    /// True if the log does not have this thought of the turn yet. `number` counts the equal thoughts of the turn.
    pub fn is_new_thought(&mut self, turn: &Record<'_>, text: u64, number: u32) -> bool {
        let Some(id) = non_empty_text(turn.id()) else { return true };
        let is_new = self.thoughts.insert((id.raw(), text, number));
        !self.count_duplicate(!is_new)
    }

    fn count_duplicate(&mut self, repeats: bool) -> bool {
        self.duplicates += u64::from(repeats);
        repeats
    }
}
