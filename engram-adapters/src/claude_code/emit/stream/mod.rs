//! What `claude -p --output-format stream-json` prints: the lines of the conversation under other names (`conversation`), and notices
//! about the run (`notices`).

mod dispatch;
mod line;
mod notices;

use std::mem;
use std::rc::Rc;

use engram_core::adapter::{SessionInit, SideInfo};
use engram_core::emit::{Fault, RecordHeader};
use engram_core::keys::{KeyMap, hash64};
use engram_core::ledger::Outcome;
use engram_core::steps::{Check, Conversion, Emitter, Record};

pub use dispatch::{agent_of, as_transcript, kind_of};

use crate::claude_code::check::Checker;
use crate::claude_code::plan::Plan;
use crate::claude_code::readers::Printed;
use crate::claude_code::record::line_time;
use crate::claude_code::revisions::{Dialect, dialect};
use crate::shared::by_session::BySession;
use crate::shared::value::text;
use line::StreamState;

/// The conversion of one capture. Several processes may have written to it: nothing that one session says reaches another.
pub struct Stream {
    dialect: Dialect,
    /// Step 1, by the key of the session.
    checkers: KeyMap<Checker>,
    plans: KeyMap<Rc<Plan>>,
    /// The key of the session that the capture begins with; 0 before a line names one.
    first: u64,
    /// The key of the session of the line before.
    current: u64,
    sessions: BySession<StreamState>,
}

impl Stream {
    /// The converter of a capture.
    pub fn new(init: &SessionInit<'_>) -> Self {
        let sessions = BySession::new(StreamState::new(init.context.clone()), || {
            StreamState::new(SideInfo::default())
        });
        let (checkers, plans) = (KeyMap::default(), KeyMap::default());
        Stream {
            dialect: dialect(init.revision),
            checkers,
            plans,
            first: 0,
            current: 0,
            sessions,
        }
    }

    /// The key of the session of a line. A line without one belongs to the session of the line before.
    fn session_of(&self, line: &Printed<'_>) -> u64 {
        text(line.session_id()).map_or(self.current, |id| hash64(id.raw()))
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
        let session = self.session_of(&Printed::lenient(record.value));
        let (dialect, is_first) = (self.dialect, self.first == 0 && session != 0);
        if is_first && let Some(first) = self.checkers.remove(&0) {
            self.checkers.insert(session, first);
        }
        let checker = self
            .checkers
            .entry(session)
            .or_insert_with(|| Checker::new(dialect));
        checker.printed_line(record.value, record.number, check)?;
        self.first = if is_first { session } else { self.first };
        self.current = session;
        Ok(())
    }

    fn decide(&mut self) {
        let plan = |(session, mut checker): (u64, Checker)| {
            checker.notes.parts.end();
            (
                session,
                Rc::new(Plan::of(mem::take(&mut checker.notes), |_| Vec::new())),
            )
        };
        self.plans = mem::take(&mut self.checkers)
            .into_iter()
            .map(plan)
            .collect();
        self.current = self.first;
    }

    fn emit(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        out.set_pointer_alias("/toolUseResult", "/tool_use_result");
        let printed = Printed::lenient(record.value);
        self.current = self.session_of(&printed);
        let plan = self
            .plans
            .get(&self.current)
            .map(Rc::clone)
            .unwrap_or_default();
        if let Some(session) = text(printed.session_id()) {
            self.sessions.switch_to(&session.decode_lossy());
        }
        let has_several = self.sessions.has_several();
        let state = self.sessions.current();
        state.session.plan = plan;
        if has_several {
            // The line before was perhaps another session's.
            state.session.last_stated.forget_session();
        }
        let first = state.session.plan.notes.first_of(record.number);
        dispatch::line(state, (printed, record), first, out)
    }

    fn envelope(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) {
        let line = as_transcript(&Printed::lenient(record.value));
        out.set_header(RecordHeader::new(
            line_time(&line).as_deref(),
            text(line.uuid()),
        ));
    }
}
