//! Step 1: what each type of record must have, and what is noted of it.

pub mod calls;
pub mod messages;
pub mod session;
pub mod shapes;

use engram_core::keys::{KeyMap, hash64};
use engram_core::steps::Check;

use crate::shared::seen::fact_of_members;
use crate::shared::time::{millis, tape_time};
use crate::shared::value::{Field, StructuralIndex, Value, non_empty_text, raw_str};

use super::notes::{Kind, Note, Notes, Turn};
use super::record::Record;
use engram_core::text::DecodeBuffer;

/// Members of an event that change when it is written again.
const TIMES: &[&str] = &["started_at_ms", "completed_at_ms"];

/// What the check of a record's own type adds to its note.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts {
    pub kind: Kind,
    pub at: u32,
    pub count: u32,
    /// The hash of the record's text, for types of records that may repeat the text of another record.
    pub fact: u64,
}

impl Facts {
    /// A record of this kind.
    pub const fn of(kind: Kind) -> Facts {
        Facts {
            kind,
            at: 0,
            count: 0,
            fact: 0,
        }
    }
}

/// What the output of a call is read with.
#[derive(Debug, Clone, Copy)]
pub struct Called {
    pub tool: u32,
    pub has_patch: bool,
    /// How often its command begins a new line.
    pub breaks: usize,
}

/// What step 1 knows of the records before the current one.
#[derive(Default)]
pub struct Checker {
    pub notes: Notes,
    pub calls: KeyMap<Called>,
    /// By session of a running command: how often the command begins a new line.
    pub sessions: KeyMap<usize>,
    /// The thread of the file has no time in its id: copies end at a pause.
    pub needs_times: bool,
    /// The number of the current record.
    pub number: u32,
    pub scratch: Scratch,
}

/// Buffers for JSON inside a string. Kept only to spare allocations.
#[derive(Default)]
pub struct Scratch {
    pub buffer: DecodeBuffer,
    pub index: StructuralIndex,
}

impl Checker {
    /// Notes what the envelope of a record says.
    pub fn add_envelope(&mut self, note: &mut Note, record: &Record<'_>, check: &mut Check<'_>) {
        let line = record.line;
        if line.first_member("timestamp").is_some() {
            check.identify();
        }
        let payload = line.first_member("payload").unwrap_or(Value::MISSING);
        let (line_type, is_item) = (
            raw_str(line.first_member("type")),
            record.at == "/payload/item",
        );
        note.is_item = is_item;
        note.is_between = match line_type {
            "event_msg" => !is_item,
            "turn_context" | "token_usage_record" => true,
            _ => note.kind == Kind::Message,
        };
        note.ordinal = line
            .first_member("ordinal")
            .and_then(Value::unsigned)
            .and_then(|ordinal| u32::try_from(ordinal).ok());
        note.turn = turn(payload.first_member("turn_id"));
        if is_item {
            note.thread = payload
                .first_member("thread_id")
                .filter(|id| id.text().is_some())
                .map_or(0, |id| hash64(id.raw()));
        }
        if self.needs_times
            && let Some(t) = tape_time(line.first_member("timestamp"))
                .as_deref()
                .and_then(millis)
        {
            self.notes.times.insert(self.notes.notes.len() as u64, t);
        }
        let id = if line_type == "response_item" || is_item {
            non_empty_text(record.value.first_member("id"))
        } else {
            None
        };
        if let Some(id) = id {
            note.id = hash64(id.raw());
            note.made = raw_str(record.value.first_member("id"))
                .rsplit_once('_')
                .and_then(|(_, id)| uuid_millis(id));
            if note.fact == 0 {
                note.fact = fact_of_members(payload, TIMES);
            }
        }
    }
}

/// When the turn with this id began.
fn turn(id: Field<'_>) -> Turn {
    let id = raw_str(id);
    match uuid_millis(id) {
        Some(began) => Turn::At(began),
        None if id.starts_with("external-import-turn-") => Turn::Imported,
        None => Turn::Unknown,
    }
}

/// The time in a UUIDv7, in milliseconds since the epoch.
pub fn uuid_millis(id: &str) -> Option<u64> {
    (id.len() == 36 && id.as_bytes().get(14) == Some(&b'7')).then_some(())?;
    let (high, low) = (id.get(..8)?, id.get(9..13)?);
    Some(u64::from_str_radix(high, 16).ok()? << 16 | u64::from_str_radix(low, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_uuid_version_7_has_a_time() {
        assert_eq!(
            uuid_millis("01a1fda5-4307-7000-bbe5-da9ea7a40358"),
            Some(0x01a1_fda5_4307)
        );
        assert_eq!(uuid_millis("7803e6bd-9e47-4d44-bca1-44735c92b705"), None);
        assert_eq!(uuid_millis("short"), None);
    }
}
