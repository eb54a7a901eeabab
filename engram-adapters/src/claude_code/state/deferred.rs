//! Texts whose events are delayed until no later record repeats them.

use std::borrow::Cow;

use engram_core::emit::{Emitter, KeptText, RecordHeader, RecordLocation};
use engram_core::text::Text;

use crate::claude_code::record::line_time;
use crate::claude_code::schema::Line;
use crate::shared::value::{Value, text};

/// Text whose event is delayed until no later record repeats it.
pub struct DeferredText {
    /// Raw JSON: a string, or a list.
    json: KeptText,
    location: RecordLocation,
    time: Option<String>,
    /// The id of the line, as raw JSON.
    id: Option<String>,
    session: Option<String>,
    agent: Option<String>,
}

impl DeferredText {
    /// A value of this line, which is the current record. `None` if there is no memory left for it: then its event cannot be delayed.
    pub fn new(value: Value<'_>, line: &Line<'_>, out: &Emitter) -> Option<DeferredText> {
        Some(DeferredText {
            json: out.keep(value.raw())?,
            location: out.location(),
            time: line_time(line).map(Cow::into_owned),
            id: text(line.uuid()).map(|id| id.raw().to_owned()),
            session: text(line.session_id()).map(|id| id.decode_lossy().into_owned()),
            agent: text(line.agent_id()).map(|id| id.decode_lossy().into_owned()),
        })
    }

    /// Attributes the next events to the record of the text, and gives the text.
    pub fn restore_location(&self, out: &mut Emitter) -> Text<'_> {
        out.set_source(self.session.as_deref(), self.agent.as_deref());
        out.attribute_to(self.location, RecordHeader { t: self.time.as_deref(), id: self.id.as_deref().map(Text::Token), replay: false });
        text_of(&self.json)
    }
}

/// The text of a JSON string; of a list, its JSON.
fn text_of(json: &str) -> Text<'_> {
    if json.starts_with('"') { Text::Token(json) } else { Text::Json(json) }
}
