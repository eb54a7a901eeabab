//! Replay of a tape into any sink.

use std::io::{self, BufRead, ErrorKind};

use memchr::memchr;
use simdutf8::compat::from_utf8;

use super::TapeError;
use crate::event::EventRecord;
use crate::json::StructuralIndex;
use crate::sink::EventSink;

/// Reads a tape, and passes its events to `sink` one by one. Memory is bounded by the longest line.
///
/// # Errors
/// If the reader or the sink fails. A line that is not an event gives [`ErrorKind::InvalidData`] with a [`TapeError`] inside.
pub fn replay(mut tape: impl BufRead, sink: &mut dyn EventSink) -> io::Result<()> {
    let (mut bytes, mut number, mut index) = (Vec::new(), 0, StructuralIndex::of_tapes());
    loop {
        bytes.clear();
        if read_line(&mut tape, &mut bytes)? == 0 {
            return sink.finish();
        }
        number += 1;
        let invalid =
            |what: String| io::Error::new(ErrorKind::InvalidData, TapeError { line: number, what });
        let line = from_utf8(&bytes).map_err(|error| invalid(error.to_string()))?;
        let record = EventRecord::read(line.trim_end_matches('\n'), &mut index)
            .map_err(|error| invalid(error.to_string()))?;
        sink.event(&record.as_event_ref())?;
    }
}

/// Appends the next line with its `\n`, and returns its bytes: none at the end. As `read_until` does, but 16 or more bytes at a time.
///
/// # Errors
/// If the reader fails.
pub(crate) fn read_line(tape: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    let before = line.len();
    loop {
        let given = match tape.fill_buf() {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            given => given?,
        };
        let end = memchr(b'\n', given).map(|at| at + 1);
        let used = end.unwrap_or(given.len());
        line.extend_from_slice(&given[..used]);
        tape.consume(used);
        if end.is_some() || used == 0 {
            return Ok(line.len() - before);
        }
    }
}
