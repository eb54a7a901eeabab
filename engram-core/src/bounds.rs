//! What one log or tape may cost beyond its records: the bytes of a file, of a line of a tape, of what comes out of a compressed file, and of
//! copies of databases.

use std::io::{self, ErrorKind, Read};

/// The most bytes of one log, as a file or as what comes out of a compressed one: `source_bytes`.
pub const SOURCE_BYTES: u64 = 16 << 30;
/// A compressed log may give so many times its own size: `expansion_ratio`.
pub const EXPANSION_RATIO: u64 = 100;
/// Before this, the ratio does not count: small texts compress well.
pub const EXPANSION_FREE: u64 = 256 << 20;
/// The most bytes that are copied of one database in use, with the log beside it: `copy_bytes`.
pub const COPY_BYTES: u64 = 32 << 30;

/// The most bytes of one line of a tape: `line_bytes`. An event has hardly more than its record, which has at most half of this.
pub const LINE_BYTES: u64 = 512 << 20;

/// The error of an input that is over a limit. It becomes `limit_exceeded`.
pub fn over(limit: &str, most: u64) -> io::Error {
    io::Error::new(
        ErrorKind::FileTooLarge,
        format!("more than the limit `{limit}` of {most}"),
    )
}

/// Refuses a file that is too large, before it is read.
///
/// # Errors
/// As [`over`].
pub fn refuse_large(length: u64) -> io::Result<()> {
    if length > SOURCE_BYTES {
        Err(over("source_bytes", SOURCE_BYTES))
    } else {
        Ok(())
    }
}

/// All bytes of a reader that may have at most so many.
///
/// # Errors
/// Those of the reader; `FileTooLarge` if there are more.
pub fn read_all(reader: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = reader
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if read as u64 > most {
        let what = format!("more than {most} bytes");
        return Err(io::Error::new(ErrorKind::FileTooLarge, what));
    }
    Ok(bytes)
}

/// Counts what is read from a compressed file.
#[derive(Debug)]
pub struct Counted<R> {
    inner: R,
    bytes: u64,
}

impl<R> Counted<R> {
    /// Nothing is read yet.
    pub fn new(inner: R) -> Self {
        Counted { inner, bytes: 0 }
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes += read as u64;
        Ok(read)
    }
}

/// Counts what comes out of a compressed file.
#[derive(Debug, Default)]
pub struct Expansion {
    given: u64,
}

impl Expansion {
    /// Adds bytes that came out of `source`.
    ///
    /// # Errors
    /// As [`over`].
    pub fn add<R>(&mut self, given: usize, source: &Counted<R>) -> io::Result<()> {
        self.given += given as u64;
        if self.given > SOURCE_BYTES {
            return Err(over("source_bytes", SOURCE_BYTES));
        }
        if self.given > EXPANSION_FREE && self.given > source.bytes.saturating_mul(EXPANSION_RATIO)
        {
            return Err(over("expansion_ratio", EXPANSION_RATIO));
        }
        Ok(())
    }
}

/// The text of a tape, for reading it line by line. A line that is over [`LINE_BYTES`] is an error before it is in memory.
#[derive(Debug)]
pub struct BoundedLines<R> {
    text: R,
    /// The bytes of the line so far.
    line: u64,
    most: u64,
}

impl<R> BoundedLines<R> {
    /// Nothing is read yet.
    pub fn new(text: R) -> Self {
        BoundedLines {
            text,
            line: 0,
            most: LINE_BYTES,
        }
    }
}

impl<R: Read> Read for BoundedLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.text.read(buffer)?;
        let new = &buffer[..read];
        // The line that began before ends at the first line end, or goes on.
        let ended = memchr::memchr(b'\n', new).unwrap_or(read) as u64;
        if self.line + ended > self.most {
            return Err(over("line_bytes", self.most));
        }
        self.line = match memchr::memrchr(b'\n', new) {
            Some(at) => (read - at - 1) as u64,
            None => self.line + ended,
        };
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_an_error_wherever_it_ends() {
        let read = |text: &str| {
            let mut lines = BoundedLines {
                most: 4,
                ..BoundedLines::new(text.as_bytes())
            };
            let (mut chunk, mut all) = ([0; 3], 0);
            loop {
                match lines.read(&mut chunk) {
                    Ok(0) => return Some(all),
                    Ok(read) => all += read,
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
                        return None;
                    }
                }
            }
        };
        assert_eq!(read("1234\n1234\n\n\n1234"), Some(16));
        assert_eq!(read("1\n12345\n"), None);
        assert_eq!(read("12345"), None);
        assert_eq!(read(""), Some(0));
    }
}
