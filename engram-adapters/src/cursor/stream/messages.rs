//! Messages of a capture: prompts, answers and reasoning, whole or in pieces, and the result of the run.

use engram_core::emit::{Fault, Pointer};
use engram_core::event::{Author, Channel, Meta, MsgIn, MsgOut, Tokens, Usage};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::schema::Record;
use super::state::Shared;
use crate::cursor::fields::faults::absent;
use crate::cursor::fields::text_or_json;
use crate::cursor::format::{CaptureKind, rule};
use crate::cursor::pieces::{Added, PieceOf};
use crate::cursor::readers::TurnUsage;
use crate::cursor::steps::Out;
use crate::shared::value::{count, is_true, non_empty_text, raw_str, text};

/// The parts of a message.
const CONTENT: &str = "/message/content";

/// A piece of a message, or a whole message that was joined from its pieces.
const MESSAGE_PIECE: Outcome =
    Outcome::duplicate(CaptureKind::Assistant.name(), rule::MESSAGE_PIECES);

fn no_parts() -> Result<Outcome, Fault> {
    Err(Fault::malformed(CONTENT, "a part", "nothing"))
}

/// A prompt.
pub(super) fn user(record: &Record<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
    let mut outcome = no_parts();
    for (index, (part, value)) in record.parts()?.iter().enumerate() {
        let pointer = Pointer::Item(CONTENT, index);
        match (raw_str(part.kind()), text(part.text())) {
            ("text", None) => {
                return Err(absent(
                    Pointer::Field(CONTENT, index, "/text"),
                    "a string",
                    part.text(),
                ));
            }
            ("text", text) => {
                out.emit(MsgIn::user(Author::Person, text), pointer)?;
            }
            (kind, _) => out.unrecognized_block(kind, value.raw(), pointer)?,
        }
        outcome = Ok(Outcome::Mapped);
    }
    outcome
}

/// A message of the agent, or a piece of one. Only pieces have a time and no model call. The whole message follows its pieces.
pub(super) fn assistant(
    shared: &mut Shared,
    record: &Record<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let is_piece = record.line.timestamp_ms().is_some() && record.line.model_call_id().is_none();
    let parts = record.parts()?;
    if is_piece && parts.iter().all(|(part, _)| raw_str(part.kind()) == "text") {
        let mut outcome = MESSAGE_PIECE;
        for piece in parts
            .iter()
            .filter_map(|(part, _)| part.text())
            .filter(|piece| piece.text().is_some())
        {
            let at = (shared.session, shared.number);
            if shared
                .pieces
                .add(at, PieceOf::Message, piece, record.header, out)?
                == Added::Mapped
            {
                outcome = Outcome::Mapped;
            }
        }
        return Ok(outcome);
    }
    let channel = if record.line.model_call_id().is_some() {
        Channel::Commentary
    } else {
        Channel::Final
    };
    let mut outcome = no_parts();
    for (index, (part, value)) in parts.iter().enumerate() {
        let pointer = Pointer::Item(CONTENT, index);
        if raw_str(part.kind()) != "text" {
            out.unrecognized_block(raw_str(part.kind()), value.raw(), pointer)?;
            outcome = Ok(Outcome::Mapped);
            continue;
        }
        let Some(text) = text(part.text()) else {
            continue;
        };
        if !shared.pieces.whole(shared.session, text, out) {
            outcome = Ok(MESSAGE_PIECE);
            continue;
        }
        out.emit(
            MsgOut {
                text: Some(text),
                channel: Some(channel),
                ..MsgOut::default()
            },
            pointer,
        )?;
        outcome = Ok(Outcome::Mapped);
    }
    outcome
}

/// A piece of reasoning. The whole text is never recorded.
pub(super) fn reasoning_delta(
    shared: &mut Shared,
    record: &Record<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let at = (shared.session, shared.number);
    match record.line.text().filter(|piece| piece.text().is_some()) {
        Some(piece)
            if shared
                .pieces
                .add(at, PieceOf::Reasoning, piece, record.header, out)?
                == Added::Mapped =>
        {
            Ok(Outcome::Mapped)
        }
        _ => Ok(Outcome::duplicate(
            CaptureKind::ThinkingDelta.name(),
            rule::THINKING_PIECES,
        )),
    }
}

/// The end of the run. Its text repeats all messages, joined without a separator; any other text is a message of its own.
pub(super) fn result(
    shared: &mut Shared,
    record: &Record<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let (line, subtype) = (&record.line, raw_str(record.line.subtype()));
    let result = non_empty_text(line.result());
    let mut has_events = false;
    if is_true(line.is_error()) || subtype != "success" {
        let text = text_or_json(line.error()).or(result);
        let code = Some(Text::Plain(subtype)).filter(|subtype| !subtype.is_empty());
        out.emit(Meta::error(code, text), Pointer::Root)?;
        has_events = true;
    } else if let Some(text) = result
        && !shared.pieces.repeats_all(shared.session, text)
    {
        out.emit(
            MsgOut {
                text: Some(text),
                channel: Some(Channel::Final),
                ..MsgOut::default()
            },
            "/result",
        )?;
        has_events = true;
    }
    if let Some(usage) = line.usage() {
        out.emit(Meta::Usage(TurnUsage::lenient(usage).to_event()), "/usage")?;
        has_events = true;
    }
    let omitted = Outcome::duplicate(CaptureKind::ResultSuccess.name(), rule::RESULT_TEXT);
    Ok(if has_events { Outcome::Mapped } else { omitted })
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
        Usage {
            tokens,
            ..Usage::default()
        }
    }
}
