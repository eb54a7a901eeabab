//! The events of a session as an iterator.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use engram_core::error::{AdapterError, ErrorCode};
use engram_core::tape::{JsonLines, OwnedEvent};

use super::SessionSource;

/// Events that are converted before somebody asks for them.
const AHEAD: usize = 256;

/// The events of one session, each with its own text. The last item may be an error.
#[derive(Debug)]
pub struct Events {
    lines: Receiver<Result<String, AdapterError>>,
    path: String,
}

impl SessionSource {
    /// The events of the session, in order. The conversion runs in a thread of its own, a few events ahead, and ends when the iterator is
    /// dropped.
    ///
    /// ```
    /// use engram_adapters::sessions::{SessionOptions, sessions};
    /// use engram_core::event::Event;
    ///
    /// # let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/codex/0.169.0/main");
    /// for session in sessions(directory, &SessionOptions::default()) {
    ///     for event in session?.events() {
    ///         if let Event::CodeEdit(edit) = event?.record().event {
    ///             println!("{}", edit.file.decode_lossy());
    ///         }
    ///     }
    /// }
    /// # Ok::<(), engram_core::error::AdapterError>(())
    /// ```
    pub fn events(self) -> Events {
        let (sender, lines) = sync_channel(AHEAD);
        let path = self.path().to_string_lossy().into_owned();
        thread::spawn(move || {
            let tape = Lines {
                sender: sender.clone(),
                line: Vec::new(),
            };
            if let Err(error) = self.convert(&mut JsonLines::new(tape)) {
                // Nobody may be there any more to hear it.
                let _ = sender.send(Err(error));
            }
        });
        Events { lines, path }
    }
}

impl Iterator for Events {
    type Item = Result<OwnedEvent, AdapterError>;

    fn next(&mut self) -> Option<Self::Item> {
        let invalid = |what: String| {
            AdapterError::new(ErrorCode::AdapterDefect)
                .found(&what)
                .path(&self.path)
        };
        let line = self.lines.recv().ok()?;
        Some(
            line.and_then(|line| {
                OwnedEvent::parse(line).map_err(|error| invalid(error.to_string()))
            }),
        )
    }
}

/// Sends each line of a tape.
struct Lines {
    sender: SyncSender<Result<String, AdapterError>>,
    line: Vec<u8>,
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line =
                    String::from_utf8(std::mem::take(&mut self.line)).map_err(io::Error::other)?;
                self.sender
                    .send(Ok(line))
                    .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use engram_core::tape::JsonLines;

    use crate::sessions::{SessionOptions, sessions};

    #[test]
    fn the_events_are_those_of_the_tape_and_may_be_left_early() {
        let directory = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../fixtures/codex/0.169.0/main"
        );
        let open = || {
            sessions(directory, &SessionOptions::default())
                .next()
                .unwrap()
                .unwrap()
        };
        let mut tape = Vec::new();
        open().convert(&mut JsonLines::new(&mut tape)).unwrap();
        let lines: Vec<String> = open()
            .events()
            .map(|event| event.unwrap().json().to_owned())
            .collect();
        assert!(lines.len() > 20 && lines.join("\n") + "\n" == String::from_utf8(tape).unwrap());
        assert_eq!(open().events().take(2).count(), 2);
    }
}
