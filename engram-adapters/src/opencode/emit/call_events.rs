//! The events of a tool call: the call, the calls inside it, its result, and what it read or changed.

use engram_core::emit::Pointer;
use engram_core::event::{Seq, Status, ToolCall, ToolResult};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;

use super::message_context::MessageContext;
use super::system_events::emit_system;
use crate::opencode::readers::{InnerCall, StepDetails};
use crate::opencode::results::call::{Call, CallEnd};
use crate::opencode::results::tool_result::emit_result;
use crate::opencode::revisions::Dialect;
use crate::opencode::tools::TOOLS;
use crate::shared::time::MillisFormatter;
use crate::shared::value::{Field, Value, elements, non_empty_text, raw_str};

/// The part that has a call.
pub(super) struct CallPlace<'r> {
    pub message: &'r MessageContext<'r>,
    /// The id of the part, if it has one.
    pub id: Field<'r>,
    pub pointer: Pointer<'r>,
    pub dialect: Dialect,
    /// An earlier record with the id of the part has said the call.
    pub is_stated: bool,
}

/// Emits a call, and its result if it has ended. The header of the call is set.
pub(super) fn emit_call(
    call: &Call<'_>,
    place: &CallPlace<'_>,
    clock: &mut MillisFormatter,
    out: &mut Emitter<'_>,
) -> Outcome {
    let CallPlace {
        message,
        id,
        pointer,
        dialect,
        is_stated,
    } = *place;
    let event = ToolCall {
        call_id: call.id,
        message_id: message.message_id,
        args: call.input.map(Value::raw),
        ..ToolCall::new(call.name, TOOLS.kind(&call.tool))
    };
    let stated = call
        .id
        .filter(|_| is_stated)
        .and_then(|id| out.seq_of_call(id));
    let seq = match stated {
        Some(seq) => seq,
        None => out.emit(event, pointer),
    };
    emit_inner_calls(call, seq, pointer, out);
    if matches!(call.end, CallEnd::Open) {
        return match call.partial_output {
            Some(text) => emit_system("tool.output_so_far", Some(text), pointer, out),
            None => Outcome::Mapped,
        };
    }
    message.set_header(call.ended.or(call.started), id, clock, out);
    emit_result(call, dialect, pointer, out);
    Outcome::Mapped
}

/// Emits the calls that the program of an `execute` call made, such as those of MCP servers. They have no ids and no outputs of their own.
fn emit_inner_calls(call: &Call<'_>, parent: Seq, pointer: Pointer<'_>, out: &mut Emitter<'_>) {
    if call.tool != "execute" {
        return;
    }
    let details = StepDetails::lenient_opt(call.metadata_value);
    for inner in elements(details.tool_calls()).map(InnerCall::lenient) {
        let Some(tool) = non_empty_text(inner.tool()) else {
            continue;
        };
        let event = ToolCall {
            args: inner.input().map(Value::raw),
            ..ToolCall::new(tool, TOOLS.kind(&tool.decode_lossy()))
        };
        let seq = out.emit_child(Some(parent), event, pointer);
        let status = match raw_str(inner.status()) {
            "completed" => Status::Ok,
            "error" => Status::Error,
            _ => continue,
        };
        let result = ToolResult {
            tool: Some(tool),
            status: Some(status),
            ..ToolResult::default()
        };
        out.emit_child(Some(seq), result, pointer);
    }
}
