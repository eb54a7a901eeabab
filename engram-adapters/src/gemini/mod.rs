//! Gemini CLI: sessions under `~/.gemini/tmp/<project>/chats`, whole-file JSON to 0.38.2 and JSON Lines from 0.39.0,
//! the terminal's `logs.json`, and saved conversations.

use engram_core::adapter::{Evidence, Identity, Session, SessionInit, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::head::Head;

use crate::Entry;

mod blocks;
mod descriptor;
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

/// The registry's row.
pub(crate) const ENTRY: Entry = Entry { adapter: &Gemini, tools: &tools::TOOLS, surroundings: source::sidecar::sidecar };

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
