//! The registered adapters as subjects of the kit, with everything that they offer.

use std::collections::{BTreeMap, BTreeSet};

use engram_adapters::{Entry, REGISTRY};
use engram_core::adapter::{Evidence, Identity, Session, SessionInit, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::head::Head;
use engram_core::tool_kind::ToolKind;

use crate::options::{Offered, Options};
use crate::recordings::Recordings;
use crate::report::Report;

mod gaps;
mod sessions;

pub use sessions::{Registered, is_no_session, is_printed, sessions};

/// What the MCP server of the recordings is called. A harness that puts it before a tool's name says no more of the tool.
const SERVER: &str = "mockmcp_";

/// Rules of which there is no recording, each with the unit test that shows it: the file and the test's name.
pub const UNIT_TESTED: &[(&str, &str, &str)] = &[
    ("agents.encrypted", "engram-adapters/src/codex/tests.rs", "what_happens_to_other_agents_stands_under_its_call"),
    ("agents.prompt", "engram-adapters/src/codex/tests.rs", "what_happens_to_other_agents_stands_under_its_call"),
    ("assessment.action", "engram-adapters/src/codex/tests.rs", "a_verdict_on_a_call_is_a_permission"),
    ("assessment.begun", "engram-adapters/src/codex/tests.rs", "a_verdict_on_a_call_is_a_permission"),
    ("attachment.base64", "engram-adapters/src/claude_code/attachments.rs", "an_attached_document_is_hashed"),
    ("attachment.instructions", "engram-adapters/src/claude_code/attachments.rs", "rarer_attachments_are_said"),
    ("attachment.on_disk", "engram-adapters/src/claude_code/attachments.rs", "rarer_attachments_are_said"),
    ("attachment.path", "engram-adapters/src/claude_code/attachments.rs", "rarer_attachments_are_said"),
    ("attachment.skills", "engram-adapters/src/claude_code/attachments.rs", "rarer_attachments_are_said"),
    ("client.call", "engram-adapters/src/codex/tests.rs", "a_call_of_a_tool_that_the_client_offers_is_one_call"),
    ("client.name", "engram-adapters/src/codex/tests.rs", "a_header_and_settings_of_a_desktop_client"),
    ("client.output", "engram-adapters/src/codex/tests.rs", "a_call_of_a_tool_that_the_client_offers_is_one_call"),
    ("history.appended_again", "engram-adapters/src/claude_code/tests.rs", "a_message_that_is_appended_again_is_a_duplicate"),
    ("image.data", "engram-adapters/src/codex/tests.rs", "an_image_that_the_provider_made_is_hashed_once"),
    ("image.made", "engram-adapters/src/codex/tests.rs", "an_image_that_the_provider_made_is_hashed_once"),
    ("image.view_event", "engram-adapters/src/codex/tests.rs", "goals_undone_turns_and_looks_at_images_are_told"),
    ("mcp.structured", "engram-adapters/src/codex/tests.rs", "a_structured_answer_is_the_result_and_its_words_stand_beside_it"),
    ("plan.answer", "engram-adapters/src/codex/tests.rs", "a_review_says_what_it_reviews_and_ends_with_an_answer"),
    ("progress.so_far", "engram-adapters/src/claude_code/progress.rs", "what_a_command_wrote_is_said_where_no_result_says_it"),
    ("progress.state", "engram-adapters/src/claude_code/progress.rs", "what_only_tells_that_a_call_goes_on_is_left_out"),
    ("queue.taken_back", "engram-adapters/src/claude_code/tests.rs", "a_queued_prompt_that_is_taken_back_is_kept"),
    ("result.links", "engram-adapters/src/claude_code/tests.rs", "nothing_of_a_structured_result_is_left_over"),
    ("result.repeated", "engram-adapters/src/claude_code/progress.rs", "a_sub_agent_without_a_file_of_its_own_is_said_in_its_session"),
    ("result.state", "engram-adapters/src/claude_code/tests.rs", "nothing_of_a_structured_result_is_left_over"),
    ("result.structured", "engram-adapters/src/claude_code/attachments.rs", "an_answer_in_the_form_that_was_asked_for_is_said_by_its_call"),
    ("review.words", "engram-adapters/src/codex/tests.rs", "a_review_says_what_it_reviews_and_ends_with_an_answer"),
    ("search.result", "engram-adapters/src/codex/tests.rs", "what_a_called_search_found_stands_in_its_output"),
    ("search.screen", "engram-adapters/src/codex/tests.rs", "a_web_search_is_one_call_as_an_event_and_an_item"),
    ("search.twin", "engram-adapters/src/codex/tests.rs", "a_web_search_is_one_call_as_an_event_and_an_item"),
    ("selection_address", "engram-adapters/src/cursor/tests/stores.rs", "selections_files_and_images_of_a_prompt_are_converted"),
    ("selection_rendered", "engram-adapters/src/cursor/tests/stores.rs", "selections_files_and_images_of_a_prompt_are_converted"),
    ("settings.header", "engram-adapters/src/codex/tests.rs", "the_header_again_begins_no_copy"),
    ("settings.sandbox", "engram-adapters/src/codex/tests.rs", "a_header_and_settings_of_a_desktop_client"),
    ("snapshot.files", "engram-adapters/src/codex/tests.rs", "a_header_and_settings_of_a_desktop_client"),
    ("state.bridge", "engram-adapters/src/claude_code/notices.rs", "names_and_places_are_facts_of_the_session"),
    ("state.repository", "engram-adapters/src/claude_code/tests.rs", "nothing_of_a_structured_result_is_left_over"),
    ("state.same_name", "engram-adapters/src/claude_code/notices.rs", "names_and_places_are_facts_of_the_session"),
    ("state.worktree", "engram-adapters/src/claude_code/notices.rs", "names_and_places_are_facts_of_the_session"),
    ("tools.dynamic", "engram-adapters/src/codex/tests.rs", "a_header_and_settings_of_a_desktop_client"),
    ("ui.nudge", "engram-adapters/src/claude_code/notices.rs", "a_refusal_says_why"),
];

/// Runs the kit on the registered adapters whose id `is_asked` takes, and gives one report.
pub fn run(recordings: &Recordings, options: &Options<'_>, is_asked: impl Fn(&str) -> bool) -> Report {
    let mut report = Report::default();
    for entry in REGISTRY.iter().filter(|entry| is_asked(entry.adapter.describe().adapter_id)) {
        report.add(of(entry, recordings, options));
    }
    report
}

/// Runs the kit on one registered adapter.
pub fn of(entry: &'static Entry, recordings: &Recordings, options: &Options<'_>) -> Report {
    offered(entry, |offered| crate::run(&ByReference(entry.adapter), recordings, &Options { offered, ..*options }))
}

/// What each recording of the registered harnesses shows, a line each, as `scenarios.tsv` holds it.
pub fn scenario_list(recordings: &Recordings) -> String {
    let mut shown: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
    for entry in REGISTRY {
        shown.extend(offered(entry, |offered| {
            crate::scenarios(&ByReference(entry.adapter), recordings, &Options { offered, ..Options::default() })
        }));
    }
    let line = |(name, shows): (&String, &BTreeSet<&str>)| format!("{name}\t{}\n", Vec::from_iter(shows.iter().copied()).join(" "));
    shown.iter().map(line).collect()
}

/// Everything that a registered adapter offers.
pub fn offered<T>(entry: &'static Entry, with: impl FnOnce(Offered<'_>) -> T) -> T {
    let tools = |name: &str| entry.tools.resolve(name).or_else(|| name.starts_with(SERVER).then_some(ToolKind::Other));
    let unit_tested: Vec<&str> = UNIT_TESTED.iter().map(|(rule, _, _)| *rule).collect();
    with(Offered {
        stream: Some(entry.adapter),
        tools: Some(&tools),
        open: &Registered(entry),
        gaps: gaps::of(entry.adapter.describe().adapter_id),
        unheard_of: Some(with_unknown_field),
        proven_elsewhere: &unit_tested,
    })
}

/// The header of a log that records no version, with a field that no known version writes.
fn with_unknown_field(text: &str) -> Option<String> {
    let renamed = text.replacen("\"projectHash\"", "\"projectKey\"", 1);
    (renamed != text).then_some(renamed)
}

/// A registered adapter by the contract.
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
