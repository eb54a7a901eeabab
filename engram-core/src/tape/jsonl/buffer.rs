//! A text buffer for lines of a tape, and constant fragments that are copied without a call.

use std::io::{self, Write};
use std::mem;

use super::overflow::{OpenStorage, Overflow};
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

/// The most bytes in memory, of a buffer with an [`Overflow`].
const MAX_BYTES: usize = 8 << 20;

/// A buffer that only text is appended to. One with an [`Overflow`] has a bounded size in memory.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    /// The content after the first `moved` bytes.
    bytes: Vec<u8>,
    /// The number of bytes that were moved to `overflow`.
    moved: usize,
    overflow: Option<Overflow>,
}

impl Buffer {
    /// An empty buffer with this capacity in bytes.
    pub fn with_capacity(bytes: usize) -> Buffer {
        Buffer { bytes: Vec::with_capacity(bytes), ..Buffer::default() }
    }

    /// The same buffer, with an overflow.
    pub fn with_overflow(self, open: OpenStorage) -> Buffer {
        Buffer { overflow: Some(Overflow::new(open)), ..self }
    }

    /// Appends a fragment.
    #[inline(always)]
    pub fn push_static(&mut self, fragment: &StaticFragment) {
        if self.room() < FRAGMENT_BYTES {
            self.make_room(FRAGMENT_BYTES);
        }
        self.bytes.extend_from_slice(&fragment.bytes);
        self.bytes.truncate(self.bytes.len() - fragment.padding);
    }

    /// Appends ASCII.
    #[inline(always)]
    pub fn ascii(&mut self, bytes: &[u8]) {
        if self.room() < bytes.len() && !self.make_room(bytes.len()) {
            return self.push_to_overflow(bytes);
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The number of bytes that fit into the allocated memory.
    #[inline(always)]
    fn room(&self) -> usize {
        self.bytes.capacity() - self.bytes.len()
    }

    /// Allocates memory for as many bytes. False if they are too many.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, bytes: usize) -> bool {
        if self.overflow.is_some() && self.bytes.len() + bytes > MAX_BYTES {
            self.move_to_overflow();
            if bytes > MAX_BYTES {
                return false;
            }
        }
        self.bytes.reserve(bytes);
        true
    }

    fn move_to_overflow(&mut self) {
        let bytes = mem::take(&mut self.bytes);
        self.push_to_overflow(&bytes);
        self.bytes = bytes;
        self.bytes.clear();
    }

    /// Appends to the overflow. The bytes in memory must have been moved there.
    #[cold]
    #[inline(never)]
    fn push_to_overflow(&mut self, bytes: &[u8]) {
        self.overflow.iter_mut().for_each(|overflow| overflow.write(self.moved, bytes));
        self.moved += bytes.len();
    }

    /// Wraps the members written after the first `start` bytes in braces. Each member begins with a comma; `{` replaces the first.
    pub fn wrap_object(&mut self, start: usize) {
        match start.checked_sub(self.moved).map(|at| self.bytes.get_mut(at)) {
            Some(Some(comma)) => *comma = b'{',
            Some(None) => self.ascii(b"{"),
            None => self.overflow.iter_mut().for_each(|overflow| overflow.write(start, b"{")),
        }
        self.ascii(b"}");
    }

    /// Drops all but the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len.saturating_sub(self.moved));
        self.moved = self.moved.min(len);
    }

    /// The number of bytes written.
    pub fn len(&self) -> usize {
        self.moved + self.bytes.len()
    }

    /// Writes the content to `writer`, and empties the buffer.
    ///
    /// # Errors
    /// Those of `writer` and of the overflow.
    pub fn drain_to(&mut self, writer: &mut impl Write) -> io::Result<()> {
        if let Some(overflow) = self.overflow.as_mut().filter(|_| self.moved > 0) {
            overflow.copy_to(self.moved, writer)?;
        }
        writer.write_all(&self.bytes)?;
        self.truncate(0);
        Ok(())
    }

    /// Fails if the overflow has failed.
    ///
    /// # Errors
    /// The error of the overflow.
    #[inline(always)]
    pub fn check(&mut self) -> io::Result<()> {
        match self.overflow.as_mut().filter(|_| self.moved > 0) {
            Some(overflow) => overflow.check(),
            None => Ok(()),
        }
    }

    /// The content of a buffer without overflow as text: only text is ever appended.
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
    fn content_does_not_depend_on_the_overflow() {
        let open: OpenStorage = || Ok(Box::new(tempfile::tempfile()?));
        let (mut plain, mut moving) = (Buffer::default(), Buffer::with_capacity(64).with_overflow(open));
        let large = "é".repeat(MAX_BYTES / 2 + 1);
        let mut most = 0;
        for text in ["", "short", &large, "after", &large[..MAX_BYTES / 2], &large[..MAX_BYTES - 10], ""] {
            for buffer in [&mut plain, &mut moving] {
                buffer.push_static(&StaticFragment::of(&[",\"object\":"]));
                let start = buffer.len();
                buffer.push_str(",\"a\":");
                buffer.push_str(text);
                buffer.wrap_object(start);
                let empty = buffer.len();
                buffer.wrap_object(empty);
                let before = buffer.len();
                buffer.push_str(text);
                buffer.push_str("dropped");
                buffer.truncate(before);
                buffer.push('x');
            }
            most = most.max(moving.bytes.capacity());
        }
        let (mut one, mut other) = (Vec::new(), Vec::new());
        assert!(moving.moved > 2 * MAX_BYTES && moving.check().is_ok());
        assert!(most < 2 * MAX_BYTES, "{most} bytes in memory");
        plain.drain_to(&mut one).unwrap();
        moving.drain_to(&mut other).unwrap();
        assert!(one == other && one.len() > 2 * MAX_BYTES);
        moving.push_str("again");
        moving.drain_to(&mut other).unwrap();
        assert!(other.ends_with(b"xagain") && moving.len() == 0);
    }

    #[test]
    fn an_error_of_the_overflow_is_reported() {
        let mut buffer = Buffer::default().with_overflow(|| Err(io::ErrorKind::StorageFull.into()));
        buffer.push_str(&"x".repeat(MAX_BYTES));
        buffer.check().unwrap();
        buffer.push_str("x");
        assert_eq!(buffer.check().unwrap_err().kind(), io::ErrorKind::StorageFull);
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
