//! The editor's stores (`state.vscdb`): opened by `db`, converted by the rest. Messages are rows in 2026, and inline in 2024.

#[cfg(feature = "sqlite")]
pub(super) mod db;
mod dispatch;
mod messages;
mod schema;
mod tool_data;

use engram_core::emit::Fault;
use engram_core::event::Author;
use engram_core::ledger::Outcome;
use engram_core::steps::Record;

#[cfg(test)]
pub(super) use dispatch::rows;

use crate::cursor::steps::{Out, Reader};

/// The converter of one opened conversation.
#[derive(Default)]
pub(super) struct EditorConversation {
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

impl Reader for EditorConversation {
    fn record(&mut self, record: &Record<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
        dispatch::convert(&mut self.facts, record.value, out)
    }

    fn decide(&mut self) {
        self.facts = Facts::default();
    }
}
