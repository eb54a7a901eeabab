//! Reading records again: in order for step 3, and single ones for a late fact that needs the text of another record.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, SeekFrom};

use simdutf8::basic::from_utf8;

use super::Item;
use super::verdicts::{Entry, Verdict};
use crate::hash::{Hash, StreamHasher};
use crate::input::source::Source;
use crate::input::{READ_BYTES, read_full};
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
        let entry = self.entries.get(number).filter(|entry| entry.verdict == Verdict::Accepted)?;
        self.source.read(entry).ok()
    }
}

impl fmt::Debug for Lookup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lookup").field("has_texts", &self.texts.is_some()).finish()
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
        Some(Again { text, index: StructuralIndex::default() })
    }
}

/// All records, and where their texts are.
#[derive(Debug)]
pub(super) struct Texts<'s> {
    pub entries: &'s [Entry],
    pub source: SourceText<'s>,
}

/// Where the texts of records are.
#[doc(hidden)]
pub enum SourceText<'s> {
    Text(&'s str),
    Bytes(&'s [u8]),
    File(RefCell<OpenFile<'s>>),
    Items(&'s [Item<'s>]),
}

impl fmt::Debug for SourceText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SourceText")
    }
}

/// A file, and where it is read next.
#[doc(hidden)]
pub struct OpenFile<'s> {
    source: &'s mut dyn Source,
    position: u64,
}

impl<'s> SourceText<'s> {
    /// A source whose position is not known.
    pub fn of_file(source: &'s mut dyn Source) -> Self {
        SourceText::File(RefCell::new(OpenFile { source, position: u64::MAX }))
    }

    /// The hash of the first bytes of a file. Nothing else can have changed.
    pub(super) fn hash(&self, bytes: u64) -> io::Result<Hash> {
        let mut hasher = StreamHasher::default();
        if let SourceText::File(file) = self {
            let (mut file, mut chunk) = (file.borrow_mut(), vec![0; READ_BYTES]);
            while hasher.len() < bytes {
                let wanted = (bytes - hasher.len()).min(READ_BYTES as u64) as usize;
                let read = file.read_at(hasher.len(), &mut chunk[..wanted])?;
                if read == 0 {
                    break;
                }
                hasher.update(&chunk[..read]);
            }
        }
        Ok(hasher.finish().0)
    }

    /// True if the texts may have changed since step 1.
    pub(super) fn may_have_changed(&self) -> bool {
        matches!(self, SourceText::File(file) if file.borrow_mut().source.may_have_changed())
    }

    fn read(&self, entry: &Entry) -> io::Result<String> {
        let (from, to) = (entry.offset as usize, (entry.offset + entry.bytes) as usize);
        let bytes = match self {
            SourceText::Text(text) => return Ok(text.get(from..to).unwrap_or_default().to_owned()),
            SourceText::Items(items) => return Ok(items.get(from).map(|item| item.value.raw().to_owned()).unwrap_or_default()),
            SourceText::Bytes(bytes) => bytes.get(from..to).unwrap_or_default().to_vec(),
            SourceText::File(file) => {
                let mut bytes = vec![0; entry.bytes as usize];
                let read = file.borrow_mut().read_at(entry.offset, &mut bytes)?;
                bytes.truncate(read);
                bytes
            }
        };
        String::from_utf8(bytes).map_err(io::Error::other)
    }
}

impl OpenFile<'_> {
    /// Reads bytes at `offset`; fewer at the end.
    fn read_at(&mut self, offset: u64, to: &mut [u8]) -> io::Result<usize> {
        if self.position != offset {
            self.source.seek(SeekFrom::Start(offset))?;
        }
        self.position = u64::MAX;
        let mut read = 0;
        read_full(self.source, to, &mut read)?;
        self.position = offset + read as u64;
        Ok(read)
    }
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
    pub fn bytes<'b>(&'b mut self, source: &'b SourceText<'_>, entry: &Entry) -> io::Result<&'b [u8]> {
        let file = match source {
            SourceText::Text(text) => {
                return Ok(text.as_bytes().get(entry.offset as usize..(entry.offset + entry.bytes) as usize).unwrap_or_default());
            }
            SourceText::Bytes(bytes) => {
                return Ok(bytes.get(entry.offset as usize..(entry.offset + entry.bytes) as usize).unwrap_or_default());
            }
            SourceText::Items(_) => return Ok(&[]),
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
        let done = if (self.start..end).contains(&entry.offset) { (entry.offset - self.start) as usize } else { self.filled };
        self.buffer.copy_within(done..self.filled, 0);
        self.filled -= done;
        self.start = entry.offset;
        let length = (entry.bytes as usize).max(self.filled + READ_BYTES);
        if self.buffer.len() < length {
            self.buffer.resize(length, 0);
        }
        self.filled += file.borrow_mut().read_at(self.start + self.filled as u64, &mut self.buffer[self.filled..length])?;
        Ok(())
    }
}

/// The text of a record, if it is UTF-8.
pub(super) fn text_of<'b>(source: &'b SourceText<'_>, entry: &Entry, bytes: &'b [u8]) -> Option<&'b str> {
    match source {
        SourceText::Text(text) => text.get(entry.offset as usize..(entry.offset + entry.bytes) as usize),
        _ => from_utf8(bytes).ok(),
    }
}
