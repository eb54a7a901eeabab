//! Sources of the bytes of an artifact: memory or a reader.

use std::io::{self, Read as _};
use std::ops::Range;

use simdutf8::compat::{Utf8Error, from_utf8};

use super::again::SourceText;
use super::head::HEAD_BYTES;
use super::source::{READ_BYTES, Source, read_full};

/// The first bytes of an artifact that are read at once.
const FIRST_READ_BYTES: usize = 8 << 10;

/// A buffer with more free bytes than this gives them back.
const MAX_FREE_BYTES: usize = 8 << 20;

/// The bytes of an artifact, read step by step.
pub trait ByteSource {
    /// The bytes that have been read and not discarded.
    fn bytes(&self) -> &[u8];

    /// A range of these bytes as text.
    ///
    /// # Errors
    /// If they are not UTF-8.
    fn text(&self, range: Range<usize>) -> Result<&str, Utf8Error> {
        from_utf8(&self.bytes()[range])
    }

    /// Reads this many more bytes; fewer only at the end.
    ///
    /// # Errors
    /// Those of the reader. Bytes that were read before the error are kept.
    fn read(&mut self, bytes: u64) -> io::Result<()>;

    /// The same artifact for a second reading, after it was read to its end. `discarded` bytes are not in [`ByteSource::bytes`] any more.
    #[doc(hidden)]
    fn again(&mut self, discarded: u64) -> SourceText<'_>;

    /// Discards up to `done` bytes from the front, if that is worth the time. Returns the number of discarded bytes.
    fn discard(&mut self, done: usize) -> usize;
}

/// An artifact in memory, as text. It is neither copied nor checked for UTF-8 again.
#[derive(Debug)]
pub struct Memory<'m> {
    all: &'m str,
    read: usize,
}

impl<'m> Memory<'m> {
    pub(crate) fn new(all: &'m str) -> Self {
        Memory { all, read: 0 }
    }
}

impl ByteSource for Memory<'_> {
    #[inline]
    fn bytes(&self) -> &[u8] {
        &self.all.as_bytes()[..self.read]
    }

    #[inline]
    fn text(&self, range: Range<usize>) -> Result<&str, Utf8Error> {
        match self.all.get(range.clone()) {
            Some(text) => Ok(text),
            // The range ends inside a character.
            None => from_utf8(&self.bytes()[range]),
        }
    }

    fn read(&mut self, bytes: u64) -> io::Result<()> {
        let left = self.all.len() - self.read;
        self.read += usize::try_from(bytes).map_or(left, |bytes| bytes.min(left));
        Ok(())
    }

    fn again(&mut self, _: u64) -> SourceText<'_> {
        SourceText::Text(self.all)
    }

    fn discard(&mut self, _: usize) -> usize {
        0
    }
}

/// An artifact that is read into a buffer, chunk by chunk.
#[derive(Debug)]
pub struct Reader<R> {
    reader: R,
    /// The bytes that were read, then bytes that are overwritten next. Bytes are set to zero once only.
    pub(crate) buffer: Vec<u8>,
    filled: usize,
}

impl<R> Reader<R> {
    pub(crate) fn new(reader: R) -> Self {
        // Enough for most heads. The system provides only the pages that are used.
        Reader {
            reader,
            buffer: Vec::with_capacity(HEAD_BYTES + 2 * READ_BYTES),
            filled: 0,
        }
    }
}

impl<R: Source> ByteSource for Reader<R> {
    #[inline]
    fn bytes(&self) -> &[u8] {
        &self.buffer[..self.filled]
    }

    fn read(&mut self, bytes: u64) -> io::Result<()> {
        if bytes > READ_BYTES as u64 {
            self.buffer.truncate(self.filled);
            let read = (&mut self.reader).take(bytes).read_to_end(&mut self.buffer);
            self.filled = self.buffer.len();
            return read.map(drop);
        }
        let end = self.filled + bytes as usize;
        loop {
            // Most artifacts are small: what they do not fill is not set to zero.
            let to = end.min(self.buffer.len().max(self.filled + FIRST_READ_BYTES));
            if self.buffer.len() < to {
                self.buffer.resize(to, 0);
            }
            read_full(&mut self.reader, &mut self.buffer[..to], &mut self.filled)?;
            if self.filled < to || to == end {
                return Ok(());
            }
        }
    }

    fn again(&mut self, discarded: u64) -> SourceText<'_> {
        if discarded == 0 {
            SourceText::Bytes(&self.buffer[..self.filled])
        } else {
            // What the second reading needs it reads itself: one record at a time is in memory.
            self.buffer = Vec::new();
            self.filled = 0;
            SourceText::of_file(&mut self.reader)
        }
    }

    /// Moves the remaining bytes to the front if they are few or the buffer is full, so that the same memory is reused. Gives back what a
    /// large record or a large head has taken.
    fn discard(&mut self, done: usize) -> usize {
        let left = self.filled - done;
        let is_cheap = left < READ_BYTES / 2 || (done > MAX_FREE_BYTES && left < done);
        if done == 0 || !(is_cheap || self.buffer.capacity() - self.filled < READ_BYTES) {
            return 0;
        }
        self.buffer.copy_within(done..self.filled, 0);
        self.filled = left;
        if self.buffer.capacity() - left > MAX_FREE_BYTES {
            self.buffer.truncate(left);
            self.buffer.shrink_to(left + HEAD_BYTES);
        }
        done
    }
}
