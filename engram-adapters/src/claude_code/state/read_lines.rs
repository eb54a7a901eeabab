//! The lines that have been read, by their ids: which line repeats an earlier one, and the last event up to the end of each line.

use engram_core::event::Seq;
use engram_core::text::Text;

use super::line_facts::set_facts;
use crate::claude_code::schema::Line;
use crate::shared::record_facts::{RecordFacts, Repetition};
use crate::shared::restorable::RestorableMap;
use crate::shared::seen_set::SeenSet;
use crate::shared::value::{non_empty_text, raw_str};
use engram_core::keys::hash64;

/// Types of lines that have a time and no id. All bytes of such a line must be the same to repeat another.
const WITHOUT_ID: &[&str] = &["queue-operation", "pr-link", "api-request-shape", "file-history-delta"];

/// The type of lines with running totals of the session. Totals grow, so one that has all bytes of an earlier one repeats it.
const TOTALS: &str = "cost-state";

/// The type of lines that have an id of another name.
const REQUEST: &str = "api-request";

/// The lines that have been read. Keeps 16 bytes for each, and 16 bytes for each block of a message.
#[derive(Default)]
pub struct ReadLines {
    /// The last event at the end of each line, by the hash of its `uuid`.
    last_events: RestorableMap<Seq>,
    /// What the lines with each `uuid` state.
    records: RecordFacts,
    /// What the current line states. Reused from line to line.
    facts: Vec<u64>,
    /// Lines without an id, and titles.
    without_id: SeenSet,
    /// The line that is being read.
    current: Option<u64>,
}

impl ReadLines {
    /// Begins a line. Returns whether it repeats what a line with its id has stated before.
    pub fn begin(&mut self, line: &Line<'_>) -> Repetition {
        self.current = None;
        let Some(uuid) = non_empty_text(line.uuid()) else {
            self.records.begin_without_id();
            return if self.is_new_without_id(line) { Repetition::New } else { Repetition::Whole };
        };
        set_facts(&mut self.facts, line);
        let repetition = self.records.begin(uuid.raw(), raw_str(line.timestamp()), &self.facts);
        if repetition != Repetition::Whole {
            let key = Self::key(uuid);
            self.last_events.insert(key, self.last_events.get(key).unwrap_or_default());
            self.current = Some(key);
        }
        repetition
    }

    fn is_new_without_id(&mut self, line: &Line<'_>) -> bool {
        let kind = raw_str(line.kind());
        if kind == REQUEST {
            return line.object().member("id").is_none_or(|id| self.without_id.insert((REQUEST, id.raw())));
        }
        let may_be_repeated = line.timestamp().is_some() && (line.uuid().is_some() || WITHOUT_ID.contains(&kind));
        !(may_be_repeated || kind == TOTALS) || self.without_id.insert(line.object().raw())
    }

    /// True if a line with the `uuid` of the current one has stated its block with this number. The structured form of a result counts
    /// as a block after the others.
    pub fn is_stated(&self, block: usize) -> bool {
        self.records.is_stated(block)
    }

    /// True if lines with the `uuid` of this one have stated all that it states.
    pub fn is_repeat(&mut self, line: &Line<'_>) -> bool {
        let Some(uuid) = non_empty_text(line.uuid()).filter(|uuid| self.has(*uuid)) else { return false };
        set_facts(&mut self.facts, line);
        self.records.repetition(uuid.raw(), raw_str(line.timestamp()), &self.facts) == Repetition::Whole
    }

    /// The last event at the end of the line with this `uuid`, if it was read.
    pub fn last_event(&self, uuid: Text<'_>) -> Option<Seq> {
        self.last_events.get(Self::key(uuid))
    }

    /// True if the line with this `uuid` was read before the one with this key, and the latter gave events.
    pub fn is_before(&self, uuid: Text<'_>, key: u64) -> bool {
        self.last_event(uuid) < self.last_events.get(key)
    }

    /// The key of a line with this `uuid`.
    pub fn key(uuid: Text<'_>) -> u64 {
        hash64(uuid.raw())
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
        self.records.commit();
        self.without_id.commit();
    }

    /// The line is malformed: it counts as not read.
    pub(super) fn roll_back(&mut self) {
        self.current = None;
        self.last_events.roll_back();
        self.records.roll_back();
        self.without_id.roll_back();
    }
}
