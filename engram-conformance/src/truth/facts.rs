//! Prompts, calls and results: each that the harness logged stands in the tape, once, as it was.

use std::collections::{BTreeMap, BTreeSet};

use engram_core::event::Kind;
use serde_json::Value;

use super::{Call, Returned};
use crate::outcome::Found;
use crate::scene::{Scene, Side, escaped, short};
use crate::tape::Event;

/// Every prompt that the harness logged is a `msg.in`, no more often than it was given.
pub fn prompts(scene: &Scene<'_>, found: &mut Found) {
    let mut sent: BTreeMap<&str, usize> = BTreeMap::new();
    for prompt in &scene.truth.prompts {
        *sent.entry(prompt).or_default() += 1;
    }
    for (prompt, times) in sent {
        if !scene.is_logged(prompt.trim()) {
            found.note("prompts not logged");
            continue;
        }
        found.count_many("prompts", times as u64);
        let mut said: BTreeMap<&str, usize> = BTreeMap::new();
        for (side, event) in scene.own_events(Kind::MsgIn).filter(|(_, event)| !is_sub_agents(event)) {
            if event.text("text").is_some_and(|text| is_prompt(text, prompt)) {
                *said.entry(side.name()).or_default() += 1;
            }
        }
        if said.is_empty() {
            found.fail(scene.recording.name(), format!("no msg.in of the prompt `{}`", short(prompt)));
        }
        for (name, count) in said.into_iter().filter(|(_, count)| *count > times) {
            let place = format!("{}/{name}", scene.recording.name());
            found.fail(place, format!("{count} msg.in of the prompt `{}`, which was given {times} times", short(prompt)));
        }
    }
}

fn is_sub_agents(event: &Event) -> bool {
    event.0.pointer("/source/agent_id").is_some()
}

/// Slash commands are logged as the command line that the harness makes of them, files that a prompt names as what is put behind it,
/// words of a command line in quotes.
fn is_prompt(text: &str, prompt: &str) -> bool {
    let prompt = prompt.trim();
    let (command, args) = prompt.split_once(' ').unwrap_or((prompt, ""));
    let is_command = prompt.starts_with('/') && text.contains(&format!("<command-name>{command}</command-name>"));
    let is_expanded =
        text.trim_start().strip_prefix(prompt).is_some_and(|rest| rest.trim_start().starts_with("--- Content from referenced files"));
    let is_quoted = text.trim().strip_prefix('"').and_then(|text| text.strip_suffix('"')) == Some(prompt);
    text.trim() == prompt || is_quoted || is_expanded || (is_command && text.contains(args))
}

/// Every call that the harness logged is a `tool.call`.
pub fn calls(scene: &Scene<'_>, found: &mut Found) {
    let said = scene.by_call(Kind::ToolCall);
    for call in scene.truth.calls.iter().filter(|call| call.has_id()) {
        if !scene.logs_call(&call.id) {
            found.note("calls not logged");
        } else if said.contains_key(call.id.as_str()) {
            found.count("calls");
        } else {
            found.fail(scene.recording.name(), format!("no tool.call {} ({})", call.id, call.tool));
        }
    }
    for missing in &scene.missing_calls {
        found.fail(scene.recording.name(), missing);
    }
    for call in scene.truth.calls.iter().filter(|call| !call.has_id()) {
        // Of a log that gives calls no ids, each call stands in every tape of its session once.
        let says = |side: &Side| side.events.iter().filter(|event| event.is(Kind::ToolCall) && is_of(call, event)).count();
        match scene.sides.iter().map(says).max() {
            Some(1) => found.count("calls without ids"),
            times => found.fail(scene.recording.name(), format!("{} tool.call of {} without an id", times.unwrap_or_default(), call.tool)),
        }
    }
}

/// True when an event may be of a call that the log gives no id.
fn is_of(call: &Call, event: &Event) -> bool {
    let args = call.args.is_null() || same_args(&call.args, event.0.get("args").unwrap_or(&Value::Null));
    args && event.text("tool") == Some(call.tool.as_str())
}

/// No `tool.call` stands twice, and none is made up. What a script calls is no call of the model's, but has one for a parent.
pub fn calls_once(scene: &Scene<'_>, found: &mut Found) {
    for (side, event) in scene.own_events(Kind::ToolCall) {
        let Some(id) = event.text("call_id") else {
            match scene.truth.calls.iter().any(|call| !call.has_id() && is_of(call, event)) {
                true => found.count("calls without ids"),
                false => found.fail(scene.at(side, event), "a tool.call without an id, which the model never made"),
            }
            continue;
        };
        let is_known = |id: &str| scene.call(id).is_some();
        if is_known(id) {
            found.count("calls");
        } else if side.roots(event).into_iter().any(is_known) {
            found.count("calls that a call made");
        } else if has_an_id_of_its_own(scene, id) {
            match scene.subject.declares("call.nested_parent") {
                true => found.gap("call.nested_parent"),
                false => found.count("commands that the user typed"),
            }
        } else {
            found.fail(scene.at(side, event), format!("tool.call `{id}`, which the model never made"));
        }
    }
    for (id, tapes) in scene.by_call(Kind::ToolCall).into_iter().filter(|(id, _)| !id.is_empty()) {
        for (name, events) in tapes.into_iter().filter(|(_, events)| events.len() > 1) {
            let place = format!("{}/{name}", scene.recording.name());
            found.fail(place, format!("{} tool.call {id}", events.len()));
        }
    }
}

/// True for an id of another kind than those of a model's calls: a script made the call, or the user.
fn has_an_id_of_its_own(scene: &Scene<'_>, id: &str) -> bool {
    let prefix = id.split(['-', '_']).next().unwrap_or_default();
    !scene.truth.calls.iter().any(|call| call.id.starts_with(prefix))
}

/// A `tool.call` has the tool and the arguments that the model gave.
pub fn call_facts(scene: &Scene<'_>, found: &mut Found) {
    for (side, event) in scene.own_events(Kind::ToolCall) {
        let Some(call) = event.text("call_id").and_then(|id| scene.call(id)) else { continue };
        found.count("calls");
        if is_invalid(event, call) {
            continue;
        }
        let tool = event.text("tool").unwrap_or_default();
        if !is_tool(tool, &call.tool) {
            found.fail(scene.at(side, event), format!("tool.call {} has tool `{tool}`, not `{}`", call.id, call.tool));
        }
        let args = event.0.get("args").unwrap_or(&Value::Null);
        if is_unreadable(side, event, call, args) {
            found.note("calls whose arguments the harness could not read");
        } else if !same_args(&call.args, args) {
            let (said, real) = (short(&args.to_string()), short(&call.args.to_string()));
            found.fail(scene.at(side, event), format!("tool.call {} has args {said}, not {real}", call.id));
        }
    }
}

/// True for a call of a tool that does not exist, or with broken arguments, which the harness logs as a call of another tool.
fn is_invalid(event: &Event, call: &Call) -> bool {
    event.text("tool") != Some(call.tool.as_str()) && event.0.pointer("/args/tool").and_then(Value::as_str) == Some(&call.tool)
}

/// True for arguments that stand for others: none for a tool that does not exist, one text for JSON that is broken.
fn is_unreadable(side: &Side, event: &Event, call: &Call, args: &Value) -> bool {
    let is_broken = call.args.is_string() && args.get("value") == Some(&call.args);
    is_broken || (side.has_failed(event) && *args == Value::Object(serde_json::Map::new()))
}

/// A tool may be logged by its name in a namespace.
fn is_tool(said: &str, real: &str) -> bool {
    said == real || said.ends_with(&format!("__{real}")) || said.ends_with(&format!(".{real}"))
}

/// Arguments are equal as JSON, or as the JSON text that stands for them, but for what harnesses are known to normalise.
fn same_args(real: &Value, said: &Value) -> bool {
    match (real, said) {
        (Value::Object(real), Value::Object(said)) => {
            let kept = real.iter().all(|(key, value)| said.get(key).is_some_and(|said| same_args(value, said)));
            let added = said.iter().filter(|(key, _)| !real.contains_key(*key));
            kept && added.into_iter().all(|(_, value)| is_default(value))
        }
        (Value::Array(real), Value::Array(said)) => {
            real.len() == said.len() && real.iter().zip(said).all(|(real, said)| same_args(real, said))
        }
        (Value::String(real), Value::String(said)) => {
            real == said || without_trailing_blanks(real) == without_trailing_blanks(said) || real.replace("\\u2028", "\u{2028}") == *said
        }
        (Value::String(real), said) => serde_json::from_str::<Value>(real).is_ok_and(|real| same_args(&real, said)),
        _ => real == said,
    }
}

fn is_default(value: &Value) -> bool {
    matches!(value, Value::Bool(false) | Value::Null)
}

fn without_trailing_blanks(text: &str) -> Vec<&str> {
    text.split('\n').map(|line| line.trim_end_matches([' ', '\t'])).collect()
}

/// Every result that the harness logged is a `tool.result`.
pub fn results(scene: &Scene<'_>, found: &mut Found) {
    let said = scene.by_call(Kind::ToolResult);
    for returned in &scene.truth.results {
        if !is_result_logged(scene, &returned.id, &returned.text) {
            found.note("results not logged");
        } else if said.contains_key(returned.id.as_str()) {
            found.count("results");
        } else {
            found.fail(scene.recording.name(), format!("no tool.result {}: `{}`", returned.id, short(&returned.text)));
        }
    }
    for call in scene.truth.calls.iter().filter(|call| call.has_id() && scene.truth.results.is_empty()) {
        let is_back = scene.logs_call(&call.id) && has_come_back(scene, call);
        if said.contains_key(call.id.as_str()) {
            found.count("results");
        } else if is_back {
            found.fail(scene.recording.name(), format!("no tool.result {} ({})", call.id, call.tool));
        } else {
            found.note("results not logged");
        }
    }
}

/// Where truth has no results: a call whose record says so, or whose id stands in the log again, has come back.
fn has_come_back(scene: &Scene<'_>, call: &Call) -> bool {
    const ENDED: [&str; 3] = ["\"state\":{\"status\":\"completed\"", "\"state\":{\"status\":\"error\"", "\"state\":\"result\""];
    let holds = |record: &[u8], words: &str| memchr::memmem::find(record, words.as_bytes()).is_some();
    let id = escaped(&call.id);
    let records: Vec<&[u8]> = scene.sides.iter().flat_map(|side| side.records_of(&id)).collect();
    match records.iter().any(|record| holds(record, "\"state\":")) {
        true => records.iter().any(|record| ENDED.iter().any(|words| holds(record, words))),
        false => records.len() > 1,
    }
}

/// One call has one result on a tape; a command that was left running has a second when it ends.
pub fn results_once(scene: &Scene<'_>, found: &mut Found) {
    for (id, tapes) in scene.by_call(Kind::ToolResult).into_iter().filter(|(id, _)| !id.is_empty()) {
        for (name, events) in tapes {
            match events.as_slice() {
                [_] => found.count("results"),
                [running, ended] if running.has("stdout") && !running.has("status") && ended.has("status") => {
                    found.count("late ends of commands left running");
                }
                several => {
                    let line = several.get(1).and_then(|event| event.line()).map(|line| format!(":{line}")).unwrap_or_default();
                    found.fail(format!("{}/{name}{line}", scene.recording.name()), format!("{} tool.result {id}", several.len()));
                }
            }
        }
    }
}

/// A `tool.result` has the text, the outcome and the exit code that the harness gave.
pub fn result_facts(scene: &Scene<'_>, found: &mut Found) {
    for (side, event) in scene.own_events(Kind::ToolResult) {
        let id = event.text("call_id").unwrap_or_default();
        let Some(returned) = scene.truth.results.iter().find(|returned| returned.id == id) else { continue };
        if !is_result_logged(scene, &returned.id, &returned.text) {
            continue;
        }
        found.count("results");
        if let Some(missing) = missing_line(scene, returned, event) {
            found.fail(scene.at(side, event), format!("tool.result {id} lacks `{}`", short(missing)));
        }
        let status = event.text("status").unwrap_or_default();
        let claims = side.events.first().and_then(|start| start.0.pointer("/coverage/tool.result")).and_then(Value::as_str);
        if status.is_empty() && claims != Some("full") {
            found.note("results whose outcome is not logged");
        } else if (returned.is_error == Some(true)) == (status == "ok") {
            found.fail(scene.at(side, event), format!("tool.result {id} has status `{status}`, is_error was {:?}", returned.is_error));
        }
        let stated = returned.text.lines().next().and_then(exit_code);
        let said = event.0.get("exit").and_then(Value::as_i64);
        if stated.is_some() && said != stated {
            found.fail(scene.at(side, event), format!("tool.result {id} has exit {said:?}, the harness said {stated:?}"));
        }
    }
}

/// A result is logged where its id stands, and its text's first long line.
fn is_result_logged(scene: &Scene<'_>, id: &str, text: &str) -> bool {
    let mark = text.lines().map(str::trim).find(|line| line.len() > 3).unwrap_or_default();
    scene.is_logged(id) && scene.is_logged(mark)
}

/// A line of what the model saw that the record holds and the event does not.
fn missing_line<'t>(scene: &Scene<'_>, returned: &'t Returned, event: &Event) -> Option<&'t str> {
    let text = returned.text.as_str();
    let said = format!("{}\n{}", event.text("stdout").unwrap_or_default(), event.text("stderr").unwrap_or_default());
    let said = said.replace("\r\n", "\n");
    if event.has("attachments") || event.has("artifact") || said.contains(text.trim()) {
        return None;
    }
    let bare = text.trim().trim_start_matches("<tool_use_error>").trim_end_matches("</tool_use_error>");
    let lines = bare.lines().map(str::trim).filter(|line| !line.is_empty() && exit_code(line).is_none());
    // Reminders that a harness adds when it sends a result are not all in the log.
    lines.filter(|line| !said.contains(line)).find(|line| scene.sides.iter().any(|side| side.logs_together(&returned.id, line)))
}

/// The code of a line that says `Exit code N`.
fn exit_code(line: &str) -> Option<i64> {
    line.strip_prefix("Exit code ")?.trim().parse().ok()
}

/// A call or result that stands in several sessions is a copy, and all but one of them say so, where the source shows it.
pub fn copies(scene: &Scene<'_>, found: &mut Found) {
    for (_, event) in [Kind::ToolCall, Kind::ToolResult].into_iter().flat_map(|kind| scene.events(kind)) {
        if event.is_replay() {
            found.count("events marked as replay");
        }
    }
    for kind in [Kind::ToolCall, Kind::ToolResult] {
        let mut at: BTreeMap<&str, Vec<(&Side, &Event)>> = BTreeMap::new();
        for (side, event) in scene.own_events(kind) {
            at.entry(event.text("call_id").unwrap_or_default()).or_default().push((side, event));
        }
        for (id, copies) in at.into_iter().filter(|(id, _)| !id.is_empty()) {
            let names: BTreeSet<&str> = copies.iter().map(|(side, _)| side.name()).collect();
            if names.len() < 2 {
                continue;
            }
            let records: BTreeSet<String> = copies.iter().map(|(side, event)| record_of(side, event)).collect();
            let sessions: BTreeSet<&str> = copies.iter().filter_map(|(_, event)| event.0.pointer("/source/session_id")?.as_str()).collect();
            match copies.last() {
                _ if sessions.len() == 1 && !is_lines(&copies) => found.note("facts of sessions that were exported twice"),
                // Nothing but the session's own id differs: the copy does not show that it is one.
                _ if records.len() == 1 => found.note("copies that the source does not show"),
                Some((side, event)) => {
                    let names = names.into_iter().collect::<Vec<_>>().join(", ");
                    found.fail(scene.at(side, event), format!("{} {id} in several tapes and not marked as replay: {names}", kind.as_str()));
                }
                None => {}
            }
        }
    }
}

/// True for copies in sessions that are lines.
fn is_lines(copies: &[(&Side, &Event)]) -> bool {
    copies.iter().all(|(_, event)| event.line().is_some())
}

/// The record of an event without what every copy gets anew: the ids of session and record.
fn record_of(side: &Side, event: &Event) -> String {
    let line = event.line().and_then(|line| usize::try_from(line).ok()).and_then(|line| line.checked_sub(1));
    let text = line.and_then(|line| side.source().split(|byte| *byte == b'\n').nth(line)).unwrap_or_default();
    let mut value: Value = serde_json::from_slice(text).unwrap_or_default();
    if let Some(members) = value.as_object_mut() {
        let own = [event.0.pointer("/source/session_id"), event.0.pointer("/origin/id")];
        members.retain(|_, value| !own.contains(&Some(&*value)));
    }
    value.to_string()
}
