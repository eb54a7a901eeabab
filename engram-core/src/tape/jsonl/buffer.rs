//! A text buffer for lines of a tape.

use crate::text::Push;

/// The memory that an empty buffer keeps.
const KEPT_BYTES: usize = 1 << 20;

/// A buffer that only text is appended to.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
}

impl Buffer {
    /// An empty buffer with this capacity in bytes.
    pub fn with_capacity(bytes: usize) -> Buffer {
        Buffer {
            bytes: Vec::with_capacity(bytes),
        }
    }

    /// Appends ASCII.
    #[inline(always)]
    pub fn ascii(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Wraps the members written after the first `start` bytes in braces. Each member begins with a comma; `{` replaces the first.
    pub fn wrap_object(&mut self, start: usize) {
        match self.bytes.get_mut(start) {
            Some(comma) => *comma = b'{',
            None => self.ascii(b"{"),
        }
        self.ascii(b"}");
    }

    /// Drops the content, and gives back the memory of a large event.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
    }

    /// Drops all but the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
    }

    /// The number of bytes written.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The content.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The content as text: only text is ever appended.
    pub fn to_str(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap_or_default()
    }
}

impl Push for Buffer {
    #[inline(always)]
    fn push_str(&mut self, text: &str) {
        self.ascii(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_appended_in_order_and_dropped_from_the_end() {
        let mut buffer = Buffer::default();
        buffer.push_str("é");
        buffer.ascii(b"xy");
        buffer.push('😀');
        assert_eq!(buffer.to_str(), "éxy😀");
        buffer.truncate(3);
        assert_eq!((buffer.len(), buffer.to_str()), (3, "éx"));
    }

    #[test]
    fn an_object_is_wrapped_in_braces() {
        let mut buffer = Buffer::default();
        for members in ["", ",\"a\":1", ",\"a\":1,\"b\":2"] {
            let start = buffer.len();
            buffer.push_str(members);
            buffer.wrap_object(start);
        }
        assert_eq!(buffer.to_str(), "{}{\"a\":1}{\"a\":1,\"b\":2}");
    }
}
