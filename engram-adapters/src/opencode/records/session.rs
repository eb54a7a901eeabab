//! One session: an export as a document, or a stream line by line.

use engram_core::adapter::{Session, SessionInit};
use engram_core::emit::{Emitter, Fault};
use engram_core::ledger::Outcome;

use super::export::{ExportReader, document_fault};
use super::{dispatch, stream};
use crate::opencode::schema::Line;
use crate::opencode::state::session_state::SessionState;
use crate::shared::value::{StructuralIndex, parse};

/// Converts one session.
pub struct SessionConverter {
    state: SessionState,
    export: ExportReader,
    index: StructuralIndex,
}

impl SessionConverter {
    /// A converter that has read nothing yet.
    pub fn new(init: &SessionInit<'_>) -> Self {
        SessionConverter { state: SessionState::new(init), export: ExportReader::default(), index: StructuralIndex::default() }
    }
}

impl Session for SessionConverter {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let line = parse(source, &mut self.index)?;
        let outcome = dispatch::line(&mut self.state, line, &Line::strict(line, "")?, out);
        self.state.end_record(outcome.is_ok());
        outcome
    }

    fn fragment(&mut self, text: &str, out: &mut Emitter) -> Option<Result<Outcome, Fault>> {
        stream::plain_text(text, out)
    }

    fn document(&mut self, source: &str, out: &mut Emitter) -> Result<(), Fault> {
        self.export.convert(source, &mut self.index, &mut self.state, out).map_err(|fault| document_fault(source).err().unwrap_or(fault))
    }
}
