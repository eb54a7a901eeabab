//! Codex CLI: rollout files of every container form (0.1 TypeScript, bare JSONL, envelope, items), and nothing about how they are found.

use engram_core::adapter::{Evidence, Identity, Session, SessionInit, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::head::Head;

use crate::Entry;

mod convert;
mod descriptor;
mod detect;
mod edits;
mod ends;
mod events;
mod held;
mod history;
mod items;
mod legacy;
mod notices;
mod outputs;
mod results;
mod revisions;
mod rules;
mod schema;
mod settings;
mod surroundings;
#[cfg(test)]
mod tests;
mod tools;

/// The registry's row.
pub(crate) const ENTRY: Entry = Entry { adapter: &Codex, tools: &tools::TOOLS, surroundings: surroundings::surroundings };

struct Codex;

impl StreamAdapter for Codex {
    fn describe(&self) -> &'static AdapterDescriptor {
        &descriptor::DESCRIPTOR
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        detect::probe(head)
    }

    fn marks(&self) -> Vec<&'static str> {
        detect::marks()
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        detect::identify(head)
    }

    fn session(&self, init: &SessionInit<'_>) -> Box<dyn Session> {
        Box::new(convert::Artifact::open(init.context))
    }
}
