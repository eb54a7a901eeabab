//! The record tables: which function converts a message of which type. The types of other lines are in lines.rs.

use engram_core::emit::{Emitter, Fault};
use engram_core::ledger::Outcome;

use super::message_record::MessageRecord;
use super::{model_message, notices, user_message};
use crate::gemini::descriptor::DESCRIPTOR;
use crate::gemini::state::occurrences::HistoryPass;
use crate::gemini::state::session_state::SessionState;
use crate::shared::route::{Action, Route};
use crate::shared::value::raw_str;

/// Converts a message. If it is part of a history that is written again, the pass finds what is new in it.
type MessageHandler = fn(&mut SessionState, &MessageRecord<'_>, Option<&mut HistoryPass>, &mut Emitter<'_>) -> Result<(), Fault>;

/// Messages, by `type`: lines, elements of a document's `messages`, and of a history in `$set`.
pub(super) static MESSAGES: &[Route<MessageHandler>] = &[
    Route::convert("gemini", model_message::model),
    Route::convert("user", user_message::user),
    Route::convert("info", notices::info),
    Route::convert("warning", notices::warning),
    Route::convert("error", notices::error),
];

/// The type of a message as its row names it. Empty without a row.
pub(super) fn message_type(kind: &str) -> &'static str {
    MESSAGES.iter().map(|row| row.record).find(|record| *record == kind).unwrap_or_default()
}

/// The turns of a saved conversation, by `role`.
pub(super) static SAVED_TURNS: &[Route<MessageHandler>] =
    &[Route::convert("user", user_message::user), Route::convert("model", model_message::model)];

/// What a member of a `$set` line changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    SessionFacts,
    SessionId,
    History,
}

/// The members of a `$set` line. A line may have several; they are converted in the order of [`Change`].
pub(super) static CHANGES: &[Route<Change>] = &[
    Route::omit("lastUpdated"),
    Route::convert("messages", Change::History),
    Route::convert("sessionId", Change::SessionId),
    Route::convert("summary", Change::SessionFacts),
    Route::convert("directories", Change::SessionFacts),
];

/// Converts a message by its `type`, which is returned.
pub(super) fn message(
    state: &mut SessionState,
    record: &MessageRecord<'_>,
    pass: Option<&mut HistoryPass>,
    out: &mut Emitter<'_>,
) -> Result<&'static str, Fault> {
    let kind = raw_str(record.message.kind());
    if kind.is_empty() {
        return Err(Fault::malformed(record.path("/type"), "a message type", "none"));
    }
    convert(MESSAGES, kind, state, record, pass, out)
}

/// Converts a turn of a saved conversation by its role, which is returned.
pub(super) fn saved_turn(
    state: &mut SessionState,
    role: &str,
    record: &MessageRecord<'_>,
    out: &mut Emitter<'_>,
) -> Result<&'static str, Fault> {
    convert(SAVED_TURNS, role, state, record, None, out)
}

fn convert(
    table: &'static [Route<MessageHandler>],
    kind: &str,
    state: &mut SessionState,
    record: &MessageRecord<'_>,
    pass: Option<&mut HistoryPass>,
    out: &mut Emitter<'_>,
) -> Result<&'static str, Fault> {
    let Some(route) = table.iter().find(|route| route.record == kind) else { return Err(Fault::unrecognized(kind)) };
    if let Action::Convert(handler) = route.action {
        handler(state, record, pass, out)?;
    }
    Ok(route.record)
}

/// The outcome of a record that is omitted by its type alone.
pub(super) fn omitted(record: &str) -> Result<Outcome, Fault> {
    DESCRIPTOR.ignored_record(record).ok_or_else(|| Fault::unrecognized(record))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemini::descriptor::rule;
    use crate::gemini::members::MEMBERS;

    /// Rules that depend on what the log has stated before.
    const APPLIED_BY_HANDLERS: [&str; 7] =
        [rule::REPEATED, rule::REWRITTEN, rule::RESTATED, rule::RELOGGED, rule::EMPTY, rule::SAME_SESSION, rule::PIECE];

    fn omit_rows<H>(table: &[Route<H>]) -> impl Iterator<Item = &'static str> {
        table.iter().filter(|row| matches!(row.action, Action::Omit)).map(|row| row.record)
    }

    #[test]
    fn the_member_table_has_every_record() {
        let names = |table: &[Route<MessageHandler>]| table.iter().map(|row| row.record).collect::<Vec<_>>();
        let changes = CHANGES.iter().map(|row| row.record);
        for record in names(MESSAGES).into_iter().chain(names(SAVED_TURNS)).chain(changes).chain(["main", "subagent", ""]) {
            assert!(MEMBERS.table().unwrap().record(record).is_some(), "no rows for {record}");
        }
    }

    #[test]
    fn omit_rows_and_record_rules_match() {
        let omitted: Vec<&str> = omit_rows(MESSAGES).chain(omit_rows(SAVED_TURNS)).chain(omit_rows(CHANGES)).collect();
        for record in &omitted {
            assert!(DESCRIPTOR.ignored_record(record).is_some(), "no rule for {record}");
        }
        for rule in DESCRIPTOR.omission_rules.iter().filter(|rule| rule.outcome().is_some()) {
            assert!(omitted.contains(&rule.record) || APPLIED_BY_HANDLERS.contains(&rule.rule), "no row for {}", rule.rule);
        }
    }
}
