//! What the compatibility kit needs to know about the protocol.

use engram_conformance::Case;
use engram_conformance::gaps::{GapRow, has_event, is_snippet};
use engram_conformance::tape::Event;
use engram_core::event::Kind;

use super::revisions::PROTOCOL;
use crate::certification::Certification;

/// See [`Certification`].
pub(super) const CERTIFICATION: Certification = Certification::new()
    .with_gap_rows(GAP_ROWS)
    .with_unit_tests(UNIT_TESTS)
    .with_unknown_version(next_protocol);

/// Omission rules that no recording uses, with the unit tests that prove them.
const UNIT_TESTS: &[(&str, &str)] = &[
    ("record.repeated", "a_line_that_is_there_twice_is_one"),
    ("content.binary", "a_prompt_has_what_came_with_it"),
    (
        "answer.empty",
        "what_is_said_again_or_says_nothing_is_no_event",
    ),
    (
        "usage.same",
        "what_is_said_again_or_says_nothing_is_no_event",
    ),
    ("message.piece", "sessions_of_one_connection_are_apart"),
];

/// How recordings show the gaps of the protocol.
const GAP_ROWS: &[GapRow] = &[
    GapRow::new("usage.last_response", Kind::Meta, |case| {
        let is = |agent: &Event| {
            let text = agent.text("text").unwrap_or_default();
            agent.text("name") == Some("agent") && text.contains("\"Kilo\"")
        };
        has_event(case, Kind::Meta, is)
    }),
    GapRow::new("usage.none", Kind::Meta, |case| {
        let is = |label: &str| {
            let label = label.to_owned();
            move |event: &Event| event.text("label") == Some(&label)
        };
        let mut sessions = case.sessions.iter();
        sessions.any(|session| {
            session.events.iter().any(|event| event.is(Kind::MsgIn))
                && !session.events.iter().any(is("usage"))
        })
    }),
    GapRow::new("answer.notice", Kind::MsgOut, |case| {
        has_event(case, Kind::MsgOut, |event| {
            event
                .text("text")
                .is_some_and(|text| text.starts_with("Info: "))
        })
    }),
    GapRow::new("call.as_executed", Kind::ToolCall, |case| {
        has_event(case, Kind::ToolCall, |call| is_unnamed(case, call))
    }),
    GapRow::new("result.no_exit", Kind::ToolResult, |case| {
        case.events(Kind::ToolResult).any(|(session, result)| {
            let call = session.call_of(result);
            call.and_then(|call| call.text("kind")) == Some("execute") && !result.has("exit")
        })
    }),
    GapRow::new("edit.region", Kind::CodeEdit, |case| {
        has_event(case, Kind::CodeEdit, is_snippet)
    })
    .without_lines(is_snippet)
    .without_hash(is_snippet),
];

/// True for a call with the word of the protocol in place of the name that the model used.
fn is_unnamed(case: &Case<'_>, call: &Event) -> bool {
    let real = case
        .truth
        .calls
        .iter()
        .find(|real| call.text("call_id") == Some(real.id.as_str()));
    let tool = call.text("tool");
    tool == call.text("kind") && real.is_some_and(|real| Some(real.tool.as_str()) != tool)
}

/// The log as a later version of the protocol would be.
fn next_protocol(text: &str) -> Option<String> {
    let versions = [": ", ":"].map(|colon| {
        let version = |version: u64| format!("\"protocolVersion\"{colon}{version}");
        (version(PROTOCOL), version(PROTOCOL + 1))
    });
    let next = versions
        .iter()
        .fold(text.to_owned(), |text, (now, next)| text.replace(now, next));
    (next != text).then_some(next)
}
