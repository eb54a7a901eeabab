//! Codex CLI: rollout files in every container form (TypeScript document, bare lines, envelope lines).

use engram_core::adapter::{Evidence, Identity, SessionInit, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::head::Head;
use engram_core::steps::Conversion;

use crate::home_directory::{Base, HomeDirectory};
use crate::prompt_history::PromptHistory;
use crate::registration::Registration;
use crate::session_file::SessionFile;

mod blocks;
#[cfg(test)]
mod call_tests;
#[cfg(feature = "conformance")]
mod certification;
mod check;
mod conversion;
mod descriptor;
mod dispatch;
#[cfg(test)]
mod edit_tests;
mod emit;
#[cfg(test)]
mod fact_tests;
#[cfg(test)]
mod hook_tests;
#[cfg(test)]
mod member_tests;
mod notes;
mod plan;
#[cfg(test)]
mod printed_tests;
#[cfg(test)]
mod prompt_tests;
mod record;
mod records;
mod revisions;
mod schema;
#[cfg(test)]
mod session_tests;
mod source;
mod swept;
#[cfg(test)]
mod tests;
mod tools;
mod wrappers;

from_tables!("codex");

/// Where sessions are kept.
const HOMES: &[HomeDirectory] =
    &[HomeDirectory::new(Base::Home, ".codex").unless_set("CODEX_HOME", "")];

/// The files of sessions. The TypeScript version wrote documents.
const SESSION_FILES: &[SessionFile] = &[
    SessionFile::new(("sessions", 4), "rollout-", ".jsonl"),
    SessionFile::new(("sessions", 4), "rollout-", ".json"),
    SessionFile::new(("archived_sessions", 1), "rollout-", ".jsonl"),
];

/// What was typed. It does not say in which directory.
const HISTORY: PromptHistory = PromptHistory {
    file: "history.jsonl",
    session: "session_id",
    time: "ts",
    unit: 1000,
    prompt: "text",
    project: "",
};

/// The adapter and everything that belongs to it.
pub(crate) static REGISTRATION: Registration = registration();

const fn registration() -> Registration {
    let registration = Registration::new(&Codex)
        .with_tools(&tools::TOOLS)
        .with_homes(HOMES)
        .with_prompt_history(&HISTORY)
        .with_session_files(SESSION_FILES)
        .with_side_info(source::side_info::side_info);
    #[cfg(feature = "conformance")]
    let registration = registration.with_certification(certification::CERTIFICATION);
    registration
}

struct Codex;

impl StreamAdapter for Codex {
    fn describe(&self) -> &'static AdapterDescriptor {
        &descriptor::DESCRIPTOR
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        source::detect::probe(head)
    }

    fn marks(&self) -> Vec<&'static str> {
        format::mark::ALL.to_vec()
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        source::detect::identify(head)
    }

    fn conversion(&self, init: &SessionInit<'_>) -> Box<dyn Conversion> {
        Box::new(conversion::CodexConversion::new(init))
    }
}
