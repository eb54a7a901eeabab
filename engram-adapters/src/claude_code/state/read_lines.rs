//! The lines that have been read, by their ids: which line repeats an earlier one, and the last event up to the end of each line.

use engram_core::event::Seq;
use engram_core::text::Text;

use crate::claude_code::schema::Line;
use crate::shared::restorable::RestorableMap;
use crate::shared::seen_set::SeenSet;
use crate::shared::value::{Value, raw_str, text};
use engram_core::keys::hash64;

/// Types of lines that have a time and no id. All bytes of such a line must be the same to repeat another.
const WITHOUT_ID: &[&str] = &["queue-operation", "pr-link", "api-request-shape", "file-history-delta"];

/// The type of lines that have an id of another name.
const REQUEST: &str = "api-request";

/// The lines that have been read. Keeps 16 bytes for each.
#[derive(Default)]
pub struct ReadLines {
    /// The last event at the end of each line, by the hash of its `uuid`.
    last_events: RestorableMap<Seq>,
    /// Lines without an id, and titles.
    without_id: SeenSet,
    /// The line that is being read.
    current: Option<u64>,
}

impl ReadLines {
    /// Begins a line. Returns false for a line that was read before.
    pub fn begin(&mut self, line: &Line<'_>) -> bool {
        self.current = None;
        let Some(key) = text(line.uuid()).map(key) else {
            let kind = raw_str(line.kind());
            if kind == REQUEST {
                return line.object().member("id").is_none_or(|id| self.without_id.insert((REQUEST, id.raw())));
            }
            return !WITHOUT_ID.contains(&kind) || line.timestamp().is_none() || self.without_id.insert(line.object().raw());
        };
        if self.last_events.get(key).is_some() {
            return false;
        }
        self.last_events.insert(key, Seq::default());
        self.current = Some(key);
        true
    }

    /// True if a line with the `uuid` of this one was read.
    pub fn is_repeat(&self, line: Value<'_>) -> bool {
        text(line.member("uuid")).is_some_and(|uuid| self.has(uuid))
    }

    /// The last event at the end of the line with this `uuid`, if it was read.
    pub fn last_event(&self, uuid: Text<'_>) -> Option<Seq> {
        self.last_events.get(key(uuid))
    }

    /// True if the line with this `uuid` was read.
    pub fn has(&self, uuid: Text<'_>) -> bool {
        self.last_event(uuid).is_some()
    }

    /// True for a title that was not read before.
    pub fn insert_title(&mut self, leaf: &str, title: &str) -> bool {
        self.without_id.insert((leaf, title))
    }

    /// The line is converted. `last` is the last event so far.
    pub(super) fn commit(&mut self, last: Seq) {
        if let Some(current) = self.current.take() {
            self.last_events.insert(current, last);
        }
        self.last_events.commit();
        self.without_id.commit();
    }

    /// The line is malformed: it counts as not read.
    pub(super) fn roll_back(&mut self) {
        self.current = None;
        self.last_events.roll_back();
        self.without_id.roll_back();
    }
}

fn key(uuid: Text<'_>) -> u64 {
    hash64(uuid.raw())
}
