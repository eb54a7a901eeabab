//! Tool parts: the call, its result, and what it read or changed.

use engram_core::emit::{Emitter, Fault};
use engram_core::event::ToolCall;
use engram_core::ledger::Outcome;

use super::part_record::PartRecord;
use super::system_events::emit_system;
use crate::opencode::results::call::{Call, CallEnd};
use crate::opencode::results::tool_result::emit_result;
use crate::opencode::schema::Invocation;
use crate::opencode::state::session_state::SessionState;
use crate::opencode::tools::TOOLS;
use crate::shared::value::{Value, non_empty_text};

/// Converts a tool part. 0.1.174 has the call under `toolInvocation`, later versions under `state`.
pub(super) fn tool(state: &mut SessionState, record: &PartRecord<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    match record.part.invocation() {
        None => emit_call(state, record, &Call::of_state(record.part)?, out),
        Some(invocation) => {
            let invocation = Invocation::strict(invocation, "/toolInvocation")?;
            emit_call(state, record, &Call::of_invocation(&invocation, record.message.tool_metadata)?, out)
        }
    }
}

fn emit_call(state: &mut SessionState, record: &PartRecord<'_>, call: &Call<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let PartRecord { part, message, pointer, .. } = *record;
    message.set_header(call.started, part.id(), &mut state.clock, out);
    let event = ToolCall { call_id: call.id, args: call.input.map(Value::raw), ..ToolCall::new(call.name, TOOLS.kind(&call.tool)) };
    out.emit(event, pointer)?;
    if matches!(call.end, CallEnd::Open) {
        return match non_empty_text(call.metadata.output()) {
            Some(text) => emit_system("tool.output_so_far", Some(text), pointer, out),
            None => Ok(Outcome::Mapped),
        };
    }
    message.set_header(call.ended.or(call.started), part.id(), &mut state.clock, out);
    emit_result(call, state.dialect, pointer, out)?;
    Ok(Outcome::Mapped)
}
