//! The compatibility kit over the registered adapters: every check holds over the fixtures, and over the recordings beside them.

use std::sync::OnceLock;

use engram_conformance::{Options, Recordings, Report, Verdict, registry};

use crate::snapshots::compare_contract;
use crate::tree::root;
use crate::{bless, report};

/// The fixture tree, with what its recordings declare to show.
fn fixtures() -> Recordings {
    let tree = root().join("fixtures");
    if bless::is_asked() {
        // What is declared is rewritten from what is shown, so it must not be read before.
        let recordings = Recordings::undeclared(&tree).unwrap_or_else(|error| panic!("{error}"));
        bless::compare(&tree.join("scenarios.tsv"), &registry::scenario_list(&recordings));
    }
    Recordings::load(&tree).unwrap_or_else(|error| panic!("{error}"))
}

/// What the kit says of the registered adapters over the fixtures. Made once for all gates.
pub fn certified() -> &'static Report {
    static REPORT: OnceLock<Report> = OnceLock::new();
    REPORT.get_or_init(|| registry::run(&fixtures(), &Options::default(), |_| true))
}

/// Fails with every counter-example.
fn holds(over: &str, certified: &Report) {
    for column in &certified.adapters {
        report::say("conformance", format!("{}: {} recordings of {over}, {} sessions", column.adapter, column.recordings, column.sessions));
    }
    assert!(certified.passes(), "{over}:\n{certified}");
}

#[test]
fn every_adapter_holds_over_the_fixtures() {
    holds("fixtures", certified());
    for column in &certified().adapters {
        assert!(column.recordings > 0, "no fixtures for {}", column.adapter);
        let skipped: Vec<&str> = column
            .outcomes
            .iter()
            .filter(|(_, outcome)| outcome.verdict == Verdict::Skip && outcome.reason.is_none())
            .map(|(id, _)| *id)
            .collect();
        assert!(skipped.is_empty(), "{}: skipped without a reason: {skipped:?}", column.adapter);
    }
}

#[test]
fn every_adapter_holds_over_the_recordings() {
    let Some(folder) = std::env::var_os("ENGRAM_RECORDINGS") else { return };
    let recordings = Recordings::load(&root().join(folder)).unwrap_or_else(|error| panic!("{error}"));
    let certified = registry::run(&recordings, &Options::default(), |_| true);
    assert!(!certified.is_empty(), "there are recordings of registered harnesses");
    holds("recordings", &certified);
}

#[test]
fn the_matrix_is_as_it_was() {
    let text = format!("{}\n{}", certified().matrix(), certified().contract());
    report::none("conformance", &Vec::from_iter(compare_contract("conformance", &text)));
}

#[test]
fn a_rule_that_no_recording_shows_has_a_unit_test() {
    for (rule, file, test) in registry::UNIT_TESTED {
        let source = std::fs::read_to_string(root().join(file)).unwrap_or_default();
        assert!(source.contains(&format!("fn {test}()")), "{rule}: {file} has no test {test}");
    }
}
