//! Names that events repeat. A log can state a name of megabytes once and make any number of events with it, so long names are bounded.

use crate::event::{Event, EventRef, Pointer};
use crate::limits::LimitExceeded;
use crate::text::Text;

/// Names up to this length are not counted: no path or id of a harness is longer.
const USUAL_BYTES: usize = 1 << 10;

/// What the rest of all longer names of a tape may take.
const MAX_BYTES: usize = 64 << 20;

/// The room that is left for long names.
#[derive(Debug)]
pub(super) struct LongNames {
    left: usize,
}

impl Default for LongNames {
    fn default() -> Self {
        LongNames { left: MAX_BYTES }
    }
}

impl LongNames {
    /// Counts the names of an event.
    ///
    /// # Errors
    /// [`LimitExceeded`] if there is no room for them.
    #[inline]
    pub fn add(&mut self, record: &EventRef<'_>) -> Result<(), LimitExceeded> {
        let excess = |text: Option<Text<'_>>| {
            text.map_or(0, |text| text.raw().len())
                .saturating_sub(USUAL_BYTES)
        };
        let source = excess(record.source.session_id)
            + excess(record.source.agent_id)
            + excess(record.origin.id);
        let pointer = match record.origin.pointer {
            Pointer::Member(path, name) => (path.len() + name.len()).saturating_sub(USUAL_BYTES),
            Pointer::At(path)
            | Pointer::Item(path, _)
            | Pointer::Field(path, ..)
            | Pointer::Nested(path, ..) => path.len().saturating_sub(USUAL_BYTES),
            Pointer::Root | Pointer::Read(_) => 0,
        };
        let own = names(record.event).into_iter().map(excess).sum::<usize>();
        self.left = self
            .left
            .checked_sub(source + pointer + own)
            .ok_or(LimitExceeded {
                limit: "long_names",
                allowed: MAX_BYTES as u64,
            })?;
        Ok(())
    }
}

/// The names in an event that other events of the same record or call repeat.
#[inline]
fn names<'e>(event: &Event<'e>) -> [Option<Text<'e>>; 3] {
    match event {
        Event::MsgOut(message) => [message.message_id, None, None],
        Event::ToolCall(call) => [Some(call.tool), call.call_id, call.message_id],
        Event::ToolResult(result) => [result.tool, result.call_id, None],
        Event::CodeRead(read) => [Some(read.file), read.call_id, None],
        Event::CodeEdit(edit) => [Some(edit.file), edit.call_id, None],
        Event::SpanLink(link) => [Some(link.from_file), Some(link.to_file), link.call_id],
        Event::Meta(_) | Event::MsgIn(_) => [None; 3],
    }
}
