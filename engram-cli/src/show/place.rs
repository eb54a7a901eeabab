//! Tapes and logs as places of one session: a short look at their beginning, and the view of all of it.

use std::collections::HashSet;
use std::io::{self, BufReader, Cursor, Read, stdin};
use std::path::{Path, PathBuf};

use engram_adapters::open;
use engram_adapters::sessions::{SessionOptions, SessionSource};
use engram_command::inputs::SessionInput;
use engram_command::kept::open_kept;
use engram_core::error::AdapterError;
use engram_core::event::{Author, Event, EventRef, Meta};
use engram_core::redact::Redacting;
use engram_core::sink::EventSink;
use engram_core::tape::replay;

use super::build::Builder;
use super::calls::owned;
use super::page::Images;
use super::view::SessionView;
use crate::tapes::{FIRST_BYTES, open_tape};

/// Events that a short look reads at most.
const PEEKED_EVENTS: usize = 256;

/// Where a session is.
#[derive(Clone)]
pub enum Place {
    /// Standard input: a tape or a log.
    Stdin,
    Tape(PathBuf),
    Session(SessionInput),
}

impl Place {
    /// The path as messages show it.
    pub fn path(&self) -> &Path {
        match self {
            Place::Stdin => Path::new("-"),
            Place::Tape(path) => path,
            Place::Session(input) => input.path(),
        }
    }

    /// The file that is read for it.
    pub fn file(&self) -> &Path {
        match self {
            Place::Session(input) => input.container().unwrap_or(input.path()),
            other => other.path(),
        }
    }

    /// True for a file that is a tape.
    pub fn is_tape(&self) -> bool {
        matches!(self, Place::Tape(_))
    }

    /// Its size on disk.
    pub fn bytes(&self) -> u64 {
        match self {
            Place::Stdin => 0,
            Place::Tape(path) => path.metadata().map_or(0, |metadata| metadata.len()),
            Place::Session(input) => input.bytes(),
        }
    }

    /// The view of the session, which is on this tape of its family.
    ///
    /// # Errors
    /// Those of reading and conversion, with the path.
    pub fn load(
        &self,
        tape: usize,
        options: &SessionOptions,
        redact: bool,
    ) -> Result<SessionView, AdapterError> {
        let mut builder = Builder::of_tape(tape);
        if redact {
            self.send(options, &mut Redacting::new(&mut builder)?)?;
        } else {
            self.send(options, &mut builder)?;
        }
        Ok(builder.finish())
    }

    /// Adds the pictures of the log that are wanted. A tape has none, and what cannot be read again has none.
    pub fn images(&self, options: &SessionOptions, wanted: &HashSet<String>, images: &mut Images) {
        let Place::Session(input) = self else { return };
        let mut read = || {
            let (source, text) = open_kept(input, options)?;
            source.convert(&mut Nothing)?;
            Ok::<(), AdapterError>(images.read(text.into_reader()?, wanted)?)
        };
        // The page names what it does not show.
        let _ = read();
    }

    /// Whose session it is. `None` if it is no session.
    pub fn peek(&self, options: &SessionOptions) -> Option<Peek> {
        let mut peek = Peek::default();
        // The look ends with an error as soon as it has seen enough.
        let _ = self.send(options, &mut peek);
        (peek.events > 0).then_some(peek)
    }

    /// Sends its events to a sink.
    ///
    /// # Errors
    /// Those of reading and conversion, with the path; and those of the sink.
    pub fn send(
        &self,
        options: &SessionOptions,
        sink: &mut dyn EventSink,
    ) -> Result<(), AdapterError> {
        let at_path = |error: AdapterError| {
            if error.path.is_some() {
                error
            } else {
                error.path(self.path().to_string_lossy())
            }
        };
        let read = |error: io::Error| at_path(AdapterError::from(error));
        let convert = |source: SessionSource, sink: &mut dyn EventSink| {
            source.convert(sink).map(drop).map_err(at_path)
        };
        match self {
            Place::Tape(path) => open_tape(path)
                .and_then(|tape| replay(tape, sink))
                .map_err(read),
            Place::Session(input) => convert(input.open(options).map_err(at_path)?, sink),
            Place::Stdin => {
                let (is_tape, content) =
                    first_bytes(open::content(stdin()).map_err(read)?).map_err(read)?;
                if is_tape {
                    return replay(BufReader::with_capacity(256 << 10, content), sink)
                        .map_err(read);
                }
                convert(
                    SessionSource::from_reader(content, self.path(), options).map_err(at_path)?,
                    sink,
                )
            }
        }
    }
}

/// A sink for a conversion of which only the text is wanted.
struct Nothing;

impl EventSink for Nothing {
    fn event(&mut self, _: &EventRef<'_>) -> io::Result<()> {
        Ok(())
    }
}

/// True if the content begins as a tape does; and the content.
fn first_bytes<R: Read>(mut content: R) -> io::Result<(bool, impl Read + use<R>)> {
    let mut first = Vec::with_capacity(FIRST_BYTES.len());
    content
        .by_ref()
        .take(FIRST_BYTES.len() as u64)
        .read_to_end(&mut first)?;
    Ok((first == FIRST_BYTES, Cursor::new(first).chain(content)))
}

/// What the beginning of a session says about whose it is.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Peek {
    pub session_id: Option<String>,
    pub agent_id: Option<String>,
    pub parent_session_id: Option<String>,
    pub title: Option<String>,
    /// The first prompt of a person.
    pub prompt: Option<String>,
    /// The first time in the log; empty if it has none.
    pub start: String,
    events: usize,
}

impl EventSink for Peek {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        if self.events == 0 {
            self.session_id = record.source.session_id.map(owned);
            self.agent_id = record.source.agent_id.map(owned);
        }
        self.events += 1;
        if self.start.is_empty() && record.t_basis.is_none() {
            self.start = record.t.to_owned();
        }
        if let (Event::MsgIn(message), None) = (record.event, &self.prompt)
            && message.by == Author::Person
        {
            self.prompt = message.text.map(owned);
        }
        if let Event::Meta(Meta::Session(facts)) = record.event {
            self.parent_session_id = facts
                .parent_session_id
                .map(owned)
                .or(self.parent_session_id.take());
            self.title = facts.title.map(owned).or(self.title.take());
        }
        let is_enough = self.events >= PEEKED_EVENTS || matches!(record.event, Event::MsgOut(_));
        if is_enough {
            Err(io::Error::other("enough is known"))
        } else {
            Ok(())
        }
    }
}
