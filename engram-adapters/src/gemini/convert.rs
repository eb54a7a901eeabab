//! The converter of one artifact: which module a record goes to.

use engram_core::adapter::{Session, SessionInit};
use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{Meta, SessionFacts};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::converter::{Converter, Relogging};
use super::descriptor::rule;
use super::detect::Form;
use super::heard::Reading;
use super::schema::{Record, SESSION_CONTEXT};
use crate::shared::time::is_tape_time;
use crate::shared::value::{Field, StructuralIndex, Value, parse, raw_str};

/// A change of nothing but the time of the last one.
const CLOCK: Outcome = Outcome::Bookkeeping { record: "lastUpdated", rule: rule::CLOCK };

/// An artifact that is read record by record.
pub(super) struct Artifact {
    converter: Converter,
    /// Where the values of the current line lie.
    index: StructuralIndex,
}

impl Converter {
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
        header.strict_into(changes, "/$set")?;
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
            record.strict_into(message, &base)?;
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
}

/// The text of a part. A string is a part that is text.
fn text_of(part: Value<'_>) -> Field<'_> {
    if part.text().is_some() { Some(part) } else { part.member("text") }
}

/// True for the first message line of a history that is written again: it holds the context that the harness put before the first
/// prompt, or the model's parts as they were sent.
fn begins_history(message: &Record<'_>) -> bool {
    let Some(content) = message.content().filter(|content| content.is_array()) else { return false };
    match raw_str(message.kind()) {
        "gemini" => true,
        "user" => content.elements().next().is_some_and(|part| raw_str(text_of(part)).starts_with(SESSION_CONTEXT)),
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
    pub fn open(init: &SessionInit<'_>) -> Self {
        Artifact { converter: Converter::open(init), index: StructuralIndex::default() }
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
        record.strict_into(line, "")?;
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
