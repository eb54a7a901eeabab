//! One line of a transcript with what follows from its fields, the facts that lines repeat, and replacements of texts.

use std::borrow::Cow;

use engram_core::emit::Pointer;

use super::readers::{Line, ListedReplacement, Message};
use crate::shared::time::tape_time;
use crate::shared::value::{Field, elements, is_true, text};

/// The model name of messages that the harness writes in the model's place.
pub(super) const SYNTHETIC_MODEL: &str = "<synthetic>";

/// The id of the sub-agent that writes the summary of a compaction begins with this.
pub(super) const COMPACTING_AGENT: &str = "acompact";

/// How that sub-agent is asked for the summary.
pub(super) const SUMMARY_REQUESTS: &[&str] = &[
    "CRITICAL: Respond with TEXT ONLY",
    "Your task is to create a detailed summary",
];

/// One line of a transcript, or a line that another one wraps.
///
/// `emit::session_meta` fills in all but `line`, `prefix` and a known `agent`.
#[derive(Default, Clone)]
pub(super) struct Record<'a> {
    /// `user`, `assistant`, `system`, ...
    pub kind: &'a str,
    /// The place of its note.
    pub at: usize,
    pub line: Line<'a>,
    /// Where a wrapped line is inside the record that wraps it.
    pub prefix: Pointer<'static>,
    /// Empty if the line has none.
    pub message: Message<'a>,
    /// The sub-agent that wrote the line.
    pub agent: Option<Cow<'a, str>>,
    pub time: Option<Cow<'a, str>>,
    /// The line belongs to the conversation, and gives events: the session facts that it says are emitted with it.
    pub is_conversation: bool,
    /// The line is a copy of another session's history.
    pub replay: bool,
}

impl<'a> Record<'a> {
    /// The id of the session that the line belongs to.
    pub fn session_id(&self) -> Option<Cow<'a, str>> {
        text(self.line.session_id()).map(|id| id.decode_lossy())
    }
}

/// The line's timestamp in the tape's form.
pub(super) fn line_time<'a>(line: &Line<'a>) -> Option<Cow<'a, str>> {
    tape_time(line.timestamp())
}

/// Session facts that many lines repeat.
#[derive(Clone, Copy)]
pub(super) enum Fact {
    Session,
    Version,
    AgentType,
    Cwd,
    Branch,
    Model,
    /// The call that started a sub-agent.
    Parent,
    PermissionMode,
    Effort,
}

impl Fact {
    /// The number of facts, from the first, that any line says.
    pub const OF_ANY_LINE: usize = 2;
    /// The number of facts, from the first, that are fields of nearly every line of the conversation.
    pub const REPEATED: usize = 5;
}

impl<'a> Line<'a> {
    /// The repeated facts, in the order of [`Fact`].
    pub fn facts(&self) -> impl Iterator<Item = Field<'a>> {
        let facts: [Field<'a>; Fact::REPEATED] = [
            self.session_id(),
            self.version(),
            self.agent_type(),
            self.cwd(),
            self.git_branch(),
        ];
        facts.into_iter()
    }
}

/// One replacement of an Edit or MultiEdit.
#[derive(Clone, Copy)]
pub(super) struct Replacement<'a> {
    pub old: Field<'a>,
    pub new: Field<'a>,
    /// Replace every occurrence of the old text.
    pub everywhere: bool,
}

impl<'a> Replacement<'a> {
    /// The replacements of a list; if it has none, the single one given.
    pub fn list_or(list: Field<'a>, single: Replacement<'a>) -> Vec<Replacement<'a>> {
        let listed = elements(list).map(ListedReplacement::lenient);
        let mut all: Vec<_> = listed
            .map(|listed| Replacement {
                old: listed.old_string(),
                new: listed.new_string(),
                everywhere: is_true(listed.replace_all()),
            })
            .collect();
        if all.is_empty() {
            all.push(single);
        }
        all
    }
}
