//! Sums: what `engram_core::stats` counts is the sum of the usages on the tapes, replays apart, by model.

use std::collections::BTreeMap;

use engram_core::stats::Stats;
use engram_core::tape::replay;
use serde_json::Value;

use crate::report::{self, Tally};
use crate::tape::tape_of;
use crate::tree::Corpus;

/// The counts of a usage that are added.
const COUNTS: [&str; 5] = ["input", "cache_read", "cache_write", "output", "reasoning"];

/// For each model: the number of usages, and the sums of [`COUNTS`].
type Sums = BTreeMap<String, (u64, [u64; COUNTS.len()])>;

/// The sums of a tape, from its JSON alone.
fn of_json(tape: &str) -> Sums {
    let (mut sums, mut session) = (Sums::new(), None);
    for line in tape.lines() {
        let event: Value = serde_json::from_str(line).unwrap_or_default();
        let is = |label: &str| event["label"] == label && event["replay"] != true;
        let model = event["model"].as_str().map(str::to_owned);
        if is("session") {
            session = model.or(session);
        } else if is("usage") {
            let model = model.or_else(|| session.clone());
            let sum = sums
                .entry(model.unwrap_or("unknown".to_owned()))
                .or_default();
            sum.0 += 1;
            for (sum, name) in sum.1.iter_mut().zip(COUNTS) {
                *sum += event["tokens"][name].as_u64().unwrap_or_default();
            }
        }
    }
    sums
}

/// What `engram stats` counts of a tape.
fn of_stats(tape: &str) -> Sums {
    let mut stats = Stats::default();
    if let Err(error) = replay(tape.as_bytes(), &mut stats) {
        return Sums::from([(error.to_string(), (0, [0; COUNTS.len()]))]);
    }
    let tokens = stats.counts().tokens.into_iter();
    tokens
        .map(|(model, sum)| {
            let counts = [
                sum.input,
                sum.cache_read,
                sum.cache_write,
                sum.output,
                sum.reasoning,
            ];
            (
                model,
                (sum.responses, counts.map(Option::unwrap_or_default)),
            )
        })
        .collect()
}

fn findings(corpus: &'static Corpus) -> (Tally, Vec<String>) {
    let (mut tally, mut findings) = (Tally::default(), Vec::new());
    for artifact in corpus.artifacts() {
        // The gate `golden` reports tapes that cannot be made.
        let Ok(tape) = tape_of(artifact) else {
            continue;
        };
        let (stated, counted) = (of_json(&tape.text), of_stats(&tape.text));
        tally.count("tapes");
        tally.count_many("usages", stated.values().map(|(usages, _)| usages).sum());
        if stated != counted {
            findings.push(format!(
                "{}: counted {counted:?}, on the tape are {stated:?}",
                artifact.full_name()
            ));
        }
    }
    (tally, findings)
}

#[test]
fn stats_are_the_sums_of_the_tapes() {
    report::run("sums", findings);
}

#[test]
fn responses_that_share_an_id_count_each() {
    let usage = |seq: u64| {
        format!(
            "{{\"seq\":{seq},\"t\":\"2026-01-01T00:00:00Z\",\"k\":\"meta\",\"source\":{{\"harness\":\"toy\"}},\"label\":\"usage\",\"message_id\":\"m\",\"tokens\":{{\"input\":{seq}}}}}\n"
        )
    };
    let tape = [usage(3), usage(4)].concat();
    let sums = of_stats(&tape);
    assert_eq!((sums["unknown"].0, sums["unknown"].1[0]), (2, 7));
    assert_eq!(sums, of_json(&tape));
}
