//! `stream-json` captures: what the command line printed, one JSON object per line, mixed with what else was written to the same pipe.

mod approvals;
mod dispatch;
mod messages;
mod notices;
mod schema;
mod state;
mod tool_calls;

use engram_core::adapter::Session;
use engram_core::emit::{Emitter, Fault};
use engram_core::ledger::Outcome;

#[cfg(test)]
pub(super) use dispatch::rows;
use state::StreamState;

use crate::shared::value::{StructuralIndex, parse};

/// The converter of one capture.
#[derive(Default)]
pub(super) struct Stream {
    state: StreamState,
    index: StructuralIndex,
}

impl Session for Stream {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        if notices::is_error_output(source) {
            return notices::error_output(source, out);
        }
        dispatch::convert(&mut self.state, parse(source, &mut self.index)?, out)
    }

    fn repeats_are_exact(&self) -> bool {
        true
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.state.partial_text.flush(out)?;
        approvals::emit_unclaimed(&mut self.state.approvals, out)
    }
}
