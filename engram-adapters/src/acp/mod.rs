//! The Agent Client Protocol: logs of `engram acp`, which stands between an editor and an agent. A log is one connection, which may have several
//! sessions; each line is a message of JSON-RPC with its direction and time (`docs/acp-log.md`).

use engram_core::adapter::{Evidence, Identity, SessionInit, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::emit::Fault;
use engram_core::head::Head;
use engram_core::ledger::Outcome;
use engram_core::steps::{Check, Conversion, Emitter, Record};

use crate::home_directory::{Base, HomeDirectory};
use crate::registration::Registration;

mod call_line;
#[cfg(feature = "conformance")]
mod certification;
mod descriptor;
mod detect;
mod emit {
    //! Step 3: from lines and what was decided about them to events.

    pub mod calls;
    pub mod dispatch;
    pub mod files;
    pub mod output;
    pub mod replaced;
    pub mod session;
    pub mod shown;
    pub mod state;
    pub mod usage;
    pub mod words;
}
#[cfg(test)]
mod files_tests;
mod message;
mod notes;
mod opener;
mod plan;
#[cfg(test)]
mod returned_tests;
mod revisions;
#[cfg(test)]
mod tests;

from_tables!("acp");

use emit::dispatch::Events;
use format::mark;
use notes::Notes;

/// Where `engram acp` keeps its logs.
const HOMES: &[HomeDirectory] = &[HomeDirectory::new(Base::XdgData, opener::HOME)];

/// The adapter and everything that belongs to it.
pub(crate) static REGISTRATION: Registration = registration();

const fn registration() -> Registration {
    let registration = Registration::new(&Acp)
        .with_tools(&descriptor::TOOLS)
        .with_store_opener(&opener::OPENER)
        .with_relayed_forms(opener::FORMS)
        .with_homes(HOMES);
    #[cfg(feature = "conformance")]
    let registration = registration.with_certification(certification::CERTIFICATION);
    registration
}

struct Acp;

impl StreamAdapter for Acp {
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
        Box::<Log>::default()
    }
}

/// The conversion of one log.
#[derive(Default)]
struct Log {
    notes: Notes,
    events: Events,
}

impl Conversion for Log {
    /// A line has a time.
    fn repeats_are_exact(&self) -> bool {
        true
    }

    fn sessions_are_apart(&self) -> bool {
        true
    }

    fn check(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        self.notes.add(record, check)
    }

    fn decide(&mut self) {
        self.events.decide(plan::plan(&self.notes.list));
    }

    fn emit(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        self.events.record(record, out)
    }

    fn envelope(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) {
        self.events.envelope(record, out);
    }
}
