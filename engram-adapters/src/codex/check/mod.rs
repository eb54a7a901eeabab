//! Step 1: the shape of each record, and its note.

pub mod calls;
pub mod messages;
pub mod session;
pub mod shapes;

use engram_core::emit::{Fault, Pointer};
use engram_core::keys::{KeyMap, hash64};
use engram_core::steps::{self, Check};

use crate::shared::record_facts::fact_of_members;
use crate::shared::time::{millis, tape_time};
use crate::shared::value::{Field, StructuralIndex, Value, non_empty_text, raw_str};

use super::notes::{Kind, Note, Notes, Row, Turn};
use super::record::{Container, Record};
use super::records::{find, steps_of};
use super::schema::{Bare, Line, is_exec_type, is_line_type};
use engram_core::text::DecodeBuffer;

/// Members of an event that change when it is written again.
const TIMES: &[&str] = &["started_at_ms", "completed_at_ms"];

/// What the check of a record's own type adds to its note.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts {
    pub kind: Kind,
    pub at: u32,
    pub count: u32,
    /// The text that the record repeats, if it is one that may.
    pub fact: u64,
}

impl Facts {
    /// A record of this kind.
    pub const fn of(kind: Kind) -> Facts {
        Facts { kind, at: 0, count: 0, fact: 0 }
    }
}

/// What step 1 knows of the records before the current one.
#[derive(Default)]
pub struct Checker {
    pub notes: Notes,
    pub calls: KeyMap<calls::Called>,
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

/// Where a record is in its line, and its handler.
pub struct Located<'a> {
    pub row: Row,
    pub record: Record<'a>,
}

impl Checker {
    /// Checks one record and notes what it says.
    pub fn check(&mut self, record: &steps::Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        let line = record.value;
        let Located { row, record } = locate(record)?;
        if record.container == Container::Stream && is_identified(&record, row) {
            check.identify();
        }
        let member_type = if record.name.is_empty() { "" } else { record.type_name() };
        if row != Row::Document {
            check.members(member_type, line, Pointer::Root, &|_| None);
        }
        self.number = record.number;
        let facts = match row {
            Row::Type(row) => match steps_of(row) {
                Some(steps) => (steps.check)(self, &record, check)?,
                None => Facts::default(),
            },
            row => session::header(row, &record, check)?,
        };
        let mut note =
            Note { number: record.number, row, kind: facts.kind, at: facts.at, count: facts.count, fact: facts.fact, ..Note::default() };
        match record.container {
            Container::Envelope => self.add_envelope(&mut note, &record, check),
            Container::Bare if row != Row::Document && non_empty_text(line.first_member("id")).is_some() => check.identify(),
            _ => {}
        }
        self.notes.notes.push(note);
        Ok(())
    }

    fn add_envelope(&mut self, note: &mut Note, record: &Record<'_>, check: &mut Check<'_>) {
        let line = record.line;
        if line.first_member("timestamp").is_some() {
            check.identify();
        }
        let payload = line.first_member("payload").unwrap_or(Value::MISSING);
        let (line_type, is_item) = (raw_str(line.first_member("type")), record.at == "/payload/item");
        note.is_item = is_item;
        note.is_between = match line_type {
            "event_msg" => !is_item,
            "turn_context" | "token_usage_record" => true,
            _ => note.kind == Kind::Message,
        };
        note.ordinal = line.first_member("ordinal").and_then(Value::unsigned).and_then(|ordinal| u32::try_from(ordinal).ok());
        note.turn = turn(payload.first_member("turn_id"));
        if is_item {
            note.thread = payload.first_member("thread_id").filter(|id| id.text().is_some()).map_or(0, |id| hash64(id.raw()));
        }
        if self.needs_times
            && let Some(t) = tape_time(line.first_member("timestamp")).as_deref().and_then(millis)
        {
            self.notes.times.insert(self.notes.notes.len() as u64, t);
        }
        let id = if line_type == "response_item" || is_item { non_empty_text(record.value.first_member("id")) } else { None };
        if let Some(id) = id {
            note.id = hash64(id.raw());
            if note.fact == 0 {
                note.fact = fact_of_members(payload, TIMES);
            }
        }
    }
}

/// True for a printed line that is recognised when it is repeated: calls have ids, and totals grow.
fn is_identified(record: &Record<'_>, row: Row) -> bool {
    let is_event = record.at == "/msg" && matches!(row, Row::Type(row) if steps_of(row).is_some());
    let totals = record.value.first_member("info").filter(|info| info.is_object());
    is_event && record.value.first_member("call_id").or(totals).is_some()
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

/// Finds the handler of a record, in every container form.
///
/// # Errors
/// [`Fault`] if no handler has its type, or if it is not of this format.
pub fn locate<'a>(record: &steps::Record<'a>) -> Result<Located<'a>, Fault> {
    let line = record.value;
    let located = |row, name, value, at, container| {
        let (number, others, is_item) = (record.number as u32, record.others, record.line == 0);
        Located { row, record: Record { name, line, value, at, container, is_item, number, others } }
    };
    let of_type = |(row, name): (u8, &'static str), value, at, container| located(Row::Type(row), name, value, at, container);
    let envelope = Line::strict(line, "")?;
    let kind = raw_str(envelope.kind());
    if let Some(payload) = envelope.payload() {
        let (row, value, at) = in_envelope(kind, payload)?;
        return Ok(of_type(row, value, at, Container::Envelope));
    }
    if is_line_type(kind) {
        return Err(Fault::malformed("/payload", "an object", "nothing"));
    }
    if is_exec_type(kind) {
        return Ok(of_type(printed_row(kind, line)?, line, "", Container::Stream));
    }
    if let Some(msg) = line.first_member("msg").filter(|msg| envelope.kind().is_none() && msg.is_object()) {
        let kind = raw_str(msg.first_member("type"));
        let row = find("msg/", kind).ok_or_else(|| Fault::unrecognized(&format!("msg/{kind}")))?;
        return Ok(of_type(row, msg, "/msg", Container::Stream));
    }
    if raw_str(line.first_member("record_type")) == "state" {
        return find("", "state").map(|row| of_type(row, line, "", Container::Envelope)).ok_or_else(|| Fault::unrecognized("state"));
    }
    if line.first_member("session").is_some() && line.first_member("items").is_some() {
        return Ok(located(Row::Document, "", line, "", Container::Bare));
    }
    let bare = Bare::strict(line, "")?;
    if bare.kind().is_none() && bare.id().is_none() {
        if line.first_member("prompt").is_some() {
            return Ok(located(Row::PrintedPrompt, "", line, "", Container::Stream));
        }
        if line.first_member("workdir").is_some() {
            return Ok(located(Row::PrintedSettings, "", line, "", Container::Stream));
        }
    }
    if bare.kind().is_none() && bare.id().is_some() && tape_time(bare.timestamp()).is_some() {
        return Ok(located(Row::BareHeader, "", line, "", Container::Bare));
    }
    let row = find("response_item/", kind).ok_or_else(|| Fault::unrecognized(kind))?;
    Ok(of_type(row, line, "", Container::Bare))
}

/// The row of an envelope, and what its handler gets.
fn in_envelope<'a>(kind: &str, payload: Value<'a>) -> Result<((u8, &'static str), Value<'a>, &'static str), Fault> {
    let payload_type = raw_str(payload.first_member("type"));
    let unrecognized = |prefix: &str, name: &str| Fault::unrecognized(&format!("{prefix}{name}"));
    if kind == "event_msg" && payload_type == "item_completed" {
        let Some(item) = payload.first_member("item").filter(|item| item.is_object()) else {
            return Err(Fault::malformed("/payload/item", "an item", "nothing"));
        };
        let (prefix, name) = ("event_msg/item_completed/", raw_str(item.first_member("type")));
        return Ok((find(prefix, name).ok_or_else(|| unrecognized(prefix, name))?, item, "/payload/item"));
    }
    let (prefix, name) = match kind {
        "response_item" => ("response_item/", payload_type),
        "event_msg" => ("event_msg/", payload_type),
        "retained_context" => ("retained_context/", payload_type),
        other => ("", other),
    };
    let row = if prefix.is_empty() && !is_line_type(name) { None } else { find(prefix, name) };
    Ok((row.ok_or_else(|| unrecognized(prefix, name))?, payload, "/payload"))
}

/// The row of a line that `exec --json` prints.
fn printed_row(kind: &str, line: Value<'_>) -> Result<(u8, &'static str), Fault> {
    let item = line.first_member("item").filter(|item| item.is_object());
    let item_type = raw_str(item.and_then(|item| item.first_member("type")));
    let row = match kind {
        "item.started" => find("item.started/", item_type),
        "item.updated" => find("item.updated/", item_type),
        "item.completed" => find("item.completed/", item_type),
        kind => find("", kind),
    };
    row.ok_or_else(|| Fault::unrecognized(&if item.is_some() { format!("{kind}/{item_type}") } else { kind.to_owned() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_uuid_version_7_has_a_time() {
        assert_eq!(uuid_millis("01a1fda5-4307-7000-bbe5-da9ea7a40358"), Some(0x01a1_fda5_4307));
        assert_eq!(uuid_millis("7803e6bd-9e47-4d44-bca1-44735c92b705"), None);
        assert_eq!(uuid_millis("short"), None);
    }
}
