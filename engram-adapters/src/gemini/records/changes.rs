//! `$set` lines: what the harness changes in the header and the history.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Meta, SessionFacts};
use engram_core::ledger::Outcome;

use super::dispatch::{self, CHANGES, Change, omitted};
use super::header::emit_session_facts;
use super::message_record::{MessageRecord, set_header};
use crate::gemini::descriptor::rule;
use crate::gemini::members;
use crate::gemini::schema::Record;
use crate::gemini::state::occurrences::HistoryPass;
use crate::gemini::state::session_state::SessionState;
use crate::shared::route::{Action, Route};
use crate::shared::time::is_tape_time;
use crate::shared::value::Value;

/// True for a line that states only the time of the last change. One follows every message, so it is not parsed.
pub(super) fn is_time_only(line: &str) -> bool {
    let time = line.strip_prefix(r#"{"$set":{"lastUpdated":""#).and_then(|rest| rest.strip_suffix(r#""}}"#));
    time.is_some_and(is_tape_time)
}

/// The outcome of a line that states only the time of the last change.
pub(super) fn time_only() -> Result<Outcome, Fault> {
    omitted("lastUpdated")
}

/// The type of a `$set` line: the name of its first member; empty if the name is not known.
pub(super) fn type_of_changes(changes: Value<'_>) -> &'static str {
    let first = changes.members().next().map(|(name, _)| name);
    CHANGES.iter().map(|row| row.record).find(|name| first == Some(*name)).unwrap_or_default()
}

/// Converts a `$set` line.
pub(super) fn change(state: &mut SessionState, line: &Record<'_>, changes: Value<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let Some((first, _)) = changes.members().next() else { return Err(Fault::malformed("/$set", "a member", changes.raw())) };
    members::check(first, line.object(), Pointer::Root, out)?;
    let mut members = changes.members();
    match (members.next(), members.next()) {
        (Some(("lastUpdated", time)), None) if time.text().is_some() => time_only(),
        _ => all_changes(state, type_of_changes(changes), changes, out),
    }
}

#[inline(never)]
fn all_changes(state: &mut SessionState, record: &'static str, changes: Value<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    if let Some((name, _)) = changes.members().find(|(name, _)| Route::find(CHANGES, name).is_none()) {
        return Err(Fault::unrecognized(&format!("$set.{name}")));
    }
    let time = changes.member("lastUpdated");
    if let Some(time) = time.filter(|time| time.text().is_none()) {
        return Err(Fault::malformed("/$set/lastUpdated", "a time", time.raw()));
    }
    let mut header = Record::default();
    header.strict_into(changes, "/$set")?;
    let has = |change| changes.members().any(|(name, value)| is(change, name) && !value.is_null());
    if has(Change::SessionFacts) {
        set_header(time, None, out);
        emit_session_facts(state, SessionFacts::default(), &header, "/$set", out)?;
    }
    if has(Change::SessionId) && state.session.switch_to(header.session_id(), out) {
        set_header(time, None, out);
        state.tally.emit(Meta::Session(SessionFacts::default()), Pointer::At("/$set/sessionId"), out)?;
    }
    if let Some(messages) = header.messages().filter(|messages| !messages.is_empty_list()) {
        history(state, messages, out)?;
        return Ok(state.outcome(record, rule::RESTATED));
    }
    Ok(match record {
        _ if state.tally.has_events() => Outcome::Mapped,
        "sessionId" => Outcome::Bookkeeping { record, rule: rule::SAME_SESSION },
        "lastUpdated" => Outcome::Bookkeeping { record, rule: rule::CLOCK },
        _ => Outcome::Bookkeeping { record, rule: rule::EMPTY },
    })
}

fn is(change: Change, member: &str) -> bool {
    Route::find(CHANGES, member) == Some(Action::Convert(change))
}

/// Converts a history that the harness writes again. Only what the log does not have yet is new; nothing is taken back.
fn history(state: &mut SessionState, messages: Value<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    state.rewrites.put_back(None);
    let mut pass = HistoryPass::default();
    for (n, message) in messages.elements().enumerate() {
        let base = format!("/$set/messages/{n}");
        let mut view = Record::default();
        view.strict_into(message, &base)?;
        let record = MessageRecord::new(&view, &base);
        record.begin(out)?;
        state.rewind_points.begin_message(view.id(), out.last_seq());
        dispatch::message(state, &record, Some(&mut pass), out)?;
    }
    Ok(())
}
