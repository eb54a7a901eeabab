//! Golden tapes: every fixture's tape equals its snapshot, byte for byte. One test for each harness, so that its tapes can be
//! reviewed alone.

use std::collections::BTreeSet;

use crate::report::{self, Tally};
use crate::snapshots::{
    compare_tape, directory, files_of_contract, files_of_tape, orphans, remove_or_report,
};
use crate::tape::{Tape, tape_of};
use crate::tree::{Artifact, fixtures, registered};

/// Defines a test for each of these harnesses, and the list of them. One more test has all other harnesses.
macro_rules! golden {
    ($($test:ident: $harness:literal),+ $(,)?) => {
        const NAMED: &[&str] = &[$($harness),+];
        $(
            #[test]
            fn $test() {
                tapes_equal_their_snapshots($harness);
            }
        )+
    };
}

golden! {
    tapes_of_claude_code: "claude-code",
    tapes_of_codex: "codex",
    tapes_of_cursor: "cursor",
    tapes_of_gemini: "gemini",
    tapes_of_kilo: "kilo",
    tapes_of_opencode: "opencode",
    tapes_of_pi: "pi",
    tapes_of_openclaw: "openclaw",
    tapes_of_copilot: "copilot",
    tapes_of_qwen: "qwen",
    tapes_of_acp: "acp",
    tapes_of_tool_intent: "tool-intent",
}

/// The tapes of the fixtures of some harnesses, and the errors of those that cannot be converted.
fn tapes(
    is_chosen: impl Fn(&str) -> bool,
) -> (Vec<(&'static Artifact, &'static Tape)>, Vec<String>) {
    let (mut tapes, mut findings) = (Vec::new(), Vec::new());
    for artifact in fixtures()
        .artifacts()
        .filter(|artifact| is_chosen(&artifact.case.harness))
    {
        match tape_of(artifact) {
            Ok(tape) => tapes.push((artifact, tape)),
            Err(error) => findings.push(error),
        }
    }
    (tapes, findings)
}

fn tapes_equal_their_snapshots(harness: &str) {
    let (tapes, mut findings) = tapes(|of| of == harness);
    assert!(!tapes.is_empty(), "no tapes of {harness}");
    for (artifact, tape) in &tapes {
        findings.extend(compare_tape(
            &directory(),
            &artifact.full_name(),
            &tape.text,
        ));
    }
    let mut tally = Tally::default();
    tally.count_many("tapes", tapes.len() as u64);
    report::print("golden", format!("{harness}: {tally}"));
    report::assert_none("golden", &findings);
}

/// The revisions of registered adapters without a tape.
fn revisions_without_a_tape(tapes: &[(&Artifact, &Tape)]) -> Vec<String> {
    let shown: BTreeSet<(&str, &str)> = tapes
        .iter()
        .filter_map(|(artifact, tape)| Some((artifact.case.harness.as_str(), tape.summary.schema?)))
        .collect();
    let mut findings = Vec::new();
    for entry in registered().adapters() {
        let descriptor = entry.descriptor();
        for revision in descriptor.matrix.revisions {
            if !shown.contains(&(descriptor.harness_family, revision.schema)) {
                findings.push(format!(
                    "{} {}: no fixture",
                    descriptor.harness_family, revision.schema
                ));
            }
        }
    }
    findings
}

#[test]
fn tapes_of_other_harnesses() {
    let registered = registered()
        .adapters()
        .map(|entry| entry.descriptor().harness_family);
    registered
        .filter(|harness| !NAMED.contains(harness))
        .for_each(tapes_equal_their_snapshots);
}

#[test]
fn every_revision_has_a_tape() {
    let (tapes, mut findings) = tapes(|_| true);
    findings.extend(revisions_without_a_tape(&tapes));
    report::assert_none("golden", &findings);
    assert!(!revisions_without_a_tape(&[]).is_empty());
}

#[test]
fn every_snapshot_is_needed_by_one_test() {
    let (tapes, mut findings) = tapes(|_| true);
    let mut needed: BTreeSet<_> = files_of_contract().into_iter().collect();
    for (artifact, tape) in &tapes {
        for path in files_of_tape(&directory(), &artifact.full_name(), &tape.text) {
            if let Some(twice) = needed.replace(path) {
                findings.push(format!("{} is the snapshot of two tapes", twice.display()));
            }
        }
    }
    findings.extend(remove_or_report(&orphans(&directory(), &needed)));
    report::assert_none("golden", &findings);
}

#[test]
#[should_panic(expected = "no tapes of unknown")]
fn a_harness_without_fixtures_fails() {
    tapes_equal_their_snapshots("unknown");
}
