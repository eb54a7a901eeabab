//! Messages of a capture: prompts, answers and reasoning, whole or in pieces, and the result of the run.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Author, Channel, Meta, MsgIn, MsgOut, Role, Tokens, Usage};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::schema::{Record, TurnUsage};
use super::state::StreamState;
use super::state::partial_text::PartialKind;
use crate::cursor::descriptor::omitted;
use crate::cursor::fields::faults::absent;
use crate::cursor::fields::text_or_json;
use crate::shared::joined_text::unquote;
use crate::shared::value::{count, is_true, non_empty_text, raw_str, text};

/// The parts of a message.
const CONTENT: &str = "/message/content";

fn no_parts() -> Result<Outcome, Fault> {
    Err(Fault::malformed(CONTENT, "a part", "nothing"))
}

/// A prompt.
pub(super) fn user(_: &mut StreamState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let mut outcome = no_parts();
    for (index, (part, value)) in record.parts()?.iter().enumerate() {
        let pointer = Pointer::Item(CONTENT, index);
        match (raw_str(part.kind()), text(part.text())) {
            ("text", None) => return Err(absent(Pointer::Field(CONTENT, index, "/text"), "a string", part.text())),
            ("text", text) => {
                out.emit(MsgIn { role: Role::User, by: Author::Person, text, attachments: Vec::new() }, pointer)?;
            }
            (kind, _) => out.unrecognized_block(kind, value.raw(), pointer)?,
        }
        outcome = Ok(Outcome::Mapped);
    }
    outcome
}

/// A message of the agent, or a piece of one. Only pieces have a time and no model call. The whole message follows its pieces.
pub(super) fn assistant(state: &mut StreamState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let is_piece = record.line.timestamp_ms().is_some() && record.line.model_call_id().is_none();
    let parts = record.parts()?;
    if is_piece && parts.iter().all(|(part, _)| raw_str(part.kind()) == "text") {
        let mut is_mapped = false;
        for piece in parts.iter().filter_map(|(part, _)| part.text()).filter(|piece| piece.text().is_some()) {
            is_mapped |= state.partial_text.add(PartialKind::Message, piece, record.header, out)?;
        }
        return Ok(if is_mapped { Outcome::Mapped } else { PartialKind::Message.outcome() });
    }
    let channel = if record.line.model_call_id().is_some() { Channel::Commentary } else { Channel::Final };
    let mut outcome = no_parts();
    for (index, (part, value)) in parts.iter().enumerate() {
        let pointer = Pointer::Item(CONTENT, index);
        if raw_str(part.kind()) != "text" {
            out.unrecognized_block(raw_str(part.kind()), value.raw(), pointer)?;
            outcome = Ok(Outcome::Mapped);
            continue;
        }
        let Some(text) = text(part.text()) else { continue };
        if !state.partial_text.replace_by_whole(unquote(text.raw()), record.header, out)? {
            outcome = Ok(PartialKind::Message.outcome());
            continue;
        }
        out.emit(MsgOut { text: Some(text), channel: Some(channel), ..MsgOut::default() }, pointer)?;
        outcome = Ok(Outcome::Mapped);
    }
    outcome
}

/// A piece of reasoning.
pub(super) fn reasoning_delta(state: &mut StreamState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let piece = record.line.text().filter(|piece| piece.text().is_some());
    let is_mapped = piece.map_or(Ok(false), |piece| state.partial_text.add(PartialKind::Reasoning, piece, record.header, out))?;
    Ok(if is_mapped { Outcome::Mapped } else { PartialKind::Reasoning.outcome() })
}

/// The end of reasoning.
pub(super) fn reasoning_completed(state: &mut StreamState, _: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    state.partial_text.flush(out)?;
    omitted("thinking/completed")
}

/// The end of the run. Its text repeats all messages, joined without a separator; any other text is a message of its own.
pub(super) fn result(state: &mut StreamState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let (line, subtype) = (&record.line, raw_str(record.line.subtype()));
    let result = non_empty_text(line.result());
    let mut has_events = false;
    if is_true(line.is_error()) || subtype != "success" {
        let text = text_or_json(line.error()).or(result);
        let code = Some(Text::Plain(subtype)).filter(|subtype| !subtype.is_empty());
        out.emit(Meta::Error { code, text }, Pointer::Root)?;
        has_events = true;
    } else if let Some(text) = result
        && !state.partial_text.repeats_all_messages(unquote(text.raw()))
    {
        out.emit(MsgOut { text: Some(text), channel: Some(Channel::Final), ..MsgOut::default() }, Pointer::At("/result"))?;
        has_events = true;
    }
    if let Some(usage) = line.usage() {
        out.emit(Meta::Usage(TurnUsage::lenient(usage).to_event()), Pointer::At("/usage"))?;
        has_events = true;
    }
    if has_events { Ok(Outcome::Mapped) } else { omitted("result/success") }
}

impl<'a> TurnUsage<'a> {
    fn to_event(self) -> Usage<'a> {
        let tokens = Tokens {
            input: count(self.input_tokens()),
            output: count(self.output_tokens()),
            cache_read: count(self.cache_read_tokens()),
            cache_write: count(self.cache_write_tokens()),
            ..Tokens::default()
        };
        Usage { tokens, ..Usage::default() }
    }
}
