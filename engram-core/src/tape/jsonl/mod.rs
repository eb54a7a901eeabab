//! Events as JSON Lines: the sink that writes a tape.

pub(crate) mod buffer;
mod frame;
pub(crate) mod members;
mod render;

use std::io::{self, Write};

use self::buffer::Buffer;
use self::render::{push_fields, push_record};
use crate::event::{Event, EventRecord, EventRef};
use crate::sink::EventSink;

/// Bytes of events that are collected before they are written.
const FLUSH_BYTES: usize = 64 << 10;

/// A sink that writes a tape.
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
}

impl<W: Write> JsonLines<W> {
    /// Writes to `writer` in chunks of at least 64 KiB. [`EventSink::finish`] writes the rest; a conversion calls it.
    pub fn new(writer: W) -> Self {
        JsonLines {
            writer,
            lines: Buffer::with_capacity(2 * FLUSH_BYTES),
        }
    }

    /// The writer. Events that were not written yet are lost; after [`EventSink::finish`] there are none.
    pub fn into_writer(self) -> W {
        self.writer
    }

    #[inline(never)]
    fn write(&mut self) -> io::Result<()> {
        self.writer.write_all(self.lines.bytes())?;
        self.lines.clear();
        Ok(())
    }
}

impl<W: Write> EventSink for JsonLines<W> {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        push_record(&mut self.lines, record);
        if self.lines.len() >= FLUSH_BYTES {
            self.write()
        } else {
            Ok(())
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.write()?;
        self.writer.flush()
    }
}

impl EventRecord<'_> {
    /// The event as a line of a tape, with its `\n`. [`EventRecord::parse`] reads it back (without the `\n`), so this is also a way to
    /// keep an event longer than the record that it borrows from.
    pub fn to_line(&self) -> String {
        self.as_event_ref().to_line()
    }
}

impl EventRef<'_> {
    /// The event as a line of a tape, with its `\n`.
    pub fn to_line(&self) -> String {
        let mut line = Buffer::default();
        push_record(&mut line, self);
        line.to_str().to_owned()
    }
}

impl Event<'_> {
    /// The fields of its kind as a JSON object, in the order of the tape. The envelope is not in it.
    ///
    /// ```
    /// use engram_core::event::{Event, Meta};
    ///
    /// let event = Event::Meta(Meta::Interrupt { text: None });
    /// assert_eq!(event.fields_json(), r#"{"label":"interrupt"}"#);
    /// ```
    pub fn fields_json(&self) -> String {
        let mut fields = Buffer::default();
        push_fields(&mut fields, self);
        fields.wrap_object(0);
        fields.to_str().to_owned()
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
