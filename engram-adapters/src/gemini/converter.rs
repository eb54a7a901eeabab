//! What is remembered from record to record.

use engram_core::adapter::{SessionInit, SideInfo};
use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault, RecordHeader};
use engram_core::event::Event;
use engram_core::ledger::Outcome;

use super::descriptor::rule;
use super::detect::{self, Form};
use super::heard::{CallFacts, Heard, Reading, Rewritten, Turns, answer_key};
use super::schema::{FunctionResponse, Record};
use crate::shared::correlate::{KeyMap, hash64};
use crate::shared::time::tape_time;
use crate::shared::value::{Field, Value, text};

/// What is remembered from record to record.
pub(super) struct Converter {
    pub form: Form,
    pub context: SideInfo,
    /// The artifact is the log of a sub-agent: nobody but the harness speaks to it.
    pub in_subagent: bool,
    pub heard: Heard,
    pub model: Option<String>,
    /// What a person said while tools ran: it stands before a result, and again in the message that tells the model of the results.
    pub interjection: Option<u64>,
    /// What the log has said of each call, by the key of its id.
    calls: KeyMap<CallFacts>,
    /// What turns have said under their ids.
    turns: Turns,
    /// While a history is being written again.
    pub relogging: Option<Relogging>,
    /// The session that the events belong to.
    pub session_id: Option<String>,
    /// What is around the artifact has been said.
    pub introduced: bool,
    /// Events so far.
    pub events: u64,
    /// What was left out so far, as it was said before.
    pub repeats: u64,
}

/// A history that is being written again as message lines, all of one time (0.61.0, when the user cancels).
pub(super) struct Relogging {
    /// The time of all of them, as the source spells it.
    pub time: String,
    pub reading: Reading,
}

impl Converter {
    /// A converter that has seen nothing yet.
    pub fn open(init: &SessionInit<'_>) -> Self {
        Converter {
            form: detect::form(init.head),
            context: init.context.clone(),
            in_subagent: false,
            heard: Heard::default(),
            model: None,
            interjection: None,
            calls: KeyMap::default(),
            turns: Turns::default(),
            relogging: None,
            session_id: init.identity.session_id.clone(),
            introduced: false,
            events: 0,
            repeats: 0,
        }
    }

    /// Writes an event of the current record.
    pub fn emit<'e>(&mut self, event: impl Into<Event<'e>>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<(), Fault> {
        out.emit(event, pointer)?;
        self.events += 1;
        Ok(())
    }

    /// True when the log has not said before that the call was made. A document states every fact once, so there nothing is a
    /// repetition.
    pub fn asks_first(&mut self, call: u64) -> bool {
        self.is_first(call, |facts| &mut facts.asked)
    }

    /// As [`Converter::asks_first`], for what came of the call.
    pub fn answers_first(&mut self, call: u64) -> bool {
        self.is_first(call, |facts| &mut facts.answered)
    }

    fn is_first(&mut self, call: u64, fact: impl Fn(&mut CallFacts) -> &mut bool) -> bool {
        let repeats = self.form == Form::Lines && std::mem::replace(fact(self.calls.entry(call).or_default()), true);
        self.repeats += u64::from(repeats);
        !repeats
    }

    /// True for what a person said while tools ran, when it comes again.
    pub fn repeats_interjection(&mut self, said: u64) -> bool {
        let repeats = self.interjection.take_if(|interjection| *interjection == said).is_some();
        self.repeats += u64::from(repeats);
        repeats
    }

    /// Keeps what the model was told of a call, where its turn says so.
    pub fn note_answer(&mut self, call: u64, response: &FunctionResponse<'_>) {
        self.calls.entry(call).or_default().answer = Some(answer_key(response));
    }

    /// True when a response for the model says nothing new: lines give it or the turn's own result first, a document after the turn.
    pub fn repeats_answer(&mut self, call: u64, response: Value<'_>) -> bool {
        if self.form == Form::Lines { !self.answers_first(call) } else { self.is_same_answer(call, &FunctionResponse::lenient(response)) }
    }

    /// True when the turn of a call gives this answer.
    pub fn is_same_answer(&mut self, call: u64, response: &FunctionResponse<'_>) -> bool {
        let answer = answer_key(response);
        let repeats = self.calls.get(&call).is_some_and(|facts| facts.answer == Some(answer));
        self.repeats += u64::from(repeats);
        repeats
    }

    /// True when the log has said what came of the call.
    pub fn is_answered(&self, call: u64) -> bool {
        self.calls.get(&call).is_some_and(|facts| facts.answered)
    }

    /// What of a turn was written before under its id. A history that is written again holds less of a turn than the turn itself.
    #[inline(never)]
    pub fn rewritten(&mut self, turn: &Record<'_>, in_history: bool) -> Rewritten {
        let (Form::Lines, Some(id)) = (self.form, turn.id()) else { return Rewritten::default() };
        let id = hash64(id.raw());
        let written = if in_history { self.turns.known(id, turn) } else { self.turns.write(id, turn) };
        self.repeats += u64::from(written.text || written.thoughts || written.tokens);
        written
    }

    /// True when the text is new: always where it is said, and in a history where it comes up more often than it was said.
    pub fn is_news(&mut self, text: u64, reading: Option<&mut Reading>) -> bool {
        let Some(reading) = reading else {
            self.heard.note(text);
            return true;
        };
        let new = self.heard.is_new(reading, text);
        self.repeats += u64::from(!new);
        new
    }

    /// States when the message was written, and its id.
    #[inline(never)]
    pub fn enter(&self, time: Field<'_>, id: Field<'_>, out: &mut Emitter) {
        let time = tape_time(time);
        out.set_header(RecordHeader { t: time.as_deref(), id: text(id), replay: false });
    }

    /// Where the record went, by what it added since `before`.
    pub fn outcome(&self, record: &'static str, before: (u64, u64), repeated: &'static str) -> Outcome {
        if self.events > before.0 {
            Outcome::Mapped
        } else if self.repeats > before.1 {
            Outcome::Duplicate { record, rule: repeated }
        } else {
            Outcome::Bookkeeping { record, rule: rule::EMPTY }
        }
    }
}
