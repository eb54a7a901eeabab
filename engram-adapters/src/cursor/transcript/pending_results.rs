//! Calls without a result yet. A result names only its tool.

use engram_core::event::Seq;

/// The most calls that are kept.
const MAX_PENDING: usize = 256;

/// The calls without a result, oldest first.
#[derive(Default)]
pub(super) struct PendingResults {
    calls: Vec<Pending>,
}

struct Pending {
    tool: String,
    seq: Seq,
    /// True if a result may have been of this call or of another one of its tool: which of them is left is not known.
    is_uncertain: bool,
}

impl PendingResults {
    /// Adds a call of this tool.
    pub(super) fn call(&mut self, tool: &str, seq: Seq) {
        if self.calls.len() < MAX_PENDING {
            self.calls.push(Pending {
                tool: tool.to_owned(),
                seq,
                is_uncertain: false,
            });
        }
    }

    /// Removes the oldest call of this tool. Returns the call only if no other call of the tool waits: then the result is certainly its own.
    pub(super) fn result(&mut self, tool: &str) -> Option<Seq> {
        let at = self.calls.iter().position(|call| call.tool == tool)?;
        let removed = self.calls.remove(at);
        let mut is_only = !removed.is_uncertain;
        for other in self.calls.iter_mut().filter(|call| call.tool == tool) {
            other.is_uncertain = true;
            is_only = false;
        }
        is_only.then_some(removed.seq)
    }
}
