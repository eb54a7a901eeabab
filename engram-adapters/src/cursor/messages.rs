//! Prompts, answers and reasoning: shared by transcripts, chat stores and the editor's stores.

use engram_core::emit::{Emitter, Fault, Pointer, RecordHeader};
use engram_core::event::{Author, Channel, MsgIn, MsgOut, Role};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::prompt_timestamp::prompt_time;

/// First words of user messages that the harness writes itself, after it has compacted the history.
const HARNESS_TEXTS: &[&str] = &["<dynamic_tool_catalog>"];

/// The outcome of a message that gave `events` events. No known version writes a message that gives none.
pub(super) fn message_outcome(events: usize) -> Result<Outcome, Fault> {
    if events == 0 { Err(Fault::malformed("", "a message with text or a call", "neither")) } else { Ok(Outcome::Mapped) }
}

/// Emits a prompt and returns the number of events. The text is kept as the harness sent it, its sections included.
pub(super) fn emit_prompt(text: Option<Text<'_>>, id: Option<Text<'_>>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<usize, Fault> {
    let Some(text) = text else { return Ok(0) };
    let decoded = text.decode_lossy();
    let time = prompt_time(&decoded);
    if time.is_some() {
        out.set_header(RecordHeader { t: time.as_deref(), id, replay: false });
    }
    let is_harness_text = HARNESS_TEXTS.iter().any(|beginning| decoded.starts_with(beginning));
    let by = if is_harness_text { Author::Harness } else { Author::Person };
    out.emit(MsgIn { role: Role::User, by, text: Some(text), attachments: Vec::new() }, pointer)?;
    Ok(1)
}

/// Emits an answer of the agent and returns the number of events.
pub(super) fn emit_answer(text: Option<Text<'_>>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<usize, Fault> {
    let Some(text) = text else { return Ok(0) };
    out.emit(MsgOut { text: Some(text), ..MsgOut::default() }, pointer)?;
    Ok(1)
}

/// Emits reasoning and returns the number of events. Redacted reasoning is an empty text or a placeholder.
pub(super) fn emit_reasoning(reasoning: Text<'_>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<usize, Fault> {
    let redacted = reasoning.is_empty() || reasoning.eq_str("[REDACTED]");
    let text = Some(reasoning).filter(|_| !redacted);
    out.emit(MsgOut { text, channel: Some(Channel::Reasoning), redacted, ..MsgOut::default() }, pointer)?;
    Ok(1)
}
