//! The checker gate: every tape keeps every rule that a tape alone can show, when strict, permissive, and without surroundings.

use engram_core::adapter::Context;
use engram_core::check::check;
use engram_core::policy::Policy;
use rayon::prelude::*;

use crate::report::{self, Tally};
use crate::tape::{convert_bytes, events, tape_of};
use crate::tree::{Artifact, Corpus, fixtures};

/// The most violations of one tape that are reported.
const SHOWN: usize = 5;

/// The rules that a tape breaks.
pub fn violations(name: &str, tape: &str) -> Vec<String> {
    check(tape).iter().take(SHOWN).map(|violation| format!("{name}: {violation}")).collect()
}

/// The ledger of a tape of a session whose every record is known.
fn unknown_records(name: &str, tape: &str) -> Option<String> {
    let all = events(tape);
    let stop = &all.last()?.0;
    let of = |key: &str| stop["ledger"][key].as_u64().unwrap_or(u64::MAX);
    let (unrecognized, malformed) = (of("unrecognized"), of("malformed"));
    let shown: Vec<&str> =
        all.iter().filter(|event| event.label() == Some("unrecognized")).filter_map(|event| event.text("name")).take(3).collect();
    (unrecognized + malformed > 0)
        .then(|| format!("{name}: {unrecognized} records unrecognized, {malformed} malformed: {}", shown.join(", ")))
}

fn of_artifact(artifact: &'static Artifact) -> Vec<String> {
    let name = artifact.full_name();
    let mut found = match tape_of(artifact) {
        Ok(tape) => violations(&name, &tape.text),
        Err(error) => vec![error],
    };
    match convert_bytes(artifact.entry.adapter, &artifact.bytes, Policy::Permissive, Context::default()) {
        Ok(tape) => {
            found.extend(violations(&name, &tape.text));
            found.extend(unknown_records(&name, &tape.text));
        }
        Err(error) => found.push(format!("{name}: {error}")),
    }
    found.sort();
    found.dedup();
    found
}

fn findings(corpus: &'static Corpus) -> (Tally, Vec<String>) {
    let artifacts: Vec<&'static Artifact> = corpus.artifacts().collect();
    let mut tally = Tally::default();
    tally.count_many("tapes", 2 * artifacts.len() as u64);
    (tally, artifacts.par_iter().flat_map_iter(|artifact| of_artifact(artifact)).collect())
}

#[test]
fn every_tape_keeps_every_rule() {
    report::run("checker", findings);
}

#[test]
fn a_broken_tape_is_a_finding() {
    let artifact = fixtures().artifacts().next().expect("there are fixtures");
    let tape = &tape_of(artifact).expect("it converts").text;
    assert!(violations("good", tape).is_empty());
    let without_stop = tape.trim_end().rsplit_once('\n').expect("more than one line").0;
    for broken in
        [tape.replacen("{\"seq\":1,", "{\"seq\":2,", 1), tape.replacen("\"t\":\"", "\"t\":\"x", 1), without_stop.to_owned(), String::new()]
    {
        assert!(!violations("broken", &broken).is_empty());
    }
    let lost = tape.replace("\"unrecognized\":0,\"malformed\":0", "\"unrecognized\":1,\"malformed\":2");
    assert!(unknown_records("lossy", &lost).is_some_and(|finding| finding.contains("1 records unrecognized, 2 malformed")));
}
