//! Throughput of conversion, compared with skipping and hashing the same bytes: one thread, one run.
//!
//! `ignore` parses each line, or the one document, with `serde_json` into `IgnoredAny`; `hash` is BLAKE3 over the bytes. The figure to
//! watch is the ratio of `convert` to `ignore`, printed at the end. It is measured in alternating rounds, because the speed of a machine
//! varies. The corpus has 256 MiB per harness; `ENGRAM_BENCH_MIB` sets another size.

use std::time::Instant;

use divan::Bencher;
use divan::counter::BytesCount;
use engram_core::limits::Limits;
use engram_core::pipeline::{Input, Options};
use engram_core::tape::JsonLines;
use serde::de::IgnoredAny;

mod corpus;

const HARNESSES: [&str; 4] = ["claude-code", "codex", "gemini", "opencode"];

/// Rounds in which `convert` and `ignore` alternate.
const ROUNDS: usize = 7;

fn main() {
    divan::main();
    // The remaining arguments select harnesses.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--bench") {
        let is_selected = |harness: &str| {
            arguments
                .iter()
                .all(|argument| argument.starts_with("--") || harness.contains(argument.as_str()))
        };
        HARNESSES
            .into_iter()
            .filter(|harness| is_selected(harness))
            .for_each(ratio);
    }
}

/// Prints the speed of converting and of skipping a harness's logs.
fn ratio(harness: &str) {
    let artifacts = artifacts(harness);
    let seconds = |work: fn(&str)| {
        let start = Instant::now();
        artifacts.iter().for_each(|artifact| work(artifact));
        start.elapsed().as_secs_f64()
    };
    let (converts, ignores): (Vec<f64>, Vec<f64>) = (0..ROUNDS)
        .map(|_| (seconds(convert_artifact), seconds(ignore_artifact)))
        .unzip();
    let ratios = converts
        .iter()
        .zip(&ignores)
        .map(|(convert, ignore)| ignore / convert)
        .collect();
    let megabytes = artifacts.iter().map(String::len).sum::<usize>() as f64 / 1e6;
    let (convert, ignore) = (megabytes / median(converts), megabytes / median(ignores));
    println!(
        "{harness}: convert {convert:.0} MB/s, ignore {ignore:.0} MB/s, ratio {:.2} (medians of {ROUNDS} rounds)",
        median(ratios)
    );
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn artifacts(harness: &str) -> Vec<String> {
    let mib = std::env::var("ENGRAM_BENCH_MIB")
        .ok()
        .and_then(|mib| mib.parse().ok())
        .unwrap_or(256);
    corpus::artifacts(harness, mib << 20)
}

fn over_corpus(bencher: Bencher<'_, '_>, harness: &str, work: impl Fn(&str) + Sync) {
    let artifacts = artifacts(harness);
    let bytes: usize = artifacts.iter().map(String::len).sum();
    bencher
        .counter(BytesCount::new(bytes))
        .bench(|| artifacts.iter().for_each(|artifact| work(artifact)));
}

fn convert_artifact(artifact: &str) {
    let input = Input::in_memory(artifact, Limits::default());
    let summary = engram_adapters::ingest(
        input,
        &Options::default(),
        &mut JsonLines::new(std::io::sink()),
    )
    .expect("a fixture converts");
    divan::black_box(summary);
}

fn ignore_artifact(artifact: &str) {
    if corpus::is_document(artifact) {
        let _ = divan::black_box(serde_json::from_str::<IgnoredAny>(artifact));
        return;
    }
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', artifact.as_bytes()) {
        let _ = divan::black_box(serde_json::from_slice::<IgnoredAny>(
            &artifact.as_bytes()[start..end],
        ));
        start = end + 1;
    }
}

#[divan::bench(args = HARNESSES, sample_count = 5, sample_size = 1)]
fn convert(bencher: Bencher<'_, '_>, harness: &str) {
    over_corpus(bencher, harness, convert_artifact);
}

#[divan::bench(args = HARNESSES, sample_count = 5, sample_size = 1)]
fn ignore(bencher: Bencher<'_, '_>, harness: &str) {
    over_corpus(bencher, harness, ignore_artifact);
}

#[divan::bench(args = HARNESSES, sample_count = 5, sample_size = 1)]
fn hash(bencher: Bencher<'_, '_>, harness: &str) {
    over_corpus(bencher, harness, |artifact| {
        divan::black_box(blake3::hash(artifact.as_bytes()));
    });
}
