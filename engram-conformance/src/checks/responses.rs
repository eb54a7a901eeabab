//! The events of one response are next to each other, and its usage follows directly.

use std::collections::{BTreeMap, BTreeSet};

use engram_core::event::Kind;

use crate::case::Case;
use crate::converted_session::ConvertedSession;
use crate::outcome::Findings;
use crate::tape::Event;

/// The number of names in the pointer to an item of a document: that of the list, and the index.
const ITEM_DEPTH: usize = 2;

/// Where the events of a response are on a tape.
#[derive(Default)]
struct Response {
    /// The first and the last message or call.
    span: Option<(usize, usize)>,
    usage: Vec<usize>,
}

/// The response that an event belongs to, as it names it, with the agent that asked for it.
fn response_of(event: &Event) -> Option<(&str, &str)> {
    let agent = event
        .0
        .pointer("/source/agent_id")
        .and_then(serde_json::Value::as_str)
        .unwrap_or_default();
    let is_part = event.is(Kind::MsgOut) || event.is(Kind::ToolCall) || event.is_meta("usage");
    event
        .text("message_id")
        .filter(|_| is_part)
        .map(|id| (agent, id))
}

/// Between the first and the last event of a response there is no message, and nothing of another response.
pub fn together(case: &Case<'_>, findings: &mut Findings) {
    for session in &case.sessions {
        let mut responses: BTreeMap<(&str, &str), Response> = BTreeMap::new();
        for (at, event) in session.events.iter().enumerate() {
            let Some(key) = response_of(event) else {
                continue;
            };
            let response = responses.entry(key).or_default();
            if event.is_meta("usage") {
                response.usage.push(at);
            } else {
                response.span = Some((response.span.map_or(at, |(first, _)| first), at));
            }
        }
        for (key, response) in responses {
            match problem(session, key, &response) {
                None => findings.count("responses"),
                Some((at, what)) => findings.fail(
                    case.place_of(session, &session.events[at]),
                    format!("response {}: {what}", key.1),
                ),
            }
        }
    }
}

/// What is wrong with a response, and at which event. Results, and events of other agents, that the log has between its parts stay there;
/// behind its last part only what the record of that part says comes before the usage, and in a document, whose items may be nested,
/// what its calls caused.
fn problem(
    session: &ConvertedSession,
    key: (&str, &str),
    response: &Response,
) -> Option<(usize, &'static str)> {
    let events = &session.events;
    let (first, last) = response.span?;
    if let Some(at) = (first..last).find(|at| is_foreign(&events[*at], key)) {
        return Some((at, "something else stands between its events"));
    }
    let usage = *response.usage.first()?;
    if usage < last {
        return Some((usage, "its usage stands before its last event"));
    }
    let caused = caused_by_calls(&session.events[first..=last.max(usage)], key);
    let may_come_before = |event: &Event| {
        let is_of_last_part = is_same_record(event, &events[last]) && !is_foreign(event, key);
        let is_caused =
            event.line().is_none() && event.number("seq").is_some_and(|seq| caused.contains(&seq));
        is_of_last_part || is_caused || response_of(event) == Some(key)
    };
    let is_direct = events[last + 1..usage].iter().all(may_come_before);
    (!is_direct).then_some((usage, "its usage does not stand directly behind it"))
}

/// True if two events come from one record: a line, or an item of a document.
fn is_same_record(one: &Event, other: &Event) -> bool {
    let item = |event: &Event| {
        let pointer = event
            .0
            .pointer("/origin/pointer")
            .and_then(serde_json::Value::as_str)
            .unwrap_or_default();
        pointer
            .match_indices('/')
            .nth(ITEM_DEPTH)
            .map_or(pointer, |(at, _)| &pointer[..at])
            .to_owned()
    };
    match (one.line(), other.line()) {
        (Some(line), Some(other)) => line == other,
        (None, None) => item(one) == item(other),
        _ => false,
    }
}

/// The events that the calls of a response caused: results, links between files, and the calls that a program made.
fn caused_by_calls(events: &[Event], key: (&str, &str)) -> BTreeSet<u64> {
    let mut caused = BTreeSet::new();
    for event in events {
        let is_call = event.is(Kind::ToolCall) && response_of(event) == Some(key);
        if is_call
            || event
                .number("parent")
                .is_some_and(|parent| caused.contains(&parent))
        {
            caused.extend(event.number("seq"));
        }
    }
    caused
}

fn is_of_other_agent(event: &Event, (agent, _): (&str, &str)) -> bool {
    event
        .0
        .pointer("/source/agent_id")
        .and_then(serde_json::Value::as_str)
        .unwrap_or_default()
        != agent
}

/// True for a message to the agent, and for an event of another response of the same agent.
fn is_foreign(event: &Event, key: (&str, &str)) -> bool {
    let is_other = response_of(event).is_some_and(|of| of != key);
    (event.is(Kind::MsgIn) || is_other) && !is_of_other_agent(event, key)
}
