//! Pi, and OpenClaw, which writes the same entries ([`openclaw`]): sessions under `~/.pi/agent/sessions`, one file of JSON Lines each. Its entries form a tree: the last one is where the session is, and
//! an entry that does not continue the one before it goes back to an earlier point.

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
mod openclaw;
mod plan;
mod revisions;
#[cfg(test)]
mod tests;

from_tables!("pi");

use detect::Family;
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

pub(crate) use openclaw::REGISTRATION as OPENCLAW;

/// The adapter and everything that belongs to it.
pub(crate) static REGISTRATION: Registration = registration();

const fn registration() -> Registration {
    let registration = Registration::new(&ADAPTER)
        .with_tools(&descriptor::TOOLS)
        .with_homes(HOMES)
        .with_session_files(SESSION_FILES);
    #[cfg(feature = "conformance")]
    let registration = registration.with_certification(certification::CERTIFICATION);
    registration
}

static ADAPTER: LogAdapter = LogAdapter {
    descriptor: &descriptor::DESCRIPTOR,
    marks: &[mark::HEADER],
    probe: |head| detect::probe(head, Family::Pi),
    identify: |head| detect::identify(head, revisions::FORMATS),
    conversion: |init| Log::<Notes, _>::boxed(Events::new(Family::Pi, init)),
};
