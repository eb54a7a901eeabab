//! OpenCode: `opencode export` JSON, what its stores are opened into, and `run --format json` streams, 0.1.174 and later.

use engram_core::adapter::{Evidence, Identity, Session, SessionInit, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::head::Head;

use crate::Entry;

mod calls;
mod convert;
mod converter;
mod database;
mod descriptor;
mod detect;
mod diffs;
mod edits;
mod export;
mod files;
mod messages;
mod parts;
mod reads;
mod revisions;
mod schema;
pub(crate) mod store;
mod stream;
mod surroundings;
#[cfg(test)]
mod tests;
mod tools;

/// The registry's row.
pub(crate) const ENTRY: Entry = Entry { adapter: &OpenCode, tools: &tools::TOOLS, surroundings: surroundings::surroundings };

struct OpenCode;

impl StreamAdapter for OpenCode {
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
        Box::new(converter::Converter::open(init))
    }
}
