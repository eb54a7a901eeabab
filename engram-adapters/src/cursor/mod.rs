//! The Cursor adapter. Each kind of artifact has a directory, whose `dispatch.rs` goes from record type to handler; `source` detects
//! which one an artifact is, and `tool_calls` converts calls and results, which captures and chat stores share. `steps` runs the same
//! handlers in step 1, where they only check, and in step 3.

#[cfg(feature = "conformance")]
mod certification;
mod chat_store;
mod descriptor;
mod edits;
mod fields;
mod hooks;
mod ide;
mod members;
mod messages;
mod pieces;
mod revisions;
mod run_store;
mod sdk_messages;
mod source;
mod steps;
mod stream;
#[cfg(test)]
mod tests;
mod tool_calls;
mod tools;
mod transcript;
mod wrappers;

from_tables!("cursor");

use engram_core::adapter::{Evidence, Identity, SessionInit, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::head::Head;
use engram_core::steps::Conversion;

use crate::home_directory::{Base, HomeDirectory};
use crate::registration::Registration;
use crate::session_file::SessionFile;
use chat_store::ChatStore;
use hooks::HookLog;
use ide::EditorConversation;
use run_store::RunStore;
use sdk_messages::MessageStream;
use source::{detect, form::Form, side_info};
use steps::Steps;
use stream::Stream;
use transcript::{document::TranscriptDocument, jsonl::Transcript};

/// Where sessions are kept.
const HOMES: &[HomeDirectory] = &[
    HomeDirectory::new(Base::Home, ".cursor"),
    HomeDirectory::new(Base::Nowhere, "").unless_set("CURSOR_DATA_DIR", ""),
    HomeDirectory::new(Base::XdgConfig, "cursor"),
    HomeDirectory::new(Base::XdgConfig, "Cursor/User/globalStorage"),
    HomeDirectory::new(Base::XdgConfig, "Cursor/User/workspaceStorage"),
    HomeDirectory::new(Base::ApplicationSupport, "Cursor/User/globalStorage"),
    HomeDirectory::new(Base::ApplicationSupport, "Cursor/User/workspaceStorage"),
    HomeDirectory::new(Base::AppData, "Cursor/User/globalStorage"),
    HomeDirectory::new(Base::AppData, "Cursor/User/workspaceStorage"),
];

/// The files of transcripts. Sessions of the SDK are named by `agent-` and their id.
const SESSION_FILES: &[SessionFile] = &[
    SessionFile::new(("agent-transcripts", 2), "", ".jsonl"),
    SessionFile::new(("agent-transcripts", 3), "", ".jsonl"),
    SessionFile::new(("agent-transcripts", 1), "", ".json"),
    SessionFile::new(("agent-transcripts", 3), "agent-", ".jsonl"),
];

/// The adapter and everything that belongs to it.
pub(crate) static REGISTRATION: Registration = registration();

const fn registration() -> Registration {
    let registration = Registration::new(&Cursor)
        .with_tools(&tools::TOOLS)
        .with_homes(HOMES)
        .with_session_files(SESSION_FILES)
        .with_side_info(side_info::side_info)
        .with_store_opener(&source::opener::OPENER)
        .with_forms(source::session_forms::FORMS);
    #[cfg(feature = "conformance")]
    let registration = registration.with_certification(certification::CERTIFICATION);
    registration
}

struct Cursor;

impl StreamAdapter for Cursor {
    fn describe(&self) -> &'static AdapterDescriptor {
        &descriptor::DESCRIPTOR
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        let (form, marks) = detect::form(head)?;
        Some(Evidence {
            marks,
            framing: form.framing(),
        })
    }

    fn marks(&self) -> Vec<&'static str> {
        format::mark::ALL.to_vec()
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        detect::identify(head)
    }

    fn conversion(&self, init: &SessionInit<'_>) -> Box<dyn Conversion> {
        match detect::form(init.head).map(|(form, _)| form) {
            Some(Form::TranscriptDocument) => {
                Box::new(Steps(TranscriptDocument::new(init.context)))
            }
            Some(Form::Stream) => Box::new(Steps(Stream::default())),
            Some(Form::EditorRows | Form::EditorInline) => {
                Box::new(Steps(EditorConversation::default()))
            }
            Some(Form::ChatStore) => Box::new(Steps(ChatStore::default())),
            Some(Form::RunStore) => Box::new(Steps(RunStore::default())),
            Some(Form::MessageStream) => Box::new(Steps(MessageStream::default())),
            Some(Form::HookLog) => Box::new(Steps(HookLog::default())),
            Some(Form::Transcript) | None => Box::new(Steps(Transcript::new(init.context))),
        }
    }
}
