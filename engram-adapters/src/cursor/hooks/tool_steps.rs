//! Calls and their results.
//!
//! Shell and MCP steps run beside the tool steps of the same call and have no id, so they become notices.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Status, ToolCall, ToolResult};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::events::emit_notice;
use super::schema::Payload;
use crate::cursor::fields::{required_name, text_or_json};
use crate::cursor::tools;
use crate::shared::value::{Field, Value, is_true, non_empty_text, raw_str, text};

/// A call.
pub(super) fn call(payload: &Payload<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    emit_call(payload, out)?;
    Ok(Outcome::Mapped)
}

/// The result of a successful call.
pub(super) fn result(payload: &Payload<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    emit_result(payload, Status::Ok, payload.tool_output(), None, out)
}

/// The result of a call that failed, was denied or was cancelled.
pub(super) fn failure(payload: &Payload<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let status = match (is_true(payload.is_interrupt()), raw_str(payload.failure_type())) {
        (true, _) => Status::Cancelled,
        (_, "permission_denied") => Status::Denied,
        _ => Status::Error,
    };
    emit_result(payload, status, None, text(payload.error_message()), out)
}

/// A shell command or MCP tool that is about to run.
pub(super) fn before_execution(payload: &Payload<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    execution_notice(payload, payload.tool_input().or(payload.command()), out)
}

/// The output of a shell command.
pub(super) fn after_shell(payload: &Payload<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    execution_notice(payload, payload.output(), out)
}

/// The result of an MCP tool.
pub(super) fn after_mcp(payload: &Payload<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    execution_notice(payload, payload.result_json(), out)
}

fn execution_notice(payload: &Payload<'_>, value: Field<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
    emit_notice(raw_str(payload.hook_event_name()), value, out)?;
    Ok(Outcome::Mapped)
}

fn emit_call(payload: &Payload<'_>, out: &mut Emitter) -> Result<(), Fault> {
    let tool = required_name(payload.tool_name(), Pointer::At("/tool_name"))?;
    let kind = tools::TOOLS.kind(&tool.decode_lossy());
    let call = ToolCall {
        call_id: non_empty_text(payload.tool_use_id()),
        args: payload.tool_input().map(Value::raw),
        ..ToolCall::new(tool, kind)
    };
    out.emit(call, Pointer::At("/tool_input"))?;
    Ok(())
}

/// Emits a result, and its call first if no earlier payload had it.
fn emit_result<'a>(
    payload: &Payload<'a>,
    status: Status,
    output: Field<'a>,
    stderr: Option<Text<'a>>,
    out: &mut Emitter,
) -> Result<Outcome, Fault> {
    let call_id = non_empty_text(payload.tool_use_id());
    if call_id.is_none_or(|id| out.seq_of_call(id).is_none()) {
        emit_call(payload, out)?;
    }
    let duration_ms = payload.duration().and_then(|value| value.raw().split('.').next()?.parse().ok());
    let (tool, stdout) = (non_empty_text(payload.tool_name()), text_or_json(output).filter(|text| !text.is_empty()));
    let result = ToolResult { tool, call_id, status: Some(status), stdout, stderr, duration_ms, ..ToolResult::default() };
    out.emit(result, Pointer::Root)?;
    Ok(Outcome::Mapped)
}
