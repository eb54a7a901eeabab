//! Which handler converts each type of a printed line: one row in the table. A type without a row is unrecognized.

use std::borrow::Cow;

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Meta, SessionFacts};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::conversation::{assistant, user};
use super::line::{Printed, StreamRecord, StreamState};
use super::notices;
use crate::claude_code::descriptor::DESCRIPTOR;
use crate::claude_code::members;
use crate::claude_code::omission_rules::rule;
use crate::claude_code::record::Record;
use crate::claude_code::records::session_meta::{begin_record, check_repeated};
use crate::claude_code::schema::Line;
use crate::shared::record_facts::Repetition;
use crate::shared::route::{Action, Route};
use crate::shared::value::{raw_str, text};

type Handler = fn(&mut StreamState, &StreamRecord<'_>, &mut Emitter<'_>) -> Result<Outcome, Fault>;

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
    Route::convert("system/task_notification", notices::task_notification),
    Route::convert("system/hook_response", notices::hook_response),
    Route::convert("system/permission_denied", notices::permission_denied),
    Route::convert("system/api_retry", notices::api_retry),
    Route::convert(TOOL_PROGRESS, notices::tool_progress),
    Route::convert("conversation_reset", notices::conversation_reset),
    Route::convert("control_request", notices::control_request),
    Route::omit("control_response"),
    Route::omit("system/status"),
    Route::omit("system/task_started"),
    Route::omit("system/task_progress"),
    Route::omit("system/task_updated"),
    Route::omit("system/background_tasks_changed"),
    Route::omit("system/thinking_tokens"),
    Route::omit("system/hook_started"),
    Route::omit("stream_event"),
];

/// Every row, and whether it omits its records.
#[cfg(test)]
pub(in crate::claude_code::records) fn rows() -> impl Iterator<Item = (&'static str, bool)> {
    RECORDS.iter().map(|row| (row.record, matches!(row.action, Action::Omit)))
}

/// Converts one printed line.
pub(super) fn line(state: &mut StreamState, printed: Printed<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let is_conversation = matches!(raw_str(printed.kind()), "assistant" | "user");
    if let Some(message) = printed.message().filter(|message| is_conversation && !message.is_object()) {
        return Err(Fault::malformed("/message", "an object", message.raw()));
    }
    let mut stream = StreamRecord { record: Record { line: as_transcript(&printed), ..Record::default() }, printed };
    let record = &mut stream.record;
    if state.session.lines.begin(&record.line) == Repetition::Whole
        && let Some(named) = members::named_type(&mut state.session.scratch, &record.line)
    {
        check_repeated(&mut state.session, record, out)?;
        return Ok(Outcome::Duplicate { record: named, rule: rule::REPEATED });
    }
    let agent = agent_of(&stream.printed);
    record.agent = agent.map(|agent| agent.decode_lossy());
    let facts_changed = begin_record(&mut state.session, record, out)?;
    let is_first = agent.is_some_and(|agent| state.agents.insert(agent.raw())) && emit_agent(&stream, out)?;
    let outcome = convert(state, &stream, out)?;
    Ok(if facts_changed || is_first { Outcome::Mapped } else { outcome })
}

fn convert(state: &mut StreamState, stream: &StreamRecord<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let row = row_of(&stream.printed).ok_or_else(|| Fault::unrecognized(&record_type(&stream.printed)))?;
    match row.action {
        Action::Convert(handler) => {
            let outcome = handler(state, stream, out)?;
            let is_boundary = row.record == BOUNDARY;
            if is_boundary != *state.session.summary_follows {
                state.session.summary_follows.set(is_boundary);
            }
            Ok(outcome)
        }
        Action::Omit => DESCRIPTOR.ignored_record(row.record).ok_or_else(|| Fault::unrecognized(row.record)),
    }
}

fn record_type<'a>(printed: &Printed<'a>) -> Cow<'a, str> {
    match raw_str(printed.subtype()) {
        "" => Cow::Borrowed(raw_str(printed.kind())),
        subtype => Cow::Owned(format!("{}/{subtype}", raw_str(printed.kind()))),
    }
}

/// The sub-agent that a line names. That a call runs is no line of its sub-agent.
pub(super) fn agent_of<'a>(printed: &Printed<'a>) -> Option<Text<'a>> {
    if raw_str(printed.kind()) == TOOL_PROGRESS {
        return text(printed.agent_retry().and_then(|retry| retry.member("agent_id")));
    }
    text(printed.agent_id().or(printed.parent_call()))
}

/// True for a line that gives no event.
pub(super) fn is_omitted(printed: &Printed<'_>) -> bool {
    row_of(printed).is_some_and(|row| matches!(row.action, Action::Omit))
}

fn row_of(printed: &Printed<'_>) -> Option<&'static Route<Handler>> {
    let kind = record_type(printed);
    let covers = |row: &&Route<Handler>| row.record.strip_suffix('*').map_or(row.record == kind, |beginning| kind.starts_with(beginning));
    RECORDS.iter().find(covers)
}

/// The line in the form that a transcript has.
pub(super) fn as_transcript<'a>(printed: &Printed<'a>) -> Line<'a> {
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
fn emit_agent(stream: &StreamRecord<'_>, out: &mut Emitter<'_>) -> Result<bool, Fault> {
    let (printed, call) = (&stream.printed, text(stream.printed.parent_call()));
    let facts = SessionFacts {
        parent_session_id: text(printed.session_id()),
        parent_call_id: call,
        agent: text(printed.agent_type()),
        ..SessionFacts::default()
    };
    let parent = call.and_then(|call| out.seq_of_call(call));
    out.emit_child(parent, Meta::Session(facts), Pointer::At("/parent_tool_use_id"))?;
    Ok(true)
}
