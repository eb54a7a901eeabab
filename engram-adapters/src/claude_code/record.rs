//! One line of a transcript with what follows from its fields.

use std::borrow::Cow;

use engram_core::emit::Pointer;

use super::readers::{Line, Message};
use crate::shared::time::tape_time;
use crate::shared::value::text;

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
