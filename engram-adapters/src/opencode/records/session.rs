//! One session: an export as a document, or a stream line by line.

use engram_core::adapter::{Session, SessionInit, SideInfo};
use engram_core::emit::{Emitter, Fault};
use engram_core::ledger::Outcome;

use super::export::{ExportReader, document_fault};
use super::{dispatch, stream};
use crate::opencode::revisions::{STEP_STREAM, STREAM};
use crate::opencode::schema::Line;
use crate::opencode::state::session_state::SessionState;
use crate::shared::by_session::BySession;
use crate::shared::value::{StructuralIndex, parse, text};

/// Converts one session, or a stream to which several processes wrote.
pub struct SessionConverter {
    sessions: BySession<SessionState>,
    is_stream: bool,
    export: ExportReader,
    index: StructuralIndex,
}

impl SessionConverter {
    /// A converter that has read nothing yet.
    pub fn new(init: &SessionInit<'_>) -> Self {
        let first = SessionState::new(init);
        let dialect = first.dialect;
        let begin = move || SessionState::of_dialect(dialect, SideInfo::default());
        SessionConverter {
            sessions: BySession::new(first, begin),
            is_stream: matches!(init.identity.schema, Some(STREAM | STEP_STREAM)),
            export: ExportReader::default(),
            index: StructuralIndex::default(),
        }
    }
}

impl Session for SessionConverter {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let value = parse(source, &mut self.index)?;
        let line = Line::strict(value, "")?;
        if let Some(session) = text(line.session_id()).map(|id| id.decode_lossy()) {
            // Nothing of a stream waits for a later line.
            drop(self.sessions.switch_to(&session));
        }
        let state = self.sessions.current();
        let outcome = dispatch::line(state, value, &line, out);
        state.end_record(outcome.is_ok());
        outcome
    }

    fn sessions_are_apart(&self) -> bool {
        self.is_stream
    }

    fn fragment(&mut self, text: &str, out: &mut Emitter) -> Option<Result<Outcome, Fault>> {
        stream::plain_text(text, out)
    }

    fn document(&mut self, source: &str, out: &mut Emitter) -> Result<(), Fault> {
        self.export
            .convert(source, &mut self.index, self.sessions.current(), out)
            .map_err(|fault| document_fault(source).err().unwrap_or(fault))
    }
}
