//! Tool parts of OpenCode 0.x and 1.x.

use engram_core::emit::{Emitter, Fault};
use engram_core::ledger::Outcome;

use super::call_events::{CallPlace, emit_call};
use super::part_record::PartRecord;
use crate::opencode::results::call::Call;
use crate::opencode::schema::Invocation;
use crate::opencode::state::record_facts::CALL;
use crate::opencode::state::session_state::SessionState;

/// Converts a tool part. 0.1.174 has the call under `toolInvocation`, later versions under `state`.
pub(super) fn tool(state: &mut SessionState, record: &PartRecord<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let PartRecord { part, message, pointer, .. } = *record;
    let mut call = match part.invocation() {
        None => Call::of_state(record.part)?,
        Some(invocation) => Call::of_invocation(&Invocation::strict(invocation, "/toolInvocation")?, message.tool_metadata)?,
    };
    call.directory = state.last_stated.cwd();
    message.set_header(call.started, part.id(), &mut state.clock, out);
    let is_stated = state.read.is_stated(CALL);
    let place = CallPlace { message, id: part.id(), pointer, dialect: state.dialect, is_stated };
    emit_call(&call, &place, &mut state.clock, out)
}
