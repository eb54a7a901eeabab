//! Compares calls and results with the ground truth: each logged one is on the tape, once and unchanged.

use std::collections::{BTreeMap, BTreeSet};

use engram_core::error::excerpt;
use engram_core::event::Kind;
use memchr::memmem;
use serde_json::Value;

use crate::call_args::same_args;
use crate::case::Case;
use crate::converted_session::{ConvertedSession, escaped};
use crate::ground_truth::{Call, RealResult};
use crate::outcome::Findings;
use crate::subject::Subject;
use crate::tape::Event;

/// Every logged call is a `tool.call`.
pub fn calls(case: &Case<'_>, findings: &mut Findings) {
    let actual = case.by_call(Kind::ToolCall);
    for call in case.truth.calls.iter().filter(|call| call.has_id()) {
        if !case.logs_call(&call.id) {
            findings.note("calls that are not logged");
        } else if actual.contains_key(call.id.as_str()) {
            findings.count("calls");
        } else if !case.has_call(call) {
            findings.note("calls that the log mentions and does not have");
        } else {
            findings.fail(
                case.recording.name(),
                format!("no tool.call {} ({})", call.id, call.tool),
            );
        }
    }
    for missing in &case.missing_calls {
        findings.fail(case.recording.name(), missing);
    }
    for call in case.truth.calls.iter().filter(|call| !call.has_id()) {
        // In a log without call ids, every tape of a session has each call once.
        let count = |session: &ConvertedSession| {
            session
                .events
                .iter()
                .filter(|event| event.is(Kind::ToolCall) && is_of(call, event))
                .count()
        };
        match case.sessions.iter().map(count).max() {
            Some(1) => findings.count("calls without ids"),
            times => findings.fail(
                case.recording.name(),
                format!(
                    "{} tool.call of {} without an id",
                    times.unwrap_or_default(),
                    call.tool
                ),
            ),
        }
    }
}

/// True if an event may belong to a call without an id.
fn is_of(call: &Call, event: &Event) -> bool {
    let args =
        call.args.is_null() || same_args(&call.args, event.0.get("args").unwrap_or(&Value::Null));
    args && event.text("tool") == Some(call.tool.as_str())
}

/// No `tool.call` is repeated, and none is invented. A call that a script makes is not the model's, but its parent is.
pub fn calls_once(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    for (session, event) in case.own_events(Kind::ToolCall) {
        let Some(id) = event.text("call_id") else {
            // The ground truth has no calls of tools that run at the model server.
            let is_hosted = event.text("kind") == Some("web_search");
            let parent = event
                .number("parent")
                .and_then(|seq| session.events.get(usize::try_from(seq).ok()?));
            let is_nested = parent.is_some_and(|call| {
                session
                    .call_chain(call)
                    .into_iter()
                    .any(|id| case.call(id).is_some())
            });
            if is_nested {
                findings.count("nested calls");
            } else if case.truth.calls.iter().any(|call| is_of(call, event)) {
                findings.count("calls without ids");
            } else if is_hosted {
                findings.note("calls of hosted tools");
            } else {
                findings.fail(
                    case.place_of(session, event),
                    "a tool.call without an id that the model never made",
                );
            }
            continue;
        };
        let is_known = |id: &str| case.call(id).is_some();
        if is_known(id) {
            findings.count("calls");
        } else if session.call_chain(event).into_iter().any(is_known) {
            findings.count("nested calls");
        } else if has_foreign_prefix(case, id) {
            match subject.declares_for(session.schema(), Kind::ToolCall, "call.nested_parent") {
                true => findings.count("calls of a script that is not logged"),
                false => findings.count("commands that the user typed"),
            }
        } else {
            findings.fail(
                case.place_of(session, event),
                format!("tool.call `{id}`: the model never made this call"),
            );
        }
    }
    for (id, tapes) in case
        .by_call(Kind::ToolCall)
        .into_iter()
        .filter(|(id, _)| !id.is_empty())
    {
        for (name, events) in tapes.into_iter().filter(|(_, events)| events.len() > 1) {
            if are_different(&events) {
                findings.note("calls with the id of another call");
                continue;
            }
            let place = format!("{}/{name}", case.recording.name());
            findings.fail(place, format!("{} tool.call {id}", events.len()));
        }
    }
}

/// True for calls of which no two have the same arguments: their tool gives one id to several calls.
fn are_different(calls: &[&Event]) -> bool {
    let args: BTreeSet<String> = calls
        .iter()
        .map(|call| call.0.get("args").map(Value::to_string).unwrap_or_default())
        .collect();
    args.len() == calls.len()
}

/// True if the id has another prefix than the ids of the model: a script or the user made the call.
fn has_foreign_prefix(case: &Case<'_>, id: &str) -> bool {
    let prefix = id.split(['-', '_']).next().unwrap_or_default();
    !case
        .truth
        .calls
        .iter()
        .any(|call| call.id.starts_with(prefix))
}

/// Every logged result is a `tool.result`.
pub fn results(case: &Case<'_>, findings: &mut Findings) {
    let actual = case.by_call(Kind::ToolResult);
    for returned in &case.truth.results {
        if !is_result_logged(case, &returned.id, &returned.text) {
            findings.note("results that are not logged");
        } else if actual.contains_key(returned.id.as_str()) {
            findings.count("results");
        } else {
            findings.fail(
                case.recording.name(),
                format!(
                    "no tool.result {}: `{}`",
                    returned.id,
                    excerpt(&returned.text)
                ),
            );
        }
    }
    for call in case
        .truth
        .calls
        .iter()
        .filter(|call| call.has_id() && case.truth.results.is_empty())
    {
        let has_result = case.logs_call(&call.id) && has_returned(case, call);
        if actual.contains_key(call.id.as_str()) {
            findings.count("results");
        } else if has_result {
            findings.fail(
                case.recording.name(),
                format!("no tool.result {} ({})", call.id, call.tool),
            );
        } else {
            findings.note("results that are not logged");
        }
    }
}

/// If the ground truth has no results: true if the call's record says that it ended, or if its id occurs in a second record.
fn has_returned(case: &Case<'_>, call: &Call) -> bool {
    const ENDED: [&str; 3] = [
        "\"state\":{\"status\":\"completed\"",
        "\"state\":{\"status\":\"error\"",
        "\"state\":\"result\"",
    ];
    let contains =
        |record: &[u8], words: &str| memchr::memmem::find(record, words.as_bytes()).is_some();
    let id = escaped(&call.id);
    let records: Vec<&[u8]> = case
        .sessions
        .iter()
        .flat_map(|session| session.records_with(&id))
        .collect();
    match records.iter().any(|record| contains(record, "\"state\":")) {
        true => records
            .iter()
            .any(|record| ENDED.iter().any(|words| contains(record, words))),
        false => records.len() > 1,
    }
}

/// A call has one result per tape. A background command may have a second one when it ends.
pub fn results_once(case: &Case<'_>, findings: &mut Findings) {
    for (id, tapes) in case
        .by_call(Kind::ToolResult)
        .into_iter()
        .filter(|(id, _)| !id.is_empty())
    {
        for (name, events) in tapes {
            let parents: BTreeSet<Option<u64>> =
                events.iter().map(|event| event.number("parent")).collect();
            match events.as_slice() {
                several
                    if several.len() > 1
                        && !parents.contains(&None)
                        && parents.len() == several.len() =>
                {
                    findings.count_many("results of calls with one id", several.len() as u64);
                }
                [_] => findings.count("results"),
                [running, ended]
                    if running.has("stdout") && !running.has("status") && ended.has("status") =>
                {
                    findings.count("late results of background commands");
                }
                several => {
                    let line = several
                        .get(1)
                        .and_then(|event| event.line())
                        .map(|line| format!(":{line}"))
                        .unwrap_or_default();
                    findings.fail(
                        format!("{}/{name}{line}", case.recording.name()),
                        format!("{} tool.result {id}", several.len()),
                    );
                }
            }
        }
    }
}

/// A `tool.result` has the text, the status and the exit code that the harness returned.
pub fn result_facts(case: &Case<'_>, findings: &mut Findings) {
    for (session, event) in case.own_events(Kind::ToolResult) {
        let id = event.text("call_id").unwrap_or_default();
        let status = event.text("status").unwrap_or_default();
        let actual = event.0.get("exit").and_then(Value::as_i64);
        if status == "ok"
            && let Some(exit) = actual.filter(|exit| *exit != 0)
        {
            findings.fail(
                case.place_of(session, event),
                format!("tool.result {id} has status `ok` and exit {exit}"),
            );
        }
        // A call has two results if a second process made one up while the first one still ran it.
        let contradicts =
            |returned: &&RealResult| (returned.is_error == Some(true)) == (status == "ok");
        let of_call = case
            .truth
            .results
            .iter()
            .filter(|returned| returned.id == id);
        let Some(returned) = of_call.min_by_key(contradicts) else {
            continue;
        };
        if !is_result_logged(case, &returned.id, &returned.text) {
            continue;
        }
        findings.count("results");
        if let Some(missing) = missing_line(case, session, returned, event) {
            findings.fail(
                case.place_of(session, event),
                format!("tool.result {id} lacks `{}`", excerpt(missing)),
            );
        }
        let is_unstated = status.is_empty() && session.claim(Kind::ToolResult) != Some("full");
        findings.note_many("results without a logged status", u64::from(is_unstated));
        let has_failed = returned.is_error == Some(true)
            || (actual.is_some() && returned.exit.is_some_and(|exit| exit != 0));
        let is_of_agent = || {
            let call = session.call_of(event);
            call.is_some_and(|call| call.text("kind") == Some("delegate"))
        };
        let is_known = || actual.is_some_and(|exit| exit != 0) || is_of_agent();
        if !has_failed && status == "error" && is_known() {
            // Not every harness reports to its model that a command or a sub-agent failed.
            findings.note("results of commands and sub-agents that failed");
        } else if !has_failed && status == "denied" && is_refused(session, id) {
            // Nor that it refused a call.
            findings.note("results of calls that were refused");
        } else if !is_unstated && has_failed == (status == "ok") {
            findings.fail(
                case.place_of(session, event),
                format!(
                    "tool.result {id} has status `{status}`, is_error was {:?}",
                    returned.is_error
                ),
            );
        }
        let stated = returned
            .text
            .lines()
            .next()
            .and_then(exit_code)
            .or(returned.exit.filter(|_| actual.is_some()));
        if stated.is_some() && actual != stated {
            findings.fail(
                case.place_of(session, event),
                format!("tool.result {id} has exit {actual:?}, the harness returned {stated:?}"),
            );
        }
    }
}

/// True if the tape says that the call was denied, and why.
fn is_refused(session: &ConvertedSession, id: &str) -> bool {
    session.events.iter().any(|event| {
        event.is_meta("permission")
            && event.text("decision") == Some("deny")
            && event.text("call_id") == Some(id)
            && event.has("text")
    })
}

/// True if the log contains the result's id and the first line of its text that has more than three characters.
fn is_result_logged(case: &Case<'_>, id: &str, text: &str) -> bool {
    let mark = text
        .lines()
        .map(str::trim)
        .find(|line| line.len() > 3)
        .unwrap_or_default();
    case.is_logged(id) && case.is_logged(mark)
}

/// A line that the model saw and the record contains, but neither the event does nor what its record gave beside it: the model may see
/// another text than what a command printed.
fn missing_line<'t>(
    case: &Case<'_>,
    session: &ConvertedSession,
    returned: &'t RealResult,
    event: &Event,
) -> Option<&'t str> {
    let text = without_reminders(&returned.text);
    let line = event.0.pointer("/origin/line");
    let is_beside = |other: &&Event| {
        line.is_some()
            && other.0.pointer("/origin/line") == line
            && other.text("label") == Some("context")
    };
    let beside = session
        .events
        .iter()
        .filter(is_beside)
        .filter_map(|other| other.text("text"));
    let own = [event.text("stdout"), event.text("stderr")]
        .into_iter()
        .flatten();
    let actual = own.chain(beside).collect::<Vec<_>>().join("\n");
    let actual = actual.replace("\r\n", "\n");
    if event.has("attachments") || event.has("artifact") || actual.contains(text.trim()) {
        return None;
    }
    let bare = text
        .trim()
        .trim_start_matches("<tool_use_error>")
        .trim_end_matches("</tool_use_error>");
    let lines = bare
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && exit_code(line).is_none());
    // A harness may add reminders when it sends a result; not all of them are in the log.
    lines.filter(|line| !actual.contains(line)).find(|line| {
        case.sessions.iter().any(|session| {
            let mut records = session.records_with(&returned.id);
            records.any(|record| has_line(record, line))
        })
    })
}

/// A text up to this length may be a part of a word in any record.
const SHORT_LINE: usize = 3;

/// True if a text of a record has this line.
fn has_line(record: &[u8], line: &str) -> bool {
    let line = escaped(line);
    memmem::find_iter(record, line.as_bytes()).any(|at| {
        let (before, after) = (&record[..at], &record[at + line.len()..]);
        let begins = before.ends_with(b"\"") || before.ends_with(b"\\n");
        let ends = after.starts_with(b"\"") || after.starts_with(b"\\");
        line.len() > SHORT_LINE || begins && ends
    })
}

/// A result without the reminders behind it, which the harness adds for the model.
fn without_reminders(text: &str) -> &str {
    let mut text = text.trim_end();
    while let Some(at) = text
        .strip_suffix("</system-reminder>")
        .and_then(|before| before.rfind("<system-reminder>"))
    {
        text = text[..at].trim_end();
    }
    text
}

/// The number in a line `Exit code N`.
fn exit_code(line: &str) -> Option<i64> {
    line.strip_prefix("Exit code ")?.trim().parse().ok()
}

/// If several sessions have the same call or result, all but one are copies and marked as replay, if the source shows it.
pub fn replays(case: &Case<'_>, findings: &mut Findings) {
    for (_, event) in [Kind::ToolCall, Kind::ToolResult]
        .into_iter()
        .flat_map(|kind| case.events(kind))
    {
        if event.is_replay() {
            findings.count("events marked as replay");
        }
    }
    for kind in [Kind::ToolCall, Kind::ToolResult] {
        let mut at: BTreeMap<&str, Vec<(&ConvertedSession, &Event)>> = BTreeMap::new();
        for (session, event) in case.own_events(kind) {
            at.entry(event.text("call_id").unwrap_or_default())
                .or_default()
                .push((session, event));
        }
        for (id, copies) in at.into_iter().filter(|(id, _)| !id.is_empty()) {
            let names: BTreeSet<&str> = copies.iter().map(|(session, _)| session.name()).collect();
            if names.len() < 2 {
                continue;
            }
            let records: BTreeSet<String> = copies
                .iter()
                .map(|(session, event)| record_of(session, event))
                .collect();
            let sessions: BTreeSet<&str> = copies
                .iter()
                .filter_map(|(_, event)| event.0.pointer("/source/session_id")?.as_str())
                .collect();
            match copies.last() {
                _ if sessions.len() == 1 && !is_lines(&copies) => {
                    findings.note("copies in two exports of one session")
                }
                // Only the ids differ, so the source does not show which one is the copy.
                _ if records.len() == 1 => {
                    findings.note("copies that the source does not show as such")
                }
                Some((session, event)) => {
                    let names = names.into_iter().collect::<Vec<_>>().join(", ");
                    findings.fail(
                        case.place_of(session, event),
                        format!(
                            "{} {id} is on several tapes and not marked as replay: {names}",
                            kind.as_str()
                        ),
                    );
                }
                None => {}
            }
        }
    }
}

/// True if the sessions of all copies are files of lines.
pub(super) fn is_lines(copies: &[(&ConvertedSession, &Event)]) -> bool {
    copies.iter().all(|(_, event)| event.line().is_some())
}

/// The record of an event without the ids of session and record, which differ in every copy.
pub(super) fn record_of(session: &ConvertedSession, event: &Event) -> String {
    let line = event
        .line()
        .and_then(|line| usize::try_from(line).ok())
        .and_then(|line| line.checked_sub(1));
    let text = line
        .and_then(|line| session.source().split(|byte| *byte == b'\n').nth(line))
        .unwrap_or_default();
    let mut value: Value = serde_json::from_slice(text).unwrap_or_default();
    if let Some(members) = value.as_object_mut() {
        let own = [
            event.0.pointer("/source/session_id"),
            event.0.pointer("/origin/id"),
        ];
        members.retain(|_, value| !own.contains(&Some(&*value)));
    }
    value.to_string()
}

#[test]
fn a_short_line_is_no_part_of_a_word() {
    let record = br#"{"text":"x\nan exit\n"}"#;
    assert!(has_line(record, "x") && has_line(record, "exit"));
    assert!(!has_line(record, "an") && !has_line(record, "ex"));
}

#[test]
fn reminders_behind_a_result_are_not_a_part_of_it() {
    let reminder = "<system-reminder>\nGo on.\n</system-reminder>";
    assert_eq!(
        without_reminders(&format!("denied\n\n{reminder}\n{reminder}\n")),
        "denied"
    );
    assert_eq!(
        without_reminders(&format!("{reminder} denied")),
        format!("{reminder} denied")
    );
}
