//! The compatibility kit over the registered adapters: every check passes on the fixtures, and on recordings if there are any.

use std::sync::OnceLock;

use engram_adapters::conformance;
use engram_conformance::{Options, Recordings, Report, Verdict};

use crate::snapshots::compare_contract;
use crate::tree::{files, one_in, recording_trees, registered, root};
use crate::{bless, report};

/// The fixture tree, with the scenario elements that its recordings declare.
fn fixtures() -> Recordings {
    let tree = root().join("fixtures");
    if bless::is_requested() {
        // The declarations are rewritten, so the old ones must not be read.
        let recordings = Recordings::undeclared(&tree).unwrap_or_else(|error| panic!("{error}"));
        bless::compare(
            &tree.join("scenarios.tsv"),
            &conformance::scenario_list(registered(), &recordings),
        );
    }
    Recordings::load(&tree).unwrap_or_else(|error| panic!("{error}"))
}

/// The kit's report on the registered adapters and the fixtures. Made once for all gates.
pub fn fixture_report() -> &'static Report {
    static REPORT: OnceLock<Report> = OnceLock::new();
    REPORT
        .get_or_init(|| conformance::run(registered(), &fixtures(), &Options::default(), |_| true))
}

/// Fails with all counter-examples.
fn assert_passes(over: &str, report: &Report) {
    for column in &report.adapters {
        report::print(
            "conformance",
            format!(
                "{}: {} recordings of {over}, {} sessions",
                column.adapter, column.recordings, column.sessions
            ),
        );
    }
    assert!(report.failing().is_empty(), "{over}:\n{report}");
}

#[test]
fn every_adapter_passes_on_the_fixtures() {
    assert_passes("fixtures", fixture_report());
    for column in &fixture_report().adapters {
        assert!(column.recordings > 0, "no fixtures for {}", column.adapter);
        let skipped: Vec<&str> = column
            .outcomes
            .iter()
            .filter(|(_, outcome)| outcome.verdict == Verdict::Skip && outcome.reason.is_none())
            .map(|(id, _)| *id)
            .collect();
        assert!(
            skipped.is_empty(),
            "{}: skipped without a reason: {skipped:?}",
            column.adapter
        );
    }
}

#[test]
fn every_adapter_passes_on_the_recordings() {
    let trees = recording_trees();
    if trees.is_empty() {
        return;
    }
    let recordings = Recordings::load_all(&trees)
        .unwrap_or_else(|error| panic!("{error}"))
        .sample(one_in());
    let recordings_report =
        conformance::run(registered(), &recordings, &Options::default(), |_| true);
    assert!(
        !recordings_report.is_empty(),
        "there are recordings of registered harnesses"
    );
    assert_passes("recordings", &recordings_report);
}

#[test]
fn conformance_matrix_equals_its_snapshot() {
    // A full run changes more members than the sample that the snapshot counts.
    if std::env::var_os("ENGRAM_MEMBERS").is_some() {
        return;
    }
    let text = format!(
        "{}\n{}",
        fixture_report().matrix(),
        fixture_report().contract()
    );
    report::assert_none(
        "conformance",
        &Vec::from_iter(compare_contract("conformance", &text)),
    );
}

#[test]
fn rule_without_a_recording_has_a_unit_test() {
    for registration in registered().adapters() {
        let directory = root()
            .join("engram-adapters/src")
            .join(registration.id().replace('-', "_"));
        let sources: String = files(&directory)
            .iter()
            .map(|file| std::fs::read_to_string(file).unwrap_or_default())
            .collect();
        for (rule, test) in registration.certification().unit_tests() {
            assert!(
                sources.contains(&format!("fn {test}()")),
                "{rule}: {} has no test {test}",
                directory.display()
            );
        }
    }
}
