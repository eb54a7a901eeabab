//! From the type of an opened chat's line to its handler.

use std::borrow::Cow;

use engram_core::emit::{Fault, Pointer};
use engram_core::event::Author;
use engram_core::ledger::Outcome;

use super::state::ChatState;
use super::{messages, session_facts, steps};
use crate::cursor::descriptor::omitted;
use crate::cursor::fields::faults::absent;
use crate::cursor::members;
use crate::cursor::readers::ChatLine;
use crate::cursor::steps::Out;
use crate::shared::route::{Action, Route};
use crate::shared::value::{Value, raw_str};

/// Converts a record of one type.
type Handler = fn(&mut ChatState, &ChatLine<'_>, &mut Out<'_, '_>) -> Result<Outcome, Fault>;

/// What happens to each type of record, which `store` names.
static RECORDS: &[Route<Handler>] = &[
    Route::convert("message", messages::message),
    Route::convert("step", steps::step),
    Route::convert("user_message", steps::user_message),
    Route::convert("shell_command", steps::user_shell),
    Route::convert("shell_output", steps::user_shell),
    Route::convert("summary", session_facts::summary),
    Route::convert("chat", session_facts::chat),
    Route::convert("chat_agent", session_facts::agent),
    Route::convert("chat_run", session_facts::run),
    Route::convert("root", session_facts::root),
    Route::convert("missing", missing_blob),
];

/// Converts one line.
pub(super) fn convert(state: &mut ChatState, line: Value<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
    let line = ChatLine::strict(line, "")?;
    line.set_header(line.time(), out);
    let record = raw_str(line.store());
    let action = Route::find(RECORDS, record).ok_or_else(|| Fault::unrecognized(record))?;
    members::check(&type_of(record, raw_str(line.role())), line.object(), out);
    if line.is_of_subagent() {
        state.prompts_by = Author::Agent;
    }
    match action {
        Action::Convert(handler) => handler(state, &line, out),
        Action::Omit => omitted(record),
    }
}

/// The type of a line. Only messages have a role.
fn type_of<'r>(record: &'r str, role: &str) -> Cow<'r, str> {
    Cow::Borrowed(match (record, role) {
        (_, "") => record,
        ("message", "system") => "system/message",
        ("message", "user") => "user/message",
        ("message", "assistant") => "assistant/message",
        ("message", "tool") => "tool/message",
        _ => return Cow::Owned(format!("{role}/{record}")),
    })
}

/// A blob that the store should have: something in the chat is lost.
fn missing_blob(_: &mut ChatState, line: &ChatLine<'_>, _: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
    Err(absent(Pointer::At("/blob"), "the id of a blob of the store", line.blob()))
}

/// The record types of the table, and whether they are omitted.
#[cfg(test)]
pub(in crate::cursor) fn rows() -> Vec<(&'static str, bool)> {
    RECORDS.iter().map(|row| (row.record, matches!(row.action, Action::Omit))).collect()
}
