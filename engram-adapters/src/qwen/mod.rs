//! Qwen Code: sessions under `~/.qwen/projects`, one file of JSON Lines each. A line has the envelope `uuid`, `parentUuid`, `sessionId`, and a
//! message of parts (text, thought, call, result). Sub-agents have files of their own.

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

    pub mod dispatch;
    pub mod edits;
    pub mod prompts;
    pub mod reads;
    pub mod responses;
    pub mod results;
    pub mod state;
    pub mod system;
    pub mod telemetry;
    pub mod usage;
}
mod notes;
mod plan;
mod revisions;
mod side_info;
mod swept;
#[cfg(test)]
mod tests;

from_tables!("qwen");

use emit::dispatch::Events;
use format::mark;
use notes::Notes;

/// Where sessions are kept. Settings name another place with `QWEN_RUNTIME_DIR`, else `QWEN_HOME`.
const HOMES: &[HomeDirectory] = &[
    HomeDirectory::new(Base::Home, ".qwen/projects").unless_set("QWEN_HOME", "projects"),
    HomeDirectory::new(Base::Nowhere, "").unless_set("QWEN_RUNTIME_DIR", "projects"),
];

/// The files of sessions and of sub-agents.
const SESSION_FILES: &[SessionFile] = &[SessionFile::new(("chats", 1), "", ".jsonl")];

/// The adapter and everything that belongs to it.
pub(crate) static REGISTRATION: Registration = registration();

const fn registration() -> Registration {
    let registration = Registration::new(&Qwen)
        .with_tools(&descriptor::TOOLS)
        .with_homes(HOMES)
        .with_session_files(SESSION_FILES)
        .with_side_info(side_info::side_info);
    #[cfg(feature = "conformance")]
    let registration = registration.with_certification(certification::CERTIFICATION);
    registration
}

struct Qwen;

impl StreamAdapter for Qwen {
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

    fn conversion(&self, init: &SessionInit<'_>) -> Box<dyn Conversion> {
        Box::new(Session {
            notes: Notes::default(),
            events: Events::new(init),
        })
    }
}

/// The conversion of one session, or of one sub-agent.
struct Session {
    notes: Notes,
    events: Events,
}

impl Conversion for Session {
    /// A line is written once, with an id and a time.
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
