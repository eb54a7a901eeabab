//! The handlers of a record: its type is found in every container form, and its row of the table called.

use engram_core::emit::{Fault, Pointer};
use engram_core::ledger::Outcome;
use engram_core::steps::{self, Check, Emitter};

use crate::shared::time::tape_time;
use crate::shared::value::{Value, non_empty_text, raw_str};

use super::check::{Checker, Facts};
use super::emit::State;
use super::format::{
    CompletedKind, EventKind, ExecKind, ItemKind, LineKind, PrintedKind, RetainedKind, rule,
};
use super::notes::Note;
use super::readers::{Bare, Line};
use super::record::{Container, Record};
use super::records::{Row, steps};
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
pub fn check(
    checker: &mut Checker,
    record: &steps::Record<'_>,
    check: &mut Check<'_>,
) -> Result<(), Fault> {
    let line = record.value;
    let Located { row, record } = locate(record)?;
    if record.container == Container::Stream && is_identified(&record, row) {
        check.identify();
    }
    let member_type = if record.name.is_empty() {
        ""
    } else {
        record.type_name()
    };
    if row != Row::Document {
        check.members(member_type, line, Pointer::Root, &|_| None);
    }
    checker.number = record.number;
    let facts = steps(row).map_or_else(
        |_| Ok(Facts::default()),
        |steps| (steps.check)(checker, &record, check),
    )?;
    let mut note = Note {
        number: record.number,
        kind: facts.kind,
        at: facts.at,
        count: facts.count,
        fact: facts.fact,
        ..Note::default()
    };
    match record.container {
        Container::Envelope => checker.add_envelope(&mut note, &record, check),
        Container::Bare
            if row != Row::Document && non_empty_text(line.first_member("id")).is_some() =>
        {
            check.identify()
        }
        _ => {}
    }
    checker.notes.notes.push(note);
    Ok(())
}

/// Step 3 for one record: its events, by its row.
pub fn emit(state: &mut State, record: &steps::Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    state.go_to(record.number);
    let Ok(Located { row, record }) = locate(record) else {
        return Outcome::Mapped;
    };
    if state.is_repeat() {
        return Outcome::duplicate(record.type_name(), rule::RECORD_REPEATED);
    }
    state.set_header(&record, out);
    match steps(row) {
        Ok(steps) => (steps.emit)(state, &record, out),
        Err(omitted) => omitted,
    }
}

/// True for a printed line that is recognised when it is repeated: calls have ids, and totals grow.
fn is_identified(record: &Record<'_>, row: Row) -> bool {
    let is_event = record.at == "/msg" && steps(row).is_ok();
    let totals = record
        .value
        .first_member("info")
        .filter(|info| info.is_object());
    is_event && record.value.first_member("call_id").or(totals).is_some()
}

/// Finds the handler of a record, in every container form.
///
/// # Errors
/// [`Fault`] if no handler has its type, or if it is not of this format.
fn locate<'a>(record: &steps::Record<'a>) -> Result<Located<'a>, Fault> {
    let line = record.value;
    let located = |row: Row, value, at, container| {
        let (number, others, is_item) = (record.number as u32, record.others, record.line == 0);
        Located {
            row,
            record: Record {
                name: row.name(),
                line,
                value,
                at,
                container,
                is_item,
                number,
                others,
            },
        }
    };
    let envelope = Line::strict(line, "")?;
    let kind = raw_str(envelope.kind());
    if let Some(payload) = envelope.payload() {
        let (row, value, at) = in_envelope(kind, payload)?;
        return Ok(located(row, value, at, Container::Envelope));
    }
    if is_line_type(kind) {
        return Err(Fault::malformed("/payload", "an object", "nothing"));
    }
    if is_exec_type(kind) {
        return Ok(located(
            printed_row(kind, line)?,
            line,
            "",
            Container::Stream,
        ));
    }
    if let Some(msg) = line
        .first_member("msg")
        .filter(|msg| envelope.kind().is_none() && msg.is_object())
    {
        let kind = raw_str(msg.first_member("type"));
        let row = PrintedKind::named(kind)
            .map(Row::Printed)
            .ok_or_else(|| Fault::unrecognized(&format!("msg/{kind}")))?;
        return Ok(located(row, msg, "/msg", Container::Stream));
    }
    if raw_str(line.first_member("record_type")) == "state" {
        return Ok(located(Row::State, line, "", Container::Envelope));
    }
    if line.first_member("session").is_some() && line.first_member("items").is_some() {
        return Ok(located(Row::Document, line, "", Container::Bare));
    }
    let bare = Bare::strict(line, "")?;
    if bare.kind().is_none() && bare.id().is_none() {
        if line.first_member("prompt").is_some() {
            return Ok(located(Row::PrintedPrompt, line, "", Container::Stream));
        }
        if line.first_member("workdir").is_some() {
            return Ok(located(Row::PrintedSettings, line, "", Container::Stream));
        }
    }
    if bare.kind().is_none() && bare.id().is_some() && tape_time(bare.timestamp()).is_some() {
        return Ok(located(Row::BareHeader, line, "", Container::Bare));
    }
    let row = ItemKind::named(kind)
        .map(Row::Item)
        .ok_or_else(|| Fault::unrecognized(kind))?;
    Ok(located(row, line, "", Container::Bare))
}

/// The row of an envelope, and what its handler gets.
fn in_envelope<'a>(
    kind: &str,
    payload: Value<'a>,
) -> Result<(Row, Value<'a>, &'static str), Fault> {
    let name = raw_str(payload.first_member("type"));
    let of = |prefix: &str, name: &str, row: Option<Row>| {
        row.ok_or_else(|| Fault::unrecognized(&format!("{prefix}{name}")))
    };
    if kind == "event_msg" && name == "item_completed" {
        let Some(item) = payload.first_member("item").filter(|item| item.is_object()) else {
            return Err(Fault::malformed("/payload/item", "an item", "nothing"));
        };
        let name = raw_str(item.first_member("type"));
        let row = of(
            "event_msg/item_completed/",
            name,
            CompletedKind::named(name).map(Row::Completed),
        )?;
        return Ok((row, item, "/payload/item"));
    }
    let row = match kind {
        "response_item" => of("response_item/", name, ItemKind::named(name).map(Row::Item)),
        "event_msg" => of("event_msg/", name, EventKind::named(name).map(Row::Event)),
        "retained_context" => of(
            "retained_context/",
            name,
            RetainedKind::named(name).map(Row::Retained),
        ),
        other => of("", other, LineKind::named(other).map(Row::Line)),
    }?;
    Ok((row, payload, "/payload"))
}

/// The row of a line that `exec --json` prints.
fn printed_row(kind: &str, line: Value<'_>) -> Result<Row, Fault> {
    let item = line.first_member("item").filter(|item| item.is_object());
    let with_item = || {
        format!(
            "{kind}/{}",
            raw_str(item.and_then(|item| item.first_member("type")))
        )
    };
    let row = if kind.starts_with("item.") {
        ExecKind::named(&with_item())
    } else {
        ExecKind::named(kind)
    };
    row.map(Row::Exec).ok_or_else(|| {
        Fault::unrecognized(&if item.is_some() {
            with_item()
        } else {
            kind.to_owned()
        })
    })
}
