//! Reads and edits whose result is only text: in sub-agents from 2.1.14 on, and in copied history up to 2.0.29.
//!
//! The call succeeded, so its arguments give the file and the text, but not the lines.

use engram_core::emit::Pointer;
use engram_core::event::{CodeEdit, EditOp};
use engram_core::steps::Emitter;
use engram_core::text::{DecodeBuffer, Text};
use engram_core::tool_kind::ToolKind;

use super::edits::decoded;
use super::located::snippet;
use super::reads;
use super::result_context::{EditTarget, ResultContext};
use crate::claude_code::blocks::CONTENT;
use crate::claude_code::emit::state::Scratch;
use crate::claude_code::emit::state::last_edit::LastCell;
use crate::claude_code::emit::state::open_calls::KeptArguments;
use crate::claude_code::readers::FileArguments;
use crate::claude_code::schema::Replacement;
use crate::shared::spans::set_whole_file;
use crate::shared::value::{is_true, parse, raw_str, text};
use engram_core::keys::hash64;

/// Emits what the call's arguments show. `may_be_changed`: somebody was asked before the call ran and
/// may have changed its texts.
#[inline(never)]
pub(super) fn emit_from_arguments(
    result: &ResultContext<'_>,
    index: usize,
    (scratch, last_cell): (&mut Scratch, &mut LastCell),
    may_be_changed: bool,
    out: &mut Emitter,
) {
    let Some(call) = &result.call else {
        return;
    };
    let pointer = Pointer::Item(CONTENT, index);
    let json = match &call.arguments {
        KeptArguments::Nothing
        | KeptArguments::ReplacedText { .. }
        | KeptArguments::WrittenText(_) => return,
        KeptArguments::ReadFile(path) => {
            reads::emit_shown_read(result, Text::Token(path), pointer, &mut scratch.text, out);
            return;
        }
        KeptArguments::All(json) => json,
    };
    let arguments = FileArguments::lenient_opt(parse(json, &mut scratch.arguments).ok());
    let file = text(arguments.path().or(arguments.notebook_path()));
    let Some(file) = file else { return };
    let edit = EditTarget {
        call_id: result.call_id,
        file,
    };
    match call.kind {
        ToolKind::Write if may_be_changed => {
            out.emit(edit.event(write_op(result.content)), pointer);
        }
        ToolKind::Write => emit_write(
            &edit,
            &arguments,
            result.content,
            pointer,
            &mut scratch.text,
            out,
        ),
        ToolKind::Edit if arguments.notebook_path().is_some() => {
            let is_replacement = matches!(raw_str(arguments.edit_mode()), "" | "replace");
            if !last_cell.set(is_replacement.then(|| hash64(&**json))) {
                return;
            }
            out.emit(edit.event(EditOp::Update), pointer);
        }
        ToolKind::Edit if may_be_changed => drop(out.emit(edit.event(EditOp::Update), pointer)),
        ToolKind::Edit => emit_snippets(&edit, &arguments, pointer, out),
        _ => {}
    }
}

/// Write: the arguments have the whole file. Only the text of the result shows whether it is new.
fn emit_write(
    edit: &EditTarget<'_>,
    arguments: &FileArguments<'_>,
    content: Option<Text<'_>>,
    pointer: Pointer<'_>,
    buffer: &mut DecodeBuffer,
    out: &mut Emitter,
) {
    let op = write_op(content);
    let mut event = edit.event(op);
    // Over a file with `\r\n`, some versions write another `\r`.
    let is_kept = |content: &Text<'_>| op == EditOp::Create || !content.raw().contains("\\r");
    if let Some(after) = text(arguments.content())
        .filter(is_kept)
        .and_then(|content| content.decode_into(buffer).ok())
    {
        set_whole_file(&mut event, after);
    }
    out.emit(event, pointer);
}

/// Whether the file is new, as the text of the result says it.
fn write_op(content: Option<Text<'_>>) -> EditOp {
    let created = content.is_some_and(|content| content.starts_with("File created successfully"));
    if created {
        EditOp::Create
    } else {
        EditOp::Overwrite
    }
}

/// Edit and MultiEdit: one snippet for each replacement.
fn emit_snippets(
    edit: &EditTarget<'_>,
    arguments: &FileArguments<'_>,
    pointer: Pointer<'_>,
    out: &mut Emitter,
) {
    let single = Replacement {
        old: arguments.old_string(),
        new: arguments.new_string(),
        everywhere: is_true(arguments.replace_all()),
    };
    for replacement in Replacement::list_or(arguments.edits(), single) {
        let (old, new) = (
            decoded(text(replacement.old)),
            decoded(text(replacement.new)),
        );
        out.emit(
            certain_snippet(edit, old.as_deref(), new.as_deref()),
            pointer,
        );
    }
}

/// The old and the new text as far as they are certain.
fn certain_snippet<'a>(
    edit: &EditTarget<'a>,
    old: Option<&str>,
    new: Option<&str>,
) -> CodeEdit<'a> {
    if !old.is_some_and(has_quotation_mark) {
        return snippet(edit, old, new);
    }
    if new.is_some_and(has_quotation_mark) {
        return edit.event(EditOp::Update);
    }
    snippet(edit, None, new)
}

/// The text of an edit with these marks is found in a file that has typographic ones, which newer versions keep in the new text.
fn has_quotation_mark(text: &str) -> bool {
    text.contains(['\'', '"'])
}
