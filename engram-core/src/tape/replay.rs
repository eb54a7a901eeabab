//! Replay of a tape into any sink.

use std::io::{self, BufRead, ErrorKind};

use super::TapeError;
use crate::event::EventRecord;
use crate::sink::EventSink;

/// Reads a tape, and passes its events to `sink` one by one. Memory is bounded by the longest line.
///
/// # Errors
/// If the reader or the sink fails. A line that is not an event gives [`ErrorKind::InvalidData`] with a [`TapeError`] inside.
pub fn replay(mut tape: impl BufRead, sink: &mut dyn EventSink) -> io::Result<()> {
    let (mut bytes, mut number) = (Vec::new(), 0);
    loop {
        bytes.clear();
        if tape.read_until(b'\n', &mut bytes)? == 0 {
            return sink.finish();
        }
        number += 1;
        let invalid =
            |what: String| io::Error::new(ErrorKind::InvalidData, TapeError { line: number, what });
        let line = str::from_utf8(&bytes).map_err(|error| invalid(error.to_string()))?;
        let record = EventRecord::parse(line.trim_end_matches('\n'))
            .map_err(|error| invalid(error.to_string()))?;
        sink.event(&record.as_event_ref())?;
    }
}
