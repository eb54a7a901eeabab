//! Logs of hook payloads, one payload per line: the only artifact of Cursor that records its version.

mod call_inputs;
mod dispatch;
mod events;
mod files;
mod held_reads;
mod lifecycle;
mod messages;
mod open_writes;
mod schema;
mod session_facts;
mod state;
mod tool_steps;

use engram_core::adapter::Session;
use engram_core::emit::{Emitter, Fault};
use engram_core::ledger::Outcome;

#[cfg(test)]
pub(super) use dispatch::rows;
use state::HookState;

use crate::shared::value::{StructuralIndex, parse};

/// The converter of one log.
#[derive(Default)]
pub(super) struct HookLog {
    state: HookState,
    index: StructuralIndex,
}

impl Session for HookLog {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        dispatch::convert(&mut self.state, source, parse(source, &mut self.index)?, out)
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        dispatch::emit_settled(&mut self.state, true, out).map(drop)
    }
}
