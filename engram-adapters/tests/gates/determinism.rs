//! Determinism beyond one conversion: the same tapes by however many threads, and wherever.

use std::process::Command;

use engram_core::hash::Hash;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use crate::tape::convert_artifact;
use crate::tree::{Artifact, fixtures};

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
