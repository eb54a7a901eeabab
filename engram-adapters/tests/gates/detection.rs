//! Detection: every session is recognised by exactly one adapter, and other files by none.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::path::Path;

use engram_adapters::detect;
use engram_core::adapter::Framing;
use engram_core::head::{HEAD_BYTES, Head};
use engram_core::limits::Limits;
use engram_core::pipeline::Input;
use rayon::prelude::*;

use crate::report::{self, Tally};
use crate::snapshots::compare_contract;
use crate::tree::{
    Artifact, Corpus, files, fixtures, is_not_a_session, read_session, recording_trees, recordings,
    registered, root,
};

/// The adapters that recognise some bytes, each with its marks.
fn recognised(bytes: &[u8]) -> Vec<(&'static str, Vec<&'static str>)> {
    let mut input = Input::new(bytes, Limits::default());
    let head = input.head().expect("memory can be read");
    registered()
        .adapters()
        .filter_map(|entry| Some((entry.id(), entry.probe(&head)?.marks)))
        .collect()
}

/// A row of the matrix.
fn row(name: &str, bytes: &[u8]) -> String {
    let found = recognised(bytes);
    let adapters: Vec<String> = found
        .iter()
        .map(|(id, marks)| format!("{id} ({})", marks.join(", ")))
        .collect();
    format!(
        "{name}: {}",
        if adapters.is_empty() {
            "none".to_owned()
        } else {
            adapters.join(" and ")
        }
    )
}

/// The sessions of a corpus that are not recognised by their harness's adapter alone.
fn misdetected(corpus: &Corpus) -> Vec<String> {
    let mut findings = corpus.findings.clone();
    for artifact in corpus.artifacts() {
        let found = recognised(&artifact.bytes);
        if found.len() != 1 || artifact.entry.descriptor().harness_family != artifact.case.harness {
            findings.push(row(&artifact.full_name(), &artifact.bytes));
        }
        if found.iter().any(|(_, marks)| marks.is_empty()) {
            findings.push(format!(
                "{}: recognised without a mark",
                artifact.full_name()
            ));
        }
    }
    findings
}

/// The number of files below a directory that are no session of any registered harness, and those that an adapter recognises anyway.
fn false_positives(directory: &Path, is_foreign: impl Fn(&Path) -> bool) -> (u64, Vec<String>) {
    let foreign: Vec<_> = files(directory)
        .into_iter()
        .filter(|path| is_foreign(path))
        .collect();
    let taken = foreign
        .par_iter()
        .map(|path| (path, head_of(path)))
        .filter(|(_, bytes)| !recognised(bytes).is_empty());
    (
        foreign.len() as u64,
        taken
            .map(|(path, bytes)| row(&path.display().to_string(), &bytes))
            .collect(),
    )
}

/// The part of a file that detection reads.
fn head_of(path: &Path) -> Vec<u8> {
    if path.extension().is_some_and(|end| end == "zst") {
        return read_session(path);
    }
    let mut bytes = Vec::new();
    let read =
        fs::File::open(path).and_then(|file| file.take(HEAD_BYTES as u64).read_to_end(&mut bytes));
    read.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    bytes
}

/// Marks that occur in no fixture, and marks that occur and are not listed.
fn mark_findings(id: &str, listed: &[&str], found: &BTreeSet<&str>) -> Vec<String> {
    let unused = listed
        .iter()
        .filter(|mark| !found.contains(**mark))
        .map(|mark| format!("{id}: no fixture has the mark {mark}"));
    let unlisted = found
        .iter()
        .filter(|mark| !listed.contains(mark))
        .map(|mark| format!("{id}: the mark {mark} is not listed"));
    unused.chain(unlisted).collect()
}

#[test]
fn every_mark_occurs_in_a_fixture() {
    let mut findings = Vec::new();
    for entry in registered().adapters() {
        let id = entry.id();
        let of_adapter = |found: Vec<(&'static str, Vec<&'static str>)>| {
            found
                .into_iter()
                .filter(|(adapter, _)| *adapter == id)
                .flat_map(|(_, marks)| marks)
                .collect::<Vec<_>>()
        };
        let shown: BTreeSet<&str> = fixtures()
            .artifacts()
            .flat_map(|artifact| of_adapter(recognised(&artifact.bytes)))
            .collect();
        findings.extend(mark_findings(
            id,
            &entry
                .stream()
                .map(|adapter| adapter.marks())
                .unwrap_or_default(),
            &shown,
        ));
    }
    report::assert_none("detection", &findings);
    assert_eq!(
        mark_findings(
            "x",
            &["unused", "found"],
            &BTreeSet::from(["found", "unlisted"])
        )
        .len(),
        2
    );
}

#[test]
fn every_row_of_session_files_matches_sessions_of_its_harness_only() {
    let mut findings = Vec::new();
    for entry in registered().adapters() {
        for row in entry.session_files() {
            let matched = || {
                fixtures()
                    .artifacts()
                    .filter(|artifact| row.matches(&artifact.path))
            };
            if matched().next().is_none() {
                findings.push(format!("{}: no fixture is at {row:?}", entry.id()));
            }
            let of_others = matched().filter(|artifact| artifact.entry.id() != entry.id());
            findings
                .extend(of_others.map(|artifact| {
                    format!("{}: {row:?} of {}", artifact.full_name(), entry.id())
                }));
        }
        let fixtures = files(
            &root()
                .join("fixtures")
                .join(entry.descriptor().harness_family),
        );
        let matched = fixtures
            .iter()
            .filter(|path| entry.session_files().iter().any(|row| row.matches(path)));
        let with_content = matched.filter(|path| path.metadata().is_ok_and(|file| file.len() > 0));
        findings.extend(
            with_content
                .filter(|path| is_not_a_session(path))
                .map(|path| format!("{}: not a session", path.display())),
        );
    }
    report::assert_none("session files", &findings);
}

#[test]
fn every_session_is_recognised_by_one_adapter() {
    let findings = report::run("detection", |corpus| {
        let mut tally = Tally::default();
        tally.count_many("sessions recognised", corpus.artifacts().count() as u64);
        (tally, misdetected(corpus))
    });
    assert!(findings.of("sessions recognised") > 0);
}

#[test]
fn no_adapter_detects_files_that_are_not_sessions() {
    let mut tally = Tally::default();
    let (count, mut findings) = false_positives(&root().join("fixtures"), is_not_a_session);
    tally.count_many("files of fixtures that are no sessions", count);
    for tree in recording_trees() {
        let registered = |path: &Path| {
            registered().adapters().any(|entry| {
                path.components()
                    .any(|part| part.as_os_str() == entry.descriptor().harness_family)
            })
        };
        // Recordings without a ground truth have no fixed layout: any of their files may be a session.
        let is_of_case = |path: &Path| {
            recordings()
                .cases
                .iter()
                .any(|(case, _)| path.starts_with(&case.directory))
        };
        let sessions: BTreeSet<&Path> = recordings()
            .artifacts()
            .map(|artifact| artifact.path.as_path())
            .collect();
        // What a command printed is a session too, but the kit compares the printed sessions of some harnesses only.
        let is_printed = |path: &Path| path.components().any(|part| part.as_os_str() == "stdout");
        let is_outside =
            |path: &Path| is_of_case(path) && !sessions.contains(path) && !is_printed(path);
        let is_foreign = |path: &Path| {
            path.is_file() && (!registered(path) || is_not_a_session(path) || is_outside(path))
        };
        let (count, found) = false_positives(&tree, is_foreign);
        tally.count_many("files of recordings that are no sessions", count);
        findings.extend(found);
    }
    report::print("detection", tally);
    report::assert_none("detection", &findings);
}

#[test]
fn detection_matrix_equals_its_snapshot() {
    let mut rows: BTreeSet<String> = fixtures()
        .artifacts()
        .map(|artifact| row(&artifact.full_name(), &artifact.bytes))
        .collect();
    let hostile = root().join("fixtures/_hostile");
    for path in files(&hostile)
        .into_iter()
        .filter(|path| !path.ends_with("expect.json"))
    {
        let name = path
            .strip_prefix(root().join("fixtures"))
            .unwrap_or(&path)
            .to_string_lossy()
            .replace('\\', "/");
        rows.insert(row(&name, &read_session(&path)));
    }
    let mut text = String::new();
    for row in rows {
        let _ = writeln!(text, "{row}");
    }
    report::assert_none(
        "detection",
        &Vec::from_iter(compare_contract("detection-matrix", &text)),
    );
}

/// A document with the members of each object sorted by name, as other programs may write it. None if it is not a document, or is too
/// large for a head.
fn rearranged(artifact: &Artifact) -> Option<Vec<u8>> {
    let evidence = artifact.entry.probe(&Head::new(&artifact.bytes, true))?;
    let document: serde_json::Value = serde_json::from_slice(&artifact.bytes)
        .ok()
        .filter(|_| evidence.framing == Framing::Document)?;
    serde_json::to_vec_pretty(&document)
        .ok()
        .filter(|sorted| sorted.len() < HEAD_BYTES)
}

#[test]
fn document_with_sorted_members_is_recognised() {
    let documents = fixtures()
        .artifacts()
        .filter_map(|artifact| Some((artifact, rearranged(artifact)?)));
    let (mut tally, mut findings) = (Tally::default(), Vec::new());
    for (artifact, sorted) in documents {
        tally.count("rearranged documents");
        if recognised(&sorted) != recognised(&artifact.bytes) {
            findings.push(format!(
                "{}: {:?} rearranged",
                artifact.full_name(),
                recognised(&sorted)
            ));
        }
    }
    assert!(tally.of("rearranged documents") > 0);
    report::print("detection", tally);
    report::assert_none("detection", &findings);
}

/// True for a session with one record per line.
fn is_lines(bytes: &[u8]) -> bool {
    bytes
        .split(|byte| *byte == b'\n')
        .take(2)
        .filter(|line| serde_json::from_slice::<serde_json::Value>(line).is_ok())
        .count()
        == 2
}

#[test]
fn file_of_two_harnesses_is_an_error_that_names_both() {
    let shortest = |harness: &str| {
        let lines = fixtures()
            .artifacts()
            .filter(|artifact| artifact.case.harness == harness && is_lines(&artifact.bytes));
        lines
            .map(|artifact| artifact.bytes.as_slice())
            .min_by_key(|bytes| bytes.len())
            .expect("every harness has fixtures")
    };
    let mut sessions: Vec<&[u8]> = registered()
        .adapters()
        .map(|entry| shortest(entry.descriptor().harness_family))
        .collect();
    // An adapter may look at the first line only, so one order is not enough.
    let ambiguous = (0..sessions.len()).filter_map(|_| {
        sessions.rotate_left(1);
        let joined = sessions.concat();
        let mut input = Input::new(joined.as_slice(), Limits::default());
        let found = recognised(&joined);
        let error = detect(&input.head().expect("memory can be read")).err();
        assert_eq!(found.len() != 1, error.is_some(), "one adapter or an error");
        error.map(|error| (found, error.to_string()))
    });
    let ambiguous: Vec<_> = ambiguous.collect();
    assert!(
        !ambiguous.is_empty(),
        "some order is recognised by several adapters"
    );
    for (found, message) in ambiguous {
        assert!(
            found.iter().all(|(id, _)| message.contains(id)),
            "{message}"
        );
    }
}
