//! The editor's stores (`state.vscdb`): opened by `db`, converted by the rest. Messages are rows in 2026, and inline in 2024.

#[cfg(feature = "sqlite")]
pub(super) mod db;
mod dispatch;
mod messages;
mod schema;
mod tool_data;

use engram_core::adapter::Session;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::Author;
use engram_core::ledger::Outcome;

#[cfg(test)]
pub(super) use dispatch::rows;

use crate::shared::value::{StructuralIndex, parse};

/// The converter of one opened conversation.
#[derive(Default)]
pub(super) struct EditorConversation {
    index: StructuralIndex,
    facts: Facts,
}

/// What the record of the conversation says of its messages.
#[derive(Default)]
struct Facts {
    /// Another agent started it.
    is_of_agent: bool,
}

impl Facts {
    /// Who writes its prompts.
    fn prompts_by(&self) -> Author {
        if self.is_of_agent { Author::Agent } else { Author::Person }
    }
}

impl Session for EditorConversation {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        dispatch::convert(&mut self.facts, parse(source, &mut self.index)?, out)
    }
}
