//! One session: a log line by line, or a document.

use engram_core::adapter::{Session, SessionInit, SideInfo};
use engram_core::emit::{Emitter, Fault};
use engram_core::ledger::Outcome;

use super::{changes, documents, lines, stream};
use crate::gemini::schema::{Form, Record};
use crate::gemini::state::session_state::SessionState;
use crate::shared::by_session::BySession;
use crate::shared::value::{StructuralIndex, parse};

/// Converts one session, or what several runs printed one after the other.
pub struct SessionConverter {
    form: Form,
    sessions: BySession<SessionState>,
    index: StructuralIndex,
}

impl SessionConverter {
    /// A converter that has read nothing yet.
    pub fn new(form: Form, init: &SessionInit<'_>) -> Self {
        let begin = move || SessionState::of_session(form, None, SideInfo::default());
        SessionConverter { form, sessions: BySession::new(SessionState::new(form, init), begin), index: StructuralIndex::default() }
    }
}

impl Session for SessionConverter {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        if changes::is_time_only(source) {
            return changes::time_only();
        }
        let line = parse(source, &mut self.index)?;
        if self.form == Form::Stream {
            stream::begin_run(&mut self.sessions, line, out)?;
            return stream::line(self.sessions.current(), line, out);
        }
        let mut record = Record::default();
        record.strict_into(line, "")?;
        let state = self.sessions.current();
        state.begin_record();
        let outcome = lines::line(state, &record, out);
        state.end_record(outcome.is_ok());
        outcome
    }

    /// Lines of a log are compared by [`lines`], which also knows those that come while token counts are pending.
    fn repeats_are_exact(&self) -> bool {
        self.form == Form::Stream
    }

    /// A log of lines may continue under another session's id, and is one conversation then.
    fn sessions_are_apart(&self) -> bool {
        self.form == Form::Stream
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        let state = self.sessions.current();
        state.usage.flush(out)?;
        stream::end_answer(state, out)
    }

    fn document(&mut self, source: &str, out: &mut Emitter) -> Result<(), Fault> {
        let document = parse(source, &mut self.index)?;
        let state = self.sessions.current();
        match self.form {
            Form::Lines | Form::Document | Form::Stream => documents::log(state, document, out),
            Form::TypedPrompts => documents::typed_prompts(state, document, out),
            Form::Saved => documents::saved_conversation(state, document, out),
        }
    }
}
