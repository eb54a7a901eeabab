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
use crate::claude_code::state::waiting_lines::{Conversion, Next, WaitingLines};
use crate::shared::by_session::{BySession, Ended};
use crate::shared::value::{StructuralIndex, Value, parse, text};
use line::{Printed, StreamState};

/// The conversion of one capture. Several processes may have written to it.
pub struct Stream {
    sessions: BySession<StreamState>,
    /// Lines that wait for the end of a response.
    waiting: WaitingLines,
    /// The structure of the current line. Reused from line to line.
    index: StructuralIndex,
}

impl Stream {
    /// The converter of a capture.
    pub fn new(init: &SessionInit<'_>) -> Self {
        let dialect = dialect(init.revision);
        let begin = move || StreamState::new(dialect, SideInfo::default());
        let sessions = BySession::new(StreamState::new(dialect, init.context.clone()), begin);
        Stream { sessions, waiting: WaitingLines::default(), index: StructuralIndex::default() }
    }
}

/// A response that may go on is one of the current session.
impl Conversion for BySession<StreamState> {
    fn next(&mut self, line: Value<'_>) -> Option<Next> {
        if !self.current().session.usage.has_open() {
            return None;
        }
        let Ok(printed) = Printed::strict(line, "") else { return Some(Next::Unknown) };
        let session = text(printed.session_id()).map(|id| id.decode_lossy());
        if session.is_some_and(|session| !self.is_current(&session)) {
            return Some(Next::Unknown);
        }
        if dispatch::is_omitted(&printed) {
            return None;
        }
        let state = &mut self.current().session;
        let line = dispatch::as_transcript(&printed);
        if state.lines.is_repeat(&line) {
            return None;
        }
        let agent = dispatch::agent_of(&printed).map(|agent| agent.decode_lossy());
        Some(state.usage.open(state.dialect.results_may_be_between)?.next(&line, agent.as_deref()))
    }

    fn decide(&mut self, next: Next, out: &mut Emitter) -> Result<bool, Fault> {
        self.current().session.decide(next, out)
    }

    fn convert(&mut self, line: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let mut printed = Printed::default();
        printed.strict_into(line, "")?;
        let state = state_of(self, &printed, out)?;
        let outcome = dispatch::line(state, printed, out);
        state.end_record(outcome.is_ok(), out);
        outcome
    }
}

/// The state of the session of a line.
fn state_of<'s>(sessions: &'s mut BySession<StreamState>, printed: &Printed<'_>, out: &mut Emitter) -> Result<&'s mut StreamState, Fault> {
    if let Some(session) = text(printed.session_id()).map(|id| id.decode_lossy())
        && let Some(ended) = sessions.switch_to(&session)
    {
        let location = out.location();
        finish(ended, out)?;
        out.attribute_to(location, RecordHeader::default());
    }
    let has_several = sessions.has_several();
    let state = sessions.current();
    if has_several {
        // The line before was perhaps another session's.
        state.session.last_stated.forget_session();
    }
    Ok(state)
}

impl Session for Stream {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        out.set_pointer_alias("/toolUseResult", "/tool_use_result");
        match parse(source, &mut self.index) {
            Ok(line) => self.waiting.step(line, &mut self.sessions, out),
            Err(fault) => {
                self.waiting.settle_before_unreadable(&mut self.sessions, out)?;
                Err(fault)
            }
        }
    }

    fn sessions_are_apart(&self) -> bool {
        true
    }

    /// `/clear` clears the screen of the terminal (1.0.80).
    fn has_terminal_controls(&self) -> bool {
        true
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.waiting.settle(&mut self.sessions, out)?;
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
