//! Prompts, answers and reasoning: shared by transcripts, chat stores and the editor's stores.

pub(super) mod prompt_timestamp;
pub(super) mod user_text;

use engram_core::emit::{Fault, Pointer};
use engram_core::event::{Author, Channel, MsgOut};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::cursor::steps::Out;
use user_text::UserText;

/// The outcome of a message that gave `events` events. No known version writes a message that gives none.
pub(super) fn message_outcome(events: usize) -> Result<Outcome, Fault> {
    if events == 0 {
        Err(Fault::malformed(
            "",
            "a message with text or a call",
            "neither",
        ))
    } else {
        Ok(Outcome::Mapped)
    }
}

/// Emits a prompt and the sections around it, and returns the number of events.
pub(super) fn emit_prompt(
    text: Option<Text<'_>>,
    by: Author,
    id: Option<Text<'_>>,
    pointer: Pointer<'_>,
    out: &mut Out<'_, '_>,
) -> Result<usize, Fault> {
    text.map_or(Ok(0), |text| {
        UserText {
            text,
            by,
            id,
            pointer,
        }
        .emit(&mut Vec::new(), out)
    })
}

/// Emits an answer of the agent and returns the number of events.
pub(super) fn emit_answer(
    text: Option<Text<'_>>,
    pointer: Pointer<'_>,
    out: &mut Out<'_, '_>,
) -> Result<usize, Fault> {
    let Some(text) = text else { return Ok(0) };
    out.emit(
        MsgOut {
            text: Some(text),
            ..MsgOut::default()
        },
        pointer,
    )?;
    Ok(1)
}

/// Emits reasoning and returns the number of events. Redacted reasoning is an empty text or a placeholder.
pub(super) fn emit_reasoning(
    reasoning: Text<'_>,
    pointer: Pointer<'_>,
    out: &mut Out<'_, '_>,
) -> Result<usize, Fault> {
    let redacted = reasoning.is_empty() || reasoning.eq_str("[REDACTED]");
    let text = Some(reasoning).filter(|_| !redacted);
    out.emit(
        MsgOut {
            text,
            channel: Some(Channel::Reasoning),
            redacted,
            ..MsgOut::default()
        },
        pointer,
    )?;
    Ok(1)
}
