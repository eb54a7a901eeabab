//! Determinism: the same tapes with any number of threads, in any time zone, locale and directory.

use std::process::Command;

use engram_core::hash::Hash;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use crate::tape::convert_artifact;
use crate::tree::{Artifact, fixtures};

/// One hash over all fixture tapes, converted by this many threads.
fn digest(threads: usize) -> String {
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("threads can be made");
    let artifacts: Vec<&'static Artifact> = fixtures().artifacts().collect();
    let hashes: Vec<String> = pool.install(|| {
        artifacts
            .par_iter()
            .map(|artifact| {
                convert_artifact(artifact).map_or_else(
                    |error| error.to_string(),
                    |tape| Hash::of_bytes(tape.text.as_bytes()).to_string(),
                )
            })
            .collect()
    });
    Hash::of_text(&hashes.join("\n")).to_string()
}

#[test]
fn tapes_do_not_depend_on_threads() {
    assert_eq!(digest(1), digest(8));
}

/// The environment variable that makes [`digest_of_a_child`] print.
const CHILD: &str = "ENGRAM_DIGEST_CHILD";
/// Precedes the digest in the child's output.
const MARK: &str = "fixtures digest ";

#[test]
#[ignore = "run by `tapes_do_not_depend_on_time_zone_locale_or_directory` in a process of its own"]
fn digest_of_a_child() {
    assert!(
        std::env::var_os(CHILD).is_some(),
        "run it through the parent test"
    );
    println!("{MARK}{}", digest(2));
}

#[test]
fn tapes_do_not_depend_on_time_zone_locale_or_directory() {
    let here = digest(2);
    for (zone, language) in [("Asia/Kathmandu", "tr_TR.UTF-8"), ("America/St_Johns", "C")] {
        let child = Command::new(std::env::current_exe().expect("a test knows its program"))
            .args([
                "--exact",
                "determinism::digest_of_a_child",
                "--ignored",
                "--nocapture",
            ])
            .env(CHILD, "1")
            .env("TZ", zone)
            .env("LANG", language)
            .env("LC_ALL", language)
            .current_dir(std::env::temp_dir())
            .output()
            .expect("a test can start itself");
        let output = String::from_utf8_lossy(&child.stdout).into_owned();
        let there = output
            .lines()
            .find_map(|line| Some(line.split_once(MARK)?.1));
        assert_eq!(
            there,
            Some(here.as_str()),
            "TZ={zone} LANG={language}: {output}"
        );
    }
}
