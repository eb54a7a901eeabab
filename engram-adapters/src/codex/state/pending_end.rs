//! Ends of calls that wait for the output for the model: both become one result.

use std::borrow::Cow;

use engram_core::emit::{Emitter, RecordLocation, Reserved};
use engram_core::event::Status;

/// The most ends that wait at a time. An older one gives its result without the output.
const MAX_PENDING: usize = 256;

/// The end of a call as an item or event states it.
#[derive(Debug, Default)]
pub struct PendingEnd<'e> {
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
    pub stdout: Option<Cow<'e, str>>,
    pub stderr: Option<Cow<'e, str>>,
    /// The plain text of an MCP answer whose structured form is `stdout`.
    pub plain_text: Option<Cow<'e, str>>,
    /// The memory of the texts, while it waits.
    pub _reserved: Option<Reserved>,
}

impl PendingEnd<'_> {
    /// The end as it waits if there is no room for its texts: they have events of their own.
    pub fn without_texts(&self) -> PendingEnd<'static> {
        PendingEnd { stdout: None, stderr: None, plain_text: None, t: self.t.clone(), is_mapped: true, _reserved: None, ..*self }
    }

    /// The end as it waits. `None` if there is no room for its texts.
    pub fn keep(&self, out: &Emitter<'_>) -> Option<PendingEnd<'static>> {
        let texts = [&self.stdout, &self.stderr, &self.plain_text];
        let reserved = out.reserve(texts.into_iter().flatten().map(|text| text.len()).sum())?;
        let [stdout, stderr, plain_text] = texts.map(|text| text.as_deref().map(|text| Cow::Owned(text.to_owned())));
        Some(PendingEnd { stdout, stderr, plain_text, t: self.t.clone(), _reserved: Some(reserved), ..*self })
    }
}

/// The ends that wait for an output, oldest first.
#[derive(Debug, Default)]
pub struct PendingEnds {
    ends: Vec<(String, PendingEnd<'static>)>,
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
    pub fn push(&mut self, call_id: &str, end: PendingEnd<'static>) -> Option<(String, PendingEnd<'static>)> {
        self.ends.push((call_id.to_owned(), end));
        (self.ends.len() > MAX_PENDING).then(|| self.ends.remove(0))
    }

    /// Removes the end that waits for this call's output.
    pub fn take(&mut self, call_id: &str) -> Option<PendingEnd<'static>> {
        let at = self.ends.iter().position(|(pending, _)| pending == call_id)?;
        Some(self.ends.remove(at).1)
    }

    /// Removes all ends, with their call ids.
    pub fn take_all(&mut self) -> Vec<(String, PendingEnd<'static>)> {
        std::mem::take(&mut self.ends)
    }
}
