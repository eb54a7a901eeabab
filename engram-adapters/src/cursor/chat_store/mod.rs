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

use engram_core::adapter::Session;
use engram_core::emit::{Emitter, Fault};
use engram_core::ledger::Outcome;

#[cfg(test)]
pub(super) use dispatch::rows;

use state::ChatState;

use crate::shared::value::{StructuralIndex, parse};

/// The converter of one opened chat.
#[derive(Default)]
pub(super) struct ChatStore {
    state: ChatState,
    index: StructuralIndex,
}

impl Session for ChatStore {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        dispatch::convert(&mut self.state, parse(source, &mut self.index)?, out)
    }
}
