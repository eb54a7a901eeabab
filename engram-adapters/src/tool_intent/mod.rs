//! Episodes of black-box agents (`engram.episode/1`), which a driver writes: what was said, and tools asked for in frames of the tool-intent
//! grammar.

use engram_core::adapter::{Evidence, Identity, SessionInit, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::emit::Fault;
use engram_core::head::Head;
use engram_core::ledger::Outcome;
use engram_core::steps::{Check, Conversion, Emitter, Record};

use crate::registration::Registration;

#[cfg(feature = "conformance")]
mod certification;
mod descriptor;
mod detect;
mod emit;
mod notes;
mod revisions;
#[cfg(test)]
mod tests;
mod transcript;

from_tables!("tool_intent");

use emit::Events;
use format::mark;
use notes::Notes;

/// The adapter and everything that belongs to it.
pub(crate) static REGISTRATION: Registration = registration();

const fn registration() -> Registration {
    let registration = Registration::new(&ToolIntent).with_tools(&descriptor::TOOLS);
    #[cfg(feature = "conformance")]
    let registration = registration.with_certification(certification::CERTIFICATION);
    registration
}

struct ToolIntent;

impl StreamAdapter for ToolIntent {
    fn describe(&self) -> &'static AdapterDescriptor {
        &descriptor::DESCRIPTOR
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        detect::probe(head)
    }

    fn marks(&self) -> Vec<&'static str> {
        mark::ALL.to_vec()
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        detect::identify(head)
    }

    fn conversion(&self, _init: &SessionInit<'_>) -> Box<dyn Conversion> {
        Box::<Episode>::default()
    }
}

/// The conversion of one episode.
#[derive(Default)]
struct Episode {
    notes: Notes,
    events: Events,
}

impl Conversion for Episode {
    /// A driver gives each record another time.
    fn repeats_are_exact(&self) -> bool {
        true
    }

    fn check(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        self.notes.add(record, check)
    }

    fn decide(&mut self) {
        self.events.decide(std::mem::take(&mut self.notes.reasons));
    }

    fn emit(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        self.events.record(record, out)
    }
}
