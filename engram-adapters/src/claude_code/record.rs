//! One line, and what it says of itself; texts of a line that are said later.

use std::borrow::Cow;

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, RecordHeader, RecordLocation};
use engram_core::text::Text;

use super::schema::{Line, Message};
use crate::shared::time::rfc3339;
use crate::shared::value::{Value, raw_str, text};

/// The model's name in messages that the harness writes in the model's place.
pub(super) const SYNTHETIC: &str = "<synthetic>";

/// One line, and what it says of itself.
#[derive(Default)]
pub(super) struct Record<'a> {
    /// `user`, `assistant`, `system`, ...
    pub kind: &'a str,
    pub line: Line<'a>,
    /// Where the line lies in the record, if another one wraps it.
    pub within: Pointer<'static>,
    /// Empty where the line has none.
    pub message: Message<'a>,
    /// A key of the message's id.
    pub message_key: Option<u64>,
    pub agent: Option<Cow<'a, str>>,
    pub time: Option<Cow<'a, str>>,
    /// It belongs to the conversation itself: what it states of the session is said with it.
    pub is_conversation: bool,
    /// It repeats another session's history.
    pub replay: bool,
}

impl<'a> Record<'a> {
    /// The session that the line belongs to.
    pub fn session(&self) -> Option<Cow<'a, str>> {
        text(self.line.session_id()).map(|id| id.decode_lossy())
    }
}

/// The most memory for texts of one kind that wait. What has no room is said at once.
pub(super) const MAX_WAITING_BYTES: usize = 4 << 20;

/// A text that is said only once it is known that no other record says it.
pub(super) struct Late {
    token: String,
    location: RecordLocation,
    time: Option<String>,
    session: Option<String>,
    agent: Option<String>,
}

impl Late {
    /// A text of this line, which lies there.
    pub fn of(said: Value<'_>, line: &Line<'_>, location: RecordLocation) -> Late {
        Late {
            token: said.raw().to_owned(),
            location,
            time: line_time(line).map(Cow::into_owned),
            session: text(line.session_id()).map(|id| id.decode_lossy().into_owned()),
            agent: text(line.agent_id()).map(|id| id.decode_lossy().into_owned()),
        }
    }

    /// The memory that it takes, but for ids.
    pub fn bytes(&self) -> usize {
        size_of::<Late>() + self.token.len()
    }

    /// Places the events that follow where the text stands, and gives it.
    pub fn take_place(&self, out: &mut Emitter) -> Text<'_> {
        out.set_source(self.session.as_deref(), self.agent.as_deref());
        out.attribute_to(self.location, RecordHeader { t: self.time.as_deref(), id: None, replay: false });
        self.text()
    }

    /// The text; of a list, its JSON.
    pub fn text(&self) -> Text<'_> {
        if self.token.starts_with('"') { Text::Token(&self.token) } else { Text::Plain(&self.token) }
    }
}

/// The line's own time in the tape's form.
pub(super) fn line_time<'a>(line: &Line<'a>) -> Option<Cow<'a, str>> {
    rfc3339(raw_str(line.timestamp()))
}
