//! Calls of transcripts, with the edits that they request. A transcript does not record whether an edit was made.

use std::borrow::{Borrow, Cow};

use engram_core::emit::{Fault, Pointer};
use engram_core::event::{CodeEdit, EditOp, Seq, ToolCall};
use engram_core::text::Text;

use crate::cursor::edits::file_edits::set_snippets;
use crate::cursor::members;
use crate::cursor::readers::FileArgs;
use crate::cursor::steps::Out;
use crate::cursor::tools;
use crate::shared::patch::{FileChange, begin_patch, unified_runs};
use crate::shared::value::{Field, Value, non_empty_text, text};

/// The tool whose argument is a patch, alone or as a member (public transcripts of 2026).
const PATCH: &str = "ApplyPatch";

/// Emits a call and the edit that it requests, and returns the call's `seq`.
pub(super) fn emit_call(
    tool: Text<'_>,
    args: Field<'_>,
    pointer: Pointer<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Seq, Fault> {
    let name = tool.decode_lossy();
    let call = ToolCall {
        server: tools::server(&name, args),
        call_id: None,
        args: args.map(Value::raw),
        ..ToolCall::new(tool, tools::TOOLS.kind(&name))
    };
    let seq = out.emit(call, pointer)?;
    match args {
        Some(args) if name == PATCH => emit_patch(seq, args, pointer, out)?,
        Some(args) => {
            if let Some(edit) = requested_edit(&name, args) {
                out.emit_child(Some(seq), edit, pointer)?;
            }
        }
        None => {}
    }
    Ok(seq)
}

/// Compares the arguments of a call that requests an edit with the member table, unless all that is read from them is there. Other
/// arguments are the model's own words. `at` is the place of the arguments.
pub(super) fn check_requested_edit(
    tool: Text<'_>,
    args: Field<'_>,
    at: Pointer<'_>,
    out: &mut Out<'_, '_>,
) {
    let Some(value) = args.filter(|args| args.is_object()) else {
        return;
    };
    let (tool, args) = (tool.decode_lossy(), FileArgs::lenient(value));
    let read = match &*tool {
        "Write" => [args.path(), args.contents(), args.path()],
        "StrReplace" => [args.path(), args.old_string(), args.new_string()],
        "Delete" => [args.path(); 3],
        PATCH => [args.patch(); 3],
        _ => return,
    };
    if !read.iter().all(Option::is_some) {
        members::check_chosen("tool_use#input", value, at, &tool, out);
    }
}

/// The edit that a call requests, if its arguments contain the text.
fn requested_edit<'a>(tool: &str, args: Value<'a>) -> Option<CodeEdit<'a>> {
    let op = match tool {
        "Write" => EditOp::Overwrite,
        "StrReplace" => EditOp::Update,
        "Delete" => EditOp::Delete,
        _ => return None,
    };
    let args = FileArgs::lenient(args);
    let mut edit = CodeEdit::new(op, non_empty_text(args.path())?);
    edit.confirmed = false;
    set_snippets(
        &mut edit,
        text(args.old_string()),
        text(args.contents()).or(text(args.new_string())),
    );
    Some(edit)
}

/// Emits the edits that a patch requests, one for each change that it says: a `*** Begin Patch` of any number of files, or the hunks of a
/// unified diff of the file at `path`. Lines are not known, because nothing shows that the patch was applied.
fn emit_patch(
    call: Seq,
    args: Value<'_>,
    pointer: Pointer<'_>,
    out: &mut Out<'_, '_>,
) -> Result<(), Fault> {
    let (patch, path) = match text(Some(args)) {
        Some(patch) => (Some(patch), None),
        None => {
            let args = FileArgs::lenient(args);
            (text(args.patch()), non_empty_text(args.path()))
        }
    };
    let Some(Ok(patch)) = patch.map(|patch| patch.decode()) else {
        return Ok(());
    };
    let mut edit = |op, file, before: Option<String>, after: Option<String>| {
        let mut edit = CodeEdit::new(op, file);
        edit.confirmed = false;
        set_snippets(
            &mut edit,
            before.as_deref().map(Text::Plain),
            after.as_deref().map(Text::Plain),
        );
        out.emit_child(Some(call), edit, pointer).map(drop)
    };
    if let Some(path) = path {
        for run in unified_runs(&with_final_line_end(&patch)).unwrap_or_default() {
            edit(EditOp::Update, path, side(&run.before), side(&run.after))?;
        }
    }
    for file in begin_patch(&patch).unwrap_or_default() {
        let path = Text::Plain(file.path);
        match file.change {
            FileChange::Add(lines) => edit(EditOp::Create, path, None, side(&lines))?,
            FileChange::Delete => edit(EditOp::Delete, path, None, None)?,
            FileChange::Update { move_to, hunks } => {
                if move_to.is_some() {
                    edit(EditOp::Move, path, None, None)?;
                }
                let path = move_to.map_or(path, Text::Plain);
                for hunk in hunks {
                    edit(EditOp::Update, path, side(&hunk.before), side(&hunk.after))?;
                }
            }
        }
    }
    Ok(())
}

/// The text of lines. None of no lines.
fn side<L: Borrow<str>>(lines: &[L]) -> Option<String> {
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The text with a line end at its end, as a diff has one.
fn with_final_line_end(text: &str) -> Cow<'_, str> {
    if text.ends_with('\n') {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("{text}\n"))
    }
}
