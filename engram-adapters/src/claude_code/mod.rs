//! Claude Code: JSON Lines transcripts under `~/.claude/projects` (0.2.109 and later), the SQLite database of 0.2.96 to 0.2.100, and what
//! `--output-format stream-json` prints.
//!
//! Each line is checked and noted (`check`), then all notes are decided over (`plan`), then each line is emitted (`emit`).

use engram_core::adapter::{Evidence, Identity, SessionInit, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::head::Head;
use engram_core::steps::Conversion;

use crate::home_directory::{Base, HomeDirectory};
use crate::prompt_history::PromptHistory;
use crate::registration::Registration;
use crate::session_file::SessionFile;
use emit::stream::Stream;
use transcript::Transcript;

mod authors;
mod blocks;
#[cfg(feature = "conformance")]
mod certification;
mod check;
mod context_events;
mod descriptor;
mod emit;
mod members;
mod notes;
mod plan;
mod record;
mod revisions;
mod source;
mod swept;
#[cfg(test)]
mod tests;
mod tools;
mod transcript;
mod wrappers;

from_tables!("claude_code");

/// Where sessions are kept.
const HOMES: &[HomeDirectory] = &[
    HomeDirectory::new(Base::Home, ".claude").unless_set("CLAUDE_CONFIG_DIR", ""),
    HomeDirectory::new(Base::XdgConfig, "claude").unless_set("CLAUDE_CONFIG_DIR", ""),
    // Claude Desktop (Cowork). Each of its sessions has a directory with a home of its own.
    HomeDirectory::new(Base::ApplicationSupport, COWORK),
    HomeDirectory::new(Base::AppData, COWORK),
    HomeDirectory::new(Base::XdgConfig, COWORK),
];

/// Where Claude Desktop keeps the sessions of Cowork, below the directory for the settings of programs.
const COWORK: &str = "Claude/local-agent-mode-sessions";

/// The files of sessions and of sub-agents.
const SESSION_FILES: &[SessionFile] = &[
    SessionFile::new(("projects", 2), "", ".jsonl"),
    SessionFile::new(("projects", 2), "agent-", ".jsonl"),
    SessionFile::new(("subagents", 1), "agent-", ".jsonl"),
];

/// What was typed. It outlives the transcripts, which are deleted after 30 days.
const HISTORY: PromptHistory = PromptHistory {
    file: "history.jsonl",
    session: "sessionId",
    time: "timestamp",
    unit: 1,
    prompt: "display",
    project: "project",
};

/// The adapter and everything that belongs to it.
pub(crate) static REGISTRATION: Registration = registration();

const fn registration() -> Registration {
    let registration = Registration::new(&ClaudeCode)
        .with_tools(&tools::TOOLS)
        .with_homes(HOMES)
        .with_prompt_history(&HISTORY)
        .with_session_files(SESSION_FILES)
        .with_forms(source::session_forms::FORMS)
        .with_side_info(source::side_info::side_info);
    #[cfg(feature = "sqlite")]
    let registration = registration.with_store_opener(&source::legacy_db::OPENER);
    #[cfg(feature = "conformance")]
    let registration = registration.with_certification(certification::CERTIFICATION);
    registration
}

struct ClaudeCode;

impl StreamAdapter for ClaudeCode {
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
        let is_stream = init.identity.schema == Some(revisions::STREAM);
        if is_stream {
            Box::new(Stream::new(init))
        } else {
            Box::new(Transcript::new(init))
        }
    }
}
