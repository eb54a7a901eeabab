//! Reading of an artifact: first its head, then its lines. Memory is bounded by the longest line; the content is hashed on the way.

pub mod again;
pub(crate) mod broken;
mod byte_source;
pub mod head;
pub mod source;
pub(crate) mod terminal;
pub(crate) mod truncation;

use std::fmt;
use std::io::{ErrorKind, Read};

use memchr::{memchr, memchr_iter};
use simdutf8::compat::Utf8Error;

use crate::error::{AdapterError, ErrorCode};
use crate::hash::{Hash, StreamHasher};
use crate::limits::Limits;

use self::again::SourceText;
pub use self::byte_source::{ByteSource, Memory, Reader};
use self::head::{BOM, HEAD_BYTES, HEAD_LINES, HEAD_MAX_BYTES, Head, canonical_head};
use self::source::{READ_BYTES, Source, Spool};

/// An artifact that is being read.
pub struct Input<S> {
    source: S,
    limits: Limits,
    /// The offset of the next line in the bytes of the source.
    start: usize,
    /// The bytes before this offset have been searched for a line end.
    searched: usize,
    /// The number of line ends in the head, at most [`HEAD_LINES`].
    head_lines: usize,
    /// The end of the last of these lines.
    head_lines_end: usize,
    /// The text of the head in canonical form, if it has other escapes.
    canonical_head: Option<String>,
    ended: bool,
    /// Why the artifact ended too early, if it did.
    truncation_reason: Option<String>,
    hasher: StreamHasher,
    /// The bytes before this offset have been hashed.
    hashed: usize,
}

impl<S> fmt::Debug for Input<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input")
            .field("limits", &self.limits)
            .field("start", &self.start)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

/// One physical line.
#[derive(Debug)]
pub(crate) struct Line<'b> {
    /// The line without its `\n`. The error is large and rare, so it is boxed.
    pub text: Result<&'b str, Box<UnreadableLine<'b>>>,
    /// False for a last line without `\n`.
    pub terminated: bool,
    /// The offset of the line in the artifact.
    pub offset: u64,
    /// The bytes before the text: a byte order mark.
    pub lead: usize,
}

/// A line that cannot be read as text.
#[derive(Debug)]
pub(crate) enum UnreadableLine<'b> {
    /// It is not UTF-8.
    NotUtf8 { bytes: &'b [u8], error: Utf8Error },
    /// It is longer than the limit, `allowed`.
    Oversize {
        bytes: u64,
        hash: Hash,
        allowed: u64,
    },
}

impl<R: Read> Input<Reader<Spool<R>>> {
    /// An artifact that is read from a stream, which is stored while it is read ([`Spool`]).
    pub fn new(reader: R, limits: Limits) -> Self {
        Input::of_source(Spool::new(reader), limits)
    }
}

impl<R: Source> Input<Reader<R>> {
    /// An artifact that can be read twice, such as a file.
    pub fn of_source(source: R, limits: Limits) -> Self {
        Input::from_source(Reader::new(source), limits)
    }
}

impl<'m> Input<Memory<'m>> {
    /// An artifact that is in memory.
    pub fn in_memory(text: &'m str, limits: Limits) -> Self {
        Input::from_source(Memory::new(text), limits)
    }
}

impl<S: ByteSource> Input<S> {
    fn from_source(source: S, limits: Limits) -> Self {
        Input {
            source,
            limits,
            start: 0,
            searched: 0,
            head_lines: 0,
            head_lines_end: 0,
            canonical_head: None,
            ended: false,
            truncation_reason: None,
            hasher: StreamHasher::default(),
            hashed: 0,
        }
    }

    /// The head of the artifact. It stays the same until the first line is read.
    ///
    /// # Errors
    /// `io` if the reader fails.
    pub fn head(&mut self) -> Result<Head<'_>, AdapterError> {
        while !self.ended && !self.head_suffices() {
            let from = self.source.bytes().len();
            self.fill()?;
            let missing = HEAD_LINES - self.head_lines;
            for at in memchr_iter(b'\n', &self.source.bytes()[from..]).take(missing) {
                self.head_lines += 1;
                self.head_lines_end = from + at + 1;
            }
        }
        let len = self.head_len();
        let (bytes, text) = (&self.source.bytes()[..len], self.source.text(0..len));
        let is_complete = self.ended && len == self.source.bytes().len();
        // Adapters search the head for names of members and for types, as harnesses write them.
        self.canonical_head = text.as_ref().ok().and_then(|text| canonical_head(text));
        Ok(match &self.canonical_head {
            Some(canonical) => Head::of(canonical.as_bytes(), Ok(canonical), is_complete),
            None => Head::of(bytes, text, is_complete),
        })
    }

    /// Gives back the memory of the head, which is not used any more.
    pub(crate) fn discard_head(&mut self) {
        self.canonical_head = None;
    }

    /// The rest of the artifact that [`Input::rest`] has read: its bytes, and the same as text.
    pub(crate) fn whole(&self) -> (&[u8], Result<&str, Utf8Error>) {
        let bytes = &self.source.bytes()[self.start..];
        let lead = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
        (
            &bytes[lead..],
            self.source
                .text(self.start + lead..self.start + bytes.len()),
        )
    }

    /// The artifact for a second reading, after it was read to its end.
    pub(crate) fn again(&mut self) -> SourceText<'_> {
        let discarded = self.hasher.len() - self.hashed as u64;
        self.source.again(discarded)
    }

    /// The length of the byte order mark that precedes the text of a line.
    fn lead(&self, from: usize, to: usize) -> usize {
        let has_bom = self.offset(from) == 0 && self.source.bytes()[from..to].starts_with(BOM);
        if has_bom { BOM.len() } else { 0 }
    }

    fn head_suffices(&self) -> bool {
        let read = self.source.bytes().len();
        let enough = read >= HEAD_BYTES && self.head_lines >= HEAD_LINES;
        let full = read >= HEAD_MAX_BYTES && self.head_lines > 0;
        enough || full || read >= self.head_bound()
    }

    /// The length of the head. It depends on the content only, not on the chunks in which it was read.
    fn head_len(&self) -> usize {
        let bytes = self.source.bytes();
        let lines = if self.head_lines == HEAD_LINES {
            self.head_lines_end
        } else {
            bytes.len()
        };
        let first = memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
        let wanted = lines.clamp(HEAD_BYTES, HEAD_MAX_BYTES).max(first);
        wanted.min(self.head_bound()).min(bytes.len())
    }

    /// The maximum length of the head. A longer first line exceeds the limit for records anyway.
    fn head_bound(&self) -> usize {
        usize::try_from(self.limits.record_bytes)
            .unwrap_or(usize::MAX)
            .max(HEAD_BYTES)
    }

    /// Hash and number of all bytes that have been read.
    pub fn consumed(&mut self) -> (Hash, u64) {
        self.hash_read();
        self.hasher.finish()
    }

    /// Hashes the bytes that have been read. The bytes are searched before they are hashed: loading them into the cache is faster in the
    /// sequential search than in the hash, which reads eight parts of the input in parallel.
    fn hash_read(&mut self) {
        let bytes = self.source.bytes();
        self.hasher.update(&bytes[self.hashed..]);
        self.hashed = bytes.len();
    }

    /// Why the artifact ended too early: the message of a reader that failed with [`ErrorKind::UnexpectedEof`], as for a truncated
    /// compressed file.
    pub fn truncation_reason(&self) -> Option<&str> {
        self.truncation_reason.as_deref()
    }

    /// Reads the next chunk. Lines that were returned before may be discarded.
    #[inline(never)]
    fn fill(&mut self) -> Result<(), AdapterError> {
        self.hash_read();
        let discarded = self.source.discard(self.start);
        self.hashed -= discarded;
        self.start -= discarded;
        self.searched -= discarded;
        self.read(READ_BYTES as u64)
    }

    /// Reads this many bytes; fewer only at the end.
    fn read(&mut self, bytes: u64) -> Result<(), AdapterError> {
        let from = self.source.bytes().len();
        let read = self.source.read(bytes);
        self.ended = ((self.source.bytes().len() - from) as u64) < bytes;
        match read {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                self.truncation_reason = Some(error.to_string())
            }
            read => read?,
        }
        Ok(())
    }

    /// The number of bytes that have been read but not returned.
    fn pending_bytes(&self) -> usize {
        self.source.bytes().len() - self.start
    }

    /// The next line; `None` at the end.
    pub(crate) fn next_line(&mut self) -> Result<Option<Line<'_>>, AdapterError> {
        let found = loop {
            if let Some(at) = memchr(b'\n', &self.source.bytes()[self.searched..]) {
                break Some(self.searched + at);
            }
            self.searched = self.source.bytes().len();
            if self.ended {
                break None;
            }
            if self.pending_bytes() as u64 > self.limits.record_bytes {
                return self.skip_line().map(Some);
            }
            self.fill()?;
        };
        let (from, to) = (self.start, found.unwrap_or(self.searched));
        self.start = to + usize::from(found.is_some());
        self.searched = self.start;
        if from == self.start {
            return Ok(None);
        }
        let (offset, lead) = (self.offset(from), self.lead(from, to));
        Ok(Some(Line {
            text: self.line(from, to),
            terminated: found.is_some(),
            offset,
            lead,
        }))
    }

    #[inline]
    fn line(&self, from: usize, to: usize) -> Result<&str, Box<UnreadableLine<'_>>> {
        if (to - from) as u64 > self.limits.record_bytes {
            return Err(self.long_line(from, to));
        }
        let from = from + self.lead(from, to);
        self.source
            .text(from..to)
            .map_err(|error| not_utf8(&self.source.bytes()[from..to], error))
    }

    fn long_line(&self, from: usize, to: usize) -> Box<UnreadableLine<'_>> {
        let bytes = &self.source.bytes()[from..to];
        self.oversize(bytes.len() as u64, Hash::of_bytes(bytes))
    }

    fn oversize(&self, bytes: u64, hash: Hash) -> Box<UnreadableLine<'_>> {
        Box::new(UnreadableLine::Oversize {
            bytes,
            hash,
            allowed: self.limits.record_bytes,
        })
    }

    /// The offset in the artifact of an offset in the buffer.
    fn offset(&self, at: usize) -> u64 {
        self.hasher.len() + at as u64 - self.hashed as u64
    }

    /// Skips and hashes a line that is longer than the limit, without keeping it in memory.
    fn skip_line(&mut self) -> Result<Line<'_>, AdapterError> {
        let mut hasher = StreamHasher::default();
        let offset = self.offset(self.start);
        loop {
            let found = memchr(b'\n', &self.source.bytes()[self.start..]);
            let to = found.map_or(self.source.bytes().len(), |at| self.start + at);
            hasher.update(&self.source.bytes()[self.start..to]);
            self.start = to + usize::from(found.is_some());
            self.searched = self.start;
            if found.is_some() || self.ended {
                let (hash, bytes) = hasher.finish();
                return Ok(Line {
                    text: Err(self.oversize(bytes, hash)),
                    terminated: found.is_some(),
                    offset,
                    lead: 0,
                });
            }
            self.fill()?;
        }
    }

    /// The rest of the artifact, for a document: its bytes, and the same as text.
    pub(crate) fn rest(&mut self) -> Result<(&[u8], Result<&str, Utf8Error>), AdapterError> {
        // One more byte than allowed shows that the document is too large.
        self.read(
            self.limits
                .record_bytes
                .saturating_add(1)
                .saturating_sub(self.pending_bytes() as u64),
        )?;
        if self.pending_bytes() as u64 > self.limits.record_bytes {
            let expected = format!("a document of at most {} bytes", self.limits.record_bytes);
            return Err(AdapterError::new(ErrorCode::LimitExceeded).expected(expected));
        }
        Ok(self.whole())
    }
}

impl<S: ByteSource> Input<S> {
    /// The complete text, for an adapter that converts it at once.
    ///
    /// # Errors
    /// `limit_exceeded` if it is longer than a record may be; `malformed_record` if it is not UTF-8; `truncated_input` if the
    /// compressed input is truncated; `io` if the reader fails.
    pub fn whole_text(&mut self) -> Result<String, AdapterError> {
        let text = match self.rest()?.1 {
            Ok(text) => text.to_owned(),
            Err(error) => {
                let found = format!("invalid byte at offset {}", error.valid_up_to());
                return Err(AdapterError::new(ErrorCode::MalformedRecord)
                    .expected("UTF-8")
                    .found(&found));
            }
        };
        match &self.truncation_reason {
            Some(reason) => Err(AdapterError::new(ErrorCode::TruncatedInput)
                .expected("the complete text")
                .found(reason)),
            None => Ok(text),
        }
    }
}

#[cold]
fn not_utf8(bytes: &[u8], error: Utf8Error) -> Box<UnreadableLine<'_>> {
    Box::new(UnreadableLine::NotUtf8 { bytes, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives `left` times `x`, `step` bytes at a time.
    struct Repeated {
        step: usize,
        left: usize,
    }

    impl Read for Repeated {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let step = self.step.min(self.left).min(buffer.len());
            buffer[..step].fill(b'x');
            self.left -= step;
            Ok(step)
        }
    }

    #[test]
    fn memory_is_bounded_by_the_largest_record() {
        const LINE: usize = 64 << 20;
        let limits = Limits {
            record_bytes: 3 << 20,
            ..Limits::default()
        };
        let mut input = Input::new(
            Repeated {
                step: 100_000,
                left: LINE,
            },
            limits,
        );
        let head = input.head().unwrap();
        assert!(!head.is_complete());
        let line = input.next_line().unwrap().unwrap();
        assert!(
            matches!(*line.text.unwrap_err(), UnreadableLine::Oversize { bytes, .. } if bytes == LINE as u64)
        );
        assert!(input.next_line().unwrap().is_none());
        assert!(
            input.source.buffer.capacity() < 6 << 20,
            "{} bytes are allocated",
            input.source.buffer.capacity()
        );
        assert_eq!(input.consumed().1, LINE as u64);
    }

    /// Gives bytes, `step` at a time.
    struct Chunks<'b> {
        bytes: &'b [u8],
        step: usize,
    }

    impl Read for Chunks<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let step = self.step.min(buffer.len());
            (&mut self.bytes).take(step as u64).read(buffer)
        }
    }

    /// The head, whether it is complete, and the length of each line.
    fn read_all<S: ByteSource>(mut input: Input<S>) -> (String, bool, Vec<u64>) {
        let head = input.head().unwrap();
        let (head, is_complete) = (head.text().to_owned(), head.is_complete());
        let mut lines = Vec::new();
        while let Some(line) = input.next_line().unwrap() {
            lines.push(match line.text.map_err(|line| *line) {
                Ok(text) => text.len() as u64,
                Err(UnreadableLine::NotUtf8 { bytes, .. }) => bytes.len() as u64,
                Err(UnreadableLine::Oversize { bytes, .. }) => bytes,
            });
        }
        (head, is_complete, lines)
    }

    #[test]
    fn head_and_lines_do_not_depend_on_chunks() {
        let short: Vec<u8> = (0..200_000)
            .flat_map(|n| format!("line {n}\n").into_bytes())
            .collect();
        let few: Vec<u8> = (0..12)
            .flat_map(|n| [vec![b'x'; 300_000], format!("{n}\n").into_bytes()].concat())
            .collect();
        for content in [short, few, vec![b'x'; 3 << 20]] {
            for record_bytes in [1000, 2 << 20, 256 << 20] {
                let limits = Limits {
                    record_bytes,
                    ..Limits::default()
                };
                let read = |step: usize| {
                    read_all(Input::new(
                        Chunks {
                            bytes: &content,
                            step,
                        },
                        limits,
                    ))
                };
                let expected =
                    read_all(Input::in_memory(str::from_utf8(&content).unwrap(), limits));
                assert!(
                    [4001, 100_000, usize::MAX].map(read) == [(); 3].map(|()| expected.clone()),
                    "{} bytes, limit {record_bytes}",
                    content.len()
                );
            }
        }
    }
}
