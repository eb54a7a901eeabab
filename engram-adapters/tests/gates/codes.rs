//! Error codes: each is documented, and produced by a hostile input or by a test that is listed here.

use std::collections::BTreeSet;

use engram_core::error::ErrorCode;
use serde_json::Value;

use crate::report;
use crate::tree::{file_name, files, read_json, root};

/// Codes that no hostile input produces, each with the file and name of a test that does.
const TESTED: &[(&str, &str, &str)] = &[
    (
        "unknown_harness_version",
        "engram-adapters/tests/gates/versions.rs",
        "log_without_version_is_not_guessed",
    ),
    (
        "unknown_member",
        "engram-adapters/tests/gates/hostile.rs",
        "deep_nesting_in_an_unknown_member_is_an_error_or_counted",
    ),
    (
        "known_bad_version",
        "engram-adapters/tests/gates/versions.rs",
        "known_bad_version_is_rejected_or_degraded",
    ),
    (
        "limit_exceeded",
        "engram-adapters/tests/gates/hostile.rs",
        "record_over_the_limit_is_rejected_or_replaced_by_its_hash",
    ),
    (
        "incomplete_store",
        "engram-adapters/tests/gates/stores.rs",
        "a_store_that_lost_something_says_so",
    ),
    (
        "not_found",
        "engram-adapters/src/sessions/discover.rs",
        "a_named_file_is_a_candidate_whatever_its_name_and_a_missing_one_an_error",
    ),
    (
        "io",
        "engram-adapters/src/open/sqlite.rs",
        "a_store_that_changes_while_it_is_read_is_noticed",
    ),
    (
        "adapter_defect",
        "engram-core/tests/core/policy.rs",
        "a_mapped_record_without_events_is_an_adapter_defect",
    ),
    (
        "unknown_adapter",
        "engram-cli/tests/cli/broken_input.rs",
        "wrong_usage_is_2",
    ),
    (
        "bad_recordings",
        "engram-lab/tests/lab/conform.rs",
        "recordings_that_are_not_whole_are_refused_and_named",
    ),
    (
        "bad_prices",
        "engram-cli/tests/cli/stats.rs",
        "a_wrong_table_of_prices_is_wrong_usage",
    ),
];

/// The codes that hostile inputs produce.
fn produced() -> BTreeSet<String> {
    let expected = files(&root().join("fixtures/_hostile"))
        .into_iter()
        .filter(|path| file_name(path) == "expect.json");
    let codes = |expect: Value| {
        ["strict", "permissive"].map(|policy| expect[policy]["code"].as_str().map(str::to_owned))
    };
    expected
        .flat_map(|path| codes(read_json(&path)))
        .flatten()
        .collect()
}

/// The requirements that a code does not meet.
fn violations(code: &str, produced: &BTreeSet<String>, document: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if !document.contains(&format!("| `{code}` |")) {
        wrong.push(format!("{code}: docs/errors.md does not list it"));
    }
    let is_tested =
        TESTED
            .iter()
            .filter(|(tested, _, _)| *tested == code)
            .any(|(_, file, test)| {
                let source = std::fs::read_to_string(root().join(file)).unwrap_or_default();
                source.contains(&format!("fn {test}()"))
            });
    if !produced.contains(code) && !is_tested {
        wrong.push(format!("{code}: no hostile input and no test produces it"));
    }
    wrong
}

#[test]
fn every_error_code_is_documented_and_tested() {
    let (produced, document) = (
        produced(),
        std::fs::read_to_string(root().join("docs/errors.md")).unwrap_or_default(),
    );
    let findings: Vec<String> = ErrorCode::ALL
        .iter()
        .flat_map(|code| violations(code.as_str(), &produced, &document))
        .collect();
    report::assert_none("codes", &findings);
    assert_eq!(violations("no_such_code", &produced, &document).len(), 2);
}
