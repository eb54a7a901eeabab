//! Gemini CLI: sessions under `~/.gemini/tmp/<project>/chats`, whole-file JSON to 0.38.2 and JSON Lines from 0.39.0,
//! the terminal's `logs.json`, and saved conversations.

use engram_core::adapter::{Evidence, Identity, SessionInit, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::emit::Fault;
use engram_core::head::Head;
use engram_core::ledger::Outcome;
use engram_core::steps::{Check, Conversion, Emitter, Item, Record};

use crate::home_directory::{Base, HomeDirectory};
use crate::registration::Registration;
use crate::session_file::SessionFile;
use crate::shared::document::required_array;
use crate::shared::time::is_tape_time;
use crate::shared::value::Value;

#[cfg(feature = "conformance")]
mod certification;
mod descriptor;
mod emit {
    //! Step 3: from records and their decisions to events.

    pub mod calls;
    pub mod files;
    pub mod messages;
    pub mod prompts;
    pub mod result_texts;
    pub mod state;
    pub mod stream;
    pub mod turns;
}
mod notes;
mod plan {
    //! Step 2: what becomes of each fact, decided over the notes alone.

    pub mod calls;
    pub mod repeats;
    pub mod responses;
    pub mod rewinds;
}
#[cfg(test)]
mod author_tests;
#[cfg(test)]
mod hook_tests;
#[cfg(test)]
mod member_tests;
#[cfg(test)]
mod repeat_tests;
#[cfg(test)]
mod result_tests;
mod revisions;
#[cfg(test)]
mod rewind_tests;
mod schema;
mod source;
#[cfg(test)]
mod tests;
mod wrappers;

from_tables!("gemini");

use emit::state::Events;
use format::{ChangeKind, mark, rule};
use notes::Notes;
use schema::{Form, MESSAGES};
use source::detect;

/// Where sessions are kept.
const HOMES: &[HomeDirectory] =
    &[HomeDirectory::new(Base::Home, ".gemini").unless_set("GEMINI_CLI_HOME", ".gemini")];

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
        .with_tools(&descriptor::TOOLS)
        .with_homes(HOMES)
        .with_session_files(SESSION_FILES)
        .with_project_files(PROJECT_FILES)
        .with_forms(source::session_forms::FORMS)
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
        mark::ALL.to_vec()
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        detect::identify(head)
    }

    fn conversion(&self, init: &SessionInit<'_>) -> Box<dyn Conversion> {
        let form = detect::form(init.head);
        Box::new(Session {
            form,
            notes: Notes::new(form),
            events: Events::new(form, init),
        })
    }
}

/// The conversion of one artifact.
struct Session {
    form: Form,
    notes: Notes,
    events: Events,
}

impl Conversion for Session {
    fn repeats_are_exact(&self) -> bool {
        true
    }

    /// A line that says only the time of the last change follows every message.
    fn omitted(&self, text: &str) -> Option<Outcome> {
        let time = text
            .strip_prefix(r#"{"$set":{"lastUpdated":""#)?
            .strip_suffix(r#""}}"#)?;
        let clock = Outcome::bookkeeping(ChangeKind::LastUpdated.name(), rule::SESSION_CLOCK);
        (self.form == Form::Lines && is_tape_time(time)).then_some(clock)
    }

    /// A log of lines may continue under another session's id, and is one conversation then.
    fn sessions_are_apart(&self) -> bool {
        self.form == Form::Stream
    }

    fn items<'a>(
        &mut self,
        document: Value<'a>,
        check: &mut Check<'_>,
    ) -> Result<Vec<Item<'a>>, Fault> {
        let list = |list: Value<'a>, path: &'static str| {
            list.elements()
                .enumerate()
                .map(move |(n, item)| Item::of_list(item, path, n))
        };
        Ok(match self.form {
            Form::Lines | Form::Document | Form::Stream => {
                let messages = required_array(document, MESSAGES)?;
                check.document(document);
                [Item::header(document, MESSAGES)]
                    .into_iter()
                    .chain(list(messages, "/messages"))
                    .collect()
            }
            Form::TypedPrompts => list(document, "").collect(),
            // Since 0.36.0 the turns are inside an object.
            Form::Saved => {
                check.document(document);
                match document.member("history") {
                    Some(history) => list(history, "/history").collect(),
                    None => list(document, "").collect(),
                }
            }
        })
    }

    fn check(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        self.notes.add(record, check)
    }

    fn decide(&mut self) {
        self.events.decide(
            std::mem::take(&mut self.notes.list),
            std::mem::take(&mut self.notes.tasks),
            std::mem::take(&mut self.notes.typed_sessions),
        );
    }

    fn emit(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        self.events.record(record, out)
    }

    fn envelope(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) {
        self.events.envelope(record, out);
    }
}
