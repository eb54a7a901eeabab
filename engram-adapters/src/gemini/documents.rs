//! Artifacts that are one JSON document: whole-file logs, the log of typed prompts, saved conversations.

use engram_core::emit::{Emitter, Fault, Stamp};
use engram_core::event::{MsgIn, Role};
use engram_core::ledger::Outcome;
use engram_core::render::Pointer;
use serde_json::value::RawValue;

use super::convert::Converter;
use super::descriptor::rule;
use super::schema::{Document, Message, Saved, Turn, Typed};
use crate::kit::json::{is_object, parse, read, text};

impl Converter {
    /// Converts a whole-file log: its header, then a record a message.
    pub fn session_document(&mut self, source: &str, out: &mut Emitter) -> Result<(), Fault> {
        let document: Document<'_> = parse(source)?;
        out.begin();
        self.header(&document.header(), out)?;
        out.settle(Outcome::Mapped);
        for (n, message) in document.messages.iter().enumerate() {
            let base = format!("/messages/{n}");
            self.record_of(message, out, |converter, out| {
                let message: Message<'_> = read(message, &base, "a message")?;
                converter.message(&message, &base, out)
            })?;
        }
        Ok(())
    }

    /// Converts one record of a document, and applies the policy to what is wrong with it.
    fn record_of(
        &mut self,
        raw: &RawValue,
        out: &mut Emitter,
        convert: impl FnOnce(&mut Self, &mut Emitter) -> Result<Outcome, Fault>,
    ) -> Result<(), Fault> {
        out.begin();
        match convert(self, out) {
            Ok(outcome) => {
                out.settle(outcome);
                Ok(())
            }
            Err(fault) => out.settle_fault(fault, raw.get()),
        }
    }

    /// Converts `logs.json`: what was typed at the terminal, commands of the terminal included.
    pub fn typed_log(&mut self, source: &str, out: &mut Emitter) -> Result<(), Fault> {
        let entries: Vec<&RawValue> = parse(source)?;
        for (n, entry) in entries.iter().enumerate() {
            self.record_of(entry, out, |converter, out| {
                let base = format!("/{n}");
                let typed: Typed<'_> = read(entry, &base, "an entry of the log")?;
                match text(typed.kind) {
                    Some(kind) if kind.is("user") => {}
                    kind => return Err(Fault::unrecognized(&kind.map(|kind| kind.decode_lossy()).unwrap_or_default())),
                }
                let said = text(typed.message).ok_or_else(|| Fault::malformed(format!("{base}/message"), "text", "none"))?;
                let session = text(typed.session_id).map(|id| id.decode_lossy());
                out.source(session.as_deref(), None);
                converter.enter(typed.timestamp, None, out);
                let said = MsgIn { role: Role::User, text: Some(said), synthetic: false, attachments: Vec::new() };
                converter.emit(said, Pointer::Item("", n), out)?;
                Ok(Outcome::Mapped)
            })?;
        }
        Ok(())
    }

    /// Converts a saved conversation: a list of turns, since 0.36.0 inside an object.
    pub fn saved_conversation(&mut self, source: &str, out: &mut Emitter) -> Result<(), Fault> {
        let whole: &RawValue = parse(source)?;
        let (turns, path): (Vec<&RawValue>, _) = if is_object(whole) {
            (parse::<Saved<'_>>(whole.get())?.history, "/history")
        } else {
            (parse(whole.get())?, "")
        };
        for (n, turn) in turns.iter().enumerate() {
            self.record_of(turn, out, |converter, out| converter.turn(turn, &format!("{path}/{n}"), out))?;
        }
        Ok(())
    }

    /// Converts a turn of a saved conversation as the message that it would be in a log.
    fn turn(&mut self, raw: &RawValue, base: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let turn: Turn<'_> = read(raw, base, "a turn")?;
        let kind = match text(turn.role) {
            Some(role) if role.is("user") => "\"user\"",
            Some(role) if role.is("model") => "\"gemini\"",
            role => return Err(Fault::unrecognized(&role.map(|role| role.decode_lossy()).unwrap_or_default())),
        };
        let kind: &RawValue = parse(kind)?;
        out.stamp(Stamp::default());
        let message = Message {
            id: None,
            timestamp: None,
            kind: Some(kind),
            content: turn.parts,
            display_content: None,
            thoughts: None,
            tokens: None,
            model: None,
            tool_calls: None,
        };
        let before = self.event_count();
        let name = self.say(&message, base, None, out)?;
        let nothing = Outcome::Bookkeeping { record: name, rule: rule::EMPTY };
        Ok(if self.event_count() > before { Outcome::Mapped } else { nothing })
    }
}

