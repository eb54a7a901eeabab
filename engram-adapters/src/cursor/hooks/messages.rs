//! Prompts, answers and reasoning.

use engram_core::emit::{Fault, Pointer};
use engram_core::event::{Attachment, Author, Channel, MsgIn, MsgOut};
use engram_core::ledger::Outcome;

use super::events::emit_usage;
use super::schema::Step;
use super::state::HookState;
use crate::cursor::fields::required_text;
use crate::cursor::steps::Out;
use crate::shared::value::{elements, non_empty_text};

/// A prompt with its attachments.
pub(super) fn prompt(
    state: &mut HookState,
    payload: &Step<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let pointer = Pointer::At("/prompt");
    state.has_usage = false;
    let text = Some(required_text(payload.prompt(), pointer)?);
    let files =
        elements(payload.attachments()).map(|file| non_empty_text(file.member("file_path")));
    let attachments = files
        .map(|name| Attachment {
            media_type: None,
            hash: None,
            bytes: None,
            name,
        })
        .collect();
    out.emit(MsgIn::user(Author::Person, text).with(attachments), pointer)?;
    Ok(Outcome::Mapped)
}

/// An answer with its tokens.
pub(super) fn answer(
    state: &mut HookState,
    payload: &Step<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let pointer = Pointer::At("/text");
    out.emit(
        MsgOut {
            text: Some(required_text(payload.text(), pointer)?),
            ..MsgOut::default()
        },
        pointer,
    )?;
    state.has_usage |= emit_usage(payload, out)?;
    Ok(Outcome::Mapped)
}

/// Reasoning.
pub(super) fn reasoning(
    _: &mut HookState,
    payload: &Step<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let pointer = Pointer::At("/text");
    let (text, channel) = (
        Some(required_text(payload.text(), pointer)?),
        Some(Channel::Reasoning),
    );
    out.emit(
        MsgOut {
            text,
            channel,
            ..MsgOut::default()
        },
        pointer,
    )?;
    Ok(Outcome::Mapped)
}
