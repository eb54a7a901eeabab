//! Prompts, calls and results: each that the harness logged stands in the tape, once.

use std::collections::{BTreeMap, BTreeSet};

use engram_core::event::Kind;
use serde_json::Value;

use super::{Call, Returned, Scene, Side, names, short};
use crate::tape::Event;

/// Every prompt that the harness logged is a `msg.in`.
pub fn prompts(scene: &mut Scene<'_>) {
    let mut sent: BTreeMap<&str, usize> = BTreeMap::new();
    for prompt in &scene.truth.prompts {
        *sent.entry(prompt).or_default() += 1;
    }
    for (prompt, times) in sent {
        if !scene.is_logged(prompt.trim()) {
            scene.tally.count_many("prompts not logged", times as u64);
            continue;
        }
        scene.tally.count_many("prompts", times as u64);
        let mut said: BTreeMap<&str, usize> = BTreeMap::new();
        for (side, event) in scene.events(Kind::MsgIn).filter(|(_, event)| !event.is_replay()) {
            if event.text("text").is_some_and(|text| is_prompt(text, prompt)) && !is_sub_agents(event) {
                *said.entry(side.name).or_default() += 1;
            }
        }
        if said.is_empty() {
            scene.find(format!("no msg.in of the prompt `{}`", short(prompt)));
        }
        for (name, count) in said.iter().filter(|(_, count)| **count > times) {
            scene.find(format!("{name}: {count} msg.in of the prompt `{}`, which was given {times} times", short(prompt)));
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

/// Every call that the harness logged is a `tool.call`, once, with its arguments; and no other call is made up.
pub fn calls(scene: &mut Scene<'_>) {
    let said = scene.by_call(Kind::ToolCall);
    for call in scene.truth.calls.iter().filter(|call| call.has_id()) {
        if !scene.logs_call(&call.id) {
            scene.tally.count("calls not logged");
            continue;
        }
        scene.tally.count("calls");
        let Some(tapes) = said.get(call.id.as_str()) else {
            scene.find(format!("no tool.call {} ({})", call.id, call.tool));
            continue;
        };
        once(scene, tapes, "tool.call", &call.id);
        for event in tapes.values().flatten().filter(|event| !is_invalid(event, call)) {
            if !is_tool(event.text("tool").unwrap_or_default(), &call.tool) {
                scene.find(format!("tool.call {} has tool `{}`, not `{}`", call.id, event.text("tool").unwrap_or_default(), call.tool));
            }
            let args = event.0.get("args").unwrap_or(&Value::Null);
            if scene.case.harness == "opencode" && is_unreadable(call, args) {
                scene.tally.count("calls whose arguments the harness could not read");
            } else if !same_args(&call.args, args) {
                scene.find(format!(
                    "tool.call {} ({}) has args {}, not {}",
                    call.id,
                    call.tool,
                    short(&args.to_string()),
                    short(&call.args.to_string())
                ));
            }
        }
    }
    for (id, tapes) in said.iter().filter(|(id, _)| !id.is_empty()) {
        let known = scene.truth.calls.iter().any(|call| call.id == *id);
        // What a script calls is no call of the model; which script it was, the log does not say where several run.
        let nested = scene.case.harness == "codex" && id.starts_with("exec-");
        // A command that the user typed gets an id of another kind than those of a model's calls.
        let typed = scene.case.harness == "opencode" && !MODEL_IDS.iter().any(|prefix| id.starts_with(prefix));
        if !known && nested {
            scene.tally.count("calls that a script made");
        } else if !known && typed {
            scene.tally.count("commands that the user typed");
        } else if !known {
            scene.find(format!("tool.call `{id}` in {}, which the model never made", names(tapes)));
        }
    }
}

/// Calls of a log that gives them no ids: of those that were made each stands in every tape of its session once, and no other does.
pub fn calls_without_ids(scene: &mut Scene<'_>) {
    let (truth, sides) = (scene.truth, scene.sides);
    let made: Vec<&Call> = truth.calls.iter().filter(|call| !call.has_id()).collect();
    let is_of = |call: &Call, event: &Event| {
        let args = call.args.is_null() || same_args(&call.args, event.0.get("args").unwrap_or(&Value::Null));
        args && event.text("tool") == Some(call.tool.as_str())
    };
    for call in &made {
        let says = |side: &Side<'_>| side.events.iter().filter(|event| event.is(Kind::ToolCall) && is_of(call, event)).count();
        match sides.iter().map(says).max() {
            Some(1) => scene.tally.count("calls without ids"),
            times => scene.find(format!("{} tool.call of {} without an id", times.unwrap_or_default(), call.tool)),
        }
    }
    for (side, event) in scene.events(Kind::ToolCall).filter(|(_, event)| event.text("call_id").is_none()).collect::<Vec<_>>() {
        if !made.iter().any(|call| is_of(call, event)) {
            scene.find(format!("tool.call of {} in {}, which the model never made", event.text("tool").unwrap_or_default(), side.name));
        }
    }
}

/// How the ids of calls begin that models make.
const MODEL_IDS: &[&str] = &["call_", "toolu_"];

/// True for a call of a tool that does not exist, or with broken arguments, which the harness logs as a call of the tool `invalid`.
fn is_invalid(event: &Event, call: &Call) -> bool {
    event.text("tool") == Some("invalid") && event.0.pointer("/args/tool").and_then(Value::as_str) == Some(&call.tool)
}

/// True for arguments that stand for others: none for a tool that does not exist (0.1.174), one text for JSON that is broken.
fn is_unreadable(call: &Call, args: &Value) -> bool {
    let is_broken = call.args.is_string() && args.get("value") == Some(&call.args);
    is_broken || (call.tool == "no_such_tool" && *args == Value::Object(serde_json::Map::new()))
}

/// A tool may be logged by its name in a namespace.
fn is_tool(said: &str, real: &str) -> bool {
    said == real || said.ends_with(&format!("__{real}")) || said.ends_with(&format!(".{real}"))
}

/// A fact that stands in several tapes is a copy that one of them does not mark, twice in one tape it is said twice.
fn once(scene: &mut Scene<'_>, tapes: &BTreeMap<&str, Vec<&Event>>, what: &str, id: &str) {
    for (name, events) in tapes.iter().filter(|(_, events)| events.len() > 1) {
        if let [running, ended] = events.as_slice()
            && running.text("stdout").is_some()
            && running.text("status").is_none()
            && ended.text("status").is_some()
        {
            scene.tally.count("late ends of commands left running");
            continue;
        }
        scene.find(format!("{} {what} {id} in {name}", events.len()));
    }
    let sessions: BTreeSet<&str> = tapes.values().flatten().filter_map(|event| event.0.pointer("/source/session_id")?.as_str()).collect();
    if tapes.len() > 1 {
        if scene.case.harness == "opencode" && sessions.len() == 1 {
            scene.tally.count("facts of sessions that were exported twice");
        } else if has_unmarked_copies(scene) {
            scene.tally.count("facts in copies that the source does not show");
        } else {
            scene.find(format!("{what} {id} in several tapes and not marked as replay: {}", names(tapes)));
        }
    }
}

/// Forks of these versions copy lines and change nothing in them that would show it.
fn has_unmarked_copies(scene: &Scene<'_>) -> bool {
    scene.case.harness == "claude-code" && scene.since("2.1.80") && !scene.since("2.1.329")
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

/// Every result that the harness logged is a `tool.result`, once, with its text.
pub fn results(scene: &mut Scene<'_>) {
    let said = scene.by_call(Kind::ToolResult);
    for returned in &scene.truth.results {
        if !is_result_logged(scene, &returned.id, &returned.text) {
            scene.tally.count("results not logged");
            continue;
        }
        scene.tally.count("results");
        let Some(tapes) = said.get(returned.id.as_str()) else {
            scene.find(format!("no tool.result {}: `{}`", returned.id, short(&returned.text)));
            continue;
        };
        once(scene, tapes, "tool.result", &returned.id);
        for event in tapes.values().flatten() {
            if let Some(missing) = missing_line(scene, returned, event) {
                scene.find(format!("tool.result {} lacks `{}`", returned.id, short(missing)));
            }
            let status = event.text("status").unwrap_or_default();
            if status.is_empty() && scene.case.harness == "cursor" {
                scene.tally.count("results whose outcome is not logged");
            } else if (returned.is_error == Some(true)) == (status == "ok") {
                scene.find(format!("tool.result {} has status `{status}`, is_error was {:?}", returned.id, returned.is_error));
            }
            stated_exit(scene, &returned.id, &returned.text, event);
        }
    }
    for call in scene.truth.calls.iter().filter(|call| call.has_id() && scene.truth.results.is_empty()) {
        // Where truth has no results: a call whose record says so, or whose id stands in the log again, has come back.
        let records = || scene.sides.iter().flat_map(|side| side.records_of(&call.id));
        let is_back = match scene.case.harness.as_str() {
            "opencode" => scene.logs_call(&call.id) && records().any(has_ended),
            _ => records().count() > 1,
        };
        match said.get(call.id.as_str()) {
            Some(tapes) => {
                scene.tally.count("results");
                once(scene, tapes, "tool.result", &call.id);
            }
            None if is_back => scene.find(format!("no tool.result {} ({})", call.id, call.tool)),
            None => scene.tally.count("results not logged"),
        }
    }
}

/// True for the record of a call that holds its result.
fn has_ended(record: &[u8]) -> bool {
    ENDED.iter().any(|word| memchr::memmem::find(record, word.as_bytes()).is_some())
}

/// How the record of a call that holds its result says so.
const ENDED: &[&str] = &["\"status\":\"completed\"", "\"status\":\"error\"", "\"state\":\"result\""];

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
    if event.0.get("attachments").is_some() || event.0.get("artifact").is_some() || said.contains(text.trim()) {
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

fn stated_exit(scene: &mut Scene<'_>, id: &str, text: &str, event: &Event) {
    let stated = text.lines().next().and_then(exit_code);
    let said = event.0.get("exit").and_then(Value::as_i64);
    if stated.is_some() && said != stated {
        scene.find(format!("tool.result {id} has exit {said:?}, the harness said {stated:?}"));
    }
}
