//! Tool parts: the call, its result, and what it read or changed.

use engram_core::emit::{Emitter, Fault};
use engram_core::event::ToolCall;
use engram_core::ledger::Outcome;

use super::part_record::PartRecord;
use super::step_parts::inner_calls;
use super::system_events::emit_system;
use crate::opencode::results::call::{Call, CallEnd};
use crate::opencode::results::tool_result::emit_result;
use crate::opencode::schema::Invocation;
use crate::opencode::state::session_state::SessionState;
use crate::opencode::tools::TOOLS;
use crate::shared::value::Value;

/// Converts a tool part. 0.1.174 has the call under `toolInvocation`, later versions under `state`.
pub(super) fn tool(state: &mut SessionState, record: &PartRecord<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let mut call = match record.part.invocation() {
        None => Call::of_state(record.part)?,
        Some(invocation) => {
            let invocation = Invocation::strict(invocation, "/toolInvocation")?;
            Call::of_invocation(&invocation, record.message.tool_metadata)?
        }
    };
    let PartRecord { part, message, pointer, .. } = *record;
    call.directory = state.last_stated.cwd();
    message.set_header(call.started, part.id(), &mut state.clock, out);
    let event = ToolCall {
        call_id: call.id,
        message_id: message.message_id,
        args: call.input.map(Value::raw),
        ..ToolCall::new(call.name, TOOLS.kind(&call.tool))
    };
    let seq = out.emit(event, pointer)?;
    inner_calls(&call, seq, pointer, out)?;
    if matches!(call.end, CallEnd::Open) {
        return match call.partial_output {
            Some(text) => emit_system("tool.output_so_far", Some(text), pointer, out),
            None => Ok(Outcome::Mapped),
        };
    }
    message.set_header(call.ended.or(call.started), part.id(), &mut state.clock, out);
    emit_result(&call, state.dialect, pointer, out)?;
    Ok(Outcome::Mapped)
}
