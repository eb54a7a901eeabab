//! The converter of one artifact: what it remembers, and which module a record goes to.

use engram_core::adapter::{Context, Opening, Session};
use engram_core::emit::{Emitter, Fault, Stamp};
use engram_core::event::{Event, Meta, SessionFacts};
use engram_core::ledger::Outcome;
use engram_core::render::Pointer;
use engram_core::text::Text;

use super::descriptor::rule;
use super::detect::{self, Form};
use super::heard::{CallFacts, Heard, Reading, Rewritten, Turns};
use super::results::answer_key;
use super::schema::{FunctionResponse, Record, SESSION_CONTEXT, under};
use crate::kit::correlate::{KeyMap, key};
use crate::kit::time::{is_tape_time, tape_time};
use crate::kit::value::{Field, Index, Value, filled_text, parse, text, word};

/// A change of nothing but the time of the last one.
const CLOCK: Outcome = Outcome::Bookkeeping { record: "lastUpdated", rule: rule::CLOCK };

/// What is remembered from record to record.
pub(super) struct Converter {
    pub form: Form,
    pub context: Context,
    /// The artifact is the log of a sub-agent: nobody but the harness speaks to it.
    pub in_subagent: bool,
    pub heard: Heard,
    pub model: Option<String>,
    /// What a person said while tools ran: it stands before a result, and again in the message that tells the model of the results.
    pub interjection: Option<u64>,
    /// What the log has said of each call, by the key of its id.
    calls: KeyMap<CallFacts>,
    turns: Turns,
    relogging: Option<Relogging>,
    session_id: Option<String>,
    introduced: bool,
    events: u64,
    repeats: u64,
}

/// An artifact that is read record by record.
pub(super) struct Artifact {
    converter: Converter,
    /// Where the values of the current line lie.
    index: Index,
}

/// A history that is being written again as message lines, all of one time (0.61.0, when the user cancels).
struct Relogging {
    time: String,
    reading: Reading,
}

impl Converter {
    /// A converter that has seen nothing yet.
    fn open(opening: &Opening<'_>) -> Self {
        Converter {
            form: detect::form(opening.head),
            context: opening.context.clone(),
            in_subagent: false,
            heard: Heard::default(),
            model: None,
            interjection: None,
            calls: KeyMap::default(),
            turns: Turns::default(),
            relogging: None,
            session_id: opening.identity.session_id.clone(),
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
        if self.form == Form::Lines { !self.answers_first(call) } else { self.is_same_answer(call, &FunctionResponse::of(response)) }
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
        let id = key(id.raw());
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

    /// How many events there are.
    pub fn event_count(&self) -> u64 {
        self.events
    }

    /// States when the message was written, and its id.
    #[inline(never)]
    pub fn enter(&self, time: Field<'_>, id: Field<'_>, out: &mut Emitter) {
        let time = tape_time(time);
        out.stamp(Stamp { t: time.as_deref(), id: text(id), replay: false });
    }

    /// Converts what stands before the messages: the first line, or the document without its messages.
    #[cold]
    pub fn header(&mut self, header: &Record<'_>, out: &mut Emitter) -> Result<(), Fault> {
        self.enter(header.start_time(), None, out);
        self.in_subagent = word(header.role()) == "subagent";
        self.change_session(header.session_id(), out);
        let context = self.context.clone();
        let mut facts = SessionFacts::default();
        if !std::mem::replace(&mut self.introduced, true) {
            facts.parent_session_id = context.parent_session_id.as_deref().map(Text::Plain);
            facts.parent_call_id = context.parent_call_id.as_deref().map(Text::Plain);
            facts.agent = context.agent.as_deref().map(Text::Plain);
        }
        self.session_facts(facts, header, "", out)
    }

    /// Says what a header, or a change of it, states of the session.
    #[cold]
    fn session_facts<'f>(&mut self, mut facts: SessionFacts<'f>, header: &Record<'f>, base: &str, out: &mut Emitter) -> Result<(), Fault> {
        let directories: Vec<Text<'_>> = header.directories().into_iter().flat_map(Value::elements).filter_map(Value::text).collect();
        // The harness lists the directory that it works in first, then those that the user added.
        facts.cwd = directories.first().copied();
        let summary = filled_text(header.summary());
        // What a sub-agent hands back is no title.
        facts.title = summary.filter(|_| !self.in_subagent);
        self.emit(Meta::Session(facts), Pointer::Root, out)?;
        if let Some(summary) = summary.filter(|_| self.in_subagent) {
            let system = Meta::System { name: Text::Plain("summary"), text: Some(summary) };
            self.emit(system, Pointer::At(&under(base, "/summary")), out)?;
        }
        for (n, directory) in directories.iter().enumerate().skip(1) {
            let name = Text::Plain("directory");
            let context = engram_core::event::Context { name, file: Some(*directory), hash: None, bytes: None, text: None };
            self.emit(Meta::Context(context), Pointer::Item(&under(base, "/directories"), n), out)?;
        }
        Ok(())
    }

    /// True when the events from here on belong to another session than before.
    fn change_session(&mut self, session_id: Field<'_>, out: &mut Emitter) -> bool {
        let Some(session_id) = text(session_id).map(|id| id.decode_lossy()) else { return false };
        if self.session_id.as_deref() == Some(&*session_id) {
            return false;
        }
        out.source(Some(&*session_id), self.in_subagent.then_some(&*session_id));
        self.session_id = Some(session_id.into_owned());
        true
    }

    /// Converts a `$set` line. Most only set the clock.
    fn change(&mut self, changes: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let mut members = changes.members();
        match (members.next(), members.next()) {
            (Some(("lastUpdated", time)), None) if time.text().is_some() => Ok(CLOCK),
            _ => self.change_more(changes, out),
        }
    }

    #[inline(never)]
    fn change_more(&mut self, changes: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let known = ["messages", "sessionId", "summary", "directories", "lastUpdated"];
        if let Some((key, _)) = changes.members().find(|(key, _)| !known.contains(key)) {
            return Err(Fault::unrecognized(&format!("$set.{key}")));
        }
        let time = || changes.member("lastUpdated");
        if let Some(time) = time().filter(|time| time.text().is_none()) {
            return Err(Fault::malformed("/$set/lastUpdated", "a time", time.raw()));
        }
        let mut header = Record::default();
        header.fill(changes, "/$set")?;
        let before = (self.events, self.repeats);
        if header.summary().is_some() || header.directories().is_some() {
            self.enter(time(), None, out);
            self.session_facts(SessionFacts::default(), &header, "/$set", out)?;
        }
        if self.change_session(header.session_id(), out) {
            self.enter(time(), None, out);
            self.emit(Meta::Session(SessionFacts::default()), Pointer::At("/$set/sessionId"), out)?;
        }
        if let Some(messages) = header.messages().filter(|messages| messages.raw() != "[]") {
            self.restate(messages, out)?;
            return Ok(self.outcome("messages", before, rule::RESTATED));
        }
        Ok(match header.session_id() {
            _ if self.events > before.0 => Outcome::Mapped,
            Some(_) => Outcome::Bookkeeping { record: "sessionId", rule: rule::SAME_SESSION },
            None => CLOCK,
        })
    }

    /// Reads a history that the harness writes again. It destroys nothing; what it holds beyond what was said is new.
    fn restate(&mut self, messages: Value<'_>, out: &mut Emitter) -> Result<(), Fault> {
        self.relogging = None;
        let mut reading = Reading::default();
        for (n, message) in messages.elements().enumerate() {
            let base = ["/$set/messages/", &n.to_string()].concat();
            let mut record = Record::default();
            record.fill(message, &base)?;
            self.enter(record.timestamp(), record.id(), out);
            self.say(&record, &base, Some(&mut reading), out)?;
        }
        Ok(())
    }

    /// Converts a message of the conversation.
    #[inline(never)]
    pub fn message(&mut self, message: &Record<'_>, base: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        self.enter(message.timestamp(), message.id(), out);
        if self.relogging.is_some() || (self.form == Form::Lines && begins_history(message)) {
            return self.logged_again(message, base, out);
        }
        let before = (self.events, self.repeats);
        let name = self.say(message, base, None, out)?;
        Ok(self.outcome(name, before, rule::REWRITTEN))
    }

    /// Converts a message that may belong to a history which is being written again.
    #[inline(never)]
    fn logged_again(&mut self, message: &Record<'_>, base: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let before = (self.events, self.repeats);
        let mut relogging = self.relogging(message);
        let reading = relogging.as_mut().map(|relogging| &mut relogging.reading);
        let repeated = if reading.is_some() { rule::RELOGGED } else { rule::REWRITTEN };
        let name = self.say(message, base, reading, out)?;
        self.relogging = relogging;
        Ok(self.outcome(name, before, repeated))
    }

    /// The history that is being written again, if this message belongs to one.
    fn relogging(&mut self, message: &Record<'_>) -> Option<Relogging> {
        let time = message.timestamp()?.raw();
        let current = self.relogging.take().filter(|relogging| relogging.time == time);
        let begins = || self.form == Form::Lines && begins_history(message);
        current.or_else(|| begins().then(|| Relogging { time: time.to_owned(), reading: Reading::default() }))
    }

    /// Where the record went, by what it added since `before`.
    fn outcome(&self, record: &'static str, before: (u64, u64), repeated: &'static str) -> Outcome {
        if self.events > before.0 {
            Outcome::Mapped
        } else if self.repeats > before.1 {
            Outcome::Duplicate { record, rule: repeated }
        } else {
            Outcome::Bookkeeping { record, rule: rule::EMPTY }
        }
    }
}

/// The text of a part. A string is a part that is text.
fn text_of(part: Value<'_>) -> Field<'_> {
    if part.text().is_some() { Some(part) } else { part.member("text") }
}

/// True for the first message line of a history that is written again: it holds the context that the harness put before the first
/// prompt, or the model's parts as they were sent.
fn begins_history(message: &Record<'_>) -> bool {
    let Some(content) = message.content().filter(|content| content.is_array()) else { return false };
    match word(message.kind()) {
        "gemini" => true,
        "user" => content.elements().next().is_some_and(|part| word(text_of(part)).starts_with(SESSION_CONTEXT)),
        _ => false,
    }
}

impl Converter {
    fn line(&mut self, line: &Record<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        if let Some(changes) = line.changes() {
            self.change(changes, out)
        } else if line.kind().is_some() && line.rewind_to().is_none() {
            self.message(line, "", out)
        } else {
            self.rarer(line, out)
        }
    }

    /// Converts a line that is neither a message nor a change.
    #[cold]
    fn rarer(&mut self, line: &Record<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        if let Some(to) = line.rewind_to() {
            let rewind = Meta::System { name: Text::Plain("rewind"), text: to.text() };
            self.enter(line.timestamp(), None, out);
            self.emit(rewind, Pointer::At("/$rewindTo"), out)?;
            return Ok(Outcome::Mapped);
        }
        if line.session_id().is_some() {
            self.header(line, out)?;
            return Ok(Outcome::Mapped);
        }
        Err(Fault::unrecognized("a line without a type"))
    }
}

impl Artifact {
    /// An artifact of which nothing has been read.
    pub fn open(opening: &Opening<'_>) -> Self {
        Artifact { converter: Converter::open(opening), index: Index::default() }
    }
}

/// True for a line that holds nothing but the time of the last change. One stands behind every message, and need not be looked into.
fn sets_clock(line: &str) -> bool {
    let time = line.strip_prefix(r#"{"$set":{"lastUpdated":""#).and_then(|rest| rest.strip_suffix(r#""}}"#));
    time.is_some_and(is_tape_time)
}

impl Session for Artifact {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        if sets_clock(source) {
            return Ok(CLOCK);
        }
        let line = parse(source, &mut self.index)?;
        let mut record = Record::default();
        record.fill(line, "")?;
        self.converter.line(&record, out)
    }

    fn document(&mut self, source: &str, out: &mut Emitter) -> Result<(), Fault> {
        let document = parse(source, &mut self.index)?;
        match self.converter.form {
            Form::Lines | Form::Document => self.converter.session_document(document, out),
            Form::TypedLog => self.converter.typed_log(document, out),
            Form::Saved => self.converter.saved_conversation(document, out),
        }
    }
}
