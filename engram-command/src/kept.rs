//! The text of a session, kept while it is converted: a log or store in use may have changed when it is read again.

use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex};

use engram_adapters::sessions::{SessionOptions, SessionSource};
use engram_core::error::AdapterError;
use tempfile::SpooledTempFile;

use crate::inputs::SessionInput;

/// A text is kept in memory up to this size, then in a temporary file.
const SPOOL_BYTES: usize = 8 << 20;
const BUFFER_BYTES: usize = 256 << 10;

/// The text of a session that is being converted.
pub struct KeptText(Arc<Mutex<SpooledTempFile>>);

/// Opens a session so that its text is kept.
///
/// # Errors
/// As [`SessionInput::open`].
pub fn open_kept(
    input: &SessionInput,
    options: &SessionOptions,
) -> Result<(SessionSource, KeptText), AdapterError> {
    let kept = Arc::new(Mutex::new(SpooledTempFile::new(SPOOL_BYTES)));
    let source = input.open_with_copy(Copy(Arc::clone(&kept)), options)?;
    Ok((source, KeptText(kept)))
}

impl KeptText {
    /// The text, after the conversion.
    ///
    /// # Errors
    /// If the temporary file cannot be read.
    pub fn into_reader(self) -> io::Result<impl BufRead> {
        let kept = Arc::into_inner(self.0)
            .ok_or_else(|| io::Error::other("the session is still being converted"))?;
        let mut text = kept.into_inner().map_err(|_| poisoned())?;
        text.seek(SeekFrom::Start(0))?;
        Ok(BufReader::with_capacity(BUFFER_BYTES, text))
    }
}

/// Writes to the kept text.
struct Copy(Arc<Mutex<SpooledTempFile>>);

impl Write for Copy {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().map_err(|_| poisoned())?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().map_err(|_| poisoned())?.flush()
    }
}

fn poisoned() -> io::Error {
    io::Error::other("a thread failed while it kept the text")
}
