//! Claude Code: transcripts under `~/.claude/projects`, JSON Lines, 0.2.109 and later; before, 0.2.96, a database.

use engram_core::adapter::{Evidence, Identity, Session, SessionInit, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::head::Head;

use crate::Entry;

mod attachments;
mod blocks;
mod calls;
mod convert;
mod converter;
mod descriptor;
mod detect;
mod edited;
mod edits;
mod entry;
mod history;
mod messages;
mod notices;
mod patches;
mod progress;
mod queue;
mod reads;
mod record;
mod results;
mod returned;
mod revisions;
mod schema;
mod snippets;
mod standing;
pub(crate) mod store;
mod surroundings;
#[cfg(test)]
mod tests;
mod tools;
mod unasked;
mod under_way;
mod usage;

/// The registry's row.
pub(crate) const ENTRY: Entry = Entry { adapter: &ClaudeCode, tools: &tools::TOOLS, surroundings: surroundings::surroundings };

struct ClaudeCode;

impl StreamAdapter for ClaudeCode {
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
        Box::new(convert::Transcript::open(init))
    }
}
