//! Calls of transcripts, with the edits that they request. A transcript does not record whether an edit was made.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{CodeEdit, EditOp, Seq, ToolCall};
use engram_core::text::Text;

use crate::cursor::edits::file_edits::set_snippets;
use crate::cursor::members;
use crate::cursor::tools;
use crate::shared::value::{Field, Value, non_empty_text, text};
use crate::shared::view::view;

view! {
    /// The arguments of `Write`, `StrReplace` and `Delete` (SDK 1.0.32, real transcripts of 2026).
    Args {
        path: "path" String,
        contents: "contents" String,
        old_string: "old_string" String,
        new_string: "new_string" String,
    }
}

/// Emits a call and the edit that it requests, and returns the call's `seq`.
pub(super) fn emit_call(tool: Text<'_>, args: Field<'_>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<Seq, Fault> {
    let name = tool.decode_lossy();
    let call = ToolCall { call_id: None, args: args.map(Value::raw), ..ToolCall::new(tool, tools::TOOLS.kind(&name)) };
    let seq = out.emit(call, pointer)?;
    if let Some(edit) = args.and_then(|args| requested_edit(&name, args)) {
        out.emit_child(Some(seq), edit, pointer)?;
    }
    Ok(seq)
}

/// Compares the arguments of a call that requests an edit with the member table, unless all that is read from them is there. Other
/// arguments are the model's own words. `at` is the place of the arguments.
pub(super) fn check_requested_edit(tool: Text<'_>, args: Field<'_>, at: Pointer<'_>, out: &mut Emitter) -> Result<(), Fault> {
    let Some(value) = args.filter(|args| args.is_object()) else { return Ok(()) };
    let (tool, args) = (tool.decode_lossy(), Args::lenient(value));
    let read = match &*tool {
        "Write" => [args.path(), args.contents(), args.path()],
        "StrReplace" => [args.path(), args.old_string(), args.new_string()],
        "Delete" => [args.path(); 3],
        _ => return Ok(()),
    };
    if read.iter().all(Option::is_some) { Ok(()) } else { members::check_chosen("tool_use#input", value, at, &tool, out) }
}

/// The edit that a call requests, if its arguments contain the text.
fn requested_edit<'a>(tool: &str, args: Value<'a>) -> Option<CodeEdit<'a>> {
    let op = match tool {
        "Write" => EditOp::Overwrite,
        "StrReplace" => EditOp::Update,
        "Delete" => EditOp::Delete,
        _ => return None,
    };
    let args = Args::lenient(args);
    let mut edit = CodeEdit::new(op, non_empty_text(args.path())?);
    edit.unconfirmed = true;
    set_snippets(&mut edit, text(args.old_string()), text(args.contents()).or(text(args.new_string())));
    Some(edit)
}
