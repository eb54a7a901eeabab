//! Qwen Code: sessions under `~/.qwen/projects`, one file of JSON Lines each. A line has the envelope `uuid`, `parentUuid`, `sessionId`, and a
//! message of parts (text, thought, call, result). Sub-agents have files of their own. What a run prints has another form ([`printed`]).

use crate::home_directory::{Base, HomeDirectory};
use crate::registration::Registration;
use crate::session_file::SessionFile;
use crate::shared::log::{Log, LogAdapter};

#[cfg(feature = "conformance")]
mod certification;
mod descriptor;
mod detect;
mod emit {
    //! Step 3: from records and their decisions to events.

    pub mod capture;
    pub mod dispatch;
    pub mod edits;
    pub mod printed;
    pub mod prompts;
    pub mod reads;
    pub mod responses;
    pub mod results;
    pub mod state;
    pub mod system;
    pub mod telemetry;
    pub mod usage;
}
mod interface;
mod notes;
mod plan;
mod printed;
mod revisions;
mod side_info;
mod swept;
#[cfg(test)]
mod tests;

from_tables!("qwen");

use emit::capture::Capture;
use emit::dispatch::Events;
use format::mark;
use notes::Notes;
use revisions::PRINTED;

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
    let registration = Registration::new(&ADAPTER)
        .with_tools(&descriptor::TOOLS)
        .with_homes(HOMES)
        .with_session_files(SESSION_FILES)
        .with_side_info(side_info::side_info);
    #[cfg(feature = "conformance")]
    let registration = registration.with_certification(certification::CERTIFICATION);
    registration
}

static ADAPTER: LogAdapter = LogAdapter {
    descriptor: &descriptor::DESCRIPTOR,
    marks: mark::ALL,
    probe: detect::probe,
    identify: detect::identify,
    conversion: |init| match init.identity.schema {
        Some(PRINTED) => Capture::boxed(init),
        _ => Log::<Notes, _>::boxed(Events::new(init)),
    },
};
