//! Runs the kit on the registered adapters, with everything that they provide.

use std::collections::{BTreeMap, BTreeSet};

use engram_adapters::{Entry, REGISTRY};
use engram_core::adapter::{Evidence, Identity, Session, SessionInit, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::head::Head;
use engram_core::tool_kind::ToolKind;

use crate::options::{Capabilities, Options};
use crate::recordings::Recordings;
use crate::report::Report;

mod adapters;
mod sessions;

pub use sessions::{RegisteredSessions, is_not_a_session, is_printed, sessions};

/// The name of the recordings' MCP server. For a harness that only puts it before a tool's name, the tool has no other kind.
const SERVER_PREFIX: &str = "mockmcp_";

/// Omission rules that no recording uses, each with the unit test that proves it: file and name of the test.
pub const UNIT_TESTED: &[(&str, &str, &str)] = &[
    ("agents.encrypted", "engram-adapters/src/codex/tests.rs", "agent_activity_is_a_child_of_its_call"),
    ("agents.prompt", "engram-adapters/src/codex/tests.rs", "agent_activity_is_a_child_of_its_call"),
    ("assessment.action", "engram-adapters/src/codex/tests.rs", "approval_review_is_a_permission"),
    ("assessment.begun", "engram-adapters/src/codex/tests.rs", "approval_review_is_a_permission"),
    ("attachment.base64", "engram-adapters/src/claude_code/tests/attachments.rs", "attached_document_is_hashed"),
    ("attachment.instructions", "engram-adapters/src/claude_code/tests/attachments.rs", "rare_attachments_are_emitted_as_context"),
    ("attachment.on_disk", "engram-adapters/src/claude_code/tests/attachments.rs", "rare_attachments_are_emitted_as_context"),
    ("attachment.path", "engram-adapters/src/claude_code/tests/attachments.rs", "rare_attachments_are_emitted_as_context"),
    ("attachment.skills", "engram-adapters/src/claude_code/tests/attachments.rs", "rare_attachments_are_emitted_as_context"),
    ("client.call", "engram-adapters/src/codex/tests.rs", "client_tool_call_in_item_and_events_is_one_call"),
    ("client.name", "engram-adapters/src/codex/tests.rs", "desktop_client_header_and_settings_are_converted"),
    ("client.output", "engram-adapters/src/codex/tests.rs", "client_tool_call_in_item_and_events_is_one_call"),
    ("history.appended_again", "engram-adapters/src/claude_code/tests/messages.rs", "repeated_message_and_result_are_duplicates"),
    ("image.data", "engram-adapters/src/codex/tests.rs", "generated_image_in_event_and_item_is_one_result"),
    ("image.made", "engram-adapters/src/codex/tests.rs", "generated_image_in_event_and_item_is_one_result"),
    ("image.view_event", "engram-adapters/src/codex/tests.rs", "goals_undo_and_errors_give_events_and_image_views_do_not"),
    ("mcp.structured", "engram-adapters/src/codex/tests.rs", "structured_mcp_answer_is_the_result_and_its_plain_text_a_system_event"),
    ("plan.answer", "engram-adapters/src/codex/tests.rs", "review_mode_gives_system_events"),
    ("progress.so_far", "engram-adapters/src/claude_code/tests/progress.rs", "partial_output_is_emitted_if_there_is_no_result"),
    ("progress.state", "engram-adapters/src/claude_code/tests/progress.rs", "progress_of_a_running_call_is_bookkeeping"),
    ("queue.taken_back", "engram-adapters/src/claude_code/tests/session.rs", "queued_prompt_that_is_taken_back_is_emitted_at_the_end"),
    ("result.links", "engram-adapters/src/claude_code/tests/results.rs", "every_text_of_a_structured_result_is_accounted_for"),
    (
        "result.repeated",
        "engram-adapters/src/claude_code/tests/progress.rs",
        "sub_agent_without_its_own_file_is_converted_with_its_session",
    ),
    ("result.state", "engram-adapters/src/claude_code/tests/results.rs", "every_text_of_a_structured_result_is_accounted_for"),
    ("result.structured", "engram-adapters/src/claude_code/tests/attachments.rs", "structured_output_of_a_known_call_is_a_duplicate"),
    ("review.words", "engram-adapters/src/codex/tests.rs", "review_mode_gives_system_events"),
    ("search.result", "engram-adapters/src/codex/tests.rs", "web_search_event_of_a_tool_call_is_a_duplicate"),
    ("search.screen", "engram-adapters/src/codex/tests.rs", "web_search_in_event_and_item_is_one_call"),
    ("search.twin", "engram-adapters/src/codex/tests.rs", "web_search_in_event_and_item_is_one_call"),
    ("selection_address", "engram-adapters/src/cursor/tests/stores.rs", "selections_files_and_images_of_a_prompt_are_converted"),
    ("selection_rendered", "engram-adapters/src/cursor/tests/stores.rs", "selections_files_and_images_of_a_prompt_are_converted"),
    ("settings.header", "engram-adapters/src/codex/tests.rs", "repeated_own_header_does_not_start_a_replay"),
    ("settings.sandbox", "engram-adapters/src/codex/tests.rs", "desktop_client_header_and_settings_are_converted"),
    ("snapshot.files", "engram-adapters/src/codex/tests.rs", "desktop_client_header_and_settings_are_converted"),
    ("state.bridge", "engram-adapters/src/claude_code/tests/session.rs", "names_and_directories_are_session_facts"),
    ("state.repository", "engram-adapters/src/claude_code/tests/results.rs", "every_text_of_a_structured_result_is_accounted_for"),
    ("state.same_name", "engram-adapters/src/claude_code/tests/session.rs", "names_and_directories_are_session_facts"),
    ("state.worktree", "engram-adapters/src/claude_code/tests/session.rs", "names_and_directories_are_session_facts"),
    ("tools.dynamic", "engram-adapters/src/codex/tests.rs", "desktop_client_header_and_settings_are_converted"),
    ("ui.nudge", "engram-adapters/src/claude_code/tests/session.rs", "refusal_is_an_error_with_its_reason"),
];

/// Runs the kit on the registered adapters whose id `is_selected` accepts, and returns one report.
pub fn run(recordings: &Recordings, options: &Options<'_>, is_selected: impl Fn(&str) -> bool) -> Report {
    let mut report = Report::default();
    for entry in REGISTRY.iter().filter(|entry| is_selected(entry.adapter.describe().adapter_id)) {
        report.add(run_one(entry, recordings, options));
    }
    report
}

/// Runs the kit on one registered adapter.
pub fn run_one(entry: &'static Entry, recordings: &Recordings, options: &Options<'_>) -> Report {
    with_capabilities(entry, |capabilities| crate::run(&ByReference(entry.adapter), recordings, &Options { capabilities, ..*options }))
}

/// The scenarios that each recording of the registered harnesses shows: the content of `scenarios.tsv`.
pub fn scenario_list(recordings: &Recordings) -> String {
    let mut shown: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
    for entry in REGISTRY {
        shown.extend(with_capabilities(entry, |capabilities| {
            crate::scenarios(&ByReference(entry.adapter), recordings, &Options { capabilities, ..Options::default() })
        }));
    }
    let line = |(name, shows): (&String, &BTreeSet<&str>)| format!("{name}\t{}\n", Vec::from_iter(shows.iter().copied()).join(" "));
    shown.iter().map(line).collect()
}

/// Calls `with` with everything that a registered adapter provides.
pub fn with_capabilities<T>(entry: &'static Entry, with: impl FnOnce(Capabilities<'_>) -> T) -> T {
    let tools = |name: &str| entry.tools.resolve(name).or_else(|| name.starts_with(SERVER_PREFIX).then_some(ToolKind::Other));
    let id = entry.adapter.describe().adapter_id;
    let unit_tested: Vec<&str> = UNIT_TESTED.iter().map(|(rule, _, _)| *rule).collect();
    with(Capabilities {
        stream: Some(entry.adapter),
        tools: Some(&tools),
        open: &RegisteredSessions(entry),
        gaps: adapters::gap_rows(id),
        with_unknown_version: adapters::unknown_version_rewrite(id),
        unit_tested_rules: &unit_tested,
    })
}

/// A registered adapter as a value that implements the contract.
pub struct ByReference(pub &'static dyn StreamAdapter);

impl StreamAdapter for ByReference {
    fn describe(&self) -> &'static AdapterDescriptor {
        self.0.describe()
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        self.0.probe(head)
    }

    fn marks(&self) -> Vec<&'static str> {
        self.0.marks()
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        self.0.identify(head)
    }

    fn session(&self, init: &SessionInit<'_>) -> Box<dyn Session> {
        self.0.session(init)
    }
}
