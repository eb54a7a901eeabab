//! Determinism: the same bytes give the same tape, however they are read, by however many threads, and wherever.

use std::io::Read;
use std::process::Command;

use engram_core::adapter::{Context, HarnessAdapter, StreamAdapter, convert_str};
use engram_core::drive::{Input, Options, convert};
use engram_core::hash::Hash;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use crate::report::{self, Tally};
use crate::tape::{convert_artifact, policy_for, surroundings, tape_of};
use crate::tree::{Artifact, Corpus, fixtures};

/// Gives at most so many bytes at a time.
struct Chunks<'b> {
    bytes: &'b [u8],
    size: usize,
}

impl Read for Chunks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let len = self.size.min(buffer.len()).min(self.bytes.len());
        let (now, later) = self.bytes.split_at(len);
        buffer[..len].copy_from_slice(now);
        self.bytes = later;
        Ok(len)
    }
}

fn in_chunks(artifact: &Artifact, size: usize, context: Context) -> Result<Vec<u8>, String> {
    let options = Options { policy: policy_for(artifact), context, ..Options::default() };
    let mut out = Vec::new();
    let input = Input::new(Chunks { bytes: &artifact.bytes, size }, options.limits);
    convert(artifact.entry.adapter, input, &options, &mut out).map_err(|error| error.to_string())?;
    Ok(out)
}

/// The ways of reading one artifact that do not give the tape they have to give.
fn of_artifact(artifact: &'static Artifact, sizes: &[usize]) -> Vec<String> {
    let name = artifact.full_name();
    let tape = match tape_of(artifact) {
        Ok(tape) => tape.text.as_bytes(),
        Err(error) => return vec![error],
    };
    let mut findings = Vec::new();
    if convert_artifact(artifact).map(|again| again.text.into_bytes()).as_deref() != Ok(tape) {
        findings.push(format!("{name}: the second conversion differs from the first"));
    }
    for size in sizes {
        if in_chunks(artifact, *size, surroundings(artifact)).as_deref() != Ok(tape) {
            findings.push(format!("{name}: chunks of {size} bytes give another tape"));
        }
    }
    findings.extend(string_form(artifact.entry.adapter, artifact).map(|finding| format!("{name}: {finding}")));
    findings
}

/// The string form of the contract gives what the streaming form gives.
fn string_form(adapter: &'static dyn StreamAdapter, artifact: &Artifact) -> Option<String> {
    struct ByReference(&'static dyn StreamAdapter);
    impl StreamAdapter for ByReference {
        fn describe(&self) -> &'static engram_core::descriptor::AdapterDescriptor {
            self.0.describe()
        }
        fn probe(&self, head: &engram_core::head::Head<'_>) -> Option<engram_core::adapter::Evidence> {
            self.0.probe(head)
        }
        fn identify(&self, head: &engram_core::head::Head<'_>) -> engram_core::adapter::Identity {
            self.0.identify(head)
        }
        fn session(&self, opening: &engram_core::adapter::Opening<'_>) -> Box<dyn engram_core::adapter::Session> {
            self.0.session(opening)
        }
    }
    let text = std::str::from_utf8(&artifact.bytes).ok()?;
    let streamed = convert_str(adapter, text, &Options::default());
    let string = ByReference(adapter).convert_to_tape_jsonl(text);
    (streamed != string).then(|| "the string form differs from the streaming form".to_owned())
}

fn findings(corpus: &'static Corpus) -> (Tally, Vec<String>) {
    let artifacts: Vec<&'static Artifact> = corpus.artifacts().collect();
    let findings = artifacts.par_iter().flat_map_iter(|artifact| of_artifact(artifact, &[1, 7, 4096])).collect();
    let mut tally = Tally::default();
    tally.count_many("artifacts in five ways", artifacts.len() as u64);
    (tally, findings)
}

/// One hash over all fixture tapes, converted by so many threads.
fn digest(threads: usize) -> String {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be made");
    let artifacts: Vec<&'static Artifact> = fixtures().artifacts().collect();
    let hashes: Vec<String> = pool.install(|| {
        artifacts
            .par_iter()
            .map(|artifact| {
                convert_artifact(artifact).map_or_else(|error| error.to_string(), |tape| Hash::of_bytes(tape.text.as_bytes()).to_string())
            })
            .collect()
    });
    Hash::of_text(&hashes.join("\n")).to_string()
}

#[test]
fn the_same_bytes_give_the_same_tape() {
    report::run("determinism", findings);
}

#[test]
fn threads_do_not_matter() {
    assert_eq!(digest(1), digest(8));
}

/// The environment variable that makes [`digest_of_a_child`] print.
const CHILD: &str = "ENGRAM_DIGEST_CHILD";
/// Stands before the digest on the child's output.
const MARK: &str = "fixtures digest ";

#[test]
#[ignore = "run by `places_do_not_matter` in a process of its own"]
fn digest_of_a_child() {
    assert!(std::env::var_os(CHILD).is_some(), "not for itself");
    println!("{MARK}{}", digest(2));
}

#[test]
fn places_do_not_matter() {
    let here = digest(2);
    for (zone, language) in [("Asia/Kathmandu", "tr_TR.UTF-8"), ("America/St_Johns", "C")] {
        let child = Command::new(std::env::current_exe().expect("a test knows its program"))
            .args(["--exact", "determinism::digest_of_a_child", "--ignored", "--nocapture"])
            .env(CHILD, "1")
            .env("TZ", zone)
            .env("LANG", language)
            .env("LC_ALL", language)
            .current_dir(std::env::temp_dir())
            .output()
            .expect("a test can start itself");
        let output = String::from_utf8_lossy(&child.stdout).into_owned();
        let there = output.lines().find_map(|line| Some(line.split_once(MARK)?.1));
        assert_eq!(there, Some(here.as_str()), "TZ={zone} LANG={language}: {output}");
    }
}

#[test]
fn a_reader_that_loses_a_byte_is_noticed() {
    let artifact = fixtures().artifacts().next().expect("there are fixtures");
    let whole = in_chunks(artifact, 7, surroundings(artifact)).expect("it converts");
    let mut shorter = Artifact {
        case: artifact.case.clone(),
        path: artifact.path.clone(),
        name: String::new(),
        bytes: artifact.bytes.clone(),
        entry: artifact.entry,
        form: artifact.form,
        stored: None,
    };
    shorter.bytes.push(b'\n');
    assert_ne!(in_chunks(&shorter, 7, surroundings(&shorter)).expect("it converts"), whole, "the input's hash stands in the tape");
}
