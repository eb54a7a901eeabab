//! From the type of an opened conversation's line to its handler.

use engram_core::emit::Fault;
use engram_core::ledger::Outcome;

use super::messages::{self, Facts};
use crate::cursor::descriptor::omitted;
use crate::cursor::readers::EditorLine;
use crate::cursor::steps::Out;
use crate::shared::route::{Action, Route};
use crate::shared::value::{Value, raw_str};

/// Converts a record of one type.
type Handler = fn(&mut Facts, &EditorLine<'_>, &mut Out<'_, '_>) -> Result<Outcome, Fault>;

/// What happens to each type of record, which `store` names.
static RECORDS: &[Route<Handler>] = &[
    Route::convert("bubble", messages::bubble),
    Route::convert("composer", messages::composer),
    Route::convert("inline_composer", messages::composer),
    Route::convert("tab", messages::composer),
];

/// Converts one line.
pub(super) fn convert(facts: &mut Facts, line: Value<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
    let line = EditorLine::strict(line, "")?;
    let record = raw_str(line.store());
    match Route::find(RECORDS, record) {
        Some(Action::Convert(handler)) => handler(facts, &line, out),
        Some(Action::Omit) => omitted(record),
        None => Err(Fault::unrecognized(record)),
    }
}

/// The record types of the table, and whether they are omitted.
#[cfg(test)]
pub(in crate::cursor) fn rows() -> Vec<(&'static str, bool)> {
    RECORDS.iter().map(|row| (row.record, matches!(row.action, Action::Omit))).collect()
}
