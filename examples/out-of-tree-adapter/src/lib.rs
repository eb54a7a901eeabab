//! Goose session records (`~/.local/share/goose/sessions/*.jsonl`) to Engram tapes.
//!
//! The format is documented at <https://block.github.io/goose/docs/guides/logs>: a header line, then a message a line, with
//! `role`, `created` (seconds since 1970) and `content`, a list of text, tool requests and tool responses.

use engram_core::adapter::{Evidence, Framing, Identity, SessionInit, Session, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::head::Head;

mod convert;
mod descriptor;
mod schema;
mod tools;

pub use tools::kind;

use schema::{Header, Message, time};

/// The adapter.
pub struct Goose;

impl StreamAdapter for Goose {
    fn describe(&self) -> &'static AdapterDescriptor {
        &descriptor::DESCRIPTOR
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        let header = head.lines().next().is_some_and(|line| line.contains("\"working_dir\"") && line.contains("\"message_count\""));
        header.then(|| Evidence { marks: vec!["goose.header"], framing: Framing::Lines })
    }

    fn marks(&self) -> Vec<&'static str> {
        vec!["goose.header"]
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        let mut lines = head.lines();
        // No version is recorded: a header of known fields proves the schema, anything else is unknown, not guessed.
        let proven = lines.next().is_some_and(|line| serde_json::from_str::<Header<'_>>(line).is_ok());
        let start = lines.next().and_then(|line| serde_json::from_str::<Message<'_>>(line).ok()).and_then(|message| time(message.created));
        Identity { schema: proven.then_some(descriptor::SCHEMA), start, ..Identity::default() }
    }

    fn session(&self, _opening: &SessionInit<'_>) -> Box<dyn Session> {
        Box::new(convert::Converter::default())
    }
}
