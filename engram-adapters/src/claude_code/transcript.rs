//! The conversion of one transcript in three steps: check each line, decide over the notes, emit line by line.

use std::mem;
use std::rc::Rc;

use engram_core::adapter::{LogRecord, SessionInit};
use engram_core::emit::{Fault, RecordHeader};
use engram_core::ledger::Outcome;
use engram_core::steps::{Check, Conversion, Emitter, Record};

use super::check::Checker;
use super::emit::dispatch;
use super::emit::state::State;
use super::plan::Plan;
use super::readers::Line;
use super::record::line_time;
use super::revisions::dialect;
use crate::shared::value::text;

/// The conversion of one transcript.
pub(super) struct Transcript {
    checker: Checker,
    state: State,
}

impl Transcript {
    /// The converter of a transcript.
    pub fn new(init: &SessionInit<'_>) -> Self {
        Transcript {
            checker: Checker::new(dialect(init.revision)),
            state: State::new(init.context.clone()),
        }
    }
}

impl Conversion for Transcript {
    fn check(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        let files = self.state.side_info.side_files.as_deref();
        let has_file = |agent: &str| files.is_some_and(|files| files.has_agent(agent));
        self.checker
            .transcript_line(record.value, record.number, has_file, check)
    }

    fn decide(&mut self) {
        let files = self.state.side_info.side_files.as_deref();
        let older_logs = |records: &[LogRecord]| {
            files
                .map(|files| files.older_logs(records))
                .unwrap_or_default()
        };
        self.state.plan = Rc::new(Plan::of(mem::take(&mut self.checker.notes), older_logs));
    }

    fn emit(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        let at = self.state.plan.notes.first_of(record.number);
        dispatch::line(&mut self.state, record, at, out)
    }

    fn envelope(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) {
        let line = Line::lenient(record.value);
        if let Some(session) = text(line.session_id()) {
            let agent = text(line.agent_id()).map(|agent| agent.decode_lossy());
            out.set_source(Some(&session.decode_lossy()), agent.as_deref());
        }
        out.set_header(RecordHeader::new(
            line_time(&line).as_deref(),
            text(line.uuid()),
        ));
    }
}
