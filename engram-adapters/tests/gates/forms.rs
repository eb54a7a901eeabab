//! Forms: a session that a case holds in several forms gives the same tape from each, but for what the tape says of its input.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde_json::Value;

use crate::report::{self, Tally};
use crate::tape::{parse, tape_of};
use crate::tree::{Artifact, Corpus, Form};

/// The sessions of a corpus that lie both as they were kept and as they were exported.
fn pairs(corpus: &'static Corpus) -> Vec<(&'static Artifact, &'static Artifact)> {
    let mut kept: BTreeMap<(String, String), &Artifact> = BTreeMap::new();
    for artifact in corpus.artifacts().filter(|artifact| artifact.form == Form::Kept) {
        kept.extend(key(artifact).map(|key| (key, artifact)));
    }
    let exported = corpus.artifacts().filter(|artifact| artifact.form == Form::Exported);
    exported.filter_map(|exported| Some((*kept.get(&key(exported)?)?, exported))).collect()
}

/// Case and session.
fn key(artifact: &'static Artifact) -> Option<(String, String)> {
    let session = tape_of(artifact).ok()?.summary.session_id.clone()?;
    Some((artifact.case.folder.display().to_string(), session))
}

/// A tape without what it says of its input, as lines.
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
    let shown = |lines: &[String]| lines.get(at).map_or("nothing".to_owned(), |line| engram_core::error::excerpt(line));
    Some(format!("event {at} is {} and {}", shown(&one), shown(&other)))
}

fn compare(kept: &'static Artifact, exported: &'static Artifact) -> Option<String> {
    let (one, other) = (tape_of(kept).ok()?, tape_of(exported).ok()?);
    if let Some(difference) = difference(&one.text, &other.text) {
        return Some(format!("{} and {}: {difference}", kept.full_name(), exported.name));
    }
    // A store is opened into what the harness itself exports, whatever the spelling.
    let value = |artifact: &Artifact| serde_json::from_slice::<Value>(&artifact.bytes).ok();
    (value(kept) != value(exported)).then(|| format!("{} is not opened into {}", kept.full_name(), exported.name))
}

#[test]
fn a_session_gives_the_same_tape_from_each_of_its_forms() {
    let tally = report::run("forms", |corpus| {
        let pairs = pairs(corpus);
        let mut tally = Tally::default();
        tally.count_many("sessions kept and exported", pairs.len() as u64);
        (tally, pairs.par_iter().filter_map(|(kept, exported)| compare(kept, exported)).collect())
    });
    assert!(tally.of("sessions kept and exported") > 0, "none is there in two forms");
}

#[test]
fn another_tape_is_a_finding_and_another_input_is_none() {
    let tape = "{\"seq\":0,\"text\":\"words\"}\n{\"seq\":1,\"input\":{\"bytes\":1}}\n";
    assert_eq!(difference(tape, &tape.replace(":{\"bytes\":1}", ":{\"bytes\":2}")), None);
    for other in [tape.replace("words", "sword"), tape.lines().next().unwrap_or_default().to_owned(), format!("{tape}{{}}\n")] {
        assert!(difference(tape, &other).is_some(), "{other}");
    }
}
