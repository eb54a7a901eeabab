//! The typed event stream: a tape that is read as events gives the same bytes and the same statistics as the conversion.

use engram_core::pipeline::{Input, Options, convert};
use engram_core::stats::{Counts, Stats};
use engram_core::tape::{JsonLines, replay};
use rayon::prelude::*;

use crate::report::{self, Tally};
use crate::tape::{policy_for, tape_of};
use crate::tree::{Artifact, Corpus};

fn counts_of_tape(tape: &str) -> Result<Counts, String> {
    let mut stats = Stats::default();
    replay(tape.as_bytes(), &mut stats).map_err(|error| error.to_string())?;
    Ok(stats.counts())
}

fn counts_of_log(artifact: &Artifact) -> Result<Counts, String> {
    let options = Options {
        policy: policy_for(artifact),
        context: artifact.context.clone(),
        ..Options::default()
    };
    let mut stats = Stats::default();
    let input = Input::new(artifact.bytes.as_slice(), options.limits);
    convert(artifact.adapter(), input, &options, &mut stats).map_err(|error| error.to_string())?;
    Ok(stats.counts())
}

/// The differences that a tape shows. Gets the tape's text, so that a test can give a wrong one.
fn differences(artifact: &Artifact, tape: &str) -> Result<Vec<&'static str>, String> {
    let mut copy = Vec::new();
    replay(tape.as_bytes(), &mut JsonLines::new(&mut copy)).map_err(|error| error.to_string())?;
    let mut differences = Vec::new();
    if copy != tape.as_bytes() {
        differences.push("reading and writing the tape changes it");
    }
    if counts_of_tape(tape)? != counts_of_log(artifact)? {
        differences.push("the tape and the log give different statistics");
    }
    Ok(differences)
}

fn examine(artifact: &'static Artifact) -> Vec<String> {
    let name = artifact.full_name();
    match tape_of(artifact).and_then(|tape| differences(artifact, &tape.text)) {
        Ok(found) => found
            .into_iter()
            .map(|difference| format!("{name}: {difference}"))
            .collect(),
        Err(error) => vec![format!("{name}: {error}")],
    }
}

fn findings(corpus: &'static Corpus) -> (Tally, Vec<String>) {
    let artifacts: Vec<&'static Artifact> = corpus.artifacts().collect();
    let mut tally = Tally::default();
    tally.count_many("tapes", artifacts.len() as u64);
    (
        tally,
        artifacts
            .par_iter()
            .flat_map(|artifact| examine(artifact))
            .collect(),
    )
}

#[test]
fn a_tape_read_back_has_the_same_bytes_and_statistics() {
    let tally = report::run("typed", findings);
    assert!(tally.of("tapes") > 400, "the fixtures have more tapes");
}

#[test]
fn a_tape_without_its_calls_is_found() {
    let corpus = crate::tree::fixtures();
    let artifact = corpus.artifacts().find(|artifact| {
        tape_of(artifact).is_ok_and(|tape| tape.text.contains(r#""k":"tool.call""#))
    });
    let artifact = artifact.expect("a fixture with calls");
    let tape: String = tape_of(artifact)
        .unwrap()
        .text
        .split_inclusive('\n')
        .filter(|line| !line.contains(r#""k":"tool.call""#))
        .collect();
    assert_eq!(
        differences(artifact, &tape).unwrap(),
        ["the tape and the log give different statistics"]
    );
}
