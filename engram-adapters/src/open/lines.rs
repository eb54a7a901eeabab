//! Builds the export of a session in a store: JSON Lines, limited in size.

use engram_core::error::{AdapterError, ErrorCode};
use engram_core::limits::Limits;
use engram_core::text::{Text, push_text};

use crate::shared::value::{StructuralIndex, parse};

/// The size of what is collected for the export of one session. It may be as large as one record.
#[derive(Debug)]
pub struct Size {
    bytes: u64,
    limit: u64,
}

impl Size {
    /// Nothing yet.
    pub fn new(limits: Limits) -> Size {
        Size {
            bytes: 0,
            limit: limits.record_bytes,
        }
    }

    /// Adds bytes that are about to be kept.
    ///
    /// # Errors
    /// `limit_exceeded` when all of them outgrow one record: ids may name one large blob many times.
    pub fn add(&mut self, bytes: usize) -> Result<(), AdapterError> {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        if self.bytes > self.limit {
            let expected = format!("a session of at most {} bytes", self.limit);
            return Err(AdapterError::new(ErrorCode::LimitExceeded).expected(expected));
        }
        Ok(())
    }
}

/// Lines being written.
#[derive(Debug)]
pub struct Lines {
    text: String,
    size: Size,
}

impl Lines {
    /// No lines, and at most as many bytes of them as one record may have.
    pub fn new(limits: Limits) -> Self {
        Lines {
            text: String::new(),
            size: Size::new(limits),
        }
    }

    /// Writes an object of these members, whose values are JSON already.
    ///
    /// # Errors
    /// As [`Size::add`].
    pub fn line(&mut self, members: &[(&str, &str)]) -> Result<(), AdapterError> {
        self.size.add(
            members
                .iter()
                .map(|(key, value)| key.len() + value.len() + 4)
                .sum(),
        )?;
        self.text.push('{');
        for (n, (key, value)) in members.iter().enumerate() {
            self.text.push_str(if n == 0 { "\"" } else { ",\"" });
            self.text.push_str(key);
            self.text.push_str("\":");
            self.text.push_str(value);
        }
        self.text.push_str("}\n");
        Ok(())
    }

    /// The number of bytes so far.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// True without any lines.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Adds the lines of another text.
    ///
    /// # Errors
    /// As [`Lines::line`].
    pub fn append(&mut self, lines: Lines) -> Result<(), AdapterError> {
        self.size.add(lines.text.len())?;
        self.text.push_str(&lines.text);
        Ok(())
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

/// A stored value that should be JSON: as it is, on one line, else as a JSON string of its text.
pub fn json_or_text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if parse(&text, &mut StructuralIndex::default()).is_err() {
        return quoted(&text);
    }
    // Line ends outside of strings are white space; inside of strings JSON has none.
    text.replace(['\n', '\r'], " ")
}
