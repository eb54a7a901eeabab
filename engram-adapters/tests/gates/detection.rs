//! Detection: every session is recognised by exactly one adapter, and what is no session by none.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use engram_adapters::{REGISTRY, detect};
use engram_core::drive::Input;
use engram_core::limits::Limits;

use crate::bless;
use crate::report::{self, Tally};
use crate::tree::{Corpus, files, fixtures, is_no_session, read_session, recordings, root};

/// The adapters that recognise some bytes, each with its marks.
fn recognised(bytes: &[u8]) -> Vec<(&'static str, Vec<&'static str>)> {
    let mut input = Input::new(bytes, Limits::default());
    let head = input.head().expect("memory can be read");
    REGISTRY.iter().filter_map(|entry| Some((entry.adapter.describe().adapter_id, entry.adapter.probe(&head)?.marks))).collect()
}

/// A row of the matrix.
fn row(name: &str, bytes: &[u8]) -> String {
    let found = recognised(bytes);
    let adapters: Vec<String> = found.iter().map(|(id, marks)| format!("{id} ({})", marks.join(", "))).collect();
    format!("{name}: {}", if adapters.is_empty() { "none".to_owned() } else { adapters.join(" and ") })
}

/// What of a corpus is not recognised by just the adapter of its harness.
fn misjudged(corpus: &Corpus) -> Vec<String> {
    let mut findings = corpus.findings.clone();
    for artifact in corpus.artifacts() {
        let found = recognised(&artifact.bytes);
        if found.len() != 1 || artifact.entry.adapter.describe().harness_family != artifact.case.harness {
            findings.push(row(&artifact.full_name(), &artifact.bytes));
        }
        if found.iter().any(|(_, marks)| marks.is_empty()) {
            findings.push(format!("{}: recognised without a mark", artifact.full_name()));
        }
    }
    findings
}

/// Files below a folder that are no session of any registered harness, but that an adapter takes for one.
fn mistaken(folder: &Path, is_foreign: impl Fn(&Path) -> bool) -> (u64, Vec<String>) {
    let foreign: Vec<_> = files(folder).into_iter().filter(|path| is_foreign(path)).collect();
    let taken = foreign.iter().map(|path| (path, read_session(path))).filter(|(_, bytes)| !recognised(bytes).is_empty());
    (foreign.len() as u64, taken.map(|(path, bytes)| row(&path.display().to_string(), &bytes)).collect())
}

#[test]
fn every_session_has_one_adapter() {
    let findings = report::run("detection", |corpus| {
        let mut tally = Tally::default();
        tally.count_many("sessions recognised", corpus.artifacts().count() as u64);
        (tally, misjudged(corpus))
    });
    assert!(findings.of("sessions recognised") > 0);
}

#[test]
fn what_is_no_session_has_no_adapter() {
    let mut tally = Tally::default();
    let (count, mut findings) = mistaken(&root().join("fixtures"), is_no_session);
    tally.count_many("files of fixtures that are no sessions", count);
    if let Some(folder) = std::env::var_os("ENGRAM_RECORDINGS").filter(|_| !recordings().cases.is_empty()) {
        let registered = |path: &Path| {
            REGISTRY.iter().any(|entry| path.components().any(|part| part.as_os_str() == entry.adapter.describe().harness_family))
        };
        let is_foreign = |path: &Path| {
            path.is_file() && (!registered(path) || is_no_session(path) || !path.components().any(|part| part.as_os_str() == "session"))
        };
        let (count, found) = mistaken(&root().join(folder), is_foreign);
        tally.count_many("files of recordings that are no sessions", count);
        findings.extend(found);
    }
    report::say("detection", tally);
    report::none("detection", &findings);
}

#[test]
fn the_matrix_is_as_it_was() {
    let mut rows: BTreeSet<String> = fixtures().artifacts().map(|artifact| row(&artifact.full_name(), &artifact.bytes)).collect();
    let hostile = root().join("fixtures/_hostile");
    for path in files(&hostile).into_iter().filter(|path| !path.ends_with("expect.json")) {
        let name = path.strip_prefix(root().join("fixtures")).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        rows.insert(row(&name, &read_session(&path)));
    }
    let mut text = String::new();
    for row in rows {
        let _ = writeln!(text, "{row}");
    }
    report::none("detection", &Vec::from_iter(bless::compare(&root().join("snapshots/_contract/detection-matrix.txt"), &text)));
}

#[test]
fn a_file_of_two_harnesses_is_ambiguous_and_says_so() {
    let mut glued = Vec::new();
    for entry in REGISTRY {
        let harness = entry.adapter.describe().harness_family;
        let lines = fixtures().artifacts().filter(|artifact| artifact.case.harness == harness && !artifact.name.ends_with(".json"));
        let first = lines.map(|artifact| &artifact.bytes).min_by_key(|bytes| bytes.len()).expect("every harness has fixtures");
        glued.extend_from_slice(first);
    }
    assert_eq!(recognised(&glued).len(), REGISTRY.len());
    let mut input = Input::new(glued.as_slice(), Limits::default());
    let error = detect(&input.head().expect("memory can be read")).err().expect("several harnesses match");
    let said = error.to_string();
    for entry in REGISTRY {
        assert!(said.contains(entry.adapter.describe().adapter_id), "{said}");
    }
}
