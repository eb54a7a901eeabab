//! `tool_result` blocks of `user` lines: the result's event, and then what the tool read or changed.

use engram_core::emit::Pointer;
use engram_core::event::{SideFile, Status, ToolResult};
use engram_core::keys::hash64;
use engram_core::steps::Emitter;
use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;

use super::result_context::{
    EditTarget, PERSISTED, ResultContext, emit_context, exit_code, full_output, is_placeholder,
    is_stream, joined_text, persisted_path, repeats, status,
};
use super::{edits, patches, reads};
use crate::claude_code::blocks::{CONTENT, images};
use crate::claude_code::emit::state::State;
use crate::claude_code::readers::{Block, Line, Structured};
use crate::shared::value::{Value, elements, is_true, non_empty_text, raw_str, text};

/// One `tool_result` block of a line, whose note is at this place. Returns false if it only repeats an earlier result.
/// `is_structured_repeated`: an earlier result of the call has a structured form.
#[inline(never)]
pub fn tool_result(
    state: &mut State,
    line: &Line<'_>,
    block: &Block<'_>,
    (at, index): (usize, usize),
    is_structured_repeated: bool,
    out: &mut Emitter<'_>,
) -> bool {
    let call_id = text(block.tool_use_id());
    let key = call_id.map_or(0, |id| hash64(id.raw()));
    let mut buffer = String::new();
    let content = match block.content() {
        Some(list) if list.is_array() => joined_text(list, &mut buffer),
        content => text(content),
    };
    let structured = &Structured::lenient_opt(line.tool_use_result());
    let is_new = !state.plan.is_repeated(at, index) && !state.plan.is_stated(at, index);
    let has_structured = structured.object().is_object() && !is_structured_repeated;
    if !is_new && !has_structured {
        return false;
    }
    let status = status(line, block, content, structured);
    let result = ResultContext {
        call_id,
        status,
        content,
        structured,
        call: state.calls.close(key),
        cwd: text(line.cwd()),
    };
    if is_new {
        emit_result(state, line, block, index, &result, out);
        if structured.object().is_object() && state.plan.lacks_call(at, index) {
            emit_echoed_arguments(&result, out);
        }
    }
    // A result that was appended again may have the structured form that the first one lacked.
    let before = out.last_seq();
    if status == Status::Ok {
        emit_file_events(state, &result, index, out);
    }
    is_new || out.last_seq() != before
}

#[inline(never)]
fn emit_result(
    state: &mut State,
    line: &Line<'_>,
    block: &Block<'_>,
    index: usize,
    result: &ResultContext<'_>,
    out: &mut Emitter,
) {
    let (structured, content) = (result.structured, result.content);
    let mut buffer = String::new();
    let whole = match result.is_persisted() || result.is_handed_back() {
        true => result.whole_output(line.tool_use_result(), &mut buffer),
        false => None,
    };
    let stdout = non_empty_text(structured.stdout())
        .or_else(|| full_output(structured, content))
        .or(whole);
    let stderr = non_empty_text(structured.stderr());
    let failed = is_true(block.is_error());
    let has_streams =
        stdout.is_some() || stderr.is_some() || (!failed && is_placeholder(structured, content));
    let streams = match (has_streams, failed) {
        (true, _) => (stdout, stderr),
        (false, true) => (None, content),
        (false, false) => (content, None),
    };
    let shown = content
        .filter(|content| content.starts_with(PERSISTED))
        .map(|content| content.decode_lossy());
    let bytes = structured.persisted_output_size().and_then(Value::unsigned);
    let path = non_empty_text(structured.persisted_output_path());
    let path = path.or_else(|| shown.as_deref().and_then(persisted_path).map(Text::Plain));
    let artifact = path.map(|path| side_file(state, path, bytes));
    let event = ToolResult {
        tool: result.tool(),
        call_id: result.call_id,
        status: Some(result.status),
        exit: if failed {
            content.and_then(exit_code)
        } else {
            None
        },
        stdout: streams.0,
        stderr: streams.1,
        truncated: artifact.is_some() || shown.is_some() || is_true(structured.truncated()),
        artifact,
        attachments: images(block.content()),
        duration_ms: structured
            .total_duration_ms()
            .or(structured.duration_ms())
            .and_then(Value::unsigned),
    };
    let unseen =
        text(line.tool_use_result()).filter(|text| whole.is_none() && !repeats(*text, content));
    let is_denied = result.status == Status::Denied;
    if let Some(reason) = unseen.filter(|_| is_denied) {
        result.emit_denial_reason(reason, out);
    }
    out.emit(event, Pointer::Item(CONTENT, index));
    if has_streams && !is_stream(content, stdout, stderr) {
        emit_context(content, Pointer::Field(CONTENT, index, "/content"), out);
    }
    result.emit_extra_fields(&mut state.scratch, out);
    if let Some(unseen) = unseen.filter(|_| !is_denied) {
        result.emit_unseen_text(unseen, out);
    }
    result.emit_decision(line, (index, failed), out)
}

/// The file with the whole output of a call whose result has only its beginning.
#[cold]
fn side_file<'a>(state: &State, path: Text<'a>, bytes: Option<u64>) -> SideFile<'a> {
    let found = state
        .side_info
        .side_files
        .as_ref()
        .and_then(|files| files.hash(&path.decode_lossy()));
    SideFile {
        path,
        hash: found.map(|(hash, _)| hash),
        bytes: found.map(|(_, bytes)| bytes).or(bytes),
    }
}

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
    let has_files = |name| elements(diff.member(name)).next().is_some();
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
    let empty = &mut state.last_edit.empty;
    if result
        .call
        .as_ref()
        .is_none_or(|call| may_delete(call.kind))
    {
        empty.forget();
    }
    match Shape::of(structured) {
        Shape::Read(file) => {
            let seen = (&state.marked_files, empty);
            reads::emit_read(result, file, seen, buffer, out)
        }
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
            let edit = EditTarget {
                is_empty: empty.has(file),
                ..result.edit_of(file)
            };
            empty.note(file, false);
            edits::emit_file_edit(&edit, structured, &mut state.last_edit, buffer, out)
        }
        Shape::OnlyArguments => {
            let kept = (&mut state.scratch, &mut state.last_cell);
            reads::emit_from_arguments(result, index, kept, state.permission_is_asked, out)
        }
        Shape::Other => {}
    }
}

/// True for tools that may delete files without a record of that.
fn may_delete(kind: ToolKind) -> bool {
    matches!(
        kind,
        ToolKind::Execute | ToolKind::Delegate | ToolKind::Mcp | ToolKind::Other
    )
}

/// The fields of `toolUseResult` that echo arguments, and their pointers.
const ECHOED: &[(&str, &str)] = &[
    ("oldString", "/toolUseResult/oldString"),
    ("newString", "/toolUseResult/newString"),
    ("edits", "/toolUseResult/edits"),
    ("content", "/toolUseResult/content"),
    ("newTodos", "/toolUseResult/newTodos"),
    ("plan", "/toolUseResult/plan"),
    ("description", "/toolUseResult/description"),
    ("query", "/toolUseResult/query"),
    ("url", "/toolUseResult/url"),
];

/// Emits the arguments that a result without a call echoes.
#[cold]
pub(super) fn emit_echoed_arguments(result: &ResultContext<'_>, out: &mut Emitter<'_>) {
    for (name, pointer) in ECHOED {
        // A list in `content` is what the model saw.
        let is_list = |value: &Value<'_>| *name != "content" && value.elements().next().is_some();
        let is_text = |value: &Value<'_>| {
            non_empty_text(Some(*value)).is_some_and(|text| !repeats(text, result.content))
        };
        let argument = result
            .structured
            .object()
            .member(name)
            .filter(|value| is_text(value) || is_list(value));
        if let Some(argument) = argument {
            emit_context(Some(argument.text_or_json()), Pointer::At(pointer), out);
        }
    }
}
