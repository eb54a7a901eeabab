//! Ends of calls that wait for the output for the model: both become one result.

use engram_core::emit::RecordLocation;
use engram_core::event::Status;

/// The most ends that wait at a time. An older one gives its result without the output.
const MAX_PENDING: usize = 256;

/// The end of a call as an item or event states it.
#[derive(Debug, Default)]
pub struct PendingEnd {
    /// The record's type, and the rule by which it is a duplicate once the output repeats it.
    pub record: &'static str,
    pub rule: &'static str,
    /// JSON Pointer of the record's fields.
    pub at: &'static str,
    /// The record gave events of its own.
    pub is_mapped: bool,
    pub location: RecordLocation,
    pub t: Option<String>,
    pub replay: bool,
    pub status: Option<Status>,
    pub exit: Option<i64>,
    pub duration_ms: Option<u64>,
    /// Non-empty texts are JSON tokens.
    pub stdout: Option<String>,
    pub stderr: Option<String>,
    /// The plain text of an MCP answer whose structured form is `stdout`.
    pub plain_text: Option<String>,
}

/// The ends that wait for an output, oldest first.
#[derive(Debug, Default)]
pub struct PendingEnds {
    ends: Vec<(String, PendingEnd)>,
    has_read_any: bool,
}

impl PendingEnds {
    /// Records that the session states ends of calls apart from their outputs.
    pub fn set_has_read_any(&mut self) {
        self.has_read_any = true;
    }

    /// True when any end was read, waiting or not.
    pub fn has_read_any(&self) -> bool {
        self.has_read_any
    }

    /// Adds an end. Gives back the oldest one if there are too many.
    pub fn push(&mut self, call_id: &str, end: PendingEnd) -> Option<(String, PendingEnd)> {
        self.ends.push((call_id.to_owned(), end));
        (self.ends.len() > MAX_PENDING).then(|| self.ends.remove(0))
    }

    /// Removes the end that waits for this call's output.
    pub fn take(&mut self, call_id: &str) -> Option<PendingEnd> {
        let at = self.ends.iter().position(|(pending, _)| pending == call_id)?;
        Some(self.ends.remove(at).1)
    }

    /// Removes all ends, with their call ids.
    pub fn take_all(&mut self) -> Vec<(String, PendingEnd)> {
        std::mem::take(&mut self.ends)
    }
}
