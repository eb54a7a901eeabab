//! Reading records again: in order for step 3, and single ones for a late fact that needs the text of another record.

use std::cell::RefCell;
use std::{fmt, io};

use simdutf8::basic::from_utf8;

use crate::emit::verdicts::{Entry, Verdict};
use crate::input::again::{OpenFile, SourceText};
use crate::input::source::READ_BYTES;
use crate::json::{StructuralIndex, Value, parse};

/// The texts of the records of an artifact, after step 1.
#[derive(Clone, Copy, Default)]
pub struct Lookup<'a> {
    texts: Option<&'a dyn ReadAgain>,
}

/// Reads records again.
trait ReadAgain {
    /// The text of an accepted record.
    fn read(&self, number: usize) -> Option<String>;
}

impl ReadAgain for Texts<'_> {
    fn read(&self, number: usize) -> Option<String> {
        let entry = self
            .entries
            .get(number)
            .filter(|entry| entry.verdict == Verdict::Accepted)?;
        match &self.source {
            SourceOf::Artifact(source) => source.read(entry.offset, entry.bytes).ok(),
            SourceOf::Items(items) => items
                .get(entry.offset as usize)
                .map(|item| item.raw().to_owned()),
        }
    }
}

impl fmt::Debug for Lookup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lookup")
            .field("has_texts", &self.texts.is_some())
            .finish()
    }
}

/// A record that was read again.
#[derive(Debug)]
pub struct Again {
    text: String,
    index: StructuralIndex,
}

impl Again {
    /// The record. `None` only if the file was changed since step 1; the conversion then fails at its end.
    pub fn value(&mut self) -> Option<Value<'_>> {
        parse(&self.text, &mut self.index).ok()
    }
}

impl<'a> Lookup<'a> {
    pub(super) fn of(texts: &'a Texts<'_>) -> Self {
        Lookup { texts: Some(texts) }
    }

    /// Reads the record with this number ([`Record::number`](super::Record::number)) again. It costs a read of the file and an index, so it
    /// is for rare facts. `None` in steps 1 and 2, and for a record that is not accepted.
    pub fn get(self, number: usize) -> Option<Again> {
        let text = self.texts?.read(number)?;
        Some(Again {
            text,
            index: StructuralIndex::default(),
        })
    }
}

/// All records, and where their texts are.
#[derive(Debug)]
pub(super) struct Texts<'s> {
    pub entries: &'s [Entry],
    pub source: SourceOf<'s>,
}

/// Where the texts of records are.
#[derive(Debug)]
pub(super) enum SourceOf<'s> {
    Artifact(SourceText<'s>),
    /// The items of a document.
    Items(&'s [Value<'s>]),
}

/// Reads the records in their order. Memory is bounded by the largest one.
#[derive(Debug, Default)]
pub(super) struct InOrder {
    /// The bytes that were read, then bytes that are overwritten next.
    buffer: Vec<u8>,
    filled: usize,
    /// The offset of the buffer in the artifact.
    start: u64,
}

impl InOrder {
    /// The bytes of a record that was read in step 1; fewer if the file has lost some since then.
    pub fn bytes<'b>(
        &'b mut self,
        source: &'b SourceText<'_>,
        entry: &Entry,
    ) -> io::Result<&'b [u8]> {
        let file = match source {
            SourceText::Text(text) => {
                return Ok(text
                    .as_bytes()
                    .get(entry.offset as usize..(entry.offset + entry.bytes) as usize)
                    .unwrap_or_default());
            }
            SourceText::Bytes(bytes) => {
                return Ok(bytes
                    .get(entry.offset as usize..(entry.offset + entry.bytes) as usize)
                    .unwrap_or_default());
            }
            SourceText::File(file) => file,
        };
        let end = self.start + self.filled as u64;
        if entry.offset < self.start || entry.offset + entry.bytes > end {
            self.load(file, entry)?;
        }
        let from = ((entry.offset - self.start) as usize).min(self.filled);
        let to = (from + entry.bytes as usize).min(self.filled);
        Ok(&self.buffer[from..to])
    }

    #[inline(never)]
    fn load(&mut self, file: &RefCell<OpenFile<'_>>, entry: &Entry) -> io::Result<()> {
        let end = self.start + self.filled as u64;
        let done = if (self.start..end).contains(&entry.offset) {
            (entry.offset - self.start) as usize
        } else {
            self.filled
        };
        self.buffer.copy_within(done..self.filled, 0);
        self.filled -= done;
        self.start = entry.offset;
        let length = (entry.bytes as usize).max(self.filled + READ_BYTES);
        if self.buffer.len() < length {
            self.buffer.resize(length, 0);
        }
        self.filled += file.borrow_mut().read_at(
            self.start + self.filled as u64,
            &mut self.buffer[self.filled..length],
        )?;
        Ok(())
    }
}

/// The text of a record, if it is UTF-8.
pub(super) fn text_of<'b>(
    source: &'b SourceText<'_>,
    entry: &Entry,
    bytes: &'b [u8],
) -> Option<&'b str> {
    match source {
        SourceText::Text(text) => {
            text.get(entry.offset as usize..(entry.offset + entry.bytes) as usize)
        }
        _ => from_utf8(bytes).ok(),
    }
}
