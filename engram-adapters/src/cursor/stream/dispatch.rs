//! From the type of a capture's line to its handler.

use engram_core::emit::{Fault, Pointer, RecordHeader};
use engram_core::ledger::Outcome;

use super::schema::Record;
use super::state::{Shared, StreamState};
use super::{approvals, messages, notices, tool_calls};
use crate::cursor::descriptor::omitted;
use crate::cursor::fields::{decoded_non_empty, time_of_millis};
use crate::cursor::members::{self, form};
use crate::cursor::readers::CaptureLine;
use crate::cursor::steps::Out;
use crate::shared::route::{Action, Route};
use crate::shared::value::raw_str;

/// Converts a record of one type.
type Handler = fn(&mut StreamState, &mut Shared, &Record<'_>, &mut Out<'_, '_>) -> Result<Outcome, Fault>;

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
pub(super) fn convert(
    state: &mut StreamState,
    shared: &mut Shared,
    line: CaptureLine<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let time = time_of_millis(line.timestamp_ms());
    let record = Record { line, header: RecordHeader { t: time.as_deref(), ..RecordHeader::default() } };
    let (kind, subtype) = (raw_str(line.kind()), raw_str(line.subtype()));
    let name = if subtype.is_empty() { kind.to_owned() } else { format!("{kind}/{subtype}") };
    let Some(row) = row(kind, subtype) else { return Err(Fault::unrecognized(&name)) };
    begin_record(&line, out);
    members::check_chosen(&name, line.object(), Pointer::Root, form::CAPTURE, out);
    if !matches!(kind, "assistant" | "thinking") {
        shared.pieces.end_run(shared.session, out);
    }
    match row.action {
        Action::Convert(handler) => handler(state, shared, &record, out),
        Action::Omit => omitted(row.record),
    }
}

/// Sets session and time.
pub(super) fn begin_record(line: &CaptureLine<'_>, out: &mut Out<'_, '_>) {
    if let Some(session_id) = decoded_non_empty(line.session_id()) {
        out.set_source(Some(&session_id), None);
    }
    let time = time_of_millis(line.timestamp_ms());
    out.set_header(RecordHeader { t: time.as_deref(), ..RecordHeader::default() });
}

/// The record types of the table, and whether they are omitted.
#[cfg(test)]
pub(in crate::cursor) fn rows() -> Vec<(&'static str, bool)> {
    RECORDS.iter().map(|row| (row.record, matches!(row.action, Action::Omit))).collect()
}
