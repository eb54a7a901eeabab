//! Results that the log has before their calls (2.1.91 to 2.1.172): they name the line of the call, and wait for it.

use engram_core::emit::{Emitter, KeptText, Pointer, RecordLocation};
use engram_core::text::Text;

use super::read_lines::ReadLines;
use crate::claude_code::record::Record;
use crate::shared::value::text;

/// A result waits for this many lines of the conversation.
const MAX_LINES: u32 = 8;
/// The limit of waiting results.
const MAX_WAITING: usize = 8;

/// Results that wait for their calls, oldest first.
#[derive(Default)]
pub struct EarlyResults {
    waiting: Vec<EarlyResult>,
}

/// A line with a result.
pub struct EarlyResult {
    /// The line.
    pub json: KeptText,
    /// Where it is.
    pub location: RecordLocation,
    /// It is the copy of another session's history.
    pub replay: bool,
    /// The raw `uuid` of the line with the call.
    call_line: String,
    /// The lines that it has waited for.
    waited: u32,
}

impl EarlyResults {
    /// Keeps a line with a result if it names a line that was not read. Returns whether it did.
    #[inline]
    pub fn keep(&mut self, record: &Record<'_>, lines: &ReadLines, out: &Emitter) -> bool {
        let named = text(record.line.source_assistant()).filter(|call| !lines.has(*call));
        named.is_some_and(|call| self.keep_early(record, call.raw(), out))
    }

    #[cold]
    fn keep_early(&mut self, record: &Record<'_>, call_line: &str, out: &Emitter) -> bool {
        let has_room = matches!(record.prefix, Pointer::Root) && self.waiting.len() < MAX_WAITING;
        let Some(json) = has_room.then(|| out.keep(record.line.object().raw())).flatten() else { return false };
        let (location, call_line) = (out.location(), call_line.to_owned());
        self.waiting.push(EarlyResult { json, location, replay: record.replay, call_line, waited: 0 });
        true
    }

    /// True if no result waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A line was read: gives a result whose call was read or that has waited long enough.
    pub fn take_due(&mut self, lines: &ReadLines) -> Option<EarlyResult> {
        let is_due = |early: &EarlyResult| early.waited > MAX_LINES || lines.has(Text::Token(&early.call_line));
        let at = self.waiting.iter().position(is_due)?;
        Some(self.waiting.remove(at))
    }

    /// One more line was read.
    pub fn count_line(&mut self) {
        self.waiting.iter_mut().for_each(|early| early.waited += 1);
    }

    /// Gives the oldest result.
    pub fn take_oldest(&mut self) -> Option<EarlyResult> {
        (!self.waiting.is_empty()).then(|| self.waiting.remove(0))
    }
}
