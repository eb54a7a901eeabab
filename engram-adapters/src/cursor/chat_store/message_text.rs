//! The texts of a chat's messages: prompts, answers, summaries, and context that the harness adds.

use engram_core::emit::{Fault, Pointer};
use engram_core::event::{Attachment, ImplicitInput, Meta, MsgOut};
use engram_core::hash::Hash;
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::cursor::messages::user_text::UserText;
use crate::cursor::readers::CursorOptions;
use crate::cursor::steps::Out;
use crate::shared::value::{is_true, non_empty_text};

/// Emits a text with the role of the user: a summary, or a prompt with the attachments of its message. Returns the number of events.
pub(super) fn emit_user_text(
    text: UserText<'_>,
    options: &CursorOptions<'_>,
    attachments: &mut Vec<Attachment<'_>>,
    out: &mut Out<'_, '_>,
) -> Result<usize, Fault> {
    if is_true(options.is_summary()) {
        out.emit(
            Meta::Compaction {
                text: Some(text.text),
                trigger: None,
            },
            text.pointer,
        )?;
        return Ok(1);
    }
    text.emit(attachments, out)
}

/// Emits a text of the agent: a message or a summary. Returns the number of events.
pub(super) fn emit_agent_text(
    text: Text<'_>,
    options: &CursorOptions<'_>,
    pointer: Pointer<'_>,
    out: &mut Out<'_, '_>,
) -> Result<usize, Fault> {
    if is_true(options.is_summary()) {
        out.emit(
            Meta::Compaction {
                text: Some(text),
                trigger: None,
            },
            pointer,
        )?;
        return Ok(1);
    }
    let model = non_empty_text(options.model_name());
    out.emit(
        MsgOut {
            text: Some(text),
            model,
            ..MsgOut::default()
        },
        pointer,
    )?;
    Ok(1)
}

/// Emits the hash of the system prompt, which is the harness's boilerplate.
pub(super) fn emit_system_prompt(content: &str, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
    let (hash, bytes) = (
        Some(Hash::of_bytes(content.as_bytes())),
        Some(content.len() as u64),
    );
    let context = ImplicitInput::of_hash("system_prompt", hash, bytes);
    out.emit(Meta::Context(context), "/message/content")?;
    Ok(Outcome::Mapped)
}
