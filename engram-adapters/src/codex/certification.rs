//! What the compatibility kit needs to know about Codex.

use engram_conformance::gaps::{EDIT_PATCH_TEXT, EDITORS, GapRow, edits_by, has_event};
use engram_conformance::tape::Event;
use engram_conformance::{ConvertedSession, RealEdit};
use engram_core::event::Kind;

use crate::certification::Certification;
use crate::shared::patch::has_bare_cr;

/// See [`Certification`].
pub(super) const CERTIFICATION: Certification = Certification::new()
    .with_gap_rows(GAP_ROWS)
    .with_unit_tests(UNIT_TESTS);

/// Omission rules that no recording uses, with the unit tests that prove them.
const UNIT_TESTS: &[(&str, &str)] = &[
    ("agents.encrypted", "agent_activity_is_a_child_of_its_call"),
    ("agents.prompt", "agent_activity_is_a_child_of_its_call"),
    ("assessment.action", "approval_review_is_a_permission"),
    ("assessment.begun", "approval_review_is_a_permission"),
    (
        "client.call",
        "client_tool_call_in_item_and_events_is_one_call",
    ),
    (
        "client.name",
        "desktop_client_header_and_settings_are_converted",
    ),
    (
        "client.output",
        "client_tool_call_in_item_and_events_is_one_call",
    ),
    (
        "command.event",
        "the_end_of_a_command_whose_words_are_lost_is_accounted_for",
    ),
    (
        "command.event_parsed",
        "the_end_of_a_command_whose_words_are_lost_is_accounted_for",
    ),
    (
        "command.item",
        "the_end_of_a_command_whose_words_are_lost_is_accounted_for",
    ),
    (
        "command.parsed",
        "the_end_of_a_command_whose_words_are_lost_is_accounted_for",
    ),
    ("exec.same_list", "what_exec_prints_is_converted"),
    (
        "image.data",
        "generated_image_in_event_and_item_is_one_result",
    ),
    (
        "image.made",
        "generated_image_in_event_and_item_is_one_result",
    ),
    (
        "image.view_event",
        "goals_undo_and_errors_give_events_and_image_views_do_not",
    ),
    (
        "mcp.structured",
        "structured_mcp_answer_is_the_result_and_its_plain_text_a_system_event",
    ),
    (
        "message.delivered",
        "an_answer_that_a_client_got_stands_once",
    ),
    ("plan.answer", "a_proposed_plan_stands_once"),
    ("record.repeated", "a_repeated_record_changes_nothing"),
    ("review.words", "review_mode_gives_system_events"),
    (
        "search.result",
        "web_search_event_of_a_tool_call_is_a_duplicate",
    ),
    ("search.screen", "web_search_in_event_and_item_is_one_call"),
    ("search.twin", "web_search_in_event_and_item_is_one_call"),
    (
        "settings.header",
        "repeated_own_header_does_not_start_a_replay",
    ),
    (
        "settings.sandbox",
        "desktop_client_header_and_settings_are_converted",
    ),
    (
        "search.item",
        "web_search_event_of_a_tool_call_is_a_duplicate",
    ),
    (
        "sleep.item",
        "web_search_event_of_a_tool_call_is_a_duplicate",
    ),
    (
        "snapshot.files",
        "desktop_client_header_and_settings_are_converted",
    ),
    (
        "tools.dynamic",
        "desktop_client_header_and_settings_are_converted",
    ),
];

/// How recordings show the gaps of this harness only.
const GAP_ROWS: &[GapRow] = &[
    EDIT_PATCH_TEXT,
    GapRow::new("call.not_printed", Kind::ToolCall, |case| {
        case.sessions
            .iter()
            .any(|session| is_of_events(session.events.first()))
    }),
    GapRow::new("edit.changed_twice", Kind::CodeEdit, |case| {
        let is_bare = |edit: &Event| edit.text("op") == Some("update") && !edit.has("before_range");
        case.sessions.iter().any(|session| {
            is_of_events(session.events.first())
                && session
                    .events
                    .iter()
                    .any(|edit| edit.text("k") == Some("code.edit") && is_bare(edit))
        })
    }),
    GapRow::new("edit.bare_cr", Kind::CodeEdit, |case| {
        let lists_changes = |session: &ConvertedSession| {
            let start = session.events.first();
            has_schema(start, "envelope-changes") || is_of_events(start)
        };
        let has_bare_cr = |real: &RealEdit| real.before.as_deref().is_some_and(has_bare_cr);
        case.sessions.iter().any(lists_changes)
            && edits_by(case, EDITORS, |edit, real| {
                has_bare_cr(real) && !edit.has("before_range")
            })
    }),
    GapRow::new("usage.total", Kind::Meta, |case| {
        has_event(case, Kind::ToolCall, |call| {
            call.text("tool") == Some("command_execution")
        }) && !has_event(case, Kind::Meta, |meta| meta.text("label") == Some("usage"))
    }),
    GapRow::new("edit.path_only", Kind::CodeEdit, |case| {
        has_event(case, Kind::ToolCall, |call| {
            call.text("tool") == Some("file_change")
        }) && has_event(case, Kind::CodeEdit, |edit| {
            edit.text("op") == Some("update") && !edit.has("before_hash")
        })
    }),
    GapRow::new("prompt.detached_review", Kind::MsgIn, |case| {
        has_event(case, Kind::MsgIn, is_detached_review)
    })
    .with_mistaken_author(|_, prompt| is_detached_review(prompt)),
    GapRow::new("prompt.last_record", Kind::MsgIn, |case| {
        let is_prompt = |event: &Event| {
            case.truth
                .prompts
                .iter()
                .any(|prompt| event.text("text") == Some(prompt))
        };
        case.sessions.iter().any(|session| {
            session
                .events
                .iter()
                .any(|event| is_prompt(event) && is_unproven_prompt(session, event))
        })
    })
    .with_unproven_prompt(is_unproven_prompt),
    GapRow::new("session.segments", Kind::Meta, |case| {
        has_event(case, Kind::Meta, |meta| {
            meta.text("name") == Some("thread_reverted")
        })
    }),
    GapRow::new("call.nested_parent", Kind::ToolCall, |case| {
        has_event(case, Kind::ToolCall, |call| {
            call.text("call_id")
                .is_some_and(|id| id.starts_with("exec-"))
                && !call.has("parent")
        })
    }),
];

/// True for the first event of what `exec --json` prints up to 0.42.
fn is_of_events(start: Option<&Event>) -> bool {
    has_schema(start, "exec-events")
}

fn has_schema(start: Option<&Event>, name: &str) -> bool {
    start
        .and_then(|start| start.0.pointer("/harness/schema"))
        .is_some_and(|schema| schema == name)
}

/// True for a message that is not by a person and is the last event of the log.
fn is_unproven_prompt(session: &ConvertedSession, message: &Event) -> bool {
    let is_last = session
        .events
        .iter()
        .rev()
        .nth(1)
        .is_some_and(|last| last.number("seq") == message.number("seq"));
    is_last && message.is(Kind::MsgIn) && message.text("by") == Some("harness")
}

fn is_detached_review(prompt: &Event) -> bool {
    prompt
        .text("text")
        .is_some_and(|text| text.starts_with("Use [$review-agent]("))
}
