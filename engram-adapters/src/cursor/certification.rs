//! What the compatibility kit needs to know about Cursor.

use engram_conformance::Case;
use engram_conformance::gaps::{GapRow, has_event, is_snippet, lacks_file_before_hash};
use engram_conformance::tape::Event;
use engram_core::event::Kind;
use serde_json::Value;

use super::revisions;
use crate::certification::Certification;

/// See [`Certification`].
pub(super) const CERTIFICATION: Certification = Certification::new()
    .with_printed_sessions()
    .with_gap_rows(GAP_ROWS)
    .with_unit_tests(UNIT_TESTS);

/// Omission rules that no recording uses, with the unit tests that prove them.
const UNIT_TESTS: &[(&str, &str)] = &[
    (
        "call_message",
        "messages_of_the_protocol_in_the_editors_store_are_opaque",
    ),
    (
        "conversation_state",
        "messages_of_the_protocol_in_the_editors_store_are_opaque",
    ),
    ("message_pieces", "pieces_of_a_message_are_joined"),
    (
        "record.repeated",
        "a_repeated_line_of_a_capture_changes_nothing_but_equal_pieces_are_two",
    ),
    ("repeated_event", "events_of_a_run_count_once"),
    ("run_progress", "pieces_of_a_message_are_joined"),
    (
        "selection_address",
        "selections_files_and_images_of_a_prompt_are_converted",
    ),
    (
        "selection_rendered",
        "selections_files_and_images_of_a_prompt_are_converted",
    ),
];

/// Texts that replace content which the harness did not keep.
const PLACEHOLDERS: &[&str] = &["[Image]", "[File: ", "[Oversize transcript blob omitted"];

/// How recordings show the gaps of this harness only.
const GAP_ROWS: &[GapRow] = &[
    GapRow::new("evidence.made_up", Kind::Meta, |case| is_of(case, MADE_UP)),
    GapRow::new("evidence.played", Kind::MsgOut, |case| {
        is_of(case, &[revisions::CHAT])
    }),
    GapRow::new("session.not_recorded", Kind::Meta, |case| {
        !has_event(case, Kind::Meta, |meta| {
            meta.is_meta("session") && meta.has("model")
        })
    }),
    GapRow::new("session.root_parent", Kind::Meta, |case| {
        case.events(Kind::Meta).any(|(session, meta)| {
            let mut prompts = session.events.iter().filter(|event| event.is(Kind::MsgIn));
            let first = prompts.next().and_then(|prompt| prompt.text("text"));
            let parent = meta.text("parent_session_id");
            let mut calls = case.truth.calls.iter();
            parent.is_some()
                && calls.any(|call| {
                    let prompt = call.args.get("prompt").and_then(Value::as_str);
                    prompt == first && !call.is_main() && call.thread.as_deref() != parent
                })
        })
    }),
    GapRow::new("usage.not_recorded", Kind::Meta, |case| {
        !has_event(case, Kind::Meta, |meta| meta.is_meta("usage"))
    }),
    GapRow::new("message.placeholder", Kind::MsgOut, |case| {
        PLACEHOLDERS
            .iter()
            .any(|mark| has_event(case, Kind::MsgOut, |out| has_text(out, mark)))
    }),
    GapRow::new("message.not_logged", Kind::MsgOut, |case| {
        is_of(case, &[revisions::SDK_HOOKS])
            && has_event(case, Kind::MsgIn, |_| true)
            && !has_event(case, Kind::MsgOut, |_| true)
    }),
    GapRow::new("prompt.no_files", Kind::MsgIn, |case| {
        is_of(case, RUNS)
            && has_images(case)
            && !has_event(case, Kind::MsgIn, |prompt| prompt.has("attachments"))
    }),
    GapRow::new("reasoning.unmarked", Kind::MsgOut, |case| {
        has_event(case, Kind::MsgOut, |out| has_text(out, "\n\n[REDACTED]"))
    }),
    GapRow::new("call.no_id", Kind::ToolCall, |case| {
        has_event(case, Kind::ToolCall, |call| !call.has("call_id"))
    }),
    GapRow::new("call.as_executed", Kind::ToolCall, |case| {
        let is_edit =
            |call: &Event| has_arg(call, "file_path") || call.text("tool") == Some("edit");
        is_of(case, EXECUTED) && has_event(case, Kind::ToolCall, is_edit)
    }),
    GapRow::new("call.args_as_text", Kind::ToolCall, |case| {
        has_event(case, Kind::ToolCall, |call| call.text("args").is_some())
    }),
    GapRow::new("result.name_only", Kind::ToolResult, |case| {
        has_event(case, Kind::ToolResult, |result| {
            ["status", "stdout", "stderr"]
                .iter()
                .all(|key| !result.has(key))
        })
    }),
    GapRow::new("result.as_told", Kind::ToolResult, |case| {
        has_event(case, Kind::ToolResult, |result| {
            !result.has("status") && result.has("stdout")
        })
    }),
    GapRow::new("result.stub", Kind::ToolResult, |case| {
        STUBS.iter().any(|stub| {
            has_event(case, Kind::ToolResult, |result| {
                result.text("stdout").is_some_and(|out| out.contains(stub))
            })
        }) || is_of(case, &[revisions::EDITOR_ROWS])
            && has_event(case, Kind::ToolResult, |result| {
                result.text("tool") == Some("read_file_v2")
                    && result.text("status") == Some("ok")
                    && !result.has("stdout")
            })
    }),
    GapRow::new("result.no_denial", Kind::ToolResult, |case| {
        let is_denied = |result: &Event| {
            result
                .text("stderr")
                .is_some_and(|text| text.contains("the blocked tool"))
        };
        is_of(case, RUNS)
            && has_event(case, Kind::ToolResult, |result| {
                is_denied(result) && result.text("status") == Some("error")
            })
    }),
    GapRow::new("result.mcp_error", Kind::ToolResult, |case| {
        let says_so = |text: &str| {
            text == "it failed" || text.contains(r#""text":"it failed"}],"isError":false"#)
        };
        let failed = |result: &Event| {
            result.text("stdout").is_some_and(says_so) && result.text("status") == Some("ok")
        };
        (is_of(case, EXECUTED) || is_of(case, &[revisions::CHAT]))
            && has_event(case, Kind::ToolResult, failed)
    }),
    GapRow::new("edit.request_only", Kind::CodeEdit, |case| {
        has_event(case, Kind::CodeEdit, |edit| edit.has("confirmed"))
    })
    .without_lines(|edit| edit.has("confirmed"))
    .without_hash(|edit| edit.has("confirmed")),
    GapRow::new("edit.decoded_file", Kind::CodeEdit, |case| {
        is_of(case, DECODED)
            && has_event(case, Kind::CodeEdit, |edit| {
                is_of_old_file(edit) && lacks_file_before_hash(edit)
            })
    })
    .without_hash(|edit| is_of_old_file(edit) && lacks_file_before_hash(edit)),
    GapRow::new("edit.diff_only", Kind::CodeEdit, |case| {
        is_of(case, RUNS)
            && has_event(case, Kind::CodeEdit, |edit| {
                !edit.has("file_after_hash") && !is_snippet(edit)
            })
    })
    .without_lines(|edit| !edit.has("before_hash"))
    .without_hash(|edit| !edit.has("file_after_hash")),
    GapRow::new("edit.no_content", Kind::CodeEdit, |case| {
        is_of(case, &[revisions::EDITOR_ROWS]) && has_event(case, Kind::CodeEdit, lacks_content)
    })
    .without_lines(lacks_content)
    .without_hash(lacks_content),
    GapRow::new("edit.no_range", Kind::CodeEdit, |case| {
        has_event(case, Kind::CodeEdit, |edit| {
            is_snippet(edit) && !edit.has("call_id") && !edit.has("confirmed")
        })
    })
    .without_lines(|edit| !edit.has("confirmed")),
];

/// Schemas of which no real session was recorded.
const MADE_UP: &[&str] = &[
    revisions::TRANSCRIPT_JSON,
    revisions::STREAM,
    revisions::EDITOR_INLINE,
    revisions::EDITOR_ROWS,
    revisions::HOOKS,
];

/// Schemas of the SDK's messages.
const RUNS: &[&str] = &[revisions::RUNS, revisions::MESSAGES];

/// Schemas with calls as the harness executes them.
const EXECUTED: &[&str] = &[revisions::RUNS, revisions::MESSAGES, revisions::SDK_HOOKS];

/// Schemas with the text of files as the harness decoded it.
const DECODED: &[&str] = &[revisions::CHAT, revisions::STREAM, revisions::SDK_HOOKS];

/// What stubs of results contain.
const STUBS: &[&str] = &["content_length"];

/// True if a session has one of these schemas.
fn is_of(case: &Case<'_>, schemas: &[&str]) -> bool {
    let schema = |event: &Event| {
        event
            .0
            .pointer("/harness/schema")
            .and_then(|schema| schema.as_str())
            .map(str::to_owned)
    };
    has_event(case, Kind::Meta, |event| {
        event.is_meta("tape.start")
            && schema(event).is_some_and(|schema| schemas.contains(&schema.as_str()))
    })
}

/// True if a prompt had images.
fn has_images(case: &Case<'_>) -> bool {
    let requests = case.recording.truth["requests"].as_array();
    requests
        .into_iter()
        .flatten()
        .any(|request| request["images"].as_u64().unwrap_or_default() > 0)
}

fn has_arg(call: &Event, name: &str) -> bool {
    call.0
        .pointer("/args")
        .is_some_and(|args| args.get(name).is_some())
}

/// True for an edit of which only the file is known.
fn lacks_content(edit: &Event) -> bool {
    [
        "before_hash",
        "after_hash",
        "file_before_hash",
        "file_after_hash",
    ]
    .iter()
    .all(|key| !edit.has(key))
}

/// True for an edit of a file that was there before.
fn is_of_old_file(edit: &Event) -> bool {
    edit.text("op") != Some("create")
}

fn has_text(event: &Event, text: &str) -> bool {
    event
        .text("text")
        .is_some_and(|actual| actual.contains(text))
}
