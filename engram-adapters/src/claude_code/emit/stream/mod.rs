//! What `claude -p --output-format stream-json` prints: the lines of the conversation under other names (`conversation`), and notices
//! about the run (`notices`).

mod conversation;
mod dispatch;
mod line;
mod notices;

use std::mem;
use std::rc::Rc;

use engram_core::adapter::{SessionInit, SideInfo};
use engram_core::emit::{Fault, RecordHeader};
use engram_core::ledger::Outcome;
use engram_core::steps::{Check, Conversion, Emitter, Record};

#[cfg(test)]
pub(super) use dispatch::rows;
pub use dispatch::{agent_of, as_transcript, knows};

use crate::claude_code::check::Checker;
use crate::claude_code::plan::Plan;
use crate::claude_code::record::line_time;
use crate::claude_code::revisions::dialect;
use crate::claude_code::schema::Printed;
use crate::shared::by_session::BySession;
use crate::shared::value::text;
use line::StreamState;

/// The conversion of one capture. Several processes may have written to it.
pub struct Stream {
    checker: Checker,
    plan: Rc<Plan>,
    sessions: BySession<StreamState>,
}

impl Stream {
    /// The converter of a capture.
    pub fn new(init: &SessionInit<'_>) -> Self {
        let sessions = BySession::new(StreamState::new(init.context.clone()), || StreamState::new(SideInfo::default()));
        Stream { checker: Checker::new(dialect(init.revision)), plan: Rc::default(), sessions }
    }
}

impl Conversion for Stream {
    fn sessions_are_apart(&self) -> bool {
        true
    }

    /// `/clear` clears the screen of the terminal (1.0.80).
    fn has_terminal_controls(&self) -> bool {
        true
    }

    fn check(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        self.checker.printed_line(record.value, record.number, check)
    }

    fn decide(&mut self) {
        self.plan = Rc::new(Plan::of(mem::take(&mut self.checker.notes)));
    }

    fn emit(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        out.set_pointer_alias("/toolUseResult", "/tool_use_result");
        let printed = Printed::lenient(record.value);
        if let Some(session) = text(printed.session_id()) {
            drop(self.sessions.switch_to(&session.decode_lossy()));
        }
        let has_several = self.sessions.has_several();
        let state = self.sessions.current();
        state.session.plan = Rc::clone(&self.plan);
        if has_several {
            // The line before was perhaps another session's.
            state.session.last_stated.forget_session();
        }
        dispatch::line(state, printed, self.plan.notes.first_of(record.number), out)
    }

    fn envelope(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) {
        let line = as_transcript(&Printed::lenient(record.value));
        out.set_header(RecordHeader { t: line_time(&line).as_deref(), id: text(line.uuid()), replay: false });
    }
}
