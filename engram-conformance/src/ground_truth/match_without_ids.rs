//! Adds call ids to the ground truth of a harness whose model server sends none: finds the calls on the tapes by tool and arguments.

use std::collections::BTreeSet;

use engram_core::error::excerpt;
use engram_core::event::Kind;
use serde_json::{Value, json};

use crate::converted_session::{ConvertedSession, escaped};
use crate::tape::Event;

/// The end of the id that a call gets if the log does not have it.
const NOT_LOGGED: &str = ", not logged";

/// Adds missing ids, and returns which calls the log has but the tapes lack. A ground truth that has ids is returned unchanged.
pub fn with_ids(truth: Value, sessions: &[ConvertedSession]) -> (Value, Vec<String>) {
    let mut truth = with_prompts_of_requests(with_logged_ids(truth, sessions));
    let has_id = |call: &Value| call["id"].is_string();
    if list(&truth, "calls").iter().all(has_id) && list(&truth, "results").iter().all(has_id) {
        return (truth, Vec::new());
    }
    let calls_on_tapes: Vec<&Event> = sessions
        .iter()
        .flat_map(|session| &session.events)
        .filter(|event| event.is(Kind::ToolCall))
        .collect();
    let mut findings = Vec::new();
    let mut calls = list(&truth, "calls");
    let mut used: BTreeSet<String> = BTreeSet::new();
    for (n, call) in calls.iter_mut().enumerate() {
        // A call whose id the log has is known, whatever its arguments have become.
        if let Some(id) = call["id"].as_str().map(str::to_owned)
            && calls_on_tapes
                .iter()
                .any(|event| event.text("call_id") == Some(&id))
        {
            used.insert(id);
            continue;
        }
        let found = calls_on_tapes.iter().find(|event| {
            is_call(event, call) && event.text("call_id").is_some_and(|id| !used.contains(id))
        });
        if found.is_none() && is_logged(call, sessions) {
            findings.push(format!(
                "no tool.call {} {}",
                call["tool"],
                excerpt(&call["args"].to_string())
            ));
        }
        let id = found
            .and_then(|event| event.text("call_id"))
            .map_or_else(|| format!("call {n}{NOT_LOGGED}"), str::to_owned);
        used.insert(id.clone());
        call["id"] = json!(id);
    }
    add_ids_of_rewritten(&mut calls, &used, &list(&truth, "results"), &calls_on_tapes);
    let ids_on_tapes: Vec<&str> = sessions
        .iter()
        .flat_map(|session| &session.events)
        .filter(|event| event.is(Kind::ToolCall) || event.is(Kind::ToolResult))
        .filter_map(|event| event.text("call_id"))
        .collect();
    let results = list(&truth, "results")
        .into_iter()
        .filter_map(|result| unwrapped(result, &ids_on_tapes))
        .collect();
    let edits = with_calls(list(&truth, "edits"), &calls, sessions);
    truth["calls"] = Value::Array(calls);
    truth["results"] = Value::Array(results);
    truth["edits"] = Value::Array(edits);
    (truth, findings)
}

/// Adds the ids of calls whose arguments are not logged, because something changed them before the call ran: the calls of the same tool, in
/// their order, of which the model server received the result.
fn add_ids_of_rewritten(
    calls: &mut [Value],
    used: &BTreeSet<String>,
    results: &[Value],
    calls_on_tapes: &[&Event],
) {
    let has_result = |id: &str| {
        results
            .iter()
            .filter_map(|result| result["id"].as_str())
            .any(|returned| is_id(id, returned))
    };
    let mut left: Vec<&Event> = Vec::new();
    for event in calls_on_tapes {
        let is_first = |id: &str| !left.iter().any(|other| other.text("call_id") == Some(id));
        if event
            .text("call_id")
            .is_some_and(|id| !used.contains(id) && has_result(id) && is_first(id))
        {
            left.push(event);
        }
    }
    for call in calls.iter_mut().filter(|call| {
        call["id"]
            .as_str()
            .is_some_and(|id| id.ends_with(NOT_LOGGED))
    }) {
        if let Some(at) = left
            .iter()
            .position(|event| event.text("tool") == call["tool"].as_str())
        {
            call["id"] = json!(left.remove(at).text("call_id"));
        }
    }
}

/// Replaces prompts by the texts of the requests that a person made, if the ground truth has the requests: prompts are then as the model
/// saw them.
fn with_prompts_of_requests(mut truth: Value) -> Value {
    let requests = list(&truth, "requests");
    if !requests.is_empty() {
        let of_person = requests
            .into_iter()
            .filter(|request| request["subagent"].is_null());
        truth["prompts"] = of_person
            .filter_map(|request| request.get("text").filter(|text| text.is_string()).cloned())
            .collect();
    }
    truth
}

/// Replaces ids by those in the log: one API of the model server uses another prefix for the same number.
fn with_logged_ids(truth: Value, sessions: &[ConvertedSession]) -> Value {
    let is_logged = |id: &str| {
        sessions
            .iter()
            .any(|session| session.contains(id.as_bytes()))
    };
    let mut text = truth.to_string();
    for call in list(&truth, "calls") {
        let Some(id) = call["id"].as_str() else {
            continue;
        };
        let other = id.replacen("call_", "toolu_", 1);
        if !is_logged(id) && is_logged(&other) {
            text = text.replace(&format!("\"{id}\""), &format!("\"{other}\""));
        }
    }
    serde_json::from_str(&text).unwrap_or(truth)
}

/// The items of a list in the ground truth.
fn list(truth: &Value, key: &str) -> Vec<Value> {
    truth[key].as_array().cloned().unwrap_or_default()
}

/// True if the event belongs to this call. A harness may put the tool's name before the server's id.
fn is_call(event: &Event, call: &Value) -> bool {
    let id = event.text("call_id").unwrap_or_default();
    call["id"].as_str().is_none_or(|real| is_id(id, real))
        && event.text("tool") == call["tool"].as_str()
        && event.0.get("args") == Some(&call["args"])
}

/// True if a logged id is that of the model server, alone or behind the name of the tool.
fn is_id(logged: &str, real: &str) -> bool {
    logged
        .strip_suffix(real)
        .is_some_and(|prefix| prefix.is_empty() || prefix.ends_with("__"))
}

/// True if a session contains the name of this tool and all texts in the arguments. Some versions keep the words of sub-agents and not
/// their calls, so a call of theirs must have its arguments as they are.
fn is_logged(call: &Value, sessions: &[ConvertedSession]) -> bool {
    let tool = call["tool"].as_str().unwrap_or_default();
    let texts: Vec<String> = call["args"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(_, value)| value.as_str())
        .map(escaped)
        .collect();
    sessions.iter().any(|session| {
        let is_named = [
            format!("\"name\":\"{tool}\""),
            format!("\"name\": \"{tool}\""),
        ]
        .iter()
        .any(|name| session.contains(name.as_bytes()));
        // The record of a result names the tool, too, but not the arguments.
        let has_args = || {
            !texts.is_empty()
                || session
                    .records_with(&format!("\"{tool}\""))
                    .any(|record| is_in(record, &call["args"]))
        };
        let is_agents = call["thread"]
            .as_str()
            .is_some_and(|thread| thread.starts_with("sub:"));
        let is_there = !is_agents
            || session
                .records_with(&format!("\"{tool}\""))
                .any(|record| has_value(record, &call["args"]));
        is_named
            && is_there
            && has_args()
            && texts.iter().all(|text| session.contains(text.as_bytes()))
    })
}

/// True if a record contains this JSON value.
fn is_in(record: &[u8], value: &Value) -> bool {
    memchr::memmem::find(record, value.to_string().as_bytes()).is_some()
}

/// True if a record has this JSON value anywhere.
fn has_value(record: &[u8], wanted: &Value) -> bool {
    fn is_in(value: &Value, wanted: &Value) -> bool {
        value == wanted
            || match value {
                Value::Object(members) => members.values().any(|inner| is_in(inner, wanted)),
                Value::Array(items) => items.iter().any(|inner| is_in(inner, wanted)),
                _ => false,
            }
    }
    serde_json::from_slice(record).is_ok_and(|record| is_in(&record, wanted))
}

/// The result with the logged id of its call, and with the text inside `{"output": ...}` or `{"error": ...}`; `{}` has none. The log may have a
/// result without its call.
fn unwrapped(mut result: Value, ids_on_tapes: &[&str]) -> Option<Value> {
    let id = result["id"].as_str()?;
    let logged = ids_on_tapes.iter().find(|logged| is_id(logged, id));
    let id = (*logged.unwrap_or(&id)).to_owned();
    let wrapped: Value = serde_json::from_str(result["text"].as_str()?).ok()?;
    let text = ["output", "error"]
        .iter()
        .find_map(|key| wrapped[*key].as_str())
        .or_else(|| wrapped.as_object()?.is_empty().then_some(""))
        .map(str::to_owned);
    result["id"] = json!(id);
    result["is_error"] = json!(wrapped.get("error").is_some());
    if let Some(text) = text {
        result["text"] = json!(text);
    }
    Some(result)
}

/// The ids of the calls that made an edit. `None` if the edit has no list of places (`calls`), or one of them is not a place in `calls` here.
fn ids_by_place(edit: &Value, calls: &[Value]) -> Option<Vec<Value>> {
    let places = edit["calls"].as_array()?.iter();
    places
        .map(|place| Some(calls.get(usize::try_from(place.as_u64()?).ok()?)?["id"].clone()))
        .collect()
}

/// Adds to each edit the ids of its calls. Recordings without places get those of a turn: consecutive calls of the edit's tools, of which one
/// names the file and did not fail.
fn with_calls(mut edits: Vec<Value>, calls: &[Value], sessions: &[ConvertedSession]) -> Vec<Value> {
    let failed: BTreeSet<&str> = sessions
        .iter()
        .flat_map(|session| &session.events)
        .filter(|event| event.is(Kind::ToolResult) && event.text("status") != Some("ok"))
        .filter_map(|event| event.text("call_id"))
        .collect();
    let (mut from, mut width_there) = (0, 1);
    let mut matched: BTreeSet<(usize, String)> = BTreeSet::new();
    for edit in &mut edits {
        if let Some(ids) = ids_by_place(edit, calls) {
            edit["call_ids"] = Value::Array(ids);
            continue;
        }
        let tools: Vec<&str> = edit["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let file = edit["file"].as_str().unwrap_or_default().to_owned();
        let changes = |call: &Value| {
            call["args"].to_string().contains(&file)
                && !call["id"].as_str().is_some_and(|id| failed.contains(id))
        };
        let is_turn = |turn: &&[Value]| {
            turn.iter()
                .map(|call| call["tool"].as_str().unwrap_or_default())
                .eq(tools.iter().copied())
                && turn.iter().any(changes)
        };
        let width = tools.len().max(1);
        // The calls of a turn belong to no other one.
        let is_free = |at: usize| {
            (at == from && width == width_there) || at >= from + width_there || matched.is_empty()
        };
        let turns = calls.windows(width).enumerate().skip(from);
        let turn = turns.into_iter().find(|(at, turn)| {
            is_free(*at) && is_turn(turn) && !matched.contains(&(*at, file.clone()))
        });
        let ids: Vec<Value> = turn
            .map(|(_, turn)| turn.iter().map(|call| call["id"].clone()).collect())
            .unwrap_or_default();
        if let Some((at, _)) = turn {
            // The files of one turn share its calls, but a turn changes each file once.
            (from, width_there) = (at, width);
            matched.insert((at, file.clone()));
        }
        edit["call_ids"] = Value::Array(ids);
    }
    edits
}

#[test]
fn an_edit_has_the_calls_at_its_places_whatever_other_agents_called_meanwhile() {
    let call =
        |id: &str, tool: &str| json!({"id": id, "tool": tool, "args": {"file_path": "a.py"}});
    let calls = [
        call("a", "agent"),
        call("b", "read"),
        call("c", "replace"),
        call("d", "replace"),
    ];
    let edit =
        |tools: &[&str], places: Value| json!({"file": "a.py", "tools": tools, "calls": places});
    let of_calls = |first: Value, second: Value| {
        let edits = vec![
            edit(&["agent", "replace"], first),
            edit(&["replace"], second),
        ];
        let found = with_calls(edits, &calls, &[]);
        found
            .iter()
            .map(|edit| edit["call_ids"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        of_calls(json!([0, 2]), json!([3])),
        [json!(["a", "c"]), json!(["d"])]
    );
    assert_eq!(
        of_calls(json!([0, 9]), json!([3]))[0],
        json!([]),
        "there is no such call"
    );
}

#[test]
fn a_result_has_the_logged_id_and_the_text_inside() {
    let result = |text: &str| json!({"id": "replace_1", "text": text});
    let cases = [
        (r#"{"output":"done"}"#, "done", false),
        (r#"{"error":"no"}"#, "no", true),
        ("{}", "", false),
    ];
    for (given, text, is_error) in cases {
        let found = unwrapped(result(given), &["read__read_1", "replace__replace_1"]);
        let expected = json!({"id": "replace__replace_1", "text": text, "is_error": is_error});
        assert_eq!(found, Some(expected), "{given}");
    }
}
