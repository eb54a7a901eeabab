//! Chat stores (`store.db`): opened by `db`, converted by the rest. Messages are as the model received them, joined with the steps of the
//! turn graph, which record outcomes and times.

mod chat_proto;
#[cfg(feature = "sqlite")]
pub(super) mod db;
mod dispatch;
pub(super) mod export;
mod message_text;
mod messages;
mod protobuf;
mod schema;
mod session_facts;
mod state;
mod steps;
mod turn_graph;

use engram_core::emit::Fault;
use engram_core::ledger::Outcome;
use engram_core::steps::Record;

use state::ChatState;

use crate::cursor::steps::{Out, Reader};

/// The converter of one opened chat.
#[derive(Default)]
pub(super) struct ChatStore {
    state: ChatState,
}

impl Reader for ChatStore {
    fn record(&mut self, record: &Record<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
        dispatch::convert(&mut self.state, record.value, out)
    }

    fn decide(&mut self) {
        self.state = ChatState::default();
    }
}
