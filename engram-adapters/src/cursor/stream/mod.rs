//! `stream-json` captures: what the command line printed, one JSON object per line, mixed with what else was written to the same pipe.

mod approvals;
mod dispatch;
mod messages;
mod notices;
mod schema;
mod state;
mod tool_calls;

use engram_core::emit::Fault;
use engram_core::keys::hash64;
use engram_core::ledger::Outcome;
use engram_core::steps::Record;

use crate::cursor::readers::CaptureLine;
use state::{Shared, StreamState};

use crate::cursor::fields::decoded_non_empty;
use crate::cursor::steps::{Out, Reader, is_log_line, line_of_standard_error};
use crate::shared::by_session::BySession;

/// The converter of one capture. Several processes may have written to it.
pub(super) struct Stream {
    sessions: BySession<StreamState>,
    shared: Shared,
}

impl Default for Stream {
    fn default() -> Self {
        Stream {
            sessions: sessions(),
            shared: Shared::default(),
        }
    }
}

fn sessions() -> BySession<StreamState> {
    BySession::new(StreamState::default(), StreamState::default)
}

impl Reader for Stream {
    fn record(&mut self, record: &Record<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
        let line = CaptureLine::strict(record.value, "")?;
        if let Some(session) = decoded_non_empty(line.session_id()) {
            self.sessions.switch_to(&session);
            self.shared.session = hash64(&*session);
        }
        self.shared.number = record.number;
        dispatch::convert(self.sessions.current(), &mut self.shared, line, out)
    }

    fn decide(&mut self) {
        self.sessions = sessions();
        self.shared.decide();
    }

    fn sessions_are_apart(&self) -> bool {
        true
    }

    fn repeats_are_exact(&self) -> bool {
        true
    }

    fn cut_record(&self, text: &str) -> Option<&'static str> {
        line_of_standard_error(text)
    }

    fn is_notice(&self, text: &str) -> bool {
        is_log_line(text)
    }

    fn envelope(&mut self, record: &Record<'_>, out: &mut Out<'_, '_>) {
        let line = CaptureLine::lenient(record.value);
        dispatch::begin_record(&line, out);
    }
}
