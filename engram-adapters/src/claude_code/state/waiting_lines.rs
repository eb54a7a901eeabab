//! Lines that wait until a later one shows how to convert them.
//!
//! After a part of a response that may not be its last one, the log may have results (2.1.250 and later), and the usage of a response
//! follows its last part: so these lines wait until the next message shows whether the response goes on. Lines that may begin a copy of
//! the history wait until a line proves it.

use engram_core::emit::RecordLocation;
use engram_core::keys::hash64;

use crate::claude_code::schema::Block;
use crate::shared::value::{KeptRecord, Value, raw_str};

/// The limit of waiting lines, and of their bytes. At the limit the response counts as complete.
const MAX_LINES: usize = 64;
const MAX_BYTES: usize = 8 << 20;

/// What a line shows about the open response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Nothing: the line has to wait.
    Unknown,
    /// It has another part of the response.
    GoesOn,
    /// The response is complete.
    Complete,
}

/// Lines that wait, oldest first.
#[derive(Default)]
pub struct WaitingLines {
    lines: Vec<WaitingLine>,
    bytes: usize,
}

/// A line, and where it is.
pub struct WaitingLine {
    pub record: KeptRecord,
    pub location: RecordLocation,
}

impl WaitingLines {
    /// True if no line waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// What a line shows about the open response, which is the message with this key.
    pub fn next(&self, line: Value<'_>, message: u64) -> Next {
        match raw_str(line.member("type")) {
            "assistant" => {
                let id = line.member("message").and_then(|message| message.member("id"));
                if id.is_some_and(|id| hash64(id.raw()) == message) { Next::GoesOn } else { Next::Complete }
            }
            "user" if !has_result(line) => Next::Complete,
            "system" | "progress" => Next::Complete,
            _ if self.is_full(line) => Next::Complete,
            _ => Next::Unknown,
        }
    }

    /// True if there is no room for the line.
    pub fn is_full(&self, line: Value<'_>) -> bool {
        self.lines.len() >= MAX_LINES || self.bytes + line.raw().len() > MAX_BYTES
    }

    /// Keeps a line.
    pub fn push(&mut self, line: Value<'_>, location: RecordLocation) {
        let record = KeptRecord::of(line);
        self.bytes += record.bytes();
        self.lines.push(WaitingLine { record, location });
    }

    /// Takes all lines.
    pub fn take(&mut self) -> Vec<WaitingLine> {
        self.bytes = 0;
        std::mem::take(&mut self.lines)
    }
}

/// True for a line with the result of a call.
fn has_result(line: Value<'_>) -> bool {
    let content = line.member("message").and_then(|message| message.member("content"));
    content.into_iter().flat_map(Value::elements).map(Block::lenient).any(|block| raw_str(block.kind()) == "tool_result")
}
