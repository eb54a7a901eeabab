//! Going back to an earlier point (2.1.300 and later). The new prompt comes first in the log, and then the line that shows it.

use engram_core::event::{Author, Seq};

use crate::claude_code::records::authors;
use crate::claude_code::schema::Line;
use crate::claude_code::state::read_lines::ReadLines;
use crate::shared::restorable::Restorable;
use crate::shared::value::{is_true, raw_str, text};

/// Prompts that may follow a rewind.
#[derive(Default)]
pub struct Rewinds {
    /// The last event before the first prompt, and before the last one.
    prompts: Restorable<Option<(Seq, Seq)>>,
    undecided: Undecided,
}

/// The last prompt, if it does not go on from the last line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Undecided {
    /// It goes on from there, or a line has decided it.
    #[default]
    None,
    /// It waits for the line that shows whether the person has gone back to this event.
    Waits(Seq),
    /// It is too large to wait, and was emitted. A rewind behind it would undo it.
    TooLarge,
}

/// What a line shows about a prompt that may follow a rewind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Nothing.
    Nothing,
    /// The person has gone back.
    Rewind,
    /// The conversation goes on, so the person has not gone back.
    Continuation,
}

impl Rewinds {
    /// The event that a typed prompt goes on from, if it is before the last prompt: then the person may have gone back.
    pub fn target(&self, line: &Line<'_>, lines: &ReadLines) -> Option<Seq> {
        let (first, last) = (*self.prompts)?;
        if authors::stated(line) != Some(Author::Person) || is_of_agent(line) {
            return None;
        }
        let to = match text(line.parent_uuid()) {
            Some(parent) => lines.last_event(parent)?,
            None => first,
        };
        (to <= last).then_some(to)
    }

    /// What a line shows about a prompt that may follow a rewind.
    pub fn shown(line: &Line<'_>) -> Shown {
        match raw_str(line.kind()) {
            "last-prompt" if is_true(line.is_explicit()) => Shown::Rewind,
            // Agents work on. And the harness adds a line of its own to a prompt with an image.
            _ if is_of_agent(line) || is_true(line.is_meta()) => Shown::Nothing,
            "user" | "assistant" | "system" => Shown::Continuation,
            _ => Shown::Nothing,
        }
    }

    /// The last prompt, if it is not decided.
    pub fn undecided(&self) -> Undecided {
        self.undecided
    }

    /// Sets whether the last prompt is decided.
    pub fn set_undecided(&mut self, undecided: Undecided) {
        self.undecided = undecided;
    }

    /// A prompt follows this event.
    pub fn set_prompt(&mut self, before: Seq) {
        let first = self.prompts.map_or(before, |(first, _)| first);
        self.prompts.set(Some((first, before)));
    }

    /// The record is converted.
    pub(super) fn commit(&mut self) {
        self.prompts.commit();
    }

    /// The record is malformed: its prompt is forgotten.
    pub(super) fn roll_back(&mut self) {
        self.prompts.roll_back();
    }
}

/// True for a line of a sub-agent.
fn is_of_agent(line: &Line<'_>) -> bool {
    is_true(line.is_sidechain()) || line.agent_id().is_some()
}
