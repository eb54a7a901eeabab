//! Tapes that lie in no file go into an index: events as they are made, and texts as they are read.

use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use engram_core::bounds::BoundedLines;
use engram_core::event::EventRef;
use engram_core::sink::EventSink;
use engram_core::tape::JsonLines;
use rusqlite::{OptionalExtension, params};

use crate::add::Added;
use crate::error::Error;
use crate::reading::{self, Reading};
use crate::rows::TapeRows;
use crate::store::Writer;
use crate::write::{Anchors, Put};

/// Takes the events of one tape into an index. [`Writer::sink`] makes it.
///
/// The tape is in the index when it is complete ([`EventSink::finish`], which a conversion calls), and not at all if the conversion fails.
pub struct TapeSink<'w> {
    writer: &'w mut Writer,
    place: PathBuf,
    lines: JsonLines<Reading>,
    added: Added,
}

impl std::fmt::Debug for TapeSink<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TapeSink")
            .field("place", &self.place)
            .field("added", &self.added)
            .finish_non_exhaustive()
    }
}

impl TapeSink<'_> {
    /// What became of the tape; nothing before it is complete.
    pub fn added(&self) -> &Added {
        &self.added
    }
}

impl EventSink for TapeSink<'_> {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        self.lines.event(record)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.lines.finish()?;
        let next = JsonLines::new(Reading::new(self.writer.texts));
        let reading = std::mem::replace(&mut self.lines, next).into_writer();
        let rows = reading.finish(&self.place).map_err(io::Error::other)?;
        self.added = self
            .writer
            .put_at(&self.place, &rows)
            .map_err(io::Error::other)?;
        Ok(())
    }
}

impl Writer {
    /// A sink for the events of one tape, so that a log is in the index without a tape in a file.
    ///
    /// Answers name `place`, and a tape that was at this place before is replaced. Words are quoted from the file with this path as long as it
    /// has exactly this tape, so an absolute path is right where the tape is written too; else answers are marked `absent` and have no words.
    ///
    /// ```
    /// use std::path::Path;
    /// use engram_adapters::sessions::{SessionOptions, sessions};
    /// use engram_index::{Index, Query, Writer};
    ///
    /// /// An index in memory of all sessions below a directory.
    /// fn index_of(logs: &Path) -> Result<Index, Box<dyn std::error::Error>> {
    ///     let mut index = Writer::in_memory()?;
    ///     for (number, session) in sessions(logs, &SessionOptions::default()).enumerate() {
    ///         session?.convert(&mut index.sink(Path::new(&format!("session-{number}"))))?;
    ///     }
    ///     Ok(index.into_index()?)
    /// }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let index = index_of(Path::new("../fixtures/claude-code/2.1.329/b_edit/session"))?;
    /// let changes = index.history(&Query::of_file("/home/dev/proj/src/b.py", ""))?;
    /// assert!(!changes.items.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn sink(&mut self, place: &Path) -> TapeSink<'_> {
        TapeSink {
            lines: JsonLines::new(Reading::new(self.texts)),
            place: place.to_owned(),
            added: Added::default(),
            writer: self,
        }
    }

    /// Takes in the text of one tape, which may come from anywhere: a network, an archive, memory. `place` is as in [`Writer::sink`].
    ///
    /// # Errors
    /// [`Error::BadTape`] if it is no valid tape, [`Error::Io`] if it cannot be read, or as the database gives them. Nothing of it is in the
    /// index then.
    pub fn add_text(&mut self, place: &Path, tape: impl Read) -> Result<Added, Error> {
        let text = BufReader::new(BoundedLines::new(tape));
        let rows = reading::read_text(place, text, self.texts)?;
        self.put_at(place, &rows)
    }

    /// The rows of one tape, as a transaction.
    fn put_at(&mut self, place: &Path, rows: &TapeRows) -> Result<Added, Error> {
        let put = self.try_put_at(&place.to_string_lossy(), rows);
        if put.is_err() {
            // Whatever the error was, nothing half done may stay.
            let _ = self.db.execute_batch("ROLLBACK");
            self.interned = Default::default();
        }
        let mut added = Added {
            bytes: rows.tape.bytes,
            ..Added::default()
        };
        added.count(put?);
        Ok(added)
    }

    fn try_put_at(&mut self, place: &str, rows: &TapeRows) -> Result<Put, Error> {
        let begun = self.db.execute_batch("BEGIN IMMEDIATE");
        let old = begun.and_then(|()| self.take_from_place(place));
        let old = old.map_err(|error| self.failed(error))?;
        let mut anchors = Anchors::default();
        let (tape, put) = self.put(rows, &mut anchors)?;
        anchors.write(self)?;
        // The state of no file: if there is one, `add` looks at it.
        let sql = "INSERT INTO place (path, tape, size, modified) VALUES (?1, ?2, 0, 0)";
        let placed = self.db.execute(sql, params![place, tape]);
        placed
            .and_then(|_| old.map_or(Ok(()), |old| self.drop_if_nowhere(old)))
            .and_then(|()| self.db.execute_batch("COMMIT"))
            .map_err(|error| self.failed(error))?;
        Ok(put)
    }

    /// Forgets that a tape lay at a place, and returns the tape.
    fn take_from_place(&self, place: &str) -> rusqlite::Result<Option<i64>> {
        let sql = "DELETE FROM place WHERE path = ?1 RETURNING tape";
        let old: Option<Option<i64>> = self
            .db
            .query_row(sql, [place], |row| row.get(0))
            .optional()?;
        Ok(old.flatten())
    }
}
