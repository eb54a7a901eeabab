//! Forms: a session that is stored in several forms gives the same tape from each, except for the tape's facts about its input.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use engram_adapters::open::store::StoredSession;
use engram_adapters::sessions::{open_store, store_at_root};
use engram_conformance::Form;
use engram_conformance::tape::parse;
use engram_core::limits::Limits;
use engram_core::policy::Policy;
use rayon::prelude::*;
use serde_json::Value;

use crate::report::{self, Tally};
use crate::tape::{convert_bytes, tape_of};
use crate::tree::{Artifact, Corpus, files, registered};

/// The sessions of a corpus that are there both as stored and as exported.
fn pairs(corpus: &'static Corpus) -> Vec<(&'static Artifact, &'static Artifact)> {
    let mut stored: BTreeMap<(String, String), &Artifact> = BTreeMap::new();
    for artifact in corpus
        .artifacts()
        .filter(|artifact| artifact.form == Form::Stored)
    {
        stored.extend(key(artifact).map(|key| (key, artifact)));
    }
    let exported = corpus
        .artifacts()
        .filter(|artifact| artifact.form == Form::Exported);
    exported
        .filter_map(|exported| Some((*stored.get(&key(exported)?)?, exported)))
        .collect()
}

/// Case and session.
fn key(artifact: &'static Artifact) -> Option<(String, String)> {
    let session = tape_of(artifact).ok()?.summary.session_id.clone()?;
    Some((artifact.case.directory.display().to_string(), session))
}

/// The lines of a tape, without its facts about the input.
fn without_input(tape: &str) -> Vec<String> {
    let mut lines: Vec<String> = tape.lines().map(str::to_owned).collect();
    if let Some(last) = lines.last_mut() {
        let mut stop = parse(last).unwrap_or_default();
        stop.as_object_mut().map(|stop| stop.remove("input"));
        *last = stop.to_string();
    }
    lines
}

/// The first event in which two tapes differ.
fn difference(one: &str, other: &str) -> Option<String> {
    let (one, other) = (without_input(one), without_input(other));
    let at = (0..one.len().max(other.len())).find(|at| one.get(*at) != other.get(*at))?;
    let shown = |lines: &[String]| {
        lines.get(at).map_or("nothing".to_owned(), |line| {
            engram_core::error::excerpt(line)
        })
    };
    Some(format!(
        "event {at} is {} and {}",
        shown(&one),
        shown(&other)
    ))
}

fn compare(stored: &'static Artifact, exported: &'static Artifact) -> Option<String> {
    let (one, other) = (tape_of(stored).ok()?, tape_of(exported).ok()?);
    if let Some(difference) = difference(&one.text, &other.text) {
        return Some(format!(
            "{} and {}: {difference}",
            stored.full_name(),
            exported.name
        ));
    }
    // Opening a store gives the same JSON values as the harness's own export.
    let value = |artifact: &Artifact| serde_json::from_slice::<Value>(&artifact.bytes).ok();
    (value(stored) != value(exported)).then(|| {
        format!(
            "{} does not give the same JSON as {}",
            stored.full_name(),
            exported.name
        )
    })
}

/// The directories of a store with sessions as files. An upgrade of the harness copies the sessions to another layout and leaves the old
/// directories.
const LAYOUTS: [&str; 2] = ["storage", "project"];

/// Copies a directory and its contents.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a temporary directory takes directories");
    for path in files(from) {
        let copied = to.join(path.strip_prefix(from).expect("it is below the directory"));
        fs::create_dir_all(copied.parent().expect("a file is in a directory"))
            .expect("a temporary directory takes directories");
        fs::copy(&path, copied).expect("a temporary directory takes files");
    }
}

/// The path and the tape of each session of a store, by id.
fn tapes_of(root: &Path) -> BTreeMap<String, (PathBuf, String)> {
    let (entry, store) = open_store(registered(), root, Limits::default())
        .expect("it can be opened")
        .expect("it is a store");
    let adapter = entry.stream().expect("it is a streaming adapter");
    let tape = |session: &StoredSession| {
        let export = store.export(session).expect("the session exists");
        let tape = convert_bytes(
            adapter,
            export.text.as_bytes(),
            Policy::Strict,
            export.context,
        )
        .expect("it converts");
        (session.id.clone(), (session.path.clone(), tape.text))
    };
    store.sessions().iter().map(tape).collect()
}

/// Compares sessions of a store with their copies in the layouts before an upgrade. Returns the number compared, and the differences.
fn compare_layouts(root: &Path) -> (u64, Vec<String>) {
    let newest = tapes_of(root);
    let mut compared = (0, Vec::new());
    for layout in LAYOUTS.iter().filter(|layout| root.join(layout).is_dir()) {
        let alone = tempfile::tempdir().expect("temporary directories can be made");
        copy(&root.join(layout), &alone.path().join(layout));
        if store_at_root(registered(), alone.path()).is_none() {
            continue;
        }
        for (id, (_, older)) in tapes_of(alone.path()) {
            let differs = match newest.get(&id) {
                Some((path, _)) if path.starts_with(root.join(layout)) => continue,
                Some((_, newer)) => difference(newer, &older),
                None => Some("the store does not have it".to_owned()),
            };
            compared.0 += 1;
            compared
                .1
                .extend(differs.map(|what| format!("{} {layout} {id}: {what}", root.display())));
        }
    }
    compared
}

#[test]
fn session_gives_the_same_tape_before_and_after_a_store_upgrade() {
    let tally = report::run("upgrades", |corpus| {
        let upgraded = corpus
            .cases
            .iter()
            .filter(|(case, _)| case.scenario.starts_with("upgrade"));
        let roots: BTreeSet<PathBuf> = upgraded
            .flat_map(|(_, artifacts)| artifacts)
            .filter(|artifact| {
                artifact.path.is_dir() || artifact.path.extension().is_some_and(|end| end == "db")
            })
            .map(|artifact| artifact.path.clone())
            .collect();
        let (mut tally, mut findings) = (Tally::default(), Vec::new());
        for root in roots {
            let (compared, differ) = compare_layouts(&root);
            tally.count_many("copies from before upgrades", compared);
            findings.extend(differ);
        }
        (tally, findings)
    });
    assert!(
        tally.of("copies from before upgrades") > 0,
        "no fixture has copies from before an upgrade"
    );
}

#[test]
fn session_gives_the_same_tape_in_each_form() {
    let tally = report::run("forms", |corpus| {
        let pairs = pairs(corpus);
        let mut tally = Tally::default();
        tally.count_many("sessions stored and exported", pairs.len() as u64);
        (
            tally,
            pairs
                .par_iter()
                .filter_map(|(stored, exported)| compare(stored, exported))
                .collect(),
        )
    });
    assert!(
        tally.of("sessions stored and exported") > 0,
        "no fixture has a session in two forms"
    );
}

#[test]
fn only_differences_outside_of_the_input_facts_are_findings() {
    let tape = "{\"seq\":0,\"text\":\"words\"}\n{\"seq\":1,\"input\":{\"bytes\":1}}\n";
    assert_eq!(
        difference(tape, &tape.replace(":{\"bytes\":1}", ":{\"bytes\":2}")),
        None
    );
    for other in [
        tape.replace("words", "sword"),
        tape.lines().next().unwrap_or_default().to_owned(),
        format!("{tape}{{}}\n"),
    ] {
        assert!(difference(tape, &other).is_some(), "{other}");
    }
}
