//! What the compatibility kit needs to know about Claude Code.

use engram_conformance::Case;
use engram_conformance::gaps::{
    EDIT_NOT_UTF8, EDITORS, GapRow, READ_BOM, edits_by, has_event, has_no_file_hash, has_no_hashes,
    is_snippet, lacks_file_before_hash, names_only, truth_hash_only,
};
use engram_conformance::tape::Event;
use engram_core::event::Kind;
use serde_json::Value;

use super::revisions::STREAM;
use crate::certification::Certification;

/// See [`Certification`].
pub(super) const CERTIFICATION: Certification = Certification::new()
    .with_printed_sessions()
    .with_unmarked_captures(UNMARKED_CAPTURES)
    .with_gap_rows(GAP_ROWS)
    .with_unit_tests(UNIT_TESTS);

/// Versions that print the messages of the model's API as they are, without a line that begins the session.
const UNMARKED_CAPTURES: &[&str] = &["0.2.109"];

/// Omission rules that no recording uses, with the unit tests that prove them.
const UNIT_TESTS: &[(&str, &str)] = &[
    ("attachment.base64", "attached_document_is_hashed"),
    (
        "state.fork_context",
        "the_response_that_launched_a_fork_is_a_replay_in_the_file_of_the_fork",
    ),
    ("ui.artifacts", "lines_of_session_state_are_known"),
    ("ui.color", "lines_of_session_state_are_known"),
    ("ui.frame", "lines_of_session_state_are_known"),
    (
        "attachment.instructions",
        "rare_attachments_are_emitted_as_context",
    ),
    (
        "attachment.on_disk",
        "rare_attachments_are_emitted_as_context",
    ),
    ("attachment.path", "rare_attachments_are_emitted_as_context"),
    (
        "attachment.skills",
        "rare_attachments_are_emitted_as_context",
    ),
    ("title.repeated", "title_of_another_session_is_a_notice"),
    (
        "progress.so_far",
        "partial_output_is_emitted_if_there_is_no_result",
    ),
    (
        "progress.state",
        "progress_of_a_running_call_is_bookkeeping",
    ),
    (
        "queue.taken_back",
        "queued_prompt_that_is_taken_back_is_emitted_where_it_was_typed",
    ),
    (
        "result.repeated",
        "sub_agent_without_its_own_file_is_converted_with_its_session",
    ),
    (
        "result.links",
        "every_text_of_a_structured_result_is_accounted_for",
    ),
    (
        "result.state",
        "every_text_of_a_structured_result_is_accounted_for",
    ),
    (
        "result.structured",
        "structured_output_of_a_known_call_is_a_duplicate",
    ),
    ("state.bridge", "names_and_directories_are_session_facts"),
    (
        "state.repository",
        "every_text_of_a_structured_result_is_accounted_for",
    ),
    ("state.same_name", "names_and_directories_are_session_facts"),
    ("state.worktree", "names_and_directories_are_session_facts"),
    (
        "stream.control",
        "state_of_tasks_and_of_the_program_is_left_out",
    ),
    ("stream.partial", "parts_of_an_answer_are_left_out"),
    (
        "stream.state",
        "state_of_tasks_and_of_the_program_is_left_out",
    ),
    ("ui.nudge", "refusal_is_an_error_with_its_reason"),
];

/// How recordings show the gaps of this harness only.
const GAP_ROWS: &[GapRow] = &[
    EDIT_NOT_UTF8,
    READ_BOM,
    GapRow::new("edit.write_no_before", Kind::CodeEdit, |case| {
        edits_by(case, &["write"], |edit, real| {
            // What a sub-agent writes is another gap.
            let is_own = lacks_file_before_hash(edit)
                && edit.text("op") == Some("overwrite")
                && !is_sub_agents(edit);
            is_own && real.before.is_some()
        })
    })
    .without_hash(lacks_file_before_hash),
    GapRow::new("edit.notebook_no_text", Kind::CodeEdit, |case| {
        edits_by(case, EDITORS, |edit, real| {
            real.file.ends_with(".ipynb") && lacks_file_before_hash(edit) && real.before.is_some()
        })
    })
    .without_hash(has_no_hashes),
    GapRow::new("usage.provisional", Kind::Meta, |case| {
        has_event(case, Kind::Meta, |event| {
            event.0["label"] == "usage" && event.0["provisional"] == true
        })
    }),
    GapRow::new("edit.copied_snippet", Kind::CodeEdit, |case| {
        has_event(case, Kind::CodeEdit, |edit| {
            is_snippet(edit) && edit.is_replay()
        })
    })
    .without_lines(Event::is_replay)
    .without_hash(Event::is_replay),
    GapRow::new("edit.agent_snippet", Kind::CodeEdit, |case| {
        has_event(case, Kind::CodeEdit, |edit| {
            is_snippet(edit) && is_sub_agents(edit)
        })
    })
    .without_lines(is_sub_agents)
    .without_hash(is_sub_agents),
    GapRow::new("edit.add_over_file", Kind::CodeEdit, |case| {
        edits_by(case, EDITORS, |edit, real| {
            edit.text("op") == Some("create") && real.before.is_some()
        })
    }),
    // Captures have large files, too. A result that is only text is another gap.
    GapRow::new("edit.big_file", Kind::CodeEdit, |case| {
        !is_any_stream(case)
            && edits_by(case, EDITORS, |edit, real| {
                has_no_file_hash(edit) && truth_hash_only(real)
            })
    })
    .without_hash(has_no_file_hash)
    .without_lines(is_snippet),
    GapRow::new("edit.shell_names_only", Kind::CodeEdit, |case| {
        edits_by(case, &["execute"], |edit, _| names_only(edit))
    })
    .without_hash(names_only),
    GapRow::new("edit.bare_result", Kind::CodeEdit, |case| {
        has_event(case, Kind::CodeEdit, is_snippet) && is_any_stream(case)
    })
    .without_lines(|_| true)
    .without_hash(has_no_hashes),
    GapRow::new("prompt.not_printed", Kind::MsgIn, |case| {
        let by_person = |message: &Event| message.text("by") == Some("person");
        is_any_stream(case)
            && !case.truth.prompts.is_empty()
            && !has_event(case, Kind::MsgIn, by_person)
    })
    .without_prompts(),
];

/// True if a session of the recording is what the harness printed.
fn is_any_stream(case: &Case<'_>) -> bool {
    let is_stream =
        |start: &Event| start.0.pointer("/harness/schema").and_then(Value::as_str) == Some(STREAM);
    case.sessions
        .iter()
        .any(|session| session.events.first().is_some_and(is_stream))
}

fn is_sub_agents(edit: &Event) -> bool {
    edit.0.pointer("/source/agent_id").is_some()
}
