//! Calls of tools as response items, and the search for tools.

use std::borrow::Cow;

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Status, ToolCall, ToolResult};
use engram_core::ledger::Outcome;
use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;

use crate::shared::value::{Field, StructuralIndex, Value, count, parse, raw_str, text};

use super::implicit_input::emit_value;
use crate::codex::members;
use crate::codex::record::{Container, Record};
use crate::codex::results::edits;
use crate::codex::schema::{Call, Output};
use crate::codex::state::open_calls::{NewCall, OpenCalls, Patch};
use crate::codex::state::session_state::{Scratch, SessionState};
use crate::codex::tools;

/// The tools that apply the patch in a command. Their arguments are checked if they contain one: elsewhere they are the model's own words.
const SHELL_TOOLS: [&str; 4] = ["shell", "shell_command", "exec_command", "container.exec"];

/// A call whose arguments are JSON in a string. The call of a shell tool may apply a patch.
pub fn function_call(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let call = Call::strict(record.value, record.at)?;
    let (tool, name) = tool_name(&call, record)?;
    let Scratch { buffer, index } = &mut state.scratch;
    let decoded = text(call.arguments()).and_then(|args| args.decode_into(buffer).ok()).unwrap_or_default();
    let value = object_or_list(decoded, index);
    let with_patch = value.filter(|value| edits::contain_patch(*value));
    if let Some(value) = with_patch.filter(|_| SHELL_TOOLS.contains(&&*name)) {
        members::check(arguments_record(record), value, Pointer::At(&record.pointer_to("/payload/arguments")), out)?;
    }
    let args = value.or(call.arguments());
    let names = Names::of(&call, &name);
    let mut event = ToolCall { call_id: text(call.call_id()), args: args.map(Value::raw), ..names.event(tool) };
    if name == "wait" && value.is_some_and(|args| args.first_member("cell_id").is_some()) {
        // A script of code mode, not an agent.
        event.kind = ToolKind::Execute;
    }
    match out.emit(event.clone(), record.pointer()) {
        // Nested too deep to be copied as a value. The string around it has no depth.
        Err(Fault::Limit(_)) => {
            event.args = call.arguments().map(Value::raw);
            out.emit(event, record.pointer())?;
        }
        emitted => drop(emitted?),
    }
    let patch = with_patch.and_then(|args| edits::patch_of_command(args, state.last.cwd(), out));
    let command_breaks = match (&*name, value) {
        ("exec_command", Some(args)) => edits::command_breaks(args),
        ("write_stdin", Some(args)) => count(args.first_member("session_id")).map_or(0, |session| state.calls.session_breaks(session)),
        _ => 0,
    };
    open_call(&mut state.calls, call.call_id(), NewCall { tool: tools::name(&name), patch, command_breaks });
    Ok(Outcome::Mapped)
}

/// A call whose input is text: a patch, or a script of code mode.
pub fn custom_tool_call(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let call = Call::strict(record.value, record.at)?;
    let (tool, name) = tool_name(&call, record)?;
    let args = call.input().map(Value::raw);
    let names = Names::of(&call, &name);
    out.emit(ToolCall { call_id: text(call.call_id()), args, ..names.event(tool) }, record.pointer())?;
    if let Some(id) = text(call.call_id()).filter(|_| name == "exec") {
        state.calls.add_script(&id.decode_lossy());
    }
    let directory = Some(state.last.cwd()).filter(|cwd| !cwd.is_empty()).map(str::to_owned);
    let patch = edits::patch_of_input(text(call.input())).and_then(|token| Some(Patch { token: out.keep(token)?, directory }));
    open_call(&mut state.calls, call.call_id(), NewCall { tool: tools::name(&name), patch, ..NewCall::default() });
    Ok(Outcome::Mapped)
}

/// A command of the model's own shell tool.
pub fn local_shell_call(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let call = Call::strict(record.value, record.at)?;
    emit_plain_call(&mut state.calls, "local_shell", call.call_id().or(call.id()), call.action(), record, out)
}

/// A search for tools.
pub fn tool_search_call(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let call = Call::strict(record.value, record.at)?;
    emit_plain_call(&mut state.calls, "tool_search", call.call_id(), call.arguments(), record, out)
}

/// The tools that a search found.
pub fn tool_search_output(_: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let output = Output::strict(record.value, record.at)?;
    let status = (raw_str(output.status()) == "completed").then_some(Status::Ok);
    let result = ToolResult { tool: Some(Text::Plain("tool_search")), call_id: text(output.call_id()), status, ..ToolResult::default() };
    out.emit(result, record.pointer())?;
    if let Some(tools) = output.tools().filter(|tools| !tools.is_empty_list()) {
        emit_value("tools", tools, &record.pointer_to("/payload/tools"), out)?;
    }
    Ok(Outcome::Mapped)
}

/// Tools that the model gets in addition.
pub fn additional_tools(_: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    if let Some(tools) = Output::strict(record.value, record.at)?.tools() {
        emit_value("tools", tools, &record.pointer_to("/payload/tools"), out)?;
    }
    Ok(Outcome::Mapped)
}

/// The name of the arguments of a shell tool in the member table.
fn arguments_record(record: &Record<'_>) -> &'static str {
    match record.container {
        Container::Envelope | Container::Stream => "response_item/function_call#arguments",
        Container::Bare | Container::Document => "function_call#arguments",
    }
}

fn tool_name<'a>(call: &Call<'a>, record: &Record<'_>) -> Result<(Text<'a>, Cow<'a, str>), Fault> {
    let Some(tool) = text(call.name()) else {
        return Err(Fault::malformed(record.pointer_to("/payload/name"), "the name of a tool", "nothing"));
    };
    Ok((tool, tool.decode_lossy()))
}

/// The name of a tool and of what it belongs to.
struct Names<'n> {
    tool: &'n str,
    namespace: Cow<'n, str>,
}

impl<'n> Names<'n> {
    fn of(call: &Call<'n>, tool: &'n str) -> Self {
        Names { tool, namespace: text(call.namespace()).map(|namespace| namespace.decode_lossy()).unwrap_or_default() }
    }

    /// A call of the tool.
    fn event<'e>(&'e self, tool: Text<'e>) -> ToolCall<'e> {
        let server = tools::server(self.tool, &self.namespace).map(Text::Plain);
        ToolCall { server, ..ToolCall::new(tool, tools::kind(self.tool, &self.namespace)) }
    }
}

/// The decoded arguments, if they are an object or a list.
fn object_or_list<'a>(decoded: &'a str, index: &'a mut StructuralIndex) -> Option<Value<'a>> {
    let decoded = decoded.trim_ascii();
    if decoded.starts_with(['{', '[']) { parse(decoded, index).ok() } else { None }
}

fn open_call(calls: &mut OpenCalls, call_id: Field<'_>, call: NewCall) {
    if let Some(id) = text(call_id) {
        calls.open(&id.decode_lossy(), call);
    }
}

/// Emits a call whose arguments are a JSON value.
fn emit_plain_call(
    calls: &mut OpenCalls,
    tool: &str,
    call_id: Field<'_>,
    args: Field<'_>,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Result<Outcome, Fault> {
    let call = ToolCall { call_id: text(call_id), args: args.map(Value::raw), ..ToolCall::new(Text::Plain(tool), tools::kind(tool, "")) };
    out.emit(call, record.pointer())?;
    open_call(calls, call_id, NewCall { tool: tools::name(tool), ..NewCall::default() });
    Ok(Outcome::Mapped)
}
