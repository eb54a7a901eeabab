//! Facts are joined by ids: a record is on one tape once, and a result belongs to the call of its own record.

use std::collections::{BTreeMap, BTreeSet};

use engram_core::event::Kind;
use serde_json::Value;

use super::conversation::{is_lines, record_of};
use crate::case::Case;
use crate::converted_session::ConvertedSession;
use crate::outcome::Findings;
use crate::tape::Event;

/// The id of an event's record, with the place of the event in it.
fn record_id(event: &Event) -> Option<(String, &'static str)> {
    let id = event.0.pointer("/origin/id").and_then(Value::as_str)?;
    let pointer = event
        .0
        .pointer("/origin/pointer")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let label = event.label().unwrap_or_default();
    Some((format!("{id} {pointer} {label}"), event.kind()?.as_str()))
}

/// Apart from replayed history, a record is on one tape of a recording only.
pub fn once(case: &Case<'_>, findings: &mut Findings) {
    let mut at: BTreeMap<(String, &str), Vec<(&ConvertedSession, &Event)>> = BTreeMap::new();
    let events = case
        .sessions
        .iter()
        .flat_map(|session| session.events.iter().map(move |event| (session, event)));
    // A harness may give its own input the same id in every session.
    for (session, event) in
        events.filter(|(_, event)| !event.is_replay() && !event.is_meta("context"))
    {
        if let Some(id) = record_id(event) {
            at.entry(id).or_default().push((session, event));
        }
    }
    for ((id, kind), copies) in at {
        let names: BTreeSet<&str> = copies.iter().map(|(session, _)| session.name()).collect();
        let first = copies.first().map(|(session, event)| (*session, *event));
        let Some((session, event)) = copies
            .iter()
            .find(|copy| first.is_some_and(|first| is_copy(first, **copy)))
        else {
            findings.count("records");
            continue;
        };
        match problem(&copies, &names) {
            Err(note) => findings.note(note),
            Ok(what) => findings.fail(
                case.place_of(session, event),
                format!("{kind} of record {id}: {what}"),
            ),
        }
    }
}

/// True if the second event repeats the first one: it is on another tape, or it comes from another line.
fn is_copy(first: (&ConvertedSession, &Event), other: (&ConvertedSession, &Event)) -> bool {
    let is_of_same_call = || match (call_of(first), call_of(other)) {
        (Some(call), Some(other)) => same_facts(call, other),
        _ => true,
    };
    first.0.name() != other.0.name()
        || (first.1.line() != other.1.line() && same_facts(first.1, other.1) && is_of_same_call())
}

/// The event that caused an event.
fn call_of<'s>((session, event): (&'s ConvertedSession, &Event)) -> Option<&'s Event> {
    session
        .events
        .get(usize::try_from(event.number("parent")?).ok()?)
}

/// True if two events state the same. A record that is written again may add facts.
fn same_facts(one: &Event, other: &Event) -> bool {
    let facts = |event: &Event| {
        let mut facts = event.0.clone();
        for key in ["seq", "t", "t_basis", "origin", "parent"] {
            facts.as_object_mut().and_then(|facts| facts.remove(key));
        }
        facts
    };
    facts(one) == facts(other)
}

/// What is wrong with copies of a record, or why they may be there.
fn problem(
    copies: &[(&ConvertedSession, &Event)],
    names: &BTreeSet<&str>,
) -> Result<String, &'static str> {
    if names.len() < 2 {
        return Ok("twice on its tape".to_owned());
    }
    let records: BTreeSet<String> = copies
        .iter()
        .map(|(session, event)| record_of(session, event))
        .collect();
    let sessions: BTreeSet<&str> = copies
        .iter()
        .filter_map(|(_, event)| event.0.pointer("/source/session_id")?.as_str())
        .collect();
    match (sessions.len(), records.len()) {
        (1, _) if !is_lines(copies) => Err("copies in two exports of one session"),
        // Only the ids differ, so the source does not show which one is the copy.
        (_, 1) => Err("copies that the source does not show as such"),
        _ => Ok(format!(
            "on several tapes and not marked as replay: {}",
            Vec::from_iter(names.iter().copied()).join(", ")
        )),
    }
}

/// A result, read or edit has the call of its own record as parent, if that has one, or else the latest open call of its id.
pub fn parents(case: &Case<'_>, findings: &mut Findings) {
    for session in &case.sessions {
        let mut calls: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
        for call in session
            .events
            .iter()
            .filter(|event| event.is(Kind::ToolCall))
        {
            calls
                .entry(call.text("call_id").unwrap_or_default())
                .or_default()
                .push(call);
        }
        for event in &session.events {
            if !(event.is(Kind::ToolResult) || event.is(Kind::CodeRead) || event.is(Kind::CodeEdit))
            {
                continue;
            }
            if let Some(other) = parent_of_other_tool(session, event) {
                findings.fail(
                    case.place_of(session, event),
                    format!("a result of another tool than its parent, which calls {other}"),
                );
                continue;
            }
            let Some(of_id) = calls.get(event.text("call_id").unwrap_or_default()) else {
                continue;
            };
            match expected(session, event, of_id) {
                Some((call, why)) if event.number("parent") != call.number("seq") => {
                    let (actual, real) = (
                        event.number("parent"),
                        call.number("seq").unwrap_or_default(),
                    );
                    let actual = actual.map_or_else(|| "none".to_owned(), |seq| seq.to_string());
                    findings.fail(
                        case.place_of(session, event),
                        format!("has the parent {actual}, but {real} is {why}"),
                    );
                }
                Some(_) => findings.count("results, reads and edits"),
                None => findings.note("events without a parent or a result"),
            }
        }
    }
}

/// The tool of the parent of a result without an id, if it is not the result's.
fn parent_of_other_tool<'s>(session: &'s ConvertedSession, event: &Event) -> Option<&'s str> {
    let (parent, tool) = (
        event.number("parent")?,
        event.text("tool").filter(|_| !event.has("call_id"))?,
    );
    let called = session
        .events
        .iter()
        .find(|call| call.number("seq") == Some(parent))?
        .text("tool")?;
    (called != tool).then_some(called)
}

/// The call that an event must name as its parent, and why.
fn expected<'s>(
    session: &'s ConvertedSession,
    event: &Event,
    calls: &[&'s Event],
) -> Option<(&'s Event, &'static str)> {
    let mut of_record = calls
        .iter()
        .filter(|call| is_same_record(call, event))
        .peekable();
    if let Some(call) = of_record.peek().copied() {
        let named = of_record.find(|call| call.number("seq") == event.number("parent"));
        return Some((named.unwrap_or(call), "the call of its own record"));
    }
    let seq = event.number("seq")?;
    if let [only] = calls
        && event.text("call_id").is_some()
    {
        // `tape.parent` reports that an event names no parent although its call came before.
        let is_reported = !event.has("parent") && only.number("seq").is_some_and(|call| call < seq);
        return (!is_reported).then_some((*only, "its only call"));
    }
    let of_result = |result: &&Event| {
        result.is(Kind::ToolResult)
            && result.text("call_id") == event.text("call_id")
            && is_same_record(result, event)
    };
    if !event.is(Kind::ToolResult) {
        let parent = session.events.iter().find(of_result)?.number("parent");
        return calls
            .iter()
            .find(|call| call.number("seq") == parent)
            .map(|call| (*call, "the call of its result"));
    }
    // Calls without an id share nothing: which of them a result belongs to, only the adapter's format knows.
    event.text("call_id")?;
    let earlier = calls
        .iter()
        .rev()
        .filter(|call| call.number("seq").is_some_and(|call| call < seq));
    let has_result = |call: &&&Event| {
        session.events.iter().any(|result| {
            result.is(Kind::ToolResult)
                && result.number("seq").is_some_and(|result| result < seq)
                && result.number("parent") == call.number("seq")
        })
    };
    let latest = earlier.clone().next();
    earlier
        .clone()
        .find(|call| !has_result(call))
        .or(latest)
        .map(|call| (*call, "the latest open call of its id"))
}

/// True if two events come from one record.
fn is_same_record(one: &Event, other: &Event) -> bool {
    let at = |event: &Event, key: &str| event.0.pointer(key).cloned();
    match (one.line(), other.line()) {
        (Some(line), Some(other)) => line == other,
        _ => at(one, "/origin/id").is_some() && at(one, "/origin/id") == at(other, "/origin/id"),
    }
}

#[cfg(test)]
mod tests {
    use engram_core::adapter::SideInfo;

    use super::*;
    use crate::session::{Form, Session};

    /// Two calls with one id: on lines 1 and 3 of a log, or both with their results in records `a` and `b`.
    fn parents_of(events: &[&str]) -> Vec<Option<u64>> {
        let tape = events.join("\n");
        let input = Session {
            name: String::new(),
            path: "log".into(),
            bytes: Vec::new(),
            context: SideInfo::default(),
            form: Form::Stored,
            is_exported_by_opener: false,
        };
        let session = ConvertedSession::new(input, tape);
        let calls: Vec<&Event> = session
            .events
            .iter()
            .filter(|event| event.is(Kind::ToolCall))
            .collect();
        let results = session
            .events
            .iter()
            .filter(|event| !event.is(Kind::ToolCall));
        results
            .map(|result| expected(&session, result, &calls)?.0.number("seq"))
            .collect()
    }

    #[test]
    fn a_result_belongs_to_the_latest_open_call_of_its_id() {
        let events = [
            r#"{"seq":0,"k":"tool.call","call_id":"c","origin":{"line":1}}"#,
            r#"{"seq":1,"k":"tool.result","call_id":"c","parent":0,"origin":{"line":2}}"#,
            r#"{"seq":2,"k":"tool.call","call_id":"c","origin":{"line":3}}"#,
            r#"{"seq":3,"k":"tool.result","call_id":"c","parent":0,"origin":{"line":4}}"#,
            r#"{"seq":4,"k":"code.read","call_id":"c","parent":0,"origin":{"line":4}}"#,
        ];
        assert_eq!(parents_of(&events), [Some(0), Some(2), Some(0)]);
    }

    #[test]
    fn calls_without_an_id_are_not_calls_of_one_id() {
        let events = [
            r#"{"seq":0,"k":"tool.call","tool":"Shell","origin":{"line":1}}"#,
            r#"{"seq":1,"k":"tool.call","tool":"Read","origin":{"line":1}}"#,
            r#"{"seq":2,"k":"tool.result","tool":"Shell","parent":0,"origin":{"line":2}}"#,
        ];
        assert_eq!(parents_of(&events), [None]);
    }

    #[test]
    fn a_result_belongs_to_the_call_of_its_record() {
        let events = [
            r#"{"seq":0,"k":"tool.call","call_id":"c","origin":{"id":"a","pointer":"/1"}}"#,
            r#"{"seq":1,"k":"tool.call","call_id":"c","origin":{"id":"b","pointer":"/2"}}"#,
            r#"{"seq":2,"k":"tool.result","call_id":"c","parent":0,"origin":{"id":"a","pointer":"/1"}}"#,
            r#"{"seq":3,"k":"tool.result","call_id":"c","parent":0,"origin":{"id":"b","pointer":"/2"}}"#,
        ];
        assert_eq!(parents_of(&events), [Some(0), Some(1)]);
    }
}
