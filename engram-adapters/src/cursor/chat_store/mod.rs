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
mod steps;
mod turn_graph;

use engram_core::adapter::Session;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::Author;
use engram_core::ledger::Outcome;

#[cfg(test)]
pub(super) use dispatch::rows;

use crate::cursor::written_files::WrittenFiles;
use crate::shared::value::{StructuralIndex, parse};

/// The converter of one opened chat.
#[derive(Default)]
pub(super) struct ChatStore {
    state: ChatState,
    index: StructuralIndex,
}

/// What a chat has shown so far.
struct ChatState {
    /// Who writes the prompts.
    prompts_by: Author,
    files: WrittenFiles,
}

impl Default for ChatState {
    fn default() -> Self {
        ChatState { prompts_by: Author::Person, files: WrittenFiles::default() }
    }
}

impl Session for ChatStore {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        dispatch::convert(&mut self.state, parse(source, &mut self.index)?, out)
    }
}
