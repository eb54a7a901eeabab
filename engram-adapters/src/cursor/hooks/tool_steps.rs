//! Calls and their results.
//!
//! Shell and MCP steps run beside the tool steps of the same call and have no id, so they become notices.

use engram_core::emit::{Fault, Pointer};
use engram_core::event::{CodeEdit, CodeRead, EditOp, Status, ToolCall, ToolResult};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::events::emit_notice;
use super::files::emit_whole_file;
use super::open_writes::OpenWrite;
use super::schema::Step;
use super::state::HookState;
use crate::cursor::edits::file_edits::set_snippets;
use crate::cursor::fields::{required_name, text_or_json};
use crate::cursor::readers::{HookOutput, Payload};
use crate::cursor::steps::Out;
use crate::cursor::tools;
use crate::shared::value::{
    Field, StructuralIndex, Value, integer, is_true, non_empty_text, parse, raw_str, text,
};

/// A call.
pub(super) fn call(
    state: &mut HookState,
    payload: &Step<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    emit_call(payload, out)?;
    state.inputs.begin(payload);
    Ok(Outcome::Mapped)
}

/// The result of a call that succeeded, or of a tool of an MCP server that reports an error itself; and the edit or read that it proves.
pub(super) fn result(
    state: &mut HookState,
    payload: &Step<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let mut index = StructuralIndex::default();
    let output = text(payload.tool_output()).and_then(|output| output.decode().ok());
    let parsed = output
        .as_deref()
        .and_then(|output| parse(output, &mut index).ok());
    let returned = HookOutput::lenient_opt(
        payload
            .tool_output()
            .filter(|output| output.is_object())
            .or(parsed),
    );
    let is_shell = returned.exit_code().is_some() && returned.output().is_some();
    let has_failed =
        is_true(returned.is_error()) || integer(returned.exit_code()).is_some_and(|exit| exit != 0);
    let status = if has_failed {
        Some(Status::Error)
    } else {
        Some(Status::Ok).filter(|_| states_outcome(payload, &returned))
    };
    let stdout = if is_shell {
        text(returned.output())
    } else {
        text_or_json(payload.tool_output())
    };
    let result = ToolResult {
        status,
        exit: integer(returned.exit_code()),
        stdout,
        ..ToolResult::default()
    };
    emit_result(state, payload, result, out)?;
    let write = state.writes.end(payload.tool_use_id());
    if status == Some(Status::Ok) {
        emit_code(state, payload, write, out)?;
    }
    Ok(Outcome::Mapped)
}

/// False for what has the place of an MCP server's result and is none: the harness runs this hook also where there is no such server.
fn states_outcome(payload: &Payload<'_>, returned: &HookOutput<'_>) -> bool {
    !raw_str(payload.tool_name()).starts_with("MCP:") || returned.is_error().is_some()
}

/// The edit or read that a successful call proves.
fn emit_code(
    state: &mut HookState,
    payload: &Step<'_>,
    write: Option<OpenWrite>,
    out: &mut Out<'_, '_>,
) -> Result<(), Fault> {
    let call_id = non_empty_text(payload.tool_use_id());
    let Some(file) = payload
        .tool_input()
        .and_then(|input| non_empty_text(input.member("file_path")))
    else {
        return Ok(());
    };
    match raw_str(payload.tool_name()) {
        "Read" => {
            let read = CodeRead {
                call_id,
                ..CodeRead::new(file)
            };
            out.emit(read, "/tool_input")?;
        }
        "Delete" => {
            out.emit(
                CodeEdit {
                    call_id,
                    ..CodeEdit::new(EditOp::Delete, file)
                },
                "/tool_input",
            )?;
        }
        // Where no hook after edits is set up.
        "Write" => {
            let write = write.filter(|write| !write.is_emitted);
            if let Some(write) = write.filter(|write| !write.id.is_empty())
                && !emit_whole_file(&mut state.files, &write, payload.others, out)?
            {
                let mut edit = CodeEdit {
                    call_id,
                    ..CodeEdit::new(EditOp::Overwrite, file)
                };
                set_snippets(
                    &mut edit,
                    None,
                    write.after(payload.others).as_deref().map(Text::Plain),
                );
                out.emit(edit, "/tool_input")?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// The result of a call that failed, was denied or was cancelled.
pub(super) fn failure(
    state: &mut HookState,
    payload: &Step<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let status = match (
        is_true(payload.is_interrupt()),
        raw_str(payload.failure_type()),
    ) {
        (true, _) => Status::Cancelled,
        (_, "permission_denied") => Status::Denied,
        _ => Status::Error,
    };
    let result = ToolResult {
        status: Some(status),
        stderr: text(payload.error_message()),
        ..ToolResult::default()
    };
    emit_result(state, payload, result, out)?;
    state.writes.end(payload.tool_use_id());
    Ok(Outcome::Mapped)
}

/// A shell command or MCP tool that is about to run.
pub(super) fn before_execution(
    _: &mut HookState,
    payload: &Step<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    execution_notice(payload, payload.tool_input().or(payload.command()), out)
}

/// The output of a shell command.
pub(super) fn after_shell(
    _: &mut HookState,
    payload: &Step<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    execution_notice(payload, payload.output(), out)
}

/// The result of an MCP tool.
pub(super) fn after_mcp(
    _: &mut HookState,
    payload: &Step<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    execution_notice(payload, payload.result_json(), out)
}

fn execution_notice(
    payload: &Payload<'_>,
    value: Field<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    emit_notice(raw_str(payload.hook_event_name()), value, out)?;
    Ok(Outcome::Mapped)
}

fn emit_call(payload: &Payload<'_>, out: &mut Out<'_, '_>) -> Result<(), Fault> {
    let tool = required_name(payload.tool_name(), Pointer::At("/tool_name"))?;
    let kind = tools::TOOLS.kind(&tool.decode_lossy());
    let call = ToolCall {
        call_id: non_empty_text(payload.tool_use_id()),
        args: payload.tool_input().map(Value::raw),
        ..ToolCall::new(tool, kind)
    };
    out.emit(call, "/tool_input")?;
    Ok(())
}

/// A duration in whole milliseconds. Hooks state fractions too.
fn whole_millis(value: Value<'_>) -> Result<u64, Fault> {
    let (whole, fraction) = value.raw().split_once('.').unwrap_or((value.raw(), "0"));
    let is_fraction = fraction.bytes().all(|byte| byte.is_ascii_digit());
    let millis = whole.parse().ok().filter(|_| is_fraction);
    millis.ok_or_else(|| Fault::malformed("/duration", "a duration in milliseconds", value.raw()))
}

/// Emits a result, and its call first if no earlier payload had it. An input that differs from that of the call is a notice: the call
/// says what the model asked for, the result what the tool got.
fn emit_result<'a>(
    state: &mut HookState,
    payload: &Payload<'a>,
    result: ToolResult<'a>,
    out: &mut Out<'_, '_>,
) -> Result<(), Fault> {
    let call_id = non_empty_text(payload.tool_use_id());
    if call_id.is_none_or(|id| out.seq_of_open_call(id).is_none()) {
        emit_call(payload, out)?;
    } else if state.inputs.differs(payload) {
        emit_notice("tool_input", payload.tool_input(), out)?;
    }
    let duration_ms = payload.duration().map(whole_millis).transpose()?;
    let stdout = result.stdout.filter(|text| !text.is_empty());
    out.emit(
        ToolResult {
            tool: non_empty_text(payload.tool_name()),
            call_id,
            stdout,
            duration_ms,
            ..result
        },
        Pointer::Root,
    )?;
    state.inputs.end(payload);
    Ok(())
}
