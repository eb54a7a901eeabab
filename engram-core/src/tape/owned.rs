//! Events that own their text: for code that keeps them, or takes them from another thread.

use super::InvalidEvent;
use crate::event::EventRecord;

/// One event of a tape with its text.
///
/// ```
/// use engram_core::event::Event;
/// use engram_core::tape::OwnedEvent;
///
/// let line = r#"{"seq":0,"t":"2026-01-02T03:04:05Z","k":"tool.call","source":{"harness":"toy"},"tool":"shell","kind":"execute"}"#;
/// let event = OwnedEvent::parse(line.to_owned())?;
/// let Event::ToolCall(call) = event.record().event else { panic!("not a call") };
/// assert_eq!(call.tool.decode_lossy(), "shell");
/// # Ok::<(), engram_core::tape::InvalidEvent>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedEvent {
    line: String,
}

impl OwnedEvent {
    /// Reads one line of a tape.
    ///
    /// # Errors
    /// As [`EventRecord::parse`].
    pub fn parse(mut line: String) -> Result<OwnedEvent, InvalidEvent> {
        line.truncate(line.trim_end_matches('\n').len());
        EventRecord::parse(&line)?;
        Ok(OwnedEvent { line })
    }

    /// The event.
    #[allow(clippy::missing_panics_doc)]
    pub fn record(&self) -> EventRecord<'_> {
        EventRecord::parse(&self.line).expect("the line was read before")
    }

    /// The line of the tape.
    pub fn json(&self) -> &str {
        &self.line
    }
}
