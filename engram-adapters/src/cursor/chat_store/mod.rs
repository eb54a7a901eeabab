//! Chat stores (`store.db`): opened by `db`, converted by the rest. Messages are as the model received them, joined with the steps of the
//! turn graph, which record outcomes and times.

#[cfg(feature = "sqlite")]
mod chat_proto;
#[cfg(feature = "sqlite")]
pub(super) mod db;
mod dispatch;
mod message_text;
mod messages;
#[cfg(feature = "sqlite")]
mod protobuf;
mod schema;
mod session_facts;
mod steps;
#[cfg(feature = "sqlite")]
mod turn_graph;

use engram_core::adapter::Session;
use engram_core::emit::{Emitter, Fault};
use engram_core::ledger::Outcome;

#[cfg(test)]
pub(super) use dispatch::rows;

use crate::shared::value::{StructuralIndex, parse};

/// The converter of one opened chat.
#[derive(Default)]
pub(super) struct ChatStore {
    index: StructuralIndex,
}

impl Session for ChatStore {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        dispatch::convert(parse(source, &mut self.index)?, out)
    }
}
