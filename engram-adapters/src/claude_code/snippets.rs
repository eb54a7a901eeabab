//! Reads and edits whose result is only text: in sub-agents from 2.1.20 on, and in copied history up to 2.0.10. What the
//! call asked for was done, so its arguments tell the file and the text, but not the lines.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{CodeEdit, EditOp};
use engram_core::hash::Hash;
use engram_core::text::{DecodeBuffer, Text};
use engram_core::tool_kind::ToolKind;

use super::calls::Kept;
use super::converter::Converter;
use super::edited::Edit;
use super::edits::after_side;
use super::reads;
use super::returned::Returned;
use super::schema::{FileArguments, Replacement};
use crate::shared::spans::hash_and_anchors;
use crate::shared::value::{is_true, parse, raw_str, text};
use engram_core::keys::hash64;

impl Converter {
    /// What the arguments of the call tell. True when there was something.
    #[inline(never)]
    pub fn read_arguments(&mut self, returned: &Returned<'_>, index: usize, out: &mut Emitter) -> Result<bool, Fault> {
        let Some(call) = &returned.call else { return Ok(false) };
        let pointer = Pointer::Item("/message/content", index);
        match &call.kept {
            Kept::Nothing | Kept::Replaced(_) | Kept::Written(_) => return Ok(false),
            Kept::File(path) => reads::shown(returned, Text::Token(path), pointer, &mut self.room, out)?,
            Kept::Arguments(arguments) => return self.edit_as_asked(returned, call.kind, arguments, pointer, out),
        }
        Ok(true)
    }

    fn edit_as_asked(
        &mut self,
        returned: &Returned<'_>,
        kind: ToolKind,
        source: &str,
        pointer: Pointer<'_>,
        out: &mut Emitter,
    ) -> Result<bool, Fault> {
        let arguments = FileArguments::lenient(parse(source, &mut self.arguments)?);
        let Some(file) = text(arguments.path().or(arguments.notebook_path())) else { return Ok(false) };
        let edit = Edit { call_id: returned.call_id, file };
        match kind {
            ToolKind::Write => write(&edit, &arguments, returned.content, pointer, &mut self.room, out)?,
            ToolKind::Edit if arguments.notebook_path().is_some() => {
                return notebook_cell(&edit, &arguments, source, &mut self.last_cell, pointer, out);
            }
            ToolKind::Edit => replace(&edit, &arguments, pointer, &mut self.room, out)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// A cell of a notebook, whose text in the file no field gives. The same text for the same cell again changes nothing.
fn notebook_cell(
    edit: &Edit<'_>,
    arguments: &FileArguments<'_>,
    source: &str,
    last_cell: &mut Option<u64>,
    pointer: Pointer<'_>,
    out: &mut Emitter,
) -> Result<bool, Fault> {
    let cell = Some(hash64(source)).filter(|_| matches!(raw_str(arguments.edit_mode()), "" | "replace"));
    if cell.is_some() && *last_cell == cell {
        return Ok(false);
    }
    *last_cell = cell;
    out.emit(edit.event(EditOp::Update), pointer)?;
    Ok(true)
}

/// A whole file, whose text the call gives. Only the answer tells whether it is new.
fn write(
    edit: &Edit<'_>,
    arguments: &FileArguments<'_>,
    answer: Option<Text<'_>>,
    pointer: Pointer<'_>,
    room: &mut DecodeBuffer,
    out: &mut Emitter,
) -> Result<(), Fault> {
    let created = answer.is_some_and(|answer| answer.starts_with("File created successfully"));
    let mut event = edit.event(if created { EditOp::Create } else { EditOp::Overwrite });
    if let Some(after) = text(arguments.content()).and_then(|content| content.decode_into(room).ok()) {
        after_side(&mut event, after);
    }
    out.emit(event, pointer)?;
    Ok(())
}

/// One snippet for each replacement.
fn replace(
    edit: &Edit<'_>,
    arguments: &FileArguments<'_>,
    pointer: Pointer<'_>,
    room: &mut DecodeBuffer,
    out: &mut Emitter,
) -> Result<(), Fault> {
    let alone = Replacement { old: arguments.old_string(), new: arguments.new_string(), everywhere: is_true(arguments.replace_all()) };
    let replacements = Replacement::all(arguments.edits(), alone);
    for replacement in replacements {
        let mut event = CodeEdit { snippet: true, ..edit.event(EditOp::Update) };
        (event.before_hash, event.before_anchor_hashes) = snippet(text(replacement.old), room);
        (event.after_hash, event.after_anchor_hashes) = snippet(text(replacement.new), room);
        if raw_str(replacement.old).is_empty() {
            event.op = EditOp::Create;
            (event.before_hash, event.before_anchor_hashes) = (None, Vec::new());
        }
        out.emit(event, pointer)?;
    }
    Ok(())
}

fn snippet(said: Option<Text<'_>>, room: &mut DecodeBuffer) -> (Option<Hash>, Vec<u64>) {
    said.and_then(|said| said.decode_into(room).ok()).map(hash_and_anchors).unwrap_or_default()
}
