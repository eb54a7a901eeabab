//! Event sinks: the targets of a conversion.

use std::io;

use crate::event::EventRef;

/// Takes the events of one tape, in order.
///
/// A source record gives its events one by one, and may turn out to be malformed after the first of them. So events are pending until
/// [`commit`](EventSink::commit), and [`rollback`](EventSink::rollback) drops the pending ones. Sequence numbers that were dropped are
/// given again.
///
/// [`JsonLines`](crate::tape::JsonLines) writes a tape, [`Stats`](crate::stats::Stats) counts. A sink of your own that only looks at
/// finished events collects what it needs in `event` and uses it in `commit`:
///
/// ```
/// use std::io;
/// use engram_core::event::{Event, EventRef};
/// use engram_core::sink::EventSink;
///
/// /// The names of all tools that were called.
/// #[derive(Default)]
/// struct Tools {
///     pending: Vec<String>,
///     called: Vec<String>,
/// }
///
/// impl EventSink for Tools {
///     fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
///         if let Event::ToolCall(call) = record.event {
///             self.pending.push(call.tool.decode_lossy().into_owned());
///         }
///         Ok(())
///     }
///
///     fn commit(&mut self) -> io::Result<()> {
///         self.called.append(&mut self.pending);
///         Ok(())
///     }
///
///     fn rollback(&mut self) {
///         self.pending.clear();
///     }
/// }
/// ```
pub trait EventSink {
    /// Takes the next event, which is pending until the next call of `commit` or `rollback`.
    ///
    /// # Errors
    /// What the sink's own output fails with. The conversion ends with it.
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()>;

    /// The pending events are final.
    ///
    /// # Errors
    /// As [`EventSink::event`].
    fn commit(&mut self) -> io::Result<()>;

    /// The pending events are dropped.
    fn rollback(&mut self);

    /// The tape is complete and committed.
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

    fn commit(&mut self) -> io::Result<()> {
        self.0.commit()?;
        self.1.commit()
    }

    fn rollback(&mut self) {
        self.0.rollback();
        self.1.rollback();
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

    fn commit(&mut self) -> io::Result<()> {
        (**self).commit()
    }

    fn rollback(&mut self) {
        (**self).rollback();
    }

    fn finish(&mut self) -> io::Result<()> {
        (**self).finish()
    }
}
