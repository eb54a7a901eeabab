//! Gemini CLI: sessions under `~/.gemini/tmp/<project>/chats`, whole-file JSON to 0.38.2 and JSON Lines from 0.39.0,
//! the terminal's `logs.json`, and saved conversations.

use engram_core::adapter::{Evidence, Identity, Session, SessionInit, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::head::Head;

use crate::home_directory::{Base, HomeDirectory};
use crate::registration::Registration;
use crate::session_file::SessionFile;

mod blocks;
#[cfg(feature = "conformance")]
mod certification;
mod descriptor;
mod members;
mod records;
mod results;
mod revisions;
mod schema;
mod source;
mod state;
#[cfg(test)]
mod tests;
mod tools;

use source::detect;

/// Where sessions are kept.
const HOMES: &[HomeDirectory] = &[HomeDirectory::new(Base::Home, ".gemini").unless_set("GEMINI_CLI_HOME", ".gemini")];

/// The files of sessions and, named by their id, of sub-agents.
const SESSION_FILES: &[SessionFile] = &[
    SessionFile::new(("chats", 1), "session-", ".jsonl"),
    SessionFile::new(("chats", 1), "session-", ".json"),
    SessionFile::new(("chats", 2), "", ".jsonl"),
];

/// The typed prompts of a project, and its saved conversations.
const PROJECT_FILES: &[&str] = &["logs", "checkpoint-"];

/// The adapter and everything that belongs to it.
pub(crate) static REGISTRATION: Registration = registration();

const fn registration() -> Registration {
    let registration = Registration::new(&Gemini)
        .with_tools(&tools::TOOLS)
        .with_homes(HOMES)
        .with_session_files(SESSION_FILES)
        .with_project_files(PROJECT_FILES)
        .with_side_info(source::side_info::side_info);
    #[cfg(feature = "conformance")]
    let registration = registration.with_certification(certification::CERTIFICATION);
    registration
}

struct Gemini;

impl StreamAdapter for Gemini {
    fn describe(&self) -> &'static AdapterDescriptor {
        &descriptor::DESCRIPTOR
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        detect::probe(head)
    }

    fn marks(&self) -> Vec<&'static str> {
        detect::MARKS.to_vec()
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        detect::identify(head)
    }

    fn session(&self, init: &SessionInit<'_>) -> Box<dyn Session> {
        Box::new(records::session::SessionConverter::new(detect::form(init.head), init))
    }
}
