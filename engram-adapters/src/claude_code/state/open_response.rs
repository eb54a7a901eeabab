//! The response that may go on, and what a line shows about it.

use engram_core::keys::hash64;

use super::waiting_lines::Next;
use crate::claude_code::schema::{Block, Line, Message};
use crate::shared::value::{Value, is_true, raw_str, text};

/// Types and subtypes of lines that no part of a response follows.
const ENDS: &[(&str, &str)] =
    &[("system", "turn_duration"), ("system", "stop_hook_summary"), ("system", "compact_boundary"), ("system", "init")];

/// The last line of a printed run.
const RESULT: &str = "result";

/// The response whose part came last.
pub struct OpenResponse<'a> {
    /// Hash of the message's id.
    pub message: u64,
    /// The id of the request, as raw JSON.
    pub request: Option<&'a str>,
    pub agent: Option<&'a str>,
    /// The id of the line with its last part, as raw JSON.
    pub line: Option<&'a str>,
    /// Results may be between its parts.
    pub results_may_be_between: bool,
}

impl OpenResponse<'_> {
    /// What a line of this agent shows. A malformed one shows nothing.
    pub fn next(&self, line: &Line<'_>, agent: Option<&str>) -> Next {
        if agent != self.agent {
            return Next::Unknown;
        }
        match raw_str(line.kind()) {
            kind @ ("assistant" | "user") => match line.message().map(|message| Message::strict(message, "")) {
                Some(Ok(message)) if message.content().is_some_and(is_content) => self.next_message(kind, line, &message),
                _ => Next::Unknown,
            },
            RESULT => Next::Complete,
            kind if ENDS.contains(&(kind, raw_str(line.subtype()))) => Next::Complete,
            _ => Next::Unknown,
        }
    }

    fn next_message(&self, kind: &str, line: &Line<'_>, message: &Message<'_>) -> Next {
        match kind {
            "assistant" if self.has_part(line, message) => Next::GoesOn,
            "assistant" if line.stream_cut_cause().is_some() && self.is_broken(line) => Next::Broken,
            // What the harness adds to a result is as its result.
            "user" if self.results_may_be_between && (has_result(message) || is_true(line.is_meta())) => Next::Unknown,
            _ => Next::Complete,
        }
    }

    /// True if a line that states a broken stream names the request of the response, or else follows its last part.
    #[cold]
    fn is_broken(&self, line: &Line<'_>) -> bool {
        let raw = |field| text(field).map(|text| text.raw());
        match line.stream_cut_error().and_then(|error| raw(error.member("requestId"))) {
            Some(request) => self.request == Some(request),
            None => self.line.is_some() && raw(line.parent_uuid()) == self.line,
        }
    }

    /// True if the line has a part of the response. Several responses may have the message id, if the log has their request ids.
    fn has_part(&self, line: &Line<'_>, message: &Message<'_>) -> bool {
        let request = text(line.request_id()).map(|id| id.raw());
        let id = message.id().or_else(|| line.request_id());
        let is_other = self.request.is_some() && request.is_some() && self.request != request;
        id.is_some_and(|id| hash64(id.raw()) == self.message) && !is_other
    }
}

/// True for a text, and for a list of blocks.
fn is_content(content: Value<'_>) -> bool {
    content.text().is_some()
        || (content.is_array() && content.elements().all(|block| block.is_object() && block.member("type").and_then(Value::text).is_some()))
}

/// True for a message with the result of a call.
fn has_result(message: &Message<'_>) -> bool {
    message.content().into_iter().flat_map(Value::elements).map(Block::lenient).any(|block| raw_str(block.kind()) == "tool_result")
}
