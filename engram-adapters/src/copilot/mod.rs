//! GitHub Copilot CLI: sessions under `~/.copilot/session-state`, a directory each. `events.jsonl` has the events, those of sub-agents too;
//! beside it are, in the newest versions, snapshots of the files that changed between two prompts.

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
    let registration = Registration::new(&ADAPTER)
        .with_tools(&descriptor::TOOLS)
        .with_homes(HOMES)
        .with_session_files(SESSION_FILES)
        .with_project_files(&["events"])
        .with_side_info(snapshots::side_info);
    #[cfg(feature = "conformance")]
    let registration = registration.with_certification(certification::CERTIFICATION);
    registration
}

static ADAPTER: LogAdapter = LogAdapter {
    descriptor: &descriptor::DESCRIPTOR,
    marks: mark::ALL,
    probe: detect::probe,
    identify: detect::identify,
    conversion: |init| {
        let snapshots = Snapshots::read(init.context.side_files.clone());
        let session = init.identity.session_id.clone();
        Log::<Notes, _>::boxed(Events::new(session, snapshots))
    },
};
