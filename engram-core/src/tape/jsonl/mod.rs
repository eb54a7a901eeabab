//! Events as JSON Lines: the sink that writes a tape.

pub(crate) mod buffer;
mod digits;
mod frame;
mod members;
mod overflow;
mod render;

use std::io::{self, Write};

use self::buffer::Buffer;
pub use self::overflow::{OpenStorage, Storage};
use self::render::push_record;
use crate::event::{EventRecord, EventRef};
use crate::sink::EventSink;

/// Bytes of committed events that are collected before they are written.
const FLUSH_BYTES: usize = 64 << 10;

/// A sink that writes a tape. An event is written only after it is committed.
///
/// ```
/// use engram_core::tape::{JsonLines, replay};
///
/// let tape = "{\"seq\":0,\"t\":\"2026-01-02T03:04:05Z\",\"k\":\"msg.out\",\"source\":{\"harness\":\"toy\"},\"text\":\"hi\"}\n";
/// let mut copy = Vec::new();
/// replay(tape.as_bytes(), &mut JsonLines::new(&mut copy))?;
/// assert_eq!(copy, tape.as_bytes());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct JsonLines<W> {
    writer: W,
    lines: Buffer,
    /// Length of the committed lines in `lines`.
    committed: usize,
}

impl<W: Write> JsonLines<W> {
    /// Writes to `writer` in chunks of at least 64 KiB. [`EventSink::finish`] writes the rest; a conversion calls it.
    pub fn new(writer: W) -> Self {
        JsonLines { writer, lines: Buffer::with_capacity(2 * FLUSH_BYTES), committed: 0 }
    }

    /// As [`JsonLines::new`]. Keeps at most 16 MiB of events that are not committed in memory, and the others in storage that `open` opens.
    ///
    /// ```
    /// use std::io::Write;
    /// use engram_core::tape::{JsonLines, Storage};
    ///
    /// /// A sink that a record of any size needs little memory for.
    /// fn sink<W: Write>(tape: W) -> JsonLines<W> {
    ///     JsonLines::with_overflow(tape, || Ok(Box::new(tempfile::tempfile()?) as Box<dyn Storage>))
    /// }
    /// ```
    pub fn with_overflow(writer: W, open: OpenStorage) -> Self {
        let lines = Buffer::with_capacity(2 * FLUSH_BYTES).with_overflow(open);
        JsonLines { writer, lines, committed: 0 }
    }

    #[inline(never)]
    fn write(&mut self) -> io::Result<()> {
        self.lines.drain_to(&mut self.writer)?;
        self.committed = 0;
        Ok(())
    }
}

impl<W: Write> EventSink for JsonLines<W> {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        push_record(&mut self.lines, record);
        self.lines.check()
    }

    fn commit(&mut self) -> io::Result<()> {
        self.committed = self.lines.len();
        if self.committed >= FLUSH_BYTES { self.write() } else { Ok(()) }
    }

    fn rollback(&mut self) {
        self.lines.truncate(self.committed);
    }

    fn finish(&mut self) -> io::Result<()> {
        self.lines.truncate(self.committed);
        self.write()?;
        self.writer.flush()
    }
}

impl EventRecord<'_> {
    /// The event as a line of a tape, with its `\n`. [`EventRecord::parse`] reads it back (without the `\n`), so this is also a way to
    /// keep an event longer than the record that it borrows from.
    pub fn to_line(&self) -> String {
        let mut line = Buffer::default();
        push_record(&mut line, &self.as_event_ref());
        line.to_str().to_owned()
    }
}

/// The event, as in a tape. Lone surrogates become U+FFFD, because other formats cannot represent them.
impl serde::Serialize for EventRecord<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::Error as _;
        let line = self.to_line();
        let value = crate::tape::raw::to_value(&line).map_err(S::Error::custom)?;
        value.serialize(serializer)
    }
}
