//! Builds the export of a session in a store: JSON Lines, limited in size.

use engram_core::error::{AdapterError, ErrorCode};
use engram_core::limits::Limits;
use engram_core::text::{Text, push_text};

use crate::shared::value::{StructuralIndex, parse};

/// Lines being written.
#[derive(Debug)]
pub struct Lines {
    text: String,
    limit: u64,
}

impl Lines {
    /// No lines, and at most as many bytes of them as one record may have.
    pub fn new(limits: Limits) -> Self {
        Lines { text: String::new(), limit: limits.record_bytes }
    }

    /// Writes an object of these members, whose values are JSON already.
    ///
    /// # Errors
    /// `limit_exceeded` when the text outgrows one record: ids may name one large blob many times.
    pub fn line(&mut self, members: &[(&str, &str)]) -> Result<(), AdapterError> {
        self.text.push('{');
        for (n, (key, value)) in members.iter().enumerate() {
            self.text.push_str(if n == 0 { "\"" } else { ",\"" });
            self.text.push_str(key);
            self.text.push_str("\":");
            self.text.push_str(value);
        }
        self.text.push_str("}\n");
        self.check()
    }

    fn check(&self) -> Result<(), AdapterError> {
        if self.text.len() as u64 > self.limit {
            let expected = format!("a session of at most {} bytes", self.limit);
            return Err(AdapterError::new(ErrorCode::LimitExceeded).expected(expected));
        }
        Ok(())
    }

    /// Adds the lines of another text.
    ///
    /// # Errors
    /// As [`Lines::line`].
    pub fn append(&mut self, lines: Lines) -> Result<(), AdapterError> {
        self.text.push_str(&lines.text);
        self.check()
    }

    /// The text.
    pub fn end(self) -> String {
        self.text
    }
}

/// A text as JSON.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_text(&mut out, Text::Plain(text));
    out
}

/// A stored value that should be JSON: as it stands on one line, else as a JSON string of its text.
pub fn json_or_text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if parse(&text, &mut StructuralIndex::default()).is_err() {
        return quoted(&text);
    }
    // Line ends outside of strings are white space; inside of strings JSON has none.
    text.replace(['\n', '\r'], " ")
}
