//! `stream-json` captures: what the command line printed, one JSON object per line, mixed with what else was written to the same pipe.

mod approvals;
mod dispatch;
mod messages;
mod notices;
mod schema;
mod state;
mod tool_calls;

use engram_core::adapter::Session;
use engram_core::emit::{Emitter, Fault, RecordHeader};
use engram_core::ledger::Outcome;

#[cfg(test)]
pub(super) use dispatch::rows;
use schema::Line;
use state::StreamState;

use crate::cursor::fields::decoded_non_empty;
use crate::shared::by_session::{BySession, Ended};
use crate::shared::value::{StructuralIndex, parse};

/// The converter of one capture. Several processes may have written to it.
pub(super) struct Stream {
    sessions: BySession<StreamState>,
    index: StructuralIndex,
}

impl Default for Stream {
    fn default() -> Self {
        Stream { sessions: BySession::new(StreamState::default(), StreamState::default), index: StructuralIndex::default() }
    }
}

impl Session for Stream {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        if notices::is_error_output(source) {
            return notices::error_output(source, out);
        }
        let line = Line::strict(parse(source, &mut self.index)?, "")?;
        if let Some(session) = decoded_non_empty(line.session_id())
            && let Some(ended) = self.sessions.switch_to(&session)
        {
            let location = out.location();
            finish(ended, out)?;
            out.attribute_to(location, RecordHeader::default());
        }
        dispatch::convert(self.sessions.current(), line, out)
    }

    fn sessions_are_apart(&self) -> bool {
        true
    }

    fn repeats_are_exact(&self) -> bool {
        true
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.sessions.end_all().into_iter().try_for_each(|ended| finish(ended, out))
    }
}

/// Emits what the lines of a session have left open.
fn finish(mut ended: Ended<StreamState>, out: &mut Emitter) -> Result<(), Fault> {
    if let Some(id) = &ended.id {
        out.set_source(Some(id), None);
    }
    ended.state.partial_text.flush(out)?;
    approvals::emit_unclaimed(&mut ended.state.approvals, out)
}
