//! What adapters of logs have in common whose records are written once, each with an id or a time: the adapter as data, and its conversion as two
//! parts, the notes of step 1 and the events of steps 2 and 3.

use engram_core::adapter::{Evidence, Identity, SessionInit, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::emit::Fault;
use engram_core::head::Head;
use engram_core::ledger::Outcome;
use engram_core::steps::{Check, Conversion, Emitter, Record};

/// An adapter, as the functions and tables that it consists of.
pub struct LogAdapter {
    /// Its self-description.
    pub descriptor: &'static AdapterDescriptor,
    /// All marks that `probe` may return.
    pub marks: &'static [&'static str],
    /// See [`StreamAdapter::probe`].
    pub probe: fn(&Head<'_>) -> Option<Evidence>,
    /// See [`StreamAdapter::identify`].
    pub identify: fn(&Head<'_>) -> Identity,
    /// See [`StreamAdapter::conversion`]. [`Log::boxed`] makes one.
    pub conversion: fn(&SessionInit<'_>) -> Box<dyn Conversion>,
}

impl StreamAdapter for LogAdapter {
    fn describe(&self) -> &'static AdapterDescriptor {
        self.descriptor
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        (self.probe)(head)
    }

    fn marks(&self) -> Vec<&'static str> {
        self.marks.to_vec()
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        (self.identify)(head)
    }

    fn conversion(&self, init: &SessionInit<'_>) -> Box<dyn Conversion> {
        (self.conversion)(init)
    }
}

/// Step 1: what is noted of the records.
pub trait LogNotes: Default + 'static {
    /// Checks a record, and notes what decisions need.
    ///
    /// # Errors
    /// The fault of a record that cannot be converted.
    fn add(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault>;
}

/// Steps 2 and 3: decisions, and the events that follow from them.
pub trait LogEvents<N>: 'static {
    /// Decides about all records.
    fn decide(&mut self, notes: &N);

    /// The events of a record that the check has accepted.
    fn record(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome;

    /// Time, id and source of a record, and whether it is a copy.
    fn envelope(&mut self, record: &Record<'_>, out: &mut Emitter<'_>);
}

/// The conversion of one log.
pub struct Log<N, E> {
    notes: N,
    events: E,
}

impl<N: LogNotes, E: LogEvents<N>> Log<N, E> {
    /// A conversion that emits these events.
    pub fn boxed(events: E) -> Box<dyn Conversion> {
        Box::new(Log {
            notes: N::default(),
            events,
        })
    }
}

impl<N: LogNotes, E: LogEvents<N>> Conversion for Log<N, E> {
    fn repeats_are_exact(&self) -> bool {
        true
    }

    fn check(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        self.notes.add(record, check)
    }

    fn decide(&mut self) {
        self.events.decide(&self.notes);
    }

    fn emit(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        self.events.record(record, out)
    }

    fn envelope(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) {
        self.events.envelope(record, out);
    }
}
