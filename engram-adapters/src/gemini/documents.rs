//! Artifacts that are one JSON document: whole-file logs, the log of typed prompts, saved conversations.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault, RecordHeader};
use engram_core::event::{MsgIn, Role};
use engram_core::ledger::Outcome;

use super::converter::Converter;
use super::descriptor::rule;
use super::schema::{MESSAGES, Record, Turn, Typed};
use crate::shared::document::{required_array, without_member};
use crate::shared::value::{Value, raw_str, text};

impl Converter {
    /// Converts a whole-file log: its header, then a record a message.
    pub fn session_document(&mut self, document: Value<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let messages = required_array(document, MESSAGES)?;
        out.begin();
        match Record::strict(document, "").and_then(|header| self.header(&header, out)) {
            Ok(()) => out.settle(Outcome::Mapped),
            Err(fault) => out.settle_fault(fault, &without_member(document, MESSAGES))?,
        }
        for (n, message) in messages.elements().enumerate() {
            let base = format!("/messages/{n}");
            self.record_of(message, out, |converter, out| converter.message(&Record::strict(message, &base)?, &base, out))?;
        }
        Ok(())
    }

    /// Converts one record of a document, and applies the policy to what is wrong with it.
    fn record_of(
        &mut self,
        record: Value<'_>,
        out: &mut Emitter,
        convert: impl FnOnce(&mut Self, &mut Emitter) -> Result<Outcome, Fault>,
    ) -> Result<(), Fault> {
        out.begin();
        match convert(self, out) {
            Ok(outcome) => {
                out.settle(outcome);
                Ok(())
            }
            Err(fault) => out.settle_fault(fault, record.raw()),
        }
    }

    /// Converts `logs.json`: what was typed at the terminal, commands of the terminal included.
    pub fn typed_log(&mut self, entries: Value<'_>, out: &mut Emitter) -> Result<(), Fault> {
        for (n, entry) in entries.elements().enumerate() {
            let base = format!("/{n}");
            self.record_of(entry, out, |converter, out| {
                let typed = Typed::strict(entry, &base)?;
                if raw_str(typed.kind()) != "user" {
                    return Err(Fault::unrecognized(raw_str(typed.kind())));
                }
                let said = text(typed.message()).ok_or_else(|| Fault::malformed(format!("{base}/message"), "text", "none"))?;
                let session = text(typed.session_id()).map(|id| id.decode_lossy());
                out.set_source(session.as_deref(), None);
                converter.enter(typed.timestamp(), None, out);
                let said = MsgIn { role: Role::User, text: Some(said), synthetic: false, attachments: Vec::new() };
                converter.emit(said, Pointer::At(&format!("{base}/message")), out)?;
                Ok(Outcome::Mapped)
            })?;
        }
        Ok(())
    }

    /// Converts a saved conversation: a list of turns, since 0.36.0 inside an object.
    pub fn saved_conversation(&mut self, document: Value<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let (turns, path) = match document.member("history") {
            Some(history) => (history, "/history"),
            None => (document, ""),
        };
        for (n, turn) in turns.elements().enumerate() {
            let base = format!("{path}/{n}");
            self.record_of(turn, out, |converter, out| converter.turn(&Turn::strict(turn, &base)?, &base, out))?;
        }
        Ok(())
    }

    /// Converts a turn of a saved conversation as the message that it would be in a log.
    fn turn(&mut self, turn: &Turn<'_>, base: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        out.set_header(RecordHeader::default());
        let before = self.events;
        let mut message = Record::empty_of(turn.object());
        message.set("content", turn.parts());
        let role = match raw_str(turn.role()) {
            "user" => self.user(&message, base, "/parts", None, out).map(|()| "user")?,
            "model" => self.model(&message, base, "/parts", None, out).map(|()| "model")?,
            other => return Err(Fault::unrecognized(other)),
        };
        let nothing = Outcome::Bookkeeping { record: role, rule: rule::EMPTY };
        Ok(if self.events > before { Outcome::Mapped } else { nothing })
    }
}
