//! Files that were about to be read, and edits that were made.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{CodeEdit, EditOp, ImplicitInput, Meta};
use engram_core::hash::Hash;
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::events::emit_notice;
use super::schema::Payload;
use crate::cursor::faults::absent;
use crate::cursor::fields::required_name;
use crate::cursor::file_edits::snippet;
use crate::shared::value::{non_empty_text, raw_str, text};

/// The whole file that is about to be read: its hash. Another step shows whether it was read.
pub(super) fn content(payload: &Payload<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let content = text(payload.content()).and_then(|content| content.decode().ok());
    let hash = content.as_deref().and_then(Hash::of_lossless_text);
    let bytes = content.as_deref().map(|content| content.len() as u64);
    let name = Text::Plain(raw_str(payload.hook_event_name()));
    let context = ImplicitInput { name, file: non_empty_text(payload.file_path()), hash, bytes, text: None };
    out.emit(Meta::Context(context), Pointer::At("/content"))?;
    Ok(Outcome::Mapped)
}

/// Edits, by their old and new text. A notice keeps the text, since the call may not be in the log.
pub(super) fn edits(payload: &Payload<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let file = required_name(payload.file_path(), Pointer::At("/file_path"))?;
    let edits = payload.edits().filter(|edits| edits.is_array());
    let edits = edits.ok_or_else(|| absent(Pointer::At("/edits"), "a list", payload.edits()))?;
    emit_notice(raw_str(payload.hook_event_name()), payload.edits(), out)?;
    for (index, replaced) in edits.elements().enumerate() {
        let mut edit = CodeEdit::new(EditOp::Update, file);
        (edit.before_hash, edit.before_anchor_hashes) = snippet(text(replaced.member("old_string")));
        (edit.after_hash, edit.after_anchor_hashes) = snippet(text(replaced.member("new_string")));
        edit.snippet = edit.before_hash.is_some() || edit.after_hash.is_some();
        out.emit(edit, Pointer::Item("/edits", index))?;
    }
    Ok(Outcome::Mapped)
}
