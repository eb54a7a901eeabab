//! What `claude -p --output-format stream-json` prints: the lines of the conversation under other names (`conversation`), and notices
//! about the run (`notices`).

mod conversation;
mod dispatch;
mod line;
mod notices;

use engram_core::adapter::{Session, SessionInit};
use engram_core::emit::{Emitter, Fault};
use engram_core::ledger::Outcome;

#[cfg(test)]
pub(super) use dispatch::rows;

use crate::shared::value::{StructuralIndex, parse};
use line::StreamState;

/// The conversion of one capture.
pub struct Stream {
    state: StreamState,
    /// The structure of the current line. Reused from line to line.
    index: StructuralIndex,
}

impl Stream {
    /// The converter of a capture.
    pub fn new(init: &SessionInit<'_>) -> Self {
        Stream { state: StreamState::new(init), index: StructuralIndex::default() }
    }
}

impl Session for Stream {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        out.set_pointer_alias("/toolUseResult", "/tool_use_result");
        let value = parse(source, &mut self.index)?;
        let outcome = dispatch::line(&mut self.state, value, out);
        self.state.end_record(outcome.is_ok(), out);
        outcome
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.state.session.finish(out)
    }
}
