//! Files that were about to be read, and edits that were made.

use engram_core::emit::{Fault, Pointer};
use engram_core::event::{CodeEdit, EditOp, ImplicitInput, Meta};
use engram_core::hash::Hash;
use engram_core::ledger::Outcome;
use engram_core::steps::Lookup;
use engram_core::text::Text;

use super::events::emit_notice;
use super::open_writes::OpenWrite;
use super::plan::Before;
use super::schema::Step;
use super::state::HookState;
use crate::cursor::edits::file_edits::{set_snippets, whole_file_edits};
use crate::cursor::edits::written_files::WrittenFiles;
use crate::cursor::fields::faults::absent;
use crate::cursor::fields::required_name;
use crate::cursor::steps::Out;
use crate::shared::value::{non_empty_text, raw_str, text};

/// The whole file that is about to be read: its hash. Another step shows whether it was read.
pub(super) fn content(
    _: &mut HookState,
    payload: &Step<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let content = text(payload.content()).and_then(|content| content.decode().ok());
    let hash = content.as_deref().and_then(Hash::of_lossless_text);
    let bytes = content.as_deref().map(|content| content.len() as u64);
    let name = Text::Plain(raw_str(payload.hook_event_name()));
    let context = ImplicitInput {
        name,
        file: non_empty_text(payload.file_path()),
        hash,
        bytes,
        text: None,
    };
    out.emit(Meta::Context(context), "/content")?;
    Ok(Outcome::Mapped)
}

/// Edits: by the whole file before and after, if the steps of their call show both, else by their old and new text. A notice keeps the
/// text, since the call may not be in the log.
pub(super) fn edits(
    state: &mut HookState,
    payload: &Step<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let file = required_name(payload.file_path(), Pointer::At("/file_path"))?;
    let edits = payload.edits().filter(|edits| edits.is_array());
    let edits = edits.ok_or_else(|| absent(Pointer::At("/edits"), "a list", payload.edits()))?;
    emit_notice(raw_str(payload.hook_event_name()), payload.edits(), out)?;
    let HookState { writes, files, .. } = state;
    let write = writes.of(payload);
    let mut call_id = None;
    if let Some(write) = write {
        write.is_emitted = true;
        if emit_whole_file(files, write, payload.others, out)? {
            return Ok(Outcome::Mapped);
        }
        call_id = Some(Text::Plain(&write.id));
    }
    for (index, replaced) in edits.elements().enumerate() {
        let mut edit = CodeEdit {
            call_id,
            ..CodeEdit::new(EditOp::Update, file)
        };
        set_snippets(
            &mut edit,
            text(replaced.member("old_string")),
            text(replaced.member("new_string")),
        );
        out.emit(edit, Pointer::Item("/edits", index))?;
    }
    Ok(Outcome::Mapped)
}

/// Emits the edits of a write by the whole file before and after it. False if the log does not show both.
pub(super) fn emit_whole_file(
    files: &mut WrittenFiles,
    write: &OpenWrite,
    others: Lookup<'_>,
    out: &mut Out<'_, '_>,
) -> Result<bool, Fault> {
    let (op, before) = match write.before {
        Before::Unknown => return Ok(false),
        Before::Missing => (EditOp::Create, None),
        Before::Text(number) => match OpenWrite::text_before(number, others) {
            Some(text) => (EditOp::Update, Some(text)),
            None => return Ok(false),
        },
    };
    let Some(after) = write.after(others) else {
        return Ok(false);
    };
    let edit = CodeEdit {
        call_id: Some(Text::Plain(&write.id)),
        ..CodeEdit::new(op, Text::Plain(&write.file))
    };
    let mut edits = whole_file_edits(
        edit,
        before.as_deref().map(Text::Plain),
        Text::Plain(&after),
        None,
    );
    files.keep_certain(&mut edits);
    for edit in edits {
        out.emit(edit, Pointer::Root)?;
    }
    Ok(true)
}
