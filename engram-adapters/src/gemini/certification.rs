//! What the compatibility kit needs to know about Gemini CLI.

use engram_conformance::Case;
use engram_conformance::gaps::{
    EDITORS, GapRow, READ_BOM, edits_by, has_event, has_no_hashes, has_replaced_bytes, is_snippet,
};
use engram_conformance::tape::Event;
use engram_core::event::Kind;
use serde_json::Value;

use crate::certification::Certification;

/// See [`Certification`].
pub(super) const CERTIFICATION: Certification = Certification::new()
    .with_gap_rows(GAP_ROWS)
    .with_unknown_version(rename_kind)
    .with_printed_sessions()
    .with_unit_tests(UNIT_TESTS);

/// Omission rules that no recording uses, with the unit tests that prove them.
const UNIT_TESTS: &[(&str, &str)] = &[
    (
        "message.rewritten",
        "a_line_that_repeats_another_changes_nothing",
    ),
    (
        "record.repeated",
        "a_line_that_repeats_another_changes_nothing",
    ),
];

/// How recordings show the gaps of this harness only.
const GAP_ROWS: &[GapRow] = &[
    READ_BOM,
    // An edit without lines has another gap.
    GapRow::new("edit.not_utf8", Kind::CodeEdit, |case| {
        edits_by(case, EDITORS, |edit, real| {
            has_no_hashes(edit) && !is_of_arguments(edit) && has_replaced_bytes(real)
        })
    })
    .without_hash(has_no_hashes),
    GapRow::new("edit.snippet", Kind::CodeEdit, |case| {
        edits_by(case, EDITORS, |edit, _| is_of_arguments(edit))
    })
    .without_lines(is_of_arguments)
    .without_hash(is_of_arguments),
    GapRow::new("edit.parallel_lost", Kind::CodeEdit, |case| {
        has_event(case, Kind::CodeEdit, is_unconfirmed)
    })
    .without_lines(is_unconfirmed)
    .without_hash(is_unconfirmed),
    GapRow::new("prompt.after_hook", Kind::MsgIn, |case| {
        case.events(Kind::MsgIn)
            .any(|(_, prompt)| is_behind_answer(case, prompt))
    })
    .with_mistaken_author(is_behind_answer),
    GapRow::new("call.no_response", Kind::ToolCall, |case| {
        case.sessions.iter().any(|session| {
            let calls = || {
                session
                    .events
                    .iter()
                    .filter(|event| event.is(Kind::ToolCall))
            };
            let names_response = |call: &Event| call.has("message_id");
            calls().any(names_response) && !calls().all(names_response)
        })
    }),
    GapRow::new("result.no_duration", Kind::ToolResult, |case| {
        has_saved(case, |event| {
            is_ok_result(event) && !event.has("duration_ms")
        })
    }),
    GapRow::new("result.display_only", Kind::ToolResult, |case| {
        has_printed(case, |event| {
            is_ok_result(event) && event.text("stdout") == Some("")
        })
    }),
    GapRow::new("usage.run_total", Kind::Meta, |case| {
        has_printed(case, |event| event.text("label") == Some("usage"))
    }),
    GapRow::new("stream.no_reasoning", Kind::MsgOut, |case| {
        has_printed(case, |event| {
            event
                .0
                .pointer("/tokens/reasoning")
                .and_then(Value::as_u64)
                .is_some_and(|tokens| tokens > 0)
        })
    }),
];

/// True for a text that nobody sent, directly behind an answer of the model.
fn is_behind_answer(case: &Case<'_>, prompt: &Event) -> bool {
    let is_sent = |text: &str| {
        case.truth
            .prompts
            .iter()
            .any(|sent| sent.trim() == text.trim())
    };
    let is_behind = |events: &[Event]| {
        let before = events
            .iter()
            .rev()
            .find(|event| event.text("label") != Some("usage"));
        before.is_some_and(|event| event.is(Kind::MsgOut))
    };
    !case.truth.prompts.is_empty()
        && prompt.text("by") == Some("person")
        && !prompt.text("text").is_none_or(is_sent)
        && case.sessions.iter().any(|session| {
            let mut events = session.events.iter();
            let at = events.position(|event| std::ptr::eq(event, prompt));
            at.is_some_and(|at| is_behind(&session.events[..at]))
        })
}

/// True if a run prints such an event.
fn has_printed(case: &Case<'_>, is: impl Fn(&Event) -> bool) -> bool {
    has_in(case, true, is)
}

/// True if a log that the harness saved has such an event.
fn has_saved(case: &Case<'_>, is: impl Fn(&Event) -> bool) -> bool {
    has_in(case, false, is)
}

fn has_in(case: &Case<'_>, is_printed: bool, is: impl Fn(&Event) -> bool) -> bool {
    let is_stream = |start: &Event| {
        start.0.pointer("/harness/schema").and_then(Value::as_str) == Some("stream-json")
    };
    let sessions = case
        .sessions
        .iter()
        .filter(|session| session.events.first().is_some_and(is_stream) == is_printed);
    sessions.flat_map(|session| &session.events).any(is)
}

fn is_ok_result(event: &Event) -> bool {
    event.text("k") == Some("tool.result") && event.text("status") == Some("ok")
}

/// True for an edit of which only the arguments of its call are known.
fn is_of_arguments(edit: &Event) -> bool {
    let has_hash = ["before_hash", "after_hash", "file_after_hash"]
        .iter()
        .any(|hash| edit.has(hash));
    !edit.has("confirmed") && edit.range("after_range").is_none() && (is_snippet(edit) || !has_hash)
}

fn is_unconfirmed(edit: &Event) -> bool {
    edit.0.get("confirmed") == Some(&Value::Bool(false))
}

/// Renames the member of a header line that identifies the schema. Documents have no such member.
fn rename_kind(text: &str) -> Option<String> {
    let (header, rest) = text.split_once('\n')?;
    let renamed = header.replacen("\"kind\":", "\"sort\":", 1);
    (renamed != header && renamed.ends_with('}')).then(|| format!("{renamed}\n{rest}"))
}
