//! The editor's stores (`state.vscdb`): opened by `db`, converted by the rest. Messages are rows in 2026, and inline in 2024.

#[cfg(feature = "sqlite")]
mod call;
pub(super) mod db;
mod dispatch;
mod messages;
mod results;
mod tool_code;
mod tool_data;

use engram_core::emit::Fault;
use engram_core::ledger::Outcome;
use engram_core::steps::Record;

use messages::Facts;

use crate::cursor::steps::{Out, Reader};

/// The converter of one opened conversation.
#[derive(Default)]
pub(super) struct EditorConversation {
    facts: Facts,
}

impl Reader for EditorConversation {
    fn record(&mut self, record: &Record<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
        dispatch::convert(&mut self.facts, record.value, out)
    }

    fn decide(&mut self) {
        self.facts = Facts::default();
    }
}
