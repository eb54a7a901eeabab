//! Sources that can be read a second time: files, and streams that are stored while they are read.

use std::fmt;
use std::io::{self, Cursor, ErrorKind, Read, Seek, SeekFrom, Write as _};

#[cfg(feature = "spool")]
use tempfile::SpooledTempFile;

/// Bytes per read. They stay in the second-level cache until their events are written.
pub(crate) const READ_BYTES: usize = 64 << 10;

/// What a stream may take in memory; more is stored in an unnamed file.
#[cfg(feature = "spool")]
const SPOOL_BYTES: usize = 16 << 20;

/// What was read of a stream.
#[cfg(feature = "spool")]
type Stored = SpooledTempFile;
#[cfg(not(feature = "spool"))]
type Stored = Cursor<Vec<u8>>;

fn stored() -> Stored {
    #[cfg(feature = "spool")]
    return SpooledTempFile::new(SPOOL_BYTES);
    #[cfg(not(feature = "spool"))]
    Cursor::new(Vec::new())
}

/// A source of bytes that is read twice: it seeks back to what it gave before.
pub trait Source: Read + Seek {
    /// True if its content may be another one than before. The second read is then compared with the first by its hash.
    fn may_have_changed(&mut self) -> bool {
        false
    }
}

impl<T: AsRef<[u8]>> Source for Cursor<T> {}

impl<S: Source + ?Sized> Source for Box<S> {
    fn may_have_changed(&mut self) -> bool {
        (**self).may_have_changed()
    }
}

/// A stream that is stored while it is read: in memory up to 16 MiB, then in an unnamed temporary file (with the feature `spool`).
pub struct Spool<R> {
    reader: R,
    stored: Stored,
    /// The number of stored bytes.
    length: u64,
    /// Where the next byte is read.
    position: u64,
    /// Where the stored bytes are read or written next.
    stored_position: u64,
    /// Why the stream ended too early. Reading there again fails again.
    fault: Option<(ErrorKind, String)>,
    /// What is stored at most.
    most: u64,
    /// More was read than is stored.
    is_lost: bool,
}

/// What [`Spool::of_beginning`] stores.
const BEGINNING_BYTES: u64 = 64 << 10;

impl<R> fmt::Debug for Spool<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spool")
            .field("length", &self.length)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

impl<R> Spool<R> {
    /// Stores what is read from `reader`.
    pub fn new(reader: R) -> Self {
        Spool {
            reader,
            stored: stored(),
            length: 0,
            position: 0,
            stored_position: 0,
            fault: None,
            most: u64::MAX,
            is_lost: false,
        }
    }

    /// Stores only the beginning of `reader`: for a stream whose first bytes are looked at before it is read once.
    pub fn of_beginning(reader: R) -> Self {
        Spool {
            most: BEGINNING_BYTES,
            ..Spool::new(reader)
        }
    }

    /// Reads what was not read before.
    fn read_new(&mut self, buffer: &mut [u8]) -> io::Result<usize>
    where
        R: Read,
    {
        if let Some((kind, reason)) = &self.fault {
            return Err(io::Error::new(*kind, reason.clone()));
        }
        let read = self.reader.read(buffer);
        if let Err(error) = &read
            && error.kind() != ErrorKind::Interrupted
        {
            self.fault = Some((error.kind(), error.to_string()));
        }
        read
    }

    fn go_to(&mut self, position: u64) -> io::Result<()> {
        if self.stored_position != position {
            self.stored.seek(SeekFrom::Start(position))?;
            self.stored_position = position;
        }
        Ok(())
    }
}

impl<R: Read> Read for Spool<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let is_stored = self.position < self.length;
        let read = if is_stored {
            self.go_to(self.position)?;
            self.stored.read(buffer)?
        } else {
            let read = self.read_new(buffer)?;
            if self.length >= self.most {
                self.is_lost |= read > 0;
                return Ok(read);
            }
            self.go_to(self.length)?;
            self.stored.write_all(&buffer[..read])?;
            self.length += read as u64;
            read
        };
        self.position += read as u64;
        self.stored_position += read as u64;
        Ok(read)
    }
}

impl<R: Read> Seek for Spool<R> {
    /// Only to what was read before.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
        };
        let position = position.filter(|position| *position <= self.length && !self.is_lost);
        self.position = position.ok_or_else(|| {
            io::Error::new(
                ErrorKind::InvalidInput,
                "a stream is read again where it was read before",
            )
        })?;
        Ok(self.position)
    }
}

impl<R: Read> Source for Spool<R> {}

/// Reads until a buffer is full, or the source ends. `filled` is where the next byte goes.
pub(crate) fn read_full(
    source: &mut dyn Source,
    buffer: &mut [u8],
    filled: &mut usize,
) -> io::Result<()> {
    while *filled < buffer.len() {
        match source.read(&mut buffer[*filled..]) {
            Ok(0) => break,
            Ok(read) => *filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_read_again_and_then_goes_on() {
        let text: Vec<u8> = (0..17_000_000u32).map(|n| (n % 251) as u8).collect();
        let mut spool = Spool::new(&text[..]);
        let mut first = vec![0; 10_000_000];
        spool.read_exact(&mut first).unwrap();
        spool.seek(SeekFrom::Start(1000)).unwrap();
        let mut rest = Vec::new();
        spool.read_to_end(&mut rest).unwrap();
        assert!(first == text[..10_000_000] && rest == text[1000..]);
        assert!(spool.seek(SeekFrom::Start(17_000_001)).is_err());
    }
}
