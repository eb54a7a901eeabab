//! Pi: sessions under `~/.pi/agent/sessions`, one file of JSON Lines each. Its entries form a tree: the last one is where the session is, and
//! an entry that does not continue the one before it goes back to an earlier point.

use engram_core::adapter::{Evidence, Identity, SessionInit, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::emit::Fault;
use engram_core::head::Head;
use engram_core::ledger::Outcome;
use engram_core::steps::{Check, Conversion, Emitter, Record};

use crate::home_directory::{Base, HomeDirectory};
use crate::registration::Registration;
use crate::session_file::SessionFile;

#[cfg(feature = "conformance")]
mod certification;
mod descriptor;
mod detect;
mod emit {
    //! Step 3: from records and their decisions to events.

    pub mod assistant;
    pub mod dispatch;
    pub mod edits;
    pub mod entries;
    pub mod nested;
    pub mod printed;
    pub mod reads;
    pub mod results;
    pub mod state;
    pub mod usage;
    pub mod words;
}
mod notes;
mod plan;
mod revisions;
#[cfg(test)]
mod tests;

from_tables!("pi");

use emit::dispatch::Events;
use format::mark;
use notes::Notes;

/// Where sessions are kept.
const HOMES: &[HomeDirectory] = &[
    HomeDirectory::new(Base::Home, ".pi/agent/sessions")
        .unless_set("PI_CODING_AGENT_DIR", "sessions"),
    HomeDirectory::new(Base::Nowhere, "").unless_set("PI_CODING_AGENT_SESSION_DIR", ""),
];

/// The files of sessions: a time, and the id of the session.
const SESSION_FILES: &[SessionFile] = &[SessionFile::new(("sessions", 2), "20", ".jsonl")];

/// The adapter and everything that belongs to it.
pub(crate) static REGISTRATION: Registration = registration();

const fn registration() -> Registration {
    let registration = Registration::new(&Pi)
        .with_tools(&descriptor::TOOLS)
        .with_homes(HOMES)
        .with_session_files(SESSION_FILES);
    #[cfg(feature = "conformance")]
    let registration = registration.with_certification(certification::CERTIFICATION);
    registration
}

struct Pi;

impl StreamAdapter for Pi {
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
        Box::<Session>::default()
    }
}

/// The conversion of one session.
#[derive(Default)]
struct Session {
    notes: Notes,
    events: Events,
}

impl Conversion for Session {
    /// An entry is written once, with an id and a time.
    fn repeats_are_exact(&self) -> bool {
        true
    }

    fn check(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        self.notes.add(record, check)
    }

    fn decide(&mut self) {
        self.events.decide(plan::plan(&self.notes));
    }

    fn emit(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        self.events.record(record, out)
    }

    fn envelope(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) {
        self.events.envelope(record, out);
    }
}
