//! Event sinks: the targets of a conversion.

use std::io;

use crate::event::EventRef;

/// Takes the events of one tape, in order. Every event is final.
///
/// [`JsonLines`](crate::tape::JsonLines) writes a tape, [`Stats`](crate::stats::Stats) counts. A sink of your own:
///
/// ```
/// use std::io;
/// use engram_core::event::{Event, EventRef};
/// use engram_core::sink::EventSink;
///
/// /// The names of all tools that were called.
/// #[derive(Default)]
/// struct Tools(Vec<String>);
///
/// impl EventSink for Tools {
///     fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
///         if let Event::ToolCall(call) = record.event {
///             self.0.push(call.tool.decode_lossy().into_owned());
///         }
///         Ok(())
///     }
/// }
/// ```
pub trait EventSink {
    /// Takes the next event. Its number is one more than that of the event before.
    ///
    /// # Errors
    /// What the sink's own output fails with. The conversion or replay ends with it, and the sink gets no further call.
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()>;

    /// The tape is complete. Called once, after `tape.stop`; not called if the conversion fails.
    ///
    /// # Errors
    /// As [`EventSink::event`].
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Two sinks that take the same events.
impl<One: EventSink, Other: EventSink> EventSink for (One, Other) {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        self.0.event(record)?;
        self.1.event(record)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.finish()?;
        self.1.finish()
    }
}

impl<S: EventSink + ?Sized> EventSink for &mut S {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        (**self).event(record)
    }

    fn finish(&mut self) -> io::Result<()> {
        (**self).finish()
    }
}
