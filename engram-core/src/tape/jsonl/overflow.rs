//! Where the lines of a large record wait until the record is settled, so that they are not in memory beside the record itself.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Storage outside of memory, such as an unnamed temporary file.
pub trait Storage: Read + Write + Seek {}

impl<S: Read + Write + Seek> Storage for S {}

/// Opens empty storage.
pub type OpenStorage = fn() -> io::Result<Box<dyn Storage>>;

/// Bytes that are read back at once.
const COPY_BYTES: usize = 64 << 10;

/// Storage that is opened when it is needed first.
pub(super) struct Overflow {
    open: OpenStorage,
    storage: Option<Box<dyn Storage>>,
    /// The first error. Nothing is written after it.
    error: Option<io::Error>,
}

impl Overflow {
    pub fn new(open: OpenStorage) -> Overflow {
        Overflow { open, storage: None, error: None }
    }

    /// Writes `bytes` from position `at` on. If that fails, [`Overflow::check`] has the error.
    pub fn write(&mut self, at: usize, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.try_write(at, bytes).err().map(described);
        }
    }

    fn try_write(&mut self, at: usize, bytes: &[u8]) -> io::Result<()> {
        let storage = match &mut self.storage {
            Some(storage) => storage,
            none => none.insert((self.open)()?),
        };
        storage.seek(SeekFrom::Start(at as u64))?;
        storage.write_all(bytes)
    }

    /// Copies the first `len` bytes to `writer`.
    ///
    /// # Errors
    /// Those of the storage and of `writer`.
    pub fn copy_to(&mut self, len: usize, writer: &mut impl Write) -> io::Result<()> {
        let Some(storage) = &mut self.storage else { return Ok(()) };
        storage.seek(SeekFrom::Start(0)).map_err(described)?;
        let (mut chunk, mut left) = (vec![0; COPY_BYTES.min(len)], len);
        while left > 0 {
            let bytes = left.min(chunk.len());
            storage.read_exact(&mut chunk[..bytes]).map_err(described)?;
            writer.write_all(&chunk[..bytes])?;
            left -= bytes;
        }
        Ok(())
    }

    /// The first error of [`Overflow::write`].
    ///
    /// # Errors
    /// This error.
    pub fn check(&mut self) -> io::Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }
}

fn described(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("the temporary file for a large record: {error}"))
}

impl fmt::Debug for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overflow").field("is_open", &self.storage.is_some()).field("error", &self.error).finish()
    }
}
