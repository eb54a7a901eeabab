//! Golden tapes: every fixture's tape, byte for byte. Small ones stand whole for review, big ones by their hash.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use engram_core::hash::Hash;

use crate::bless;
use crate::report::{self, Tally};
use crate::tape::{Tape, tape_of};
use crate::tree::{Artifact, Corpus, fixtures, root};

/// Tapes up to this size stand whole in `snapshots/`, and so does the smallest of each revision; of the others `digests.txt`
/// keeps hash and size.
const WHOLE_BYTES: usize = 48 << 10;

/// The size of the smallest tape of each revision, by harness and schema.
fn smallest<'t>(tapes: &[(&'t Artifact, &'t Tape)]) -> BTreeMap<(&'t str, Option<&'static str>), usize> {
    let mut found = BTreeMap::new();
    for (artifact, tape) in tapes {
        let size = found.entry((artifact.case.harness.as_str(), tape.summary.schema)).or_insert(usize::MAX);
        *size = tape.text.len().min(*size);
    }
    found
}

/// What `snapshots/` has to hold for these tapes.
fn expected(tapes: &[(&Artifact, &Tape)]) -> BTreeMap<PathBuf, String> {
    let mut whole: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut digests: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
    let smallest = smallest(tapes);
    for (artifact, tape) in tapes {
        let harness = artifact.case.harness.as_str();
        if tape.text.len() <= WHOLE_BYTES.max(smallest[&(harness, tape.summary.schema)]) {
            whole.insert(root().join("snapshots").join(format!("{}.tape.jsonl", artifact.full_name())), tape.text.clone());
        } else {
            let row = format!("{} {}", Hash::of_bytes(tape.text.as_bytes()), tape.text.len());
            let name = format!("{}/{}/{}", artifact.case.version, artifact.case.scenario, artifact.name);
            digests.entry(harness).or_default().insert(name, row);
        }
    }
    for (harness, rows) in digests {
        let mut text = String::new();
        for (name, row) in rows {
            let _ = writeln!(text, "{row} {name}");
        }
        whole.insert(root().join("snapshots").join(harness).join("digests.txt"), text);
    }
    whole
}

/// Every revision has a tape, of which the smallest stands whole.
fn revisions_shown(tapes: &[(&Artifact, &Tape)]) -> Vec<String> {
    let shown: BTreeSet<(&str, &str)> =
        tapes.iter().filter_map(|(artifact, tape)| Some((artifact.case.harness.as_str(), tape.summary.schema?))).collect();
    let mut findings = Vec::new();
    for entry in engram_adapters::REGISTRY {
        let descriptor = entry.adapter.describe();
        for revision in descriptor.matrix.revisions {
            if !shown.contains(&(descriptor.harness_family, revision.schema)) {
                findings.push(format!("{} {}: no fixture", descriptor.harness_family, revision.schema));
            }
        }
    }
    findings
}

fn tapes(corpus: &'static Corpus) -> (Vec<(&'static Artifact, &'static Tape)>, Vec<String>) {
    let (mut tapes, mut findings) = (Vec::new(), Vec::new());
    for artifact in corpus.artifacts() {
        match tape_of(artifact) {
            Ok(tape) => tapes.push((artifact, tape)),
            Err(error) => findings.push(error),
        }
    }
    (tapes, findings)
}

#[test]
fn tapes_are_byte_for_byte_what_they_were() {
    let (tapes, mut findings) = tapes(fixtures());
    let expected = expected(&tapes);
    let mut tally = Tally::default();
    tally.count_many("tapes", tapes.len() as u64);
    tally.count_many("files", expected.len() as u64);
    findings.extend(revisions_shown(&tapes));
    findings.extend(bless::compare_folder(&root().join("snapshots"), &expected, &["_contract"]));
    report::say("golden", &tally);
    report::none("golden", &findings);
}

#[test]
fn one_changed_byte_is_a_finding() {
    let artifact = fixtures().artifacts().next().expect("there are fixtures");
    let tape = tape_of(artifact).expect("it converts");
    let changed = Tape { text: tape.text.replacen("meta", "mEta", 1), summary: tape.summary.clone() };
    let (kept, now) = (expected(&[(artifact, tape)]), expected(&[(artifact, &changed)]));
    let differences: Vec<String> = kept.iter().filter_map(|(path, text)| bless::difference(path, Some(text), now.get(path)?)).collect();
    assert_eq!(differences.len(), 1);
    assert!(!revisions_shown(&[]).is_empty());
}
