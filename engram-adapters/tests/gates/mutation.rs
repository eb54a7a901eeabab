//! Random damage: a mutation of real records gives a valid tape or an error, never a panic.

use engram_core::adapter::{SideInfo, StreamAdapter};
use engram_core::policy::Policy;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rayon::prelude::*;

use crate::report::{self, Tally};
use crate::tape::{convert_bytes, violations};
use crate::tree::{Artifact, fixtures};

/// The number of mutated excerpts.
const CASES: usize = 6000;
/// The number of mutated documents.
const DOCUMENTS: usize = 400;
/// Lines of one excerpt.
const LINES: usize = 6;
/// Longer lines are not used: shorter ones have the same record types.
const LINE_BYTES: usize = 16 << 10;

/// JSON values whose type a field may not expect.
const VALUES: &[&str] = &[
    "null",
    "7",
    "\"x\"",
    "[]",
    "{}",
    "true",
    "-1e999",
    "\"\\ud800\"",
    "[{}]",
    "\"\"",
    "18446744073709551616",
];

/// One kind of damage. Positions are taken modulo the length.
#[derive(Debug, Clone)]
enum Damage {
    /// One byte becomes another.
    Flip(usize, u8),
    /// A range of bytes is removed.
    Cut(usize, usize),
    /// A range of bytes is copied to another position.
    Splice(usize, usize, usize),
    /// A range of bytes is repeated.
    Repeat(usize, usize),
    /// A JSON value replaces the value after a colon.
    Value(usize, &'static str),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<usize>;
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Damage::Flip(at, byte)),
        (at(), 1usize..200).prop_map(|(at, len)| Damage::Cut(at, len)),
        (at(), at(), 1usize..200).prop_map(|(from, to, len)| Damage::Splice(from, to, len)),
        (at(), 1usize..200).prop_map(|(at, len)| Damage::Repeat(at, len)),
        // Values of another type reach most of an adapter's code, so they are more frequent.
        (at(), proptest::sample::select(VALUES)).prop_map(|(at, value)| Damage::Value(at, value)),
        (at(), proptest::sample::select(VALUES)).prop_map(|(at, value)| Damage::Value(at, value)),
    ]
}

fn apply(bytes: &mut Vec<u8>, damage: &Damage) {
    if bytes.is_empty() {
        return;
    }
    let run = |at: usize, len: usize, bytes: &[u8]| {
        (at % bytes.len())..(at % bytes.len()).saturating_add(len).min(bytes.len())
    };
    match *damage {
        Damage::Flip(at, byte) => {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        Damage::Cut(at, len) => drop(bytes.drain(run(at, len, bytes))),
        Damage::Splice(from, to, len) => {
            let piece = bytes[run(from, len, bytes)].to_vec();
            let to = to % bytes.len();
            bytes.splice(to..to, piece);
        }
        Damage::Repeat(at, len) => {
            let run = run(at, len, bytes);
            let piece = bytes[run.clone()].to_vec();
            bytes.splice(run.start..run.start, piece);
        }
        Damage::Value(at, value) => replace_value(bytes, at, value),
    }
}

/// Replaces one value by another, so that the line is still JSON.
fn replace_value(bytes: &mut Vec<u8>, at: usize, value: &str) {
    let colons: Vec<usize> = memchr::memmem::find_iter(bytes, b"\":")
        .map(|found| found + 2)
        .collect();
    let Some(start) = colons.get(at % colons.len().max(1)) else {
        return;
    };
    let mut values =
        serde_json::Deserializer::from_slice(&bytes[*start..]).into_iter::<serde::de::IgnoredAny>();
    if matches!(values.next(), Some(Ok(_))) {
        let end = start + values.byte_offset();
        bytes.splice(*start..end, value.bytes());
    }
}

/// A few consecutive lines of an artifact.
pub fn excerpt(artifact: &Artifact, from: usize) -> Vec<Vec<u8>> {
    let lines: Vec<&[u8]> = artifact
        .bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty() && line.len() < LINE_BYTES)
        .collect();
    if lines.is_empty() {
        return Vec::new();
    }
    lines
        .iter()
        .skip(from % lines.len())
        .take(LINES)
        .map(|line| line.to_vec())
        .collect()
}

/// Converts bytes with both policies. Returns the number of tapes, or the violations of an invalid tape.
fn outcome(adapter: &dyn StreamAdapter, bytes: &[u8]) -> Result<u64, String> {
    let mut tapes = 0;
    for policy in [Policy::Strict, Policy::Permissive] {
        if let Ok(tape) = convert_bytes(adapter, bytes, policy, SideInfo::default()) {
            tapes += 1;
            let broken = violations(policy.as_str(), &tape.text);
            if !broken.is_empty() {
                return Err(broken.join("\n"));
            }
        }
    }
    Ok(tapes)
}

/// So many values of a strategy, the same ones in every run: a gate that fails at random is not believed.
pub fn values<S: Strategy>(strategy: &S, count: usize) -> Vec<S::Value> {
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    );
    (0..count)
        .map(|_| {
            strategy
                .new_tree(&mut runner)
                .expect("nothing is filtered")
                .current()
        })
        .collect()
}

/// Converts each of the inputs. Returns the number of tapes, and the violations of invalid ones.
fn outcomes(inputs: &[(&Artifact, Vec<u8>)]) -> (u64, Vec<String>) {
    let made: Vec<Result<u64, String>> = inputs
        .par_iter()
        .map(|(artifact, bytes)| {
            outcome(artifact.adapter(), bytes)
                .map_err(|broken| format!("{}: {broken}", artifact.full_name()))
        })
        .collect();
    let tapes = made.iter().filter_map(|made| made.as_ref().ok()).sum();
    (tapes, made.into_iter().filter_map(Result::err).collect())
}

#[test]
fn damaged_records_give_a_valid_tape_or_an_error() {
    let artifacts: Vec<&Artifact> = fixtures().artifacts().collect();
    let acts = proptest::collection::vec((any::<usize>(), damage()), 1..4);
    let mut inputs: Vec<(&Artifact, Vec<u8>)> = Vec::new();
    for (artifact, from, acts) in values(&(any::<usize>(), any::<usize>(), acts), CASES) {
        let artifact = artifacts[artifact % artifacts.len()];
        let mut lines = excerpt(artifact, from);
        for (line, act) in acts
            .iter()
            .filter(|_| !lines.is_empty())
            .collect::<Vec<_>>()
        {
            let line = line % lines.len();
            apply(&mut lines[line], act);
        }
        inputs.push((artifact, lines.join(&b'\n')));
    }
    let (tapes, findings) = outcomes(&inputs);
    let mut tally = Tally::default();
    tally.count_many("damaged excerpts", inputs.len() as u64);
    tally.count_many("tapes from them", tapes);
    report::print("mutation", &tally);
    report::assert_none("mutation", &findings);
    let most = 2 * inputs.len() as u64;
    assert!(
        tapes > most / 4 && tapes < most,
        "some damage gives a tape, some an error"
    );
}

#[test]
fn damaged_documents_give_a_valid_tape_or_an_error() {
    let documents: Vec<&Artifact> = fixtures()
        .artifacts()
        .filter(|artifact| artifact.name.ends_with(".json"))
        .collect();
    assert!(!documents.is_empty(), "some harness writes documents");
    let mut inputs: Vec<(&Artifact, Vec<u8>)> = Vec::new();
    for (artifact, acts) in values(&(any::<usize>(), [damage(), damage()]), DOCUMENTS) {
        let artifact = documents[artifact % documents.len()];
        let mut bytes = artifact.bytes.clone();
        acts.iter().for_each(|act| apply(&mut bytes, act));
        inputs.push((artifact, bytes));
    }
    report::assert_none("mutation", &outcomes(&inputs).1);
}

#[test]
fn every_kind_of_damage_changes_the_bytes() {
    let line = br#"{"a":"some text","b":[1,2,3]}"#.to_vec();
    let acts = [
        Damage::Flip(3, b'x'),
        Damage::Cut(2, 4),
        Damage::Splice(1, 9, 3),
        Damage::Repeat(5, 2),
        Damage::Value(1, "null"),
    ];
    for act in acts {
        let mut damaged = line.clone();
        apply(&mut damaged, &act);
        assert_ne!(damaged, line, "{act:?}");
    }
    let mut damaged = line.clone();
    apply(&mut damaged, &Damage::Value(1, "null"));
    assert_eq!(damaged, br#"{"a":"some text","b":null}"#);
}
