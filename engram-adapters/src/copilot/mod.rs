//! GitHub Copilot CLI: sessions under `~/.copilot/session-state`, a directory each. `events.jsonl` has the events, those of sub-agents too;
//! beside it are, in the newest versions, snapshots of the files that changed between two prompts.

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
mod diff;
mod emit {
    //! Step 3: from records and their decisions to events.

    pub mod answers;
    pub mod dispatch;
    pub mod edits;
    pub mod files;
    pub mod prompts;
    pub mod reads;
    pub mod results;
    pub mod session;
    pub mod state;
    pub mod usage;
}
mod notes;
mod plan;
mod revisions;
mod snapshots;
mod swept;
#[cfg(test)]
mod tests;

from_tables!("copilot");

use emit::dispatch::Events;
use format::mark;
use notes::Notes;
use snapshots::Snapshots;

/// Where sessions are kept.
const HOMES: &[HomeDirectory] = &[HomeDirectory::new(Base::Home, ".copilot/session-state")
    .unless_set("COPILOT_HOME", "session-state")];

/// The files of sessions, in a directory for each.
const SESSION_FILES: &[SessionFile] = &[SessionFile::new(("session-state", 2), "events.jsonl", "")];

/// The adapter and everything that belongs to it.
pub(crate) static REGISTRATION: Registration = registration();

const fn registration() -> Registration {
    let registration = Registration::new(&Copilot)
        .with_tools(&descriptor::TOOLS)
        .with_homes(HOMES)
        .with_session_files(SESSION_FILES)
        .with_project_files(&["events"])
        .with_side_info(snapshots::side_info);
    #[cfg(feature = "conformance")]
    let registration = registration.with_certification(certification::CERTIFICATION);
    registration
}

struct Copilot;

impl StreamAdapter for Copilot {
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
        let snapshots = Snapshots::read(init.context.side_files.clone());
        Box::new(Session {
            notes: Notes::default(),
            events: Events::new(init.identity.session_id.clone(), snapshots),
        })
    }
}

/// The conversion of one session.
struct Session {
    notes: Notes,
    events: Events,
}

impl Conversion for Session {
    /// An event is written once, with an id and a time.
    fn repeats_are_exact(&self) -> bool {
        true
    }

    fn check(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        self.notes.add(record, check)
    }

    fn decide(&mut self) {
        let plan = plan::plan(&self.notes, self.events.snapshots().all());
        self.events.decide(plan);
    }

    fn emit(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        self.events.record(record, out)
    }

    fn envelope(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) {
        self.events.envelope(record, out);
    }
}
