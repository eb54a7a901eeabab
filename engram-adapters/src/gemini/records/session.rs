//! One session: a log line by line, or a document.

use engram_core::adapter::{Session, SessionInit};
use engram_core::emit::{Emitter, Fault};
use engram_core::ledger::Outcome;

use super::{changes, documents, lines, stream};
use crate::gemini::schema::{Form, Record};
use crate::gemini::state::session_state::SessionState;
use crate::shared::value::{StructuralIndex, parse};

/// Converts one session.
pub struct SessionConverter {
    state: SessionState,
    index: StructuralIndex,
}

impl SessionConverter {
    /// A converter that has read nothing yet.
    pub fn new(form: Form, init: &SessionInit<'_>) -> Self {
        SessionConverter { state: SessionState::new(form, init), index: StructuralIndex::default() }
    }
}

impl Session for SessionConverter {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        if changes::is_time_only(source) {
            return changes::time_only();
        }
        let line = parse(source, &mut self.index)?;
        if self.state.form == Form::Stream {
            return stream::line(&mut self.state, line, out);
        }
        let mut record = Record::default();
        record.strict_into(line, "")?;
        self.state.begin_record();
        let outcome = lines::line(&mut self.state, &record, out);
        self.state.end_record(outcome.is_ok());
        outcome
    }

    /// Lines of a log are compared by [`lines`], which also knows those that come while token counts are pending.
    fn repeats_are_exact(&self) -> bool {
        self.state.form == Form::Stream
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.state.usage.flush(out)?;
        stream::end_answer(&mut self.state, out)
    }

    fn document(&mut self, source: &str, out: &mut Emitter) -> Result<(), Fault> {
        let document = parse(source, &mut self.index)?;
        match self.state.form {
            Form::Lines | Form::Document | Form::Stream => documents::log(&mut self.state, document, out),
            Form::TypedPrompts => documents::typed_prompts(&mut self.state, document, out),
            Form::Saved => documents::saved_conversation(&mut self.state, document, out),
        }
    }
}
