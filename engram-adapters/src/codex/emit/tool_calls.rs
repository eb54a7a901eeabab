//! Calls of tools as response items, and the search for tools.

use std::borrow::Cow;

use engram_core::emit::Pointer;
use engram_core::event::{Status, ToolCall, ToolResult};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::shared::value::{Field, StructuralIndex, Value, parse, raw_str, text};

use super::State;
use super::context::emit_value;
use super::patch_text::directory_of_patch;
use super::scripts::Moment;
use crate::codex::readers::{Call, Output};
use crate::codex::record::Record;
use crate::codex::tools;

/// The tools that apply the patch in a command. Their arguments are checked if they contain one: elsewhere they are the model's own words.
pub const SHELL_TOOLS: [&str; 4] = ["shell", "shell_command", "exec_command", "container.exec"];

/// A call whose arguments are JSON in a string. The call of a shell tool may apply a patch.
pub fn function_call(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let call = Call::lenient(record.value);
    let tool = text(call.name()).unwrap_or_default();
    let name = tool.decode_lossy();
    let mut index = StructuralIndex::default();
    let decoded = text(call.arguments())
        .and_then(|args| args.decode().ok())
        .unwrap_or_default();
    let value = object_or_list(&decoded, &mut index);
    // What nests too deep to be copied as a value has no depth as a string.
    let args = value
        .filter(|value| !out.nests_too_deep(value.raw()))
        .or(call.arguments());
    let names = Names::of(&call, &name);
    let mut event = ToolCall {
        call_id: text(call.call_id()),
        args: args.map(Value::raw),
        ..names.event(tool)
    };
    let cell = value.and_then(|args| text(args.first_member("cell_id")));
    if let Some(cell) = cell.filter(|_| name == tools::WAIT_FOR_SCRIPT.0) {
        event.kind = tools::WAIT_FOR_SCRIPT.1;
        let id = state.call().0.map_or(0, |note| note.id);
        state.scripts.wait(id, &cell.decode_lossy());
    }
    out.emit(event, Pointer::Root);
    if let Some(args) = value.filter(|_| state.call().0.is_some_and(|call| call.is_patch)) {
        state.directories.insert(
            u64::from(state.note().at),
            directory_of_patch(args, state.last.cwd()),
        );
    }
    Outcome::Mapped
}

/// A call whose input is text: a patch, or a script of code mode.
pub fn custom_tool_call(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let call = Call::lenient(record.value);
    let tool = text(call.name()).unwrap_or_default();
    let name = tool.decode_lossy();
    let names = Names::of(&call, &name);
    let seq = out.emit(
        ToolCall {
            call_id: text(call.call_id()),
            args: call.input().map(Value::raw),
            ..names.event(tool)
        },
        Pointer::Root,
    );
    let Some(note) = state.call().0 else {
        return Outcome::Mapped;
    };
    if name == "exec" && note.id != 0 {
        state.scripts.begin(note.id, seq, Moment::of_call(record));
    }
    if note.is_patch {
        let directory = Some(state.last.cwd())
            .filter(|cwd| !cwd.is_empty())
            .map(str::to_owned);
        state
            .directories
            .insert(u64::from(state.note().at), directory);
    }
    Outcome::Mapped
}

/// A command of the model's own shell tool.
pub fn local_shell_call(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let call = Call::lenient(record.value);
    emit_plain_call(
        "local_shell",
        call.call_id().or(call.id()),
        call.action(),
        out,
    )
}

/// A search for tools.
pub fn tool_search_call(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let call = Call::lenient(record.value);
    emit_plain_call("tool_search", call.call_id(), call.arguments(), out)
}

/// The tools that a search found.
pub fn tool_search_output(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let output = Output::lenient(record.value);
    let status = (raw_str(output.status()) == "completed").then_some(Status::Ok);
    let result = ToolResult {
        tool: Some(Text::Plain("tool_search")),
        call_id: text(output.call_id()),
        status,
        ..ToolResult::default()
    };
    out.emit(result, Pointer::Root);
    if let Some(tools) = output.tools().filter(|tools| !tools.is_empty_list()) {
        emit_value("tools", tools, record.pointer_to("/payload/tools"), out);
    }
    Outcome::Mapped
}

/// Tools that the model gets in addition.
pub fn additional_tools(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    if let Some(tools) = Output::lenient(record.value).tools() {
        emit_value("tools", tools, record.pointer_to("/payload/tools"), out);
    }
    Outcome::Mapped
}

/// The name of a tool and of what it belongs to.
struct Names<'n> {
    tool: &'n str,
    namespace: Cow<'n, str>,
}

impl<'n> Names<'n> {
    fn of(call: &Call<'n>, tool: &'n str) -> Self {
        Names {
            tool,
            namespace: text(call.namespace())
                .map(|namespace| namespace.decode_lossy())
                .unwrap_or_default(),
        }
    }

    /// A call of the tool.
    fn event<'e>(&'e self, tool: Text<'e>) -> ToolCall<'e> {
        let server = tools::server(self.tool, &self.namespace).map(Text::Plain);
        ToolCall {
            server,
            ..ToolCall::new(tool, tools::kind(self.tool, &self.namespace))
        }
    }
}

/// The decoded arguments, if they are an object or a list.
pub fn object_or_list<'a>(decoded: &'a str, index: &'a mut StructuralIndex) -> Option<Value<'a>> {
    let decoded = decoded.trim_ascii();
    if decoded.starts_with(['{', '[']) {
        parse(decoded, index).ok()
    } else {
        None
    }
}

/// Emits a call whose arguments are a JSON value.
fn emit_plain_call(
    tool: &str,
    call_id: Field<'_>,
    args: Field<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let call = ToolCall {
        call_id: text(call_id),
        args: args.map(Value::raw),
        ..ToolCall::new(Text::Plain(tool), tools::kind(tool, ""))
    };
    out.emit(call, Pointer::Root);
    Outcome::Mapped
}
