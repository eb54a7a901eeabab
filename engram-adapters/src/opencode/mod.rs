//! OpenCode: `opencode export` JSON, exports written from its stores, and `run --format json` streams, 0.1.174 and later.

use engram_core::adapter::{Evidence, Identity, Session, SessionInit, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::head::Head;

use crate::Entry;

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
pub(crate) use source::store;

/// The registry's row.
pub(crate) const ENTRY: Entry = Entry { adapter: &OpenCode, tools: &tools::TOOLS, surroundings: source::sidecar::sidecar };

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
        Box::new(records::session::SessionConverter::new(init))
    }
}
