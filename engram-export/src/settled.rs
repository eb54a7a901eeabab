//! A sink that passes events on only when they are final.

use std::io;

use engram_core::event::{EventRecord, EventRef};
use engram_core::sink::EventSink;

/// Keeps pending events as lines, and passes them to the inner sink when their record is settled. So an inner sink that cannot take events
/// back may stand behind a conversion. A [replay](engram_core::tape::replay) settles each event at once and needs none of this.
#[derive(Debug, Default)]
pub struct Settled<S> {
    sink: S,
    pending: Vec<String>,
}

impl<S> Settled<S> {
    /// A sink in front of `sink`.
    pub fn new(sink: S) -> Settled<S> {
        Settled { sink, pending: Vec::new() }
    }

    /// The inner sink.
    pub fn into_inner(self) -> S {
        self.sink
    }
}

impl<S: EventSink> EventSink for Settled<S> {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        let EventRecord { seq, t, t_basis, source, event, parent, origin, replay } = *record;
        self.pending.push(EventRecord { seq, t, t_basis, source, event: event.clone(), parent, origin, replay }.to_line());
        Ok(())
    }

    fn commit(&mut self) -> io::Result<()> {
        for line in self.pending.drain(..) {
            let record = EventRecord::parse(line.trim_end_matches('\n')).map_err(|error| io::Error::other(error.to_string()))?;
            self.sink.event(&record.as_event_ref())?;
        }
        self.sink.commit()
    }

    fn rollback(&mut self) {
        self.pending.clear();
    }

    fn finish(&mut self) -> io::Result<()> {
        self.sink.finish()
    }
}
