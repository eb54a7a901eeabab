//! The catalogue of scenarios: what a recording can show, and the facts that prove it.

use std::collections::{BTreeMap, BTreeSet};

use engram_core::event::Kind;
use serde_json::Value;

use crate::case::Case;
use crate::converted_session::ConvertedSession;
use crate::ground_truth::{FileState, RealEdit};
use crate::tape::Event;

/// One scenario.
#[derive(Clone, Copy)]
pub struct Scenario {
    /// The name. It is part of the public interface and never changes.
    pub name: &'static str,
    /// The facts that the ground truth, the tape or `recording.json` must contain.
    pub facts: &'static str,
    shows: fn(&Case<'_>) -> bool,
}

impl Scenario {
    /// The scenario with this name.
    pub fn named(name: &str) -> Option<&'static Scenario> {
        SCENARIOS.iter().find(|scenario| scenario.name == name)
    }
}

impl std::fmt::Debug for Scenario {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const fn scenario(
    name: &'static str,
    facts: &'static str,
    shows: fn(&Case<'_>) -> bool,
) -> Scenario {
    Scenario { name, facts, shows }
}

/// Every scenario.
pub const SCENARIOS: &[Scenario] = &[
    scenario("text_response", "the model answers in text", |case| {
        any(case, Kind::MsgOut, |out| {
            out.has("text") && !is_reasoning(out)
        })
    }),
    scenario(
        "tool_invocation",
        "the model calls a tool, and the log contains the call",
        |case| case.truth.calls.iter().any(|call| case.is_logged(&call.id)),
    ),
    scenario(
        "structured_result",
        "a result has structured facts: exit code, duration, attachments, or the lines of an edit",
        |case| {
            let is_structured = |result: &Event| {
                ["exit", "duration_ms", "attachments"]
                    .iter()
                    .any(|key| result.has(key))
            };
            any(case, Kind::ToolResult, is_structured)
                || any(case, Kind::CodeEdit, |edit| edit.has("after_range"))
        },
    ),
    scenario(
        "streaming_blocks",
        "the log has one record per block of a message",
        blocks_of_one_message,
    ),
    scenario("reasoning", "the model reasons before it answers", |case| {
        any(case, Kind::MsgOut, is_reasoning)
    }),
    scenario(
        "file_read_ranged",
        "a call reads a part of a file",
        |case| {
            any(case, Kind::CodeRead, |read| {
                let (first, last) = read.range("range").unwrap_or((1, 0));
                first > 1
                    || read
                        .number("total_lines")
                        .is_some_and(|total| total > last as u64)
            })
        },
    ),
    scenario(
        "file_edit",
        "a call changes the text of an existing file",
        |case| {
            case.truth
                .edits
                .iter()
                .any(|real| real.before.is_some() && real.after.is_some())
        },
    ),
    scenario("file_create", "a call creates a file", |case| {
        case.truth
            .edits
            .iter()
            .any(|real| real.state_before() == FileState::Absent && real.after.is_some())
    }),
    scenario(
        "file_delete_move",
        "a call deletes or moves a file",
        |case| case.truth.edits.iter().any(is_gone),
    ),
    scenario(
        "multi_edit",
        "one call changes several spans",
        several_spans,
    ),
    scenario("failed_edit", "a call of an edit tool fails", |case| {
        any_result(case, |kind, result| {
            matches!(kind, "edit" | "write") && result.text("status") == Some("error")
        })
    }),
    scenario("denied_tool", "a call is denied", |case| {
        any(case, Kind::ToolResult, |result| {
            result.text("status") == Some("denied")
        }) || any(case, Kind::Meta, |meta| {
            meta.is_meta("permission") && meta.text("decision") == Some("deny")
        })
    }),
    scenario(
        "approved_tool",
        "a call is approved, and the log records the approval",
        |case| {
            any(case, Kind::Meta, |meta| {
                meta.is_meta("permission") && meta.text("decision") == Some("allow")
            })
        },
    ),
    scenario(
        "parallel_calls",
        "a call is made before an earlier one has its result",
        |case| {
            case.sessions
                .iter()
                .any(ConvertedSession::has_parallel_calls)
        },
    ),
    scenario(
        "shell_exit_code",
        "a command exits with a code other than 0",
        |case| {
            any(case, Kind::ToolResult, |result| {
                result
                    .0
                    .get("exit")
                    .and_then(Value::as_i64)
                    .is_some_and(|exit| exit != 0)
            })
        },
    ),
    scenario(
        "mcp_tool",
        "the model calls a tool of an MCP server",
        |case| {
            any(case, Kind::ToolCall, |call| {
                call.text("kind") == Some("mcp")
            })
        },
    ),
    scenario(
        "subagent",
        "the model delegates work to another agent",
        |case| {
            case.truth.calls.iter().any(|call| !call.is_main())
                || any(case, Kind::ToolCall, |call| {
                    call.text("kind") == Some("delegate")
                })
        },
    ),
    scenario("interrupt", "the turn is interrupted", |case| {
        any(case, Kind::Meta, |meta| meta.is_meta("interrupt"))
    }),
    scenario("api_error", "the model's API fails", |case| {
        any(case, Kind::Meta, |meta| meta.is_meta("error"))
    }),
    scenario("compaction", "a summary replaces the history", |case| {
        any(case, Kind::Meta, |meta| meta.is_meta("compaction"))
    }),
    scenario("resume", "a later run continues a session", |case| {
        case.recording.command_lines().iter().flatten().any(|word| {
            matches!(
                word.as_str(),
                "resume" | "--resume" | "-r" | "--continue" | "-c"
            )
        })
    }),
    scenario(
        "fork",
        "a session repeats the history of another one, and the log shows it",
        |case| case.sessions.iter().any(is_fork),
    ),
    scenario(
        "killed",
        "the harness stops while a call runs or while it writes a record",
        |case| case.sessions.iter().any(is_killed),
    ),
    scenario(
        "implicit_context",
        "the harness gives the model input that is not part of the conversation",
        |case| any(case, Kind::Meta, |meta| meta.is_meta("context")),
    ),
    scenario("image", "the session contains an image", |case| {
        case.sessions.iter().any(|session| {
            memchr::memmem::find(session.tape.as_bytes(), b"\"media_type\":\"image/").is_some()
        })
    }),
    scenario(
        "unicode_crlf",
        "a prompt has non-ASCII characters, or a file has CRLF line ends",
        |case| {
            case.truth.prompts.iter().any(|prompt| !prompt.is_ascii())
                || case.truth.edits.iter().any(has_crlf)
        },
    ),
];

/// The runtime contract tests, each with the scenarios that cover it.
pub const SEED_MATRIX: &[(&str, &[&str])] = &[
    (
        "Streaming",
        &["text_response", "streaming_blocks", "reasoning"],
    ),
    (
        "Tool loop: approve",
        &[
            "tool_invocation",
            "approved_tool",
            "structured_result",
            "shell_exit_code",
        ],
    ),
    ("Tool loop: deny", &["denied_tool", "failed_edit"]),
    ("Cancellation", &["interrupt", "killed", "api_error"]),
    ("Non-interactive mode", &["denied_tool", "resume"]),
    ("Implicit sources", &["implicit_context", "compaction"]),
    ("Parallel tool calls", &["parallel_calls", "subagent"]),
    ("Tool restriction reliability", &["denied_tool"]),
    ("MCP transport selection", &["mcp_tool"]),
];

/// The names of the scenarios that a recording shows.
pub(crate) fn shown_by(case: &Case<'_>) -> BTreeSet<&'static str> {
    SCENARIOS
        .iter()
        .filter(|scenario| (scenario.shows)(case))
        .map(|scenario| scenario.name)
        .collect()
}

fn any(case: &Case<'_>, kind: Kind, shows: impl Fn(&Event) -> bool) -> bool {
    case.events(kind).any(|(_, event)| shows(event))
}

/// True if `shows` accepts a result, together with the kind of its call's tool.
fn any_result(case: &Case<'_>, shows: impl Fn(&str, &Event) -> bool) -> bool {
    case.events(Kind::ToolResult).any(|(session, result)| {
        let kind = session
            .call_of(result)
            .and_then(|call| call.text("kind"))
            .unwrap_or_default();
        shows(kind, result)
    })
}

fn is_reasoning(out: &Event) -> bool {
    out.text("channel") == Some("reasoning")
}

fn is_gone(real: &RealEdit) -> bool {
    real.state_after() == FileState::Absent
}

fn has_crlf(real: &RealEdit) -> bool {
    [&real.before, &real.after]
        .into_iter()
        .flatten()
        .any(|text| text.contains("\r\n"))
}

fn blocks_of_one_message(case: &Case<'_>) -> bool {
    case.sessions.iter().any(|session| {
        let mut lines: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
        for event in session.events.iter().filter(|event| event.is(Kind::MsgOut)) {
            if let (Some(message), Some(line)) = (event.text("message_id"), event.line()) {
                lines.entry(message).or_default().insert(line);
            }
        }
        lines.values().any(|lines| lines.len() > 1)
    })
}

fn several_spans(case: &Case<'_>) -> bool {
    let mut spans: BTreeMap<(&str, &str, &str), u64> = BTreeMap::new();
    for (session, edit) in case.events(Kind::CodeEdit) {
        if let (Some(call), Some(file)) = (edit.text("call_id"), edit.text("file")) {
            *spans.entry((session.name(), call, file)).or_default() += 1;
        }
    }
    spans.values().any(|count| *count > 1)
}

fn is_fork(session: &ConvertedSession) -> bool {
    // A list of prompts beside a log is no session that was forked.
    let is_history = |event: &Event| {
        event.is_replay()
            && !event.is(Kind::MsgIn)
            && event.0.pointer("/source/session_id").is_some()
    };
    session
        .events
        .iter()
        .any(|event| is_history(event) || (event.is_meta("session") && event.has("fork_of")))
}

fn is_killed(session: &ConvertedSession) -> bool {
    let is_cut = session
        .events
        .last()
        .is_some_and(|stop| stop.0.get("complete") == Some(&Value::Bool(false)));
    let returned: BTreeSet<&str> = session
        .events
        .iter()
        .filter(|event| event.is(Kind::ToolResult))
        .filter_map(|event| event.text("call_id"))
        .collect();
    let last_call = session
        .events
        .iter()
        .rev()
        .find(|event| event.is(Kind::ToolCall));
    is_cut
        || last_call
            .and_then(|call| call.text("call_id"))
            .is_some_and(|id| !returned.contains(id))
}
