//! Which code converts what a successful call read or changed, by the shape of its structured result.

use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::result_context::ResultContext;
use super::{edits, patches, reads, text_only_results};
use crate::claude_code::emit::state::State;
use crate::claude_code::readers::Structured;
use crate::shared::value::{Value, is_true, raw_str, text};

/// The shape of `toolUseResult`. It does not name the tool.
enum Shape<'a> {
    /// Read, of any kind of file.
    Read(Value<'a>),
    /// Bash (2.1.280 and later), if the command changed files.
    ShellDiff(Value<'a>),
    /// Bash, if the harness did not compare the files: the text by which it names some of them to the model.
    ShellNames(Text<'a>),
    /// NotebookEdit (2.1.0 and later), of this file.
    Notebook(Text<'a>),
    /// Edit, MultiEdit and Write, of this file.
    File(Text<'a>),
    /// The result does not show what was read or changed: a text, or a NotebookEdit up to 2.0.69.
    OnlyArguments,
    /// The tool neither reads nor changes files.
    Other,
}

impl<'a> Shape<'a> {
    fn of(result: &Structured<'a>) -> Shape<'a> {
        if !result.object().is_object() {
            Shape::OnlyArguments
        } else if let Some(file) = result.file().filter(|file| file.is_object()) {
            Shape::Read(file)
        } else if let Some(diff) = result.bash_edit_diff().filter(has_looked) {
            Shape::ShellDiff(diff)
        } else if let Some(names) = text(result.stale_read_hint()) {
            Shape::ShellNames(names)
        } else if let Some(file) = text(result.notebook_path()) {
            Shape::Notebook(file)
        } else if let Some(file) = text(result.file_path()) {
            Shape::File(file)
        } else if is_unnamed_notebook_edit(result) {
            Shape::OnlyArguments
        } else {
            Shape::Other
        }
    }
}

/// False if the harness did not find out what a command changed.
fn has_looked(diff: &Value<'_>) -> bool {
    let has_files = |name| {
        diff.member(name)
            .is_some_and(|list| list.elements().next().is_some())
    };
    !is_true(diff.member("unavailable")) || has_files("files") || has_files("changedFiles")
}

/// Up to 2.0.69 the result of a notebook edit does not name the file.
fn is_unnamed_notebook_edit(result: &Structured<'_>) -> bool {
    result.edit_mode().is_some()
        && result.new_source().is_some()
        && raw_str(result.error()).is_empty()
}

/// Emits what a successful call read or changed.
#[inline(never)]
pub(super) fn emit_file_events(
    state: &mut State,
    result: &ResultContext<'_>,
    index: usize,
    out: &mut Emitter,
) {
    let structured = result.structured;
    let buffer = &mut state.scratch.text;
    match Shape::of(structured) {
        Shape::Read(file) => reads::emit_read(result, file, &state.marked_files, buffer, out),
        Shape::ShellDiff(diff) => patches::emit_shell_diff(result, diff, &mut state.calls, out),
        Shape::ShellNames(names) => patches::emit_named_files(result, names, &mut state.calls, out),
        Shape::Notebook(file) => {
            state.calls.set_changed(file);
            edits::emit_notebook_edit(&result.edit_of(file), structured, out)
        }
        Shape::File(file) => {
            let before = structured
                .original_file()
                .or(structured.original_file_contents());
            state.marked_files.note(file, before, structured.content());
            state.calls.set_changed(file);
            edits::emit_file_edit(
                &result.edit_of(file),
                structured,
                &mut state.last_edit,
                buffer,
                out,
            )
        }
        Shape::OnlyArguments => {
            let kept = (&mut state.scratch, &mut state.last_cell);
            text_only_results::emit_from_arguments(
                result,
                index,
                kept,
                state.permission_is_asked,
                out,
            )
        }
        Shape::Other => {}
    }
}
