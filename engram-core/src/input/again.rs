//! The artifact for its second reading.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, SeekFrom};

use super::source::{READ_BYTES, Source, read_full};
use crate::hash::{Hash, StreamHasher};

/// The bytes of an artifact that was read once.
#[doc(hidden)]
pub enum SourceText<'s> {
    Text(&'s str),
    Bytes(&'s [u8]),
    File(RefCell<OpenFile<'s>>),
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
    pub(crate) fn of_file(source: &'s mut dyn Source) -> Self {
        SourceText::File(RefCell::new(OpenFile {
            source,
            position: u64::MAX,
        }))
    }

    /// The hash of the first bytes of a file. Nothing else can have changed.
    pub(crate) fn hash(&self, bytes: u64) -> io::Result<Hash> {
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
    pub(crate) fn may_have_changed(&self) -> bool {
        matches!(self, SourceText::File(file) if file.borrow_mut().source.may_have_changed())
    }

    /// Some bytes as text.
    pub(crate) fn read(&self, offset: u64, bytes: u64) -> io::Result<String> {
        let (from, to) = (offset as usize, (offset + bytes) as usize);
        let bytes = match self {
            SourceText::Text(text) => return Ok(text.get(from..to).unwrap_or_default().to_owned()),
            SourceText::Bytes(bytes) => bytes.get(from..to).unwrap_or_default().to_vec(),
            SourceText::File(file) => {
                let mut read = vec![0; bytes as usize];
                let length = file.borrow_mut().read_at(offset, &mut read)?;
                read.truncate(length);
                read
            }
        };
        String::from_utf8(bytes).map_err(io::Error::other)
    }
}

impl OpenFile<'_> {
    /// Reads bytes at `offset`; fewer at the end.
    pub(crate) fn read_at(&mut self, offset: u64, to: &mut [u8]) -> io::Result<usize> {
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
