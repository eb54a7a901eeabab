//! Truth of a harness whose model server gives calls no ids: the ids that the harness then made up are found by what is in the calls.

use std::collections::BTreeSet;

use engram_core::event::Kind;
use serde_json::{Value, json};

use crate::scene::{Side, escaped, short};
use crate::tape::Event;

/// Fills in ids, and says which calls the log has and the tapes have not. Truth that names its calls stays as it is.
pub fn named(truth: Value, sides: &[Side]) -> (Value, Vec<String>) {
    let mut truth = as_logged(truth, sides);
    let is_named = |call: &Value| call["id"].is_string();
    if list(&truth, "calls").iter().all(is_named) && list(&truth, "results").iter().all(is_named) {
        return (truth, Vec::new());
    }
    let said: Vec<&Event> = sides.iter().flat_map(|side| &side.events).filter(|event| event.is(Kind::ToolCall)).collect();
    let mut findings = Vec::new();
    let mut calls = list(&truth, "calls");
    let mut used: BTreeSet<String> = BTreeSet::new();
    for (n, call) in calls.iter_mut().enumerate() {
        let found = said.iter().find(|event| is_call(event, call) && event.text("call_id").is_some_and(|id| !used.contains(id)));
        if found.is_none() && is_logged(call, sides) {
            findings.push(format!("no tool.call {} {}", call["tool"], short(&call["args"].to_string())));
        }
        let id = found.and_then(|event| event.text("call_id")).map_or_else(|| format!("call {n}, not logged"), str::to_owned);
        used.insert(id.clone());
        call["id"] = json!(id);
    }
    let results = list(&truth, "results").into_iter().filter_map(|result| unwrapped(result, &said)).collect();
    let edits = with_calls(list(&truth, "edits"), &calls, sides);
    truth["calls"] = Value::Array(calls);
    truth["results"] = Value::Array(results);
    truth["edits"] = Value::Array(edits);
    (truth, findings)
}

/// Truth with the ids as the harness got them: one of the server's interfaces puts another word before the same number.
fn as_logged(truth: Value, sides: &[Side]) -> Value {
    let is_logged = |id: &str| sides.iter().any(|side| side.logs(id.as_bytes()));
    let mut text = truth.to_string();
    for call in list(&truth, "calls") {
        let Some(id) = call["id"].as_str() else { continue };
        let other = id.replacen("call_", "toolu_", 1);
        if !is_logged(id) && is_logged(&other) {
            text = text.replace(&format!("\"{id}\""), &format!("\"{other}\""));
        }
    }
    serde_json::from_str(&text).unwrap_or(truth)
}

fn list(truth: &Value, key: &str) -> Vec<Value> {
    truth[key].as_array().cloned().unwrap_or_default()
}

/// True when the event is of this call. Ids that the server gave may be prefixed with the tool's name.
fn is_call(event: &Event, call: &Value) -> bool {
    let id = event.text("call_id").unwrap_or_default();
    let is_id = call["id"].as_str().is_none_or(|real| id == real || id.strip_suffix(real).is_some_and(|prefix| prefix.ends_with("__")));
    is_id && event.text("tool") == call["tool"].as_str() && event.0.get("args") == Some(&call["args"])
}

/// True when a session file holds a call of this tool and all the texts in its arguments.
fn is_logged(call: &Value, sides: &[Side]) -> bool {
    let tool = call["tool"].as_str().unwrap_or_default();
    let texts: Vec<String> = call["args"].as_object().into_iter().flatten().filter_map(|(_, value)| value.as_str()).map(escaped).collect();
    sides.iter().any(|side| {
        let is_named = [format!("\"name\":\"{tool}\""), format!("\"name\": \"{tool}\"")].iter().any(|name| side.logs(name.as_bytes()));
        is_named && texts.iter().all(|text| side.logs(text.as_bytes()))
    })
}

/// A result with the id of its call in the log, and the text inside of `{"output": ...}` or `{"error": ...}`.
fn unwrapped(mut result: Value, said: &[&Event]) -> Option<Value> {
    let id = result["id"].as_str()?;
    let logged = said.iter().filter_map(|event| event.text("call_id")).find(|logged| *logged == id || logged.ends_with(&format!("__{id}")));
    let id = logged.unwrap_or(id).to_owned();
    let wrapped: Value = serde_json::from_str(result["text"].as_str()?).ok()?;
    let text = ["output", "error"].iter().find_map(|key| wrapped[*key].as_str()).map(str::to_owned);
    result["id"] = json!(id);
    result["is_error"] = json!(wrapped.get("error").is_some());
    if let Some(text) = text {
        result["text"] = json!(text);
    }
    Some(result)
}

/// Each edit with the calls of its turn: as many in a row, of these tools, one of which names the file and did not fail.
fn with_calls(mut edits: Vec<Value>, calls: &[Value], sides: &[Side]) -> Vec<Value> {
    let failed: BTreeSet<&str> = sides
        .iter()
        .flat_map(|side| &side.events)
        .filter(|event| event.is(Kind::ToolResult) && event.text("status") != Some("ok"))
        .filter_map(|event| event.text("call_id"))
        .collect();
    let mut from = 0;
    let mut told: BTreeSet<(usize, String)> = BTreeSet::new();
    for edit in &mut edits {
        let tools: Vec<&str> = edit["tools"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let file = edit["file"].as_str().unwrap_or_default().to_owned();
        let changes = |call: &Value| call["args"].to_string().contains(&file) && !call["id"].as_str().is_some_and(|id| failed.contains(id));
        let is_turn = |turn: &&[Value]| {
            turn.iter().map(|call| call["tool"].as_str().unwrap_or_default()).eq(tools.iter().copied()) && turn.iter().any(changes)
        };
        let width = tools.len().max(1);
        let turn = calls.windows(width).enumerate().skip(from).find(|(at, turn)| is_turn(turn) && !told.contains(&(*at, file.clone())));
        let ids: Vec<Value> = turn.map(|(_, turn)| turn.iter().map(|call| call["id"].clone()).collect()).unwrap_or_default();
        if let Some((at, _)) = turn {
            // The files of one turn share its calls, but each is changed once in it.
            from = at;
            told.insert((at, file.clone()));
        }
        edit["call_ids"] = Value::Array(ids);
    }
    edits
}
