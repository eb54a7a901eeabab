//! Where an artifact's bytes come from: memory, where they stay, or a reader.

use std::io::{self, Read};
use std::ops::Range;

use simdutf8::compat::{Utf8Error, from_utf8};

use super::head::HEAD_BYTES;

/// Bytes asked for at a time: few enough to stay in a core's cache from reading to writing.
pub(crate) const READ_BYTES: usize = 64 << 10;

/// The bytes of an artifact, of which ever more are read.
pub trait ByteSource {
    /// What has been read and not forgotten.
    fn bytes(&self) -> &[u8];

    /// A part of the bytes as text.
    ///
    /// # Errors
    /// Where the first byte lies that is not UTF-8.
    fn text(&self, part: Range<usize>) -> Result<&str, Utf8Error> {
        from_utf8(&self.bytes()[part])
    }

    /// Reads this many bytes more, fewer only at the end.
    ///
    /// # Errors
    /// Those of the reader. What it gave before is kept.
    fn read(&mut self, bytes: u64) -> io::Result<()>;

    /// Forgets the first `done` bytes where that helps, and gives how many it has forgotten.
    fn forget(&mut self, done: usize) -> usize;
}

/// An artifact that is in memory already, as text. None of it is copied, or checked again.
#[derive(Debug)]
pub struct Memory<'m> {
    all: &'m str,
    read: usize,
}

impl<'m> Memory<'m> {
    pub(crate) fn new(all: &'m str) -> Self {
        Memory { all, read: 0 }
    }

    /// A part that ends inside a character is for the check to judge.
    #[cold]
    fn cut_text(&self, part: Range<usize>) -> Result<&str, Utf8Error> {
        from_utf8(&self.bytes()[part])
    }
}

impl ByteSource for Memory<'_> {
    #[inline]
    fn bytes(&self) -> &[u8] {
        &self.all.as_bytes()[..self.read]
    }

    #[inline]
    fn text(&self, part: Range<usize>) -> Result<&str, Utf8Error> {
        match self.all.get(part.clone()) {
            Some(text) => Ok(text),
            None => self.cut_text(part),
        }
    }

    fn read(&mut self, bytes: u64) -> io::Result<()> {
        let left = self.all.len() - self.read;
        self.read += usize::try_from(bytes).map_or(left, |bytes| bytes.min(left));
        Ok(())
    }

    fn forget(&mut self, _: usize) -> usize {
        0
    }
}

/// An artifact that is read into memory, a piece at a time.
#[derive(Debug)]
pub struct Reader<R> {
    reader: R,
    pub(crate) buffer: Vec<u8>,
}

impl<R> Reader<R> {
    pub(crate) fn new(reader: R) -> Self {
        // Enough for most heads; the system gives only as much of it as is used.
        Reader { reader, buffer: Vec::with_capacity(HEAD_BYTES + 2 * READ_BYTES) }
    }
}

impl<R: Read> ByteSource for Reader<R> {
    #[inline]
    fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    fn read(&mut self, bytes: u64) -> io::Result<()> {
        (&mut self.reader).take(bytes).read_to_end(&mut self.buffer).map(drop)
    }

    /// Moves what is left to the front: always where that is little, so that the same memory is used again and again.
    fn forget(&mut self, done: usize) -> usize {
        let is_little = self.buffer.len() - done < READ_BYTES / 2;
        if done == 0 || !(is_little || self.buffer.capacity() - self.buffer.len() < READ_BYTES) {
            return 0;
        }
        self.buffer.drain(..done);
        done
    }
}
