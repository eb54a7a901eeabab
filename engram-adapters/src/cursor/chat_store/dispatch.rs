//! From the type of an opened chat's line to its handler.

use engram_core::emit::{Emitter, Fault, Pointer, RecordHeader};
use engram_core::ledger::Outcome;

use super::schema::Line;
use super::{messages, session_facts, steps};
use crate::cursor::descriptor::omitted;
use crate::cursor::faults::absent;
use crate::shared::route::{Action, Route};
use crate::shared::value::{Value, non_empty_text, raw_str};

/// Converts a record of one type.
type Handler = fn(&Line<'_>, &mut Emitter<'_>) -> Result<Outcome, Fault>;

/// What happens to each type of record, which `store` names.
static RECORDS: &[Route<Handler>] = &[
    Route::convert("message", messages::message),
    Route::convert("step", steps::step),
    Route::convert("user_message", steps::user_message),
    Route::convert("shell_command", steps::user_shell),
    Route::convert("shell_output", steps::user_shell),
    Route::convert("summary", session_facts::summary),
    Route::convert("chat", session_facts::chat),
    Route::convert("root", session_facts::root),
    Route::convert("missing", missing_blob),
];

/// Converts one line.
pub(super) fn convert(line: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
    let line = Line::strict(line, "")?;
    out.set_header(RecordHeader { id: non_empty_text(line.blob()), ..RecordHeader::default() });
    let record = raw_str(line.store());
    match Route::find(RECORDS, record) {
        Some(Action::Convert(handler)) => handler(&line, out),
        Some(Action::Omit) => omitted(record),
        None => Err(Fault::unrecognized(record)),
    }
}

/// A blob that the store should have: something in the chat is lost.
fn missing_blob(line: &Line<'_>, _: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    Err(absent(Pointer::At("/blob"), "the id of a blob of the store", line.blob()))
}

/// The record types of the table, and whether they are omitted.
#[cfg(test)]
pub(in crate::cursor) fn rows() -> Vec<(&'static str, bool)> {
    RECORDS.iter().map(|row| (row.record, matches!(row.action, Action::Omit))).collect()
}
