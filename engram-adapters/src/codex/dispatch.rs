//! The handlers of a record: its type is found in every container form, and its row of the table called.

use engram_core::emit::{Fault, Pointer};
use engram_core::ledger::Outcome;
use engram_core::steps::{self, Check, Emitter};

use crate::shared::time::tape_time;
use crate::shared::value::{Value, non_empty_text, raw_str};

use super::check::{Checker, Facts, session};
use super::descriptor::DESCRIPTOR;
use super::emit::{State, printed_events, settings};
use super::notes::{Note, Row};
use super::omissions;
use super::readers::{Bare, Line};
use super::record::{Container, Record};
use super::records::{find, steps_of};
use super::schema::{is_exec_type, is_line_type};

/// Where a record is in its line, and its handler.
struct Located<'a> {
    row: Row,
    record: Record<'a>,
}

/// Step 1 for one record: finds its check, and notes what it says.
///
/// # Errors
/// [`Fault`] if no handler has its type, or if it is not of this format.
pub fn check(checker: &mut Checker, record: &steps::Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
    let line = record.value;
    let Located { row, record } = locate(record)?;
    if record.container == Container::Stream && is_identified(&record, row) {
        check.identify();
    }
    let member_type = if record.name.is_empty() { "" } else { record.type_name() };
    if row != Row::Document {
        check.members(member_type, line, Pointer::Root, &|_| None);
    }
    checker.number = record.number;
    let facts = match row {
        Row::Type(row) => match steps_of(row) {
            Some(steps) => (steps.check)(checker, &record, check)?,
            None => Facts::default(),
        },
        row => session::header(row, &record, check)?,
    };
    let mut note =
        Note { number: record.number, row, kind: facts.kind, at: facts.at, count: facts.count, fact: facts.fact, ..Note::default() };
    match record.container {
        Container::Envelope => checker.add_envelope(&mut note, &record, check),
        Container::Bare if row != Row::Document && non_empty_text(line.first_member("id")).is_some() => check.identify(),
        _ => {}
    }
    checker.notes.notes.push(note);
    Ok(())
}

/// Step 3 for one record: its events, by its row.
pub fn emit(state: &mut State, record: &steps::Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    state.go_to(record.number);
    let Ok(Located { row, record }) = locate(record) else { return Outcome::Mapped };
    if state.is_repeat() {
        return Outcome::Duplicate { record: record.type_name(), rule: omissions::REPEATED.rule };
    }
    state.set_header(&record, out);
    match row {
        Row::Type(row) => match steps_of(row) {
            Some(steps) => (steps.emit)(state, &record, out),
            None => DESCRIPTOR.ignored_record(record.name).unwrap_or(Outcome::Mapped),
        },
        Row::BareHeader => settings::bare_header(state, record.value, "/instructions", out),
        Row::Document => settings::document_header(state, record.value, out),
        Row::PrintedSettings => printed_events::settings(state, record.value, out),
        Row::PrintedPrompt => printed_events::prompt(state, record.value, out),
    }
}

/// True for a printed line that is recognised when it is repeated: calls have ids, and totals grow.
fn is_identified(record: &Record<'_>, row: Row) -> bool {
    let is_event = record.at == "/msg" && matches!(row, Row::Type(row) if steps_of(row).is_some());
    let totals = record.value.first_member("info").filter(|info| info.is_object());
    is_event && record.value.first_member("call_id").or(totals).is_some()
}

/// Finds the handler of a record, in every container form.
///
/// # Errors
/// [`Fault`] if no handler has its type, or if it is not of this format.
fn locate<'a>(record: &steps::Record<'a>) -> Result<Located<'a>, Fault> {
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
