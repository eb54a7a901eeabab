//! Throughput of conversion beside the cost of merely looking at the same bytes: one thread, one run.
//!
//! `ignore` parses each line, or the one document, with `serde_json` into nothing, `hash` is BLAKE3 over the bytes. The figure to watch is the
//! ratio of `convert` to `ignore`. Set `ENGRAM_BENCH_MIB` for a corpus of another size than 256 MiB a harness.

use divan::Bencher;
use divan::counter::BytesCount;
use engram_core::drive::{Input, Options};
use engram_core::limits::Limits;
use serde::de::IgnoredAny;

mod corpus;

const HARNESSES: [&str; 4] = ["claude-code", "codex", "gemini", "opencode"];

fn main() {
    divan::main();
}

fn artifacts(harness: &str) -> Vec<String> {
    let mib = std::env::var("ENGRAM_BENCH_MIB").ok().and_then(|mib| mib.parse().ok()).unwrap_or(256);
    corpus::artifacts(harness, mib << 20)
}

fn over_corpus(bencher: Bencher<'_, '_>, harness: &str, work: impl Fn(&str) + Sync) {
    let artifacts = artifacts(harness);
    let bytes: usize = artifacts.iter().map(String::len).sum();
    bencher.counter(BytesCount::new(bytes)).bench(|| artifacts.iter().for_each(|artifact| work(artifact)));
}

#[divan::bench(args = HARNESSES, sample_count = 5, sample_size = 1)]
fn convert(bencher: Bencher<'_, '_>, harness: &str) {
    over_corpus(bencher, harness, |artifact| {
        let input = Input::new(artifact.as_bytes(), Limits::default());
        let summary = engram_adapters::ingest(input, &Options::default(), &mut std::io::sink()).expect("a fixture converts");
        divan::black_box(summary);
    });
}

#[divan::bench(args = HARNESSES, sample_count = 5, sample_size = 1)]
fn ignore(bencher: Bencher<'_, '_>, harness: &str) {
    over_corpus(bencher, harness, |artifact| {
        if corpus::is_document(artifact) {
            let _ = divan::black_box(serde_json::from_str::<IgnoredAny>(artifact));
            return;
        }
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', artifact.as_bytes()) {
            let _ = divan::black_box(serde_json::from_slice::<IgnoredAny>(&artifact.as_bytes()[start..end]));
            start = end + 1;
        }
    });
}

#[divan::bench(args = HARNESSES, sample_count = 5, sample_size = 1)]
fn hash(bencher: Bencher<'_, '_>, harness: &str) {
    over_corpus(bencher, harness, |artifact| {
        divan::black_box(blake3::hash(artifact.as_bytes()));
    });
}
