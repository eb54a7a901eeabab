//! From the type of a capture's line to its handler.

use engram_core::emit::{Emitter, Fault, Pointer, RecordHeader};
use engram_core::ledger::Outcome;

use super::schema::{Line, Record};
use super::state::StreamState;
use super::{approvals, messages, notices, tool_calls};
use crate::cursor::descriptor::omitted;
use crate::cursor::fields::{decoded_non_empty, time_of_millis};
use crate::cursor::members::{self, form};
use crate::shared::route::{Action, Route};
use crate::shared::value::raw_str;

/// Converts a record of one type.
type Handler = fn(&mut StreamState, &Record<'_>, &mut Emitter<'_>) -> Result<Outcome, Fault>;

/// What happens to each type of record: `type/subtype`, or `type` for all its subtypes.
static RECORDS: &[Route<Handler>] = &[
    Route::convert("thinking/delta", messages::reasoning_delta),
    Route::convert("assistant", messages::assistant),
    Route::convert("tool_call/started", tool_calls::started),
    Route::convert("tool_call/completed", tool_calls::completed),
    Route::convert("thinking/completed", messages::reasoning_completed),
    Route::convert("user", messages::user),
    Route::convert("interaction_query/request", approvals::request),
    Route::convert("interaction_query/response", approvals::response),
    Route::convert("system/init", notices::init),
    Route::convert("system/task_notification", notices::background_task),
    Route::convert("system/background_shell_timeout", notices::background_task),
    Route::convert("connection", notices::connection),
    Route::convert("retry", notices::connection),
    Route::convert("result", messages::result),
];

fn row(kind: &str, subtype: &str) -> Option<&'static Route<Handler>> {
    RECORDS.iter().find(|row| match row.record.split_once('/') {
        Some(record) => record == (kind, subtype),
        None => row.record == kind,
    })
}

/// Converts one line.
pub(super) fn convert(state: &mut StreamState, line: Line<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
    let time = time_of_millis(line.timestamp_ms());
    let record = Record { line, header: RecordHeader { t: time.as_deref(), ..RecordHeader::default() } };
    let (kind, subtype) = (raw_str(line.kind()), raw_str(line.subtype()));
    begin_record(state, &record, kind, out)?;
    let Some(row) = row(kind, subtype) else {
        let record = if subtype.is_empty() { kind.to_owned() } else { format!("{kind}/{subtype}") };
        return Err(Fault::unrecognized(&record));
    };
    check(state, &record, kind, subtype, out)?;
    match row.action {
        Action::Convert(handler) => handler(state, &record, out),
        Action::Omit => omitted(row.record),
    }
}

/// Compares a line with the member table.
fn check(state: &mut StreamState, record: &Record<'_>, kind: &str, subtype: &str, out: &mut Emitter) -> Result<(), Fault> {
    let name = &mut state.record_type;
    name.clear();
    name.push_str(kind);
    if !subtype.is_empty() {
        name.push('/');
        name.push_str(subtype);
    }
    members::check_chosen(name, record.line.object(), Pointer::Root, form::CAPTURE, out)
}

/// Sets session and time, and emits partial text that this record ends.
fn begin_record(state: &mut StreamState, record: &Record<'_>, kind: &str, out: &mut Emitter) -> Result<(), Fault> {
    if let Some(session_id) = decoded_non_empty(record.line.session_id()) {
        out.set_source(Some(&session_id), None);
    }
    let location = out.location();
    if !matches!(kind, "assistant" | "thinking") && state.partial_text.flush(out)? > 0 {
        out.attribute_to(location, record.header);
    } else {
        out.set_header(record.header);
    }
    Ok(())
}

/// The record types of the table, and whether they are omitted.
#[cfg(test)]
pub(in crate::cursor) fn rows() -> Vec<(&'static str, bool)> {
    RECORDS.iter().map(|row| (row.record, matches!(row.action, Action::Omit))).collect()
}
