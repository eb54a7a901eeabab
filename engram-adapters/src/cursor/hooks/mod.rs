//! Logs of hook payloads, one payload per line: the only artifact of Cursor that records its version.

mod dispatch;
mod events;
mod files;
mod lifecycle;
mod messages;
mod schema;
mod session_facts;
mod tool_steps;

use engram_core::adapter::Session;
use engram_core::emit::{Emitter, Fault};
use engram_core::ledger::Outcome;

#[cfg(test)]
pub(super) use dispatch::rows;
use session_facts::LastFacts;

use crate::shared::value::{StructuralIndex, parse};

/// The converter of one log.
#[derive(Default)]
pub(super) struct HookLog {
    facts: LastFacts,
    index: StructuralIndex,
}

impl Session for HookLog {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        dispatch::convert(&mut self.facts, parse(source, &mut self.index)?, out)
    }
}
