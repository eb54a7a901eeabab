//! Calls that a script of the model made (`codemode`, 1.6). The result of the script names them, and has nothing of what they returned but errors.

use engram_core::emit::Pointer;
use engram_core::event::{ImplicitInput, Meta, Seq, Status, ToolCall, ToolResult};
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;

use super::edits::{edit, write};
use super::printed::{exit_in, split};
use super::reads::read;
use super::state::{FileCall, State};
use crate::pi::descriptor::TOOLS;
use crate::pi::readers::{Details, FileArgs, Message, Nested};
use crate::shared::value::{Value, count, non_empty_text, raw_str, text};

const CALLS: &str = "/message/nestedCalls/calls";

/// The calls of a script, each with its result and its file. The script is their parent.
pub fn nested(
    state: &mut State,
    record: &Record<'_>,
    message: &Message<'_>,
    script: Option<Seq>,
    out: &mut Emitter<'_>,
) {
    let calls = message.nested().and_then(|nested| nested.member("calls"));
    for (n, value) in calls.into_iter().flat_map(Value::elements).enumerate() {
        let (call, pointer) = (Nested::lenient(value), Pointer::Item(CALLS, n));
        let tool = raw_str(call.name());
        let event = ToolCall {
            call_id: text(call.id()),
            args: call.args().map(Value::raw),
            ..ToolCall::new(text(call.name()).unwrap_or_default(), TOOLS.kind(tool))
        };
        out.emit_child(script, event, pointer);
        result(&call, pointer, out);
        if raw_str(call.status()) == OK {
            file(state, record, &call, out);
        }
    }
}

/// How the log says that a call succeeded.
const OK: &str = "ok";

fn result(call: &Nested<'_>, pointer: Pointer<'_>, out: &mut Emitter<'_>) {
    let error = text(call.error()).map(|error| error.decode_lossy());
    let error = error.as_deref().unwrap_or_default();
    let is_ok = raw_str(call.status()) == OK;
    let exit = exit_in(raw_str(call.name()), error).filter(|_| !is_ok);
    let (said, notice) = match exit {
        Some(_) => split(error, true),
        None => (error, None),
    };
    let said = Some(Text::Plain(said)).filter(|said| !said.is_empty());
    // What a command printed that failed is its output.
    let (stdout, stderr) = match exit {
        Some(_) => (said, None),
        None => (None, said),
    };
    let event = ToolResult {
        tool: text(call.name()),
        call_id: text(call.id()),
        status: Some(if is_ok { Status::Ok } else { Status::Error }),
        exit,
        stdout,
        stderr,
        duration_ms: count(call.duration()),
        ..ToolResult::default()
    };
    out.emit(event, pointer);
    if let Some(notice) = notice.map(Text::Plain) {
        let input = ImplicitInput::of_text("tool_result", Some(notice));
        out.emit(Meta::Context(input), pointer);
    }
}

/// The file of a call that succeeded: without a diff and an output an edit and a read have no lines.
fn file(state: &mut State, record: &Record<'_>, call: &Nested<'_>, out: &mut Emitter<'_>) {
    let Some(args) = call.args().map(FileArgs::lenient) else {
        return;
    };
    let Some(path) = non_empty_text(args.path()) else {
        return;
    };
    let file_call = FileCall {
        call_id: text(call.id()),
        details: Details::lenient_opt(None),
        is_exact: true,
        is_known: state.knows(path),
        args,
    };
    state.with_file(record.number, path, out, |file, out| {
        match raw_str(call.name()) {
            "read" => read(file, &file_call, None, out),
            "edit" => edit(file, &file_call, out),
            "write" => write(file, &file_call, out),
            _ => {}
        }
    });
}
