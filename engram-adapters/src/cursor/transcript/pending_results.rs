//! Calls without a result yet. A result names only its tool.

use engram_core::event::Seq;

/// The most calls that are kept.
const MAX_PENDING: usize = 256;

/// The calls without a result, oldest first.
#[derive(Default)]
pub(super) struct PendingResults {
    calls: Vec<(String, Seq)>,
}

impl PendingResults {
    /// Adds a call of this tool.
    pub(super) fn call(&mut self, tool: &str, seq: Seq) {
        if self.calls.len() < MAX_PENDING {
            self.calls.push((tool.to_owned(), seq));
        }
    }

    /// Removes the oldest call of this tool. Returns it if it is the only one, so that the result can only be its own.
    pub(super) fn result(&mut self, tool: &str) -> Option<Seq> {
        let at = self.calls.iter().position(|(name, _)| name == tool)?;
        let is_only = self.calls.iter().filter(|(name, _)| name == tool).count() == 1;
        let (_, seq) = self.calls.remove(at);
        is_only.then_some(seq)
    }
}
