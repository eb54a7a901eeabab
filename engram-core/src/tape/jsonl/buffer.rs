//! A text buffer for lines of a tape, and constant fragments that are copied without a call.

use crate::text::Push;

/// Bytes of a [`StaticFragment`], padding included.
const FRAGMENT_BYTES: usize = 32;

/// A short constant text. It is copied with its padding, which compiles to moves of a fixed size instead of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StaticFragment {
    bytes: [u8; FRAGMENT_BYTES],
    padding: usize,
}

impl StaticFragment {
    /// The concatenation of these texts. In a constant, it does not compile if they are too long.
    pub const fn of(texts: &[&str]) -> StaticFragment {
        let mut fragment = StaticFragment { bytes: [0; FRAGMENT_BYTES], padding: FRAGMENT_BYTES };
        let mut number = 0;
        while number < texts.len() {
            fragment = fragment.and(texts[number].as_bytes());
            number += 1;
        }
        fragment
    }

    /// This fragment followed by ASCII text.
    const fn and(mut self, ascii: &[u8]) -> StaticFragment {
        let mut at = 0;
        while at < ascii.len() {
            self.bytes[FRAGMENT_BYTES - self.padding] = ascii[at];
            self.padding -= 1;
            at += 1;
        }
        self
    }
}

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
        Buffer { bytes: Vec::with_capacity(bytes) }
    }

    /// Appends a fragment.
    #[inline(always)]
    pub fn push_static(&mut self, fragment: &StaticFragment) {
        self.bytes.extend_from_slice(&fragment.bytes);
        self.bytes.truncate(self.bytes.len() - fragment.padding);
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
    fn fragments_and_texts_are_appended_in_order() {
        let (mut buffer, mut expected) = (Buffer::default(), String::new());
        for n in 0..200 {
            let text = "é".repeat(n);
            buffer.push_str(&text);
            buffer.push_static(&StaticFragment::of(&[",\"na", "me\":"]));
            buffer.ascii(b"xy");
            buffer.push('😀');
            expected += &format!("{text},\"name\":xy😀");
        }
        assert_eq!(buffer.to_str(), expected);
        buffer.truncate(1);
        assert_eq!((buffer.len(), buffer.to_str()), (1, ","));
    }

    #[test]
    fn fragments_can_have_the_maximum_length() {
        let mut buffer = Buffer::default();
        buffer.push_static(&StaticFragment::of(&["0123456789abcdef", "0123456789abcdef"]));
        buffer.push_static(&StaticFragment::of(&[]));
        assert_eq!(buffer.to_str(), "0123456789abcdef0123456789abcdef");
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
