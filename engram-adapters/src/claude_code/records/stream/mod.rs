//! What `claude -p --output-format stream-json` prints: the lines of the conversation under other names (`conversation`), and notices
//! about the run (`notices`).

mod conversation;
mod dispatch;
mod line;
mod notices;

use engram_core::adapter::{Session, SessionInit, SideInfo};
use engram_core::emit::{Emitter, Fault, RecordHeader};
use engram_core::ledger::Outcome;

#[cfg(test)]
pub(super) use dispatch::rows;

use crate::claude_code::revisions::dialect;
use crate::shared::by_session::{BySession, Ended};
use crate::shared::value::{StructuralIndex, Value, parse, text};
use line::{Printed, StreamState};

/// The conversion of one capture. Several processes may have written to it.
pub struct Stream {
    sessions: BySession<StreamState>,
    /// The structure of the current line. Reused from line to line.
    index: StructuralIndex,
}

impl Stream {
    /// The converter of a capture.
    pub fn new(init: &SessionInit<'_>) -> Self {
        let dialect = dialect(init.revision);
        let begin = move || StreamState::new(dialect, SideInfo::default());
        Stream { sessions: BySession::new(StreamState::new(dialect, init.context.clone()), begin), index: StructuralIndex::default() }
    }

    fn line(&mut self, value: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let mut printed = Printed::default();
        printed.strict_into(value, "")?;
        let state = self.state_of(&printed, out)?;
        let outcome = dispatch::line(state, printed, out);
        state.end_record(outcome.is_ok(), out);
        outcome
    }

    /// The state of the session of a line.
    fn state_of(&mut self, printed: &Printed<'_>, out: &mut Emitter) -> Result<&mut StreamState, Fault> {
        if let Some(session) = text(printed.session_id()).map(|id| id.decode_lossy())
            && let Some(ended) = self.sessions.switch_to(&session)
        {
            let location = out.location();
            finish(ended, out)?;
            out.attribute_to(location, RecordHeader::default());
        }
        let has_several = self.sessions.has_several();
        let state = self.sessions.current();
        if has_several {
            // The line before was perhaps another session's.
            state.session.last_stated.forget_session();
        }
        Ok(state)
    }
}

impl Session for Stream {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        out.set_pointer_alias("/toolUseResult", "/tool_use_result");
        let mut index = std::mem::take(&mut self.index);
        let outcome = self.line(parse(source, &mut index)?, out);
        self.index = index;
        outcome
    }

    fn sessions_are_apart(&self) -> bool {
        true
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.sessions.end_all().into_iter().try_for_each(|ended| finish(ended, out))
    }
}

/// Emits what waited for a later line of a session.
fn finish(mut ended: Ended<StreamState>, out: &mut Emitter) -> Result<(), Fault> {
    if let Some(id) = &ended.id {
        out.set_source(Some(id), None);
    }
    ended.state.session.finish(out)
}
