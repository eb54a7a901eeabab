//! One tape is read: its text comes in pieces of any size, is checked, and becomes rows.

use std::io::{self, BufRead, Write};
use std::path::Path;

use engram_core::check::{Checker, Violation};
use engram_core::hash::StreamHasher;

use crate::error::Error;
use crate::rows::{TapeRows, digest};
use crate::take_in::Builder;
use crate::tape_file;

/// Reads a tape, checks it, and returns its rows; with `texts`, also the fingerprints of what was said.
///
/// # Errors
/// [`Error::Io`] if it cannot be read, [`Error::BadTape`] if it is no valid tape.
pub fn read(path: &Path, texts: bool) -> Result<TapeRows, Error> {
    read_text(path, tape_file::open(path).map_err(Error::io(path))?, texts)
}

/// As [`read`], of a text that is open already. `place` is named in errors.
pub fn read_text(place: &Path, mut text: impl BufRead, texts: bool) -> Result<TapeRows, Error> {
    let mut reading = Reading::new(texts);
    while !reading.checker.is_full() {
        let read = match text.fill_buf() {
            Ok([]) => break,
            Ok(chunk) => {
                reading.take(chunk);
                chunk.len()
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // Compressed data that is damaged is a damaged tape, and no fault of the file system.
            Err(error) if error.raw_os_error().is_none() => {
                return Err(Error::BadTape {
                    path: place.to_owned(),
                    line: 0,
                    what: error.to_string(),
                });
            }
            Err(error) => return Err(Error::io(place)(error)),
        };
        text.consume(read);
    }
    reading.finish(place)
}

/// The reading of one tape: its text comes in pieces of any size, and each line is checked and goes to the builder.
#[derive(Default)]
pub struct Reading {
    checker: Checker,
    builder: Builder,
    hasher: StreamHasher,
    /// The beginning of a line whose end has not come yet.
    line: Vec<u8>,
    /// The byte after the last whole line.
    offset: u64,
    /// The first violation, with its line.
    fault: Option<(u64, String)>,
}

impl Reading {
    /// The reading of a new tape; with `texts`, also for the fingerprints of what is said.
    pub fn new(texts: bool) -> Reading {
        Reading {
            builder: Builder::new(texts),
            ..Reading::default()
        }
    }

    fn take(&mut self, chunk: &[u8]) {
        self.hasher.update(chunk);
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            if self.line.is_empty() && piece.ends_with(b"\n") {
                self.whole(piece);
                continue;
            }
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let mut line = std::mem::take(&mut self.line);
                self.whole(&line);
                line.clear();
                self.line = line;
            }
        }
    }

    fn whole(&mut self, line: &[u8]) {
        self.checker.line(line, &mut keep_first(&mut self.fault));
        if let Ok(text) = str::from_utf8(line.strip_suffix(b"\n").unwrap_or(line)) {
            self.builder.line(text, self.offset);
        }
        self.offset += line.len() as u64;
    }

    /// The rows of the tape, when all of it was read.
    ///
    /// # Errors
    /// [`Error::BadTape`] if it is no valid tape.
    pub fn finish(mut self, place: &Path) -> Result<TapeRows, Error> {
        if !self.line.is_empty() {
            let rest = &self.line;
            self.checker.line(rest, &mut keep_first(&mut self.fault));
        }
        self.checker.end(&mut keep_first(&mut self.fault));
        if let Some((line, what)) = self.fault.or_else(|| self.builder.fault()) {
            return Err(Error::BadTape {
                path: place.to_owned(),
                line,
                what,
            });
        }
        let mut rows = self.builder.finish();
        (rows.tape.tape_hash, rows.tape.bytes) = (digest(&self.hasher.finish().0), self.offset);
        Ok(rows)
    }
}

/// Keeps the first violation that is reported.
fn keep_first(fault: &mut Option<(u64, String)>) -> impl FnMut(Violation) {
    |violation| {
        fault.get_or_insert_with(|| {
            (
                violation.line,
                format!("{}: {}", violation.rule, violation.what),
            )
        });
    }
}

impl Write for Reading {
    fn write(&mut self, chunk: &[u8]) -> io::Result<usize> {
        self.take(chunk);
        Ok(chunk.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
