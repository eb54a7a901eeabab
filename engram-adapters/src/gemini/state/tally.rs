//! Whether the current record gave events.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Event, Seq};

/// Emits events and counts those of the current record.
#[derive(Default)]
pub struct RecordTally {
    events: u64,
    has_pending: bool,
}

impl RecordTally {
    /// Starts a record.
    pub fn begin_record(&mut self) {
        self.events = 0;
        self.has_pending = false;
    }

    /// Emits an event of the current record.
    ///
    /// # Errors
    /// As [`Emitter::emit`].
    pub fn emit<'e>(&mut self, event: impl Into<Event<'e>>, pointer: Pointer<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
        self.emit_child(None, event, pointer, out)
    }

    /// As [`RecordTally::emit`], for an event with this parent.
    ///
    /// # Errors
    /// As [`Emitter::emit`].
    pub fn emit_child<'e>(
        &mut self,
        parent: Option<Seq>,
        event: impl Into<Event<'e>>,
        pointer: Pointer<'_>,
        out: &mut Emitter<'_>,
    ) -> Result<(), Fault> {
        out.emit_child(parent, event, pointer)?;
        self.events += 1;
        Ok(())
    }

    /// Notes an event of the current record that is emitted later.
    pub fn add_pending(&mut self) {
        self.has_pending = true;
    }

    /// True if an event of the current record is emitted later.
    pub fn has_pending(&self) -> bool {
        self.has_pending
    }

    /// True if the current record gave an event.
    pub fn has_events(&self) -> bool {
        self.events > 0
    }
}
