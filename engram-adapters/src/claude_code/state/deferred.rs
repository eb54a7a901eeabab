//! Texts whose events are delayed until no later record repeats them.

use std::borrow::Cow;

use engram_core::emit::{Emitter, RecordHeader, RecordLocation};
use engram_core::text::Text;

use crate::claude_code::record::line_time;
use crate::claude_code::schema::Line;
use crate::shared::value::{Value, text};

/// The memory limit, in bytes, for the deferred texts of one kind. A text beyond it is emitted at once.
pub(super) const MAX_DEFERRED_BYTES: usize = 4 << 20;

/// Text whose event is delayed until no later record repeats it.
pub struct DeferredText {
    /// Raw JSON: a string, or a list.
    json: String,
    location: RecordLocation,
    time: Option<String>,
    /// The id of the line, as raw JSON.
    id: Option<String>,
    session: Option<String>,
    agent: Option<String>,
}

impl DeferredText {
    /// A value of this line, which is at `location`.
    pub fn new(value: Value<'_>, line: &Line<'_>, location: RecordLocation) -> DeferredText {
        DeferredText {
            json: value.raw().to_owned(),
            location,
            time: line_time(line).map(Cow::into_owned),
            id: text(line.uuid()).map(|id| id.raw().to_owned()),
            session: text(line.session_id()).map(|id| id.decode_lossy().into_owned()),
            agent: text(line.agent_id()).map(|id| id.decode_lossy().into_owned()),
        }
    }

    /// The memory that it takes, without ids.
    pub fn bytes(&self) -> usize {
        size_of::<DeferredText>() + self.json.len()
    }

    /// Attributes the next events to the record of the text, and gives the text.
    pub fn restore_location(&self, out: &mut Emitter) -> Text<'_> {
        out.set_source(self.session.as_deref(), self.agent.as_deref());
        out.attribute_to(self.location, RecordHeader { t: self.time.as_deref(), id: self.id.as_deref().map(Text::Token), replay: false });
        self.text()
    }

    /// The text; of a list, its JSON.
    pub fn text(&self) -> Text<'_> {
        if self.json.starts_with('"') { Text::Token(&self.json) } else { Text::Json(&self.json) }
    }
}
