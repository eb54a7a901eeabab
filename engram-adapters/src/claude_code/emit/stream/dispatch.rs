//! Which handler converts each type of a printed line: one row in the table. A type without a row is unrecognized.

use std::borrow::Cow;

use engram_core::emit::{Fault, Pointer};
use engram_core::event::{Meta, SessionFacts};
use engram_core::keys::hash64;
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;

use super::conversation::{assistant, user};
use super::line::{StreamRecord, StreamState};
use super::notices;
use crate::claude_code::descriptor::DESCRIPTOR;
use crate::claude_code::emit::session_meta::{begin_record, fill_in};
use crate::claude_code::members;
use crate::claude_code::omission_rules::rule;
use crate::claude_code::plan::Fate;
use crate::claude_code::readers::{Line, Printed};
use crate::claude_code::record::Record;
use crate::shared::route::{Action, Route};
use crate::shared::value::{Field, raw_str, text};

type Handler = fn(&mut StreamState, &StreamRecord<'_>, &mut Emitter<'_>) -> Outcome;

/// A call runs.
const TOOL_PROGRESS: &str = "tool_progress";

/// The boundary of a compaction. The line after it has the summary.
const BOUNDARY: &str = "system/compact_boundary";

/// What happens to a line, by its `type` and `subtype`. A row that ends with `*` is for all types with that beginning.
static RECORDS: &[Route<Handler>] = &[
    Route::convert("assistant", assistant),
    Route::convert("user", user),
    Route::convert("system/init", notices::init),
    Route::convert("result/*", notices::result),
    Route::convert(BOUNDARY, notices::compact_boundary),
    Route::convert("system/informational", notices::informational),
    Route::convert("system/notification", notices::notification),
    Route::convert("system/model_fallback", notices::model_fallback),
    Route::convert("system/task_started", notices::task_started),
    Route::convert("system/task_notification", notices::task_notification),
    Route::convert("system/hook_response", notices::hook_response),
    Route::convert("system/permission_denied", notices::permission_denied),
    Route::convert("system/api_retry", notices::api_retry),
    Route::convert(TOOL_PROGRESS, notices::tool_progress),
    Route::convert("conversation_reset", notices::conversation_reset),
    Route::convert("control_request", notices::control_request),
    Route::omit("control_response"),
    Route::omit("control_cancel_request"),
    Route::omit("command_lifecycle"),
    Route::omit("system/status"),
    Route::omit("system/task_progress"),
    Route::omit("system/task_updated"),
    Route::omit("system/background_tasks_changed"),
    Route::omit("system/thinking_tokens"),
    Route::omit("system/hook_started"),
    Route::omit("stream_event"),
];

/// Every row, and whether it omits its records.
#[cfg(test)]
pub(in crate::claude_code::emit) fn rows() -> impl Iterator<Item = (&'static str, bool)> {
    RECORDS.iter().map(|row| (row.record, matches!(row.action, Action::Omit)))
}

/// Converts one printed line, whose note is at this place.
pub(super) fn line(state: &mut StreamState, printed: Printed<'_>, at: usize, out: &mut Emitter<'_>) -> Outcome {
    let mut stream = StreamRecord { record: Record { at, line: as_transcript(&printed), ..Record::default() }, printed };
    let record = &mut stream.record;
    let agent = text(agent_of(&stream.printed));
    record.agent = agent.map(|agent| agent.decode_lossy());
    fill_in(&mut state.session, record);
    if state.session.plan.fate(at) != Fate::Convert {
        let record = members::named_type(&mut state.session.scratch, &record.line).unwrap_or_default();
        return Outcome::Duplicate { record, rule: rule::REPEATED };
    }
    let facts_changed = begin_record(&mut state.session, record, out);
    let is_first = agent.is_some_and(|agent| state.agents.insert(hash64(agent.raw())));
    if is_first {
        emit_agent(&stream, out);
    }
    let outcome = convert(state, &stream, out);
    if facts_changed || is_first { Outcome::Mapped } else { outcome }
}

fn convert(state: &mut StreamState, stream: &StreamRecord<'_>, out: &mut Emitter<'_>) -> Outcome {
    // The check has found a row.
    let Some(row) = row_of(&stream.printed) else { return Outcome::Mapped };
    match row.action {
        Action::Convert(handler) => {
            let outcome = handler(state, stream, out);
            state.session.summary_follows = row.record == BOUNDARY;
            outcome
        }
        Action::Omit => DESCRIPTOR.ignored_record(row.record).unwrap_or(Outcome::Mapped),
    }
}

/// Checks that a line has a row. Returns whether it gives no event.
///
/// # Errors
/// [`Fault::Unrecognized`] if there is no row for its type.
pub fn knows(printed: &Printed<'_>) -> Result<bool, Fault> {
    let row = row_of(printed).ok_or_else(|| Fault::unrecognized(&record_type(printed)))?;
    Ok(matches!(row.action, Action::Omit))
}

fn record_type<'a>(printed: &Printed<'a>) -> Cow<'a, str> {
    match raw_str(printed.subtype()) {
        "" => Cow::Borrowed(raw_str(printed.kind())),
        subtype => Cow::Owned(format!("{}/{subtype}", raw_str(printed.kind()))),
    }
}

/// The sub-agent that a line names. That a call runs is no line of its sub-agent.
pub fn agent_of<'a>(printed: &Printed<'a>) -> Field<'a> {
    if raw_str(printed.kind()) == TOOL_PROGRESS {
        return printed.agent_retry().and_then(|retry| retry.member("agent_id"));
    }
    printed.agent_id().or(printed.parent_call())
}

fn row_of(printed: &Printed<'_>) -> Option<&'static Route<Handler>> {
    let kind = record_type(printed);
    let covers = |row: &&Route<Handler>| row.record.strip_suffix('*').map_or(row.record == kind, |beginning| kind.starts_with(beginning));
    RECORDS.iter().find(covers)
}

/// The line in the form that a transcript has.
pub fn as_transcript<'a>(printed: &Printed<'a>) -> Line<'a> {
    let mut line = Line::empty_of(printed.object());
    for (number, field) in [
        (const { Line::number("type") }, printed.kind()),
        (const { Line::number("subtype") }, printed.subtype()),
        (const { Line::number("uuid") }, printed.uuid()),
        (const { Line::number("timestamp") }, printed.timestamp()),
        (const { Line::number("sessionId") }, printed.session_id()),
        (const { Line::number("message") }, printed.message().filter(|message| message.is_object())),
        (const { Line::number("toolUseResult") }, printed.tool_use_result()),
        (const { Line::number("parentToolUseID") }, printed.parent_call()),
        (const { Line::number("isMeta") }, printed.is_synthetic()),
        (const { Line::number("requestId") }, printed.request_id()),
        (const { Line::number("error") }, printed.error()),
        (const { Line::number("isApiErrorMessage") }, printed.is_api_error()),
        (const { Line::number("apiErrorStatus") }, printed.api_error_status()),
        (const { Line::number("compactMetadata") }, printed.compact_metadata()),
        (const { Line::number("tool_result_meta") }, printed.result_meta()),
    ] {
        line.set(number, field);
    }
    line
}

/// Emits who started the sub-agent whose first line this is.
fn emit_agent(stream: &StreamRecord<'_>, out: &mut Emitter<'_>) {
    let (printed, call) = (&stream.printed, text(stream.printed.parent_call()));
    let facts = SessionFacts {
        parent_session_id: text(printed.session_id()),
        parent_call_id: call,
        agent: text(printed.agent_type()),
        ..SessionFacts::default()
    };
    let parent = call.and_then(|call| out.seq_of_call(call));
    out.emit_child(parent, Meta::Session(facts), Pointer::At("/parent_tool_use_id"));
}
