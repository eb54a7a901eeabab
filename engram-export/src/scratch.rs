//! Text that is written before its place in the output comes: kept in memory up to a size, then in an unnamed temporary file.

use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use serde::Serialize;
use tempfile::SpooledTempFile;

/// What is kept in memory.
const MEMORY_BYTES: usize = 4 << 20;

/// Text that was written before its place came.
#[derive(Debug)]
pub(crate) struct Scratch {
    file: BufWriter<SpooledTempFile>,
    bytes: u64,
}

/// A piece of an output: a short text, or a part of the scratch.
#[derive(Debug)]
pub(crate) enum Piece {
    Text(String),
    Kept { from: u64, bytes: u64 },
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch {
            file: BufWriter::new(SpooledTempFile::new(MEMORY_BYTES)),
            bytes: 0,
        }
    }
}

impl Scratch {
    /// How much was written so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a value as JSON, after a comma if the list that began at `from` has one already.
    pub(crate) fn add_item(&mut self, from: u64, value: &impl Serialize) -> io::Result<()> {
        if self.bytes > from {
            self.write_all(b",")?;
        }
        Ok(serde_json::to_writer(self, value)?)
    }

    /// What was written since then.
    pub(crate) fn since(&self, from: u64) -> Piece {
        Piece::Kept {
            from,
            bytes: self.bytes - from,
        }
    }

    /// Writes pieces in their order.
    pub(crate) fn copy(&mut self, pieces: &[Piece], out: &mut dyn Write) -> io::Result<()> {
        self.file.flush()?;
        let kept = self.file.get_mut();
        for piece in pieces {
            match piece {
                Piece::Text(text) => out.write_all(text.as_bytes())?,
                Piece::Kept { from, bytes } => {
                    kept.seek(SeekFrom::Start(*from))?;
                    io::copy(&mut kept.take(*bytes), out)?;
                }
            }
        }
        kept.seek(SeekFrom::End(0)).map(drop)
    }
}

impl Write for Scratch {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_written_in_the_order_in_which_they_are_asked_for() {
        let mut scratch = Scratch::default();
        scratch.add_item(0, &1).unwrap();
        scratch.add_item(0, &"a").unwrap();
        let first = scratch.since(0);
        let from = scratch.bytes();
        scratch.add_item(from, &2).unwrap();
        let second = scratch.since(from);
        let mut out = Vec::new();
        let pieces = [
            Piece::Text("[".to_owned()),
            second,
            Piece::Text("]".to_owned()),
            first,
        ];
        scratch.copy(&pieces, &mut out).unwrap();
        assert_eq!(out, b"[2]1,\"a\"");
        scratch.add_item(0, &3).unwrap();
        assert_eq!(scratch.bytes(), "1,\"a\"2,3".len() as u64);
    }
}
