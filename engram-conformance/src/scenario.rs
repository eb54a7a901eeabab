//! The catalogue of scenarios: what a recording can show, by name, and the facts that it must hold to show it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use engram_core::event::Kind;
use serde_json::Value;

use crate::scene::{Scene, Side};
use crate::tape::Event;
use crate::truth::RealEdit;

/// One scenario.
#[derive(Clone, Copy)]
pub struct Scenario {
    /// The stable name.
    pub name: &'static str,
    /// The facts that truth, tape or the recording's own description must hold.
    pub facts: &'static str,
    pub(crate) shows: fn(&Scene<'_>) -> bool,
}

impl Scenario {
    /// The scenario of that name.
    pub fn named(name: &str) -> Option<&'static Scenario> {
        SCENARIOS.iter().find(|scenario| scenario.name == name)
    }
}

impl std::fmt::Debug for Scenario {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const fn scenario(name: &'static str, facts: &'static str, shows: fn(&Scene<'_>) -> bool) -> Scenario {
    Scenario { name, facts, shows }
}

/// Every scenario.
pub const SCENARIOS: &[Scenario] = &[
    scenario("text_response", "the model answers in text", |scene| any(scene, Kind::MsgOut, |out| out.has("text") && !is_reasoning(out))),
    scenario("tool_invocation", "the model calls a tool, and the log has the call", |scene| {
        scene.truth.calls.iter().any(|call| scene.is_logged(&call.id))
    }),
    scenario("structured_result", "a result has its facts in fields: exit code, duration, attachments, or the lines of an edit", |scene| {
        let is_structured = |result: &Event| ["exit", "duration_ms", "attachments"].iter().any(|key| result.has(key));
        any(scene, Kind::ToolResult, is_structured) || any(scene, Kind::CodeEdit, |edit| edit.has("after_range"))
    }),
    scenario("streaming_blocks", "one message of the model is logged block by block", blocks_of_one_message),
    scenario("reasoning", "the model reasons before it answers", |scene| any(scene, Kind::MsgOut, is_reasoning)),
    scenario("file_read_ranged", "a part of a file is read", |scene| {
        any(scene, Kind::CodeRead, |read| {
            let (first, last) = read.range("range").unwrap_or((1, 0));
            first > 1 || read.number("total_lines").is_some_and(|total| total > last as u64)
        })
    }),
    scenario("file_edit", "a file that was there has another text after a call", |scene| {
        scene.truth.edits.iter().any(|real| real.before.is_some() && real.after.is_some())
    }),
    scenario("file_create", "a file is there after a call that was not there before", |scene| {
        scene.truth.edits.iter().any(|real| real.before_sha256.is_none() && real.before.is_none() && real.after.is_some())
    }),
    scenario("file_delete_move", "a file is gone after a call", |scene| scene.truth.edits.iter().any(is_gone)),
    scenario("multi_edit", "one call changes several spans", several_spans),
    scenario("failed_edit", "a call that should have changed a file fails", |scene| {
        any_result(scene, |kind, result| matches!(kind, "edit" | "write") && result.text("status") == Some("error"))
    }),
    scenario("denied_tool", "a call is denied", |scene| {
        any(scene, Kind::ToolResult, |result| result.text("status") == Some("denied"))
            || any(scene, Kind::Meta, |meta| meta.is_meta("permission") && meta.text("decision") == Some("deny"))
    }),
    scenario("approved_tool", "a call is approved, and the log says so", |scene| {
        any(scene, Kind::Meta, |meta| meta.is_meta("permission") && meta.text("decision") == Some("allow"))
    }),
    scenario("parallel_calls", "a call is made before an earlier one has its result", |scene| scene.sides.iter().any(has_parallel_calls)),
    scenario("shell_exit_code", "a command ends with an exit code that is not 0", |scene| {
        any(scene, Kind::ToolResult, |result| result.0.get("exit").and_then(Value::as_i64).is_some_and(|exit| exit != 0))
    }),
    scenario("mcp_tool", "a tool of an MCP server is called", |scene| any(scene, Kind::ToolCall, |call| call.text("kind") == Some("mcp"))),
    scenario("subagent", "work is handed to another agent", |scene| {
        scene.truth.calls.iter().any(|call| !call.is_main()) || any(scene, Kind::ToolCall, |call| call.text("kind") == Some("delegate"))
    }),
    scenario("interrupt", "the turn is stopped from outside", |scene| any(scene, Kind::Meta, |meta| meta.is_meta("interrupt"))),
    scenario("api_error", "the model's service fails", |scene| any(scene, Kind::Meta, |meta| meta.is_meta("error"))),
    scenario("compaction", "history is replaced by a summary", |scene| any(scene, Kind::Meta, |meta| meta.is_meta("compaction"))),
    scenario("resume", "a session is gone on with by a later run", |scene| {
        command_lines(scene).iter().any(|word| matches!(word.as_str(), "resume" | "--resume" | "-r" | "--continue" | "-c"))
    }),
    scenario("fork", "a session repeats another one's history, and the log shows it", |scene| scene.sides.iter().any(is_fork)),
    scenario("killed", "the harness ends while a call runs, or in the middle of a record", |scene| scene.sides.iter().any(is_killed)),
    scenario("implicit_context", "the harness feeds the model beside the conversation", |scene| {
        any(scene, Kind::Meta, |meta| meta.is_meta("context"))
    }),
    scenario("image", "an image goes in or comes out", |scene| {
        scene.sides.iter().any(|side| memchr::memmem::find(side.tape.as_bytes(), b"\"media_type\":\"image/").is_some())
    }),
    scenario("unicode_crlf", "a prompt beyond ASCII, or a file with CRLF line ends", |scene| {
        scene.truth.prompts.iter().any(|prompt| !prompt.is_ascii()) || scene.truth.edits.iter().any(has_crlf)
    }),
];

/// The matrix of runtime contract tests, and the scenarios that stand for each of its rows.
pub const SEED_MATRIX: &[(&str, &[&str])] = &[
    ("Streaming", &["text_response", "streaming_blocks", "reasoning"]),
    ("Tool loop: approve", &["tool_invocation", "approved_tool", "structured_result", "shell_exit_code"]),
    ("Tool loop: deny", &["denied_tool", "failed_edit"]),
    ("Cancellation", &["interrupt", "killed", "api_error"]),
    ("Non-interactive mode", &["denied_tool", "resume"]),
    ("Implicit sources", &["implicit_context", "compaction"]),
    ("Parallel tool calls", &["parallel_calls", "subagent"]),
    ("Tool restriction reliability", &["denied_tool"]),
    ("MCP transport selection", &["mcp_tool"]),
];

/// The scenarios that a recording shows.
pub(crate) fn shown_by(scene: &Scene<'_>) -> BTreeSet<&'static str> {
    SCENARIOS.iter().filter(|scenario| (scenario.shows)(scene)).map(|scenario| scenario.name).collect()
}

fn any(scene: &Scene<'_>, kind: Kind, shows: impl Fn(&Event) -> bool) -> bool {
    scene.events(kind).any(|(_, event)| shows(event))
}

/// True when a result shows it, given the kind of its call's tool.
fn any_result(scene: &Scene<'_>, shows: impl Fn(&str, &Event) -> bool) -> bool {
    scene.events(Kind::ToolResult).any(|(side, result)| {
        let kind = side.call_of(result).and_then(|call| call.text("kind")).unwrap_or_default();
        shows(kind, result)
    })
}

fn is_reasoning(out: &Event) -> bool {
    out.text("channel") == Some("reasoning")
}

fn is_gone(real: &RealEdit) -> bool {
    real.after.is_none() && real.after_sha256.is_none()
}

fn has_crlf(real: &RealEdit) -> bool {
    [&real.before, &real.after].into_iter().flatten().any(|text| text.contains("\r\n"))
}

fn blocks_of_one_message(scene: &Scene<'_>) -> bool {
    scene.sides.iter().any(|side| {
        let mut lines: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
        for event in side.events.iter().filter(|event| event.is(Kind::MsgOut)) {
            if let (Some(message), Some(line)) = (event.text("message_id"), event.line()) {
                lines.entry(message).or_default().insert(line);
            }
        }
        lines.values().any(|lines| lines.len() > 1)
    })
}

fn several_spans(scene: &Scene<'_>) -> bool {
    let mut spans: BTreeMap<(&str, &str, &str), u64> = BTreeMap::new();
    for (side, edit) in scene.events(Kind::CodeEdit) {
        if let (Some(call), Some(file)) = (edit.text("call_id"), edit.text("file")) {
            *spans.entry((side.name(), call, file)).or_default() += 1;
        }
    }
    spans.values().any(|count| *count > 1)
}

/// True when some call is made while another one has no result yet.
pub(crate) fn has_parallel_calls(side: &Side) -> bool {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    side.events.iter().any(|event| {
        let id = event.text("call_id").unwrap_or_default();
        if event.is(Kind::ToolResult) {
            open.remove(id);
        }
        // A call that a call makes is open together with it, but not beside it.
        let is_beside = event.is(Kind::ToolCall) && !event.has("parent") && !id.is_empty();
        let is_parallel = is_beside && !open.is_empty();
        if is_beside {
            open.insert(id);
        }
        is_parallel && side.events.iter().any(|result| result.is(Kind::ToolResult) && result.text("call_id") == Some(id))
    })
}

fn is_fork(side: &Side) -> bool {
    side.events.iter().any(|event| event.is_replay() || (event.is_meta("session") && event.has("fork_of")))
}

fn is_killed(side: &Side) -> bool {
    let is_cut = side.events.last().is_some_and(|stop| stop.0.get("complete") == Some(&Value::Bool(false)));
    let returned: BTreeSet<&str> =
        side.events.iter().filter(|event| event.is(Kind::ToolResult)).filter_map(|event| event.text("call_id")).collect();
    let last_call = side.events.iter().rev().find(|event| event.is(Kind::ToolCall));
    is_cut || last_call.and_then(|call| call.text("call_id")).is_some_and(|id| !returned.contains(id))
}

/// The words of the command lines by which the recording was made.
fn command_lines(scene: &Scene<'_>) -> Vec<String> {
    let text = fs::read_to_string(scene.recording.folder.join("recording.json")).unwrap_or_default();
    let described: Value = serde_json::from_str(&text).unwrap_or_default();
    let lines = described["argv"].as_array().into_iter().flatten();
    lines.flat_map(|line| line.as_array().into_iter().flatten()).filter_map(Value::as_str).map(str::to_owned).collect()
}
