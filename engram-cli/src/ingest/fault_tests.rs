//! Each operation of a run on the directory of tapes fails once, and once for good. Whatever fails, every tape with a name is whole, the index
//! is true, and the next run makes what is missing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use engram_adapters::Registry;
use engram_adapters::sessions::SessionOptions;
use engram_command::exit::Exit;
use engram_command::report::{ErrorFormat, Reporter};
use engram_core::hash::Hash;
use serde_json::Value;
use tempfile::TempDir;

use super::run;
use crate::args::{CommandLine, Ingest};
use crate::tape_dir::INDEX;
use crate::tape_dir::faults::{Plan, end, follow};

/// The numbers of errors of the system: no room, and a broken disk.
const ERRORS: [i32; 2] = [28, 5];

/// A directory with small sessions, some with more records than before.
fn sessions(count: usize, records: usize) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    write_sessions(directory.path(), count, records);
    directory
}

fn write_sessions(directory: &Path, count: usize, records: usize) {
    let log = fixture();
    for n in 0..count {
        let text: String = log.split_inclusive('\n').take(records + n).collect();
        fs::write(
            directory.join(format!("{n}.jsonl")),
            text.replace("08a7d153-dbf5-4299-99e0-7e71fab11f9f", &format!("s{n}")),
        )
        .unwrap();
    }
}

fn fixture() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fixtures/claude-code/2.1.329/b_edit/session");
    let mut open = vec![root];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path
                .to_string_lossy()
                .ends_with("08a7d153-dbf5-4299-99e0-7e71fab11f9f.jsonl")
            {
                return fs::read_to_string(path).unwrap();
            }
        }
    }
    panic!("the fixture is not there");
}

fn ingest(input: &Path, out: &Path) -> Exit {
    let words = [
        "engram",
        "ingest",
        input.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
        "--jobs",
        "1",
    ];
    let line = <CommandLine as clap::Parser>::try_parse_from(words).unwrap();
    let crate::args::Command::Ingest(args) = line.command else {
        panic!("not ingest")
    };
    let args: Ingest = args;
    let options = SessionOptions::default().with_registry(Registry::builtin());
    let report = Reporter::new(ErrorFormat::Text, true, false).muted();
    run::run(&args, out, &args.paths, &options, &report)
}

/// The tapes below a directory, by name. Each is whole.
fn tapes(out: &Path) -> BTreeMap<String, String> {
    let directory = out.join("claude-code");
    let entries = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path());
    let tapes = entries
        .filter(|path| path.to_string_lossy().ends_with(".tape.jsonl"))
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            assert!(
                text.ends_with('\n')
                    && text
                        .lines()
                        .last()
                        .unwrap()
                        .contains("\"label\":\"tape.stop\""),
                "{} is cut",
                path.display()
            );
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                text,
            )
        });
    tapes.collect()
}

/// What the index says of a tape is so.
fn assert_true(out: &Path, place: &str) {
    let index = fs::read_to_string(out.join(INDEX)).unwrap_or_default();
    for line in index.lines() {
        let entry: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{place}: {line}"));
        let Some(tape) = entry["tape"].as_str() else {
            continue;
        };
        let there = fs::read(out.join(tape))
            .ok()
            .map(|bytes| Hash::of_bytes(&bytes).to_string());
        let (hash, old) = (entry["tape_hash"].as_str(), entry["replaces_hash"].as_str());
        match entry["state"].as_str().unwrap() {
            "writing" => assert!(
                there.is_none() || there.as_deref() == hash || there.as_deref() == old,
                "{place}: {entry}"
            ),
            _ => assert_eq!(there.as_deref(), hash, "{place}: {entry}"),
        }
    }
}

/// One run with a fault. Returns how many operations there were.
fn run_with_fault(input: &Path, out: &Path, fails: u64, stays: bool, error: i32) -> (Exit, u64) {
    follow(Plan {
        root: out.to_owned(),
        fails,
        stays,
        error,
        seen: 0,
    });
    let exit = ingest(input, out);
    (exit, end(out))
}

/// Lets each operation of a run fail. `before` makes the directory that the run finds.
fn each_operation_fails(input: &Path, before: impl Fn(&Path)) {
    let parent = tempfile::tempdir().unwrap();
    let fresh = parent.path().join("fresh");
    before(&fresh);
    let (exit, operations) = run_with_fault(input, &fresh, 0, false, 0);
    assert_eq!(exit, Exit::Success);
    assert!(operations > 20, "{operations}");
    let whole = tapes(&fresh);
    assert!(!whole.is_empty());
    let mut failed = 0;
    for n in 1..=operations {
        for stays in [false, true] {
            let error = ERRORS[(n % 2) as usize];
            let place = format!("operation {n} of {operations}, error {error}, stays {stays}");
            let out: PathBuf = parent.path().join(format!("{n}-{stays}"));
            before(&out);
            let kept = tapes(&out);
            let (exit, _) = run_with_fault(input, &out, n, stays, error);
            failed += u64::from(exit != Exit::Success);
            let now = tapes(&out);
            for (name, old) in &kept {
                let now = now
                    .get(name)
                    .unwrap_or_else(|| panic!("{place}: {name} is lost"));
                assert!(
                    now == old || now == &whole[name],
                    "{place}: {name} is another tape"
                );
            }
            assert_true(&out, &place);
            assert_eq!(ingest(input, &out), Exit::Success, "{place}: the next run");
            assert!(
                tapes(&out) == whole,
                "{place}: the next run makes what is missing"
            );
            assert_true(&out, &place);
            fs::remove_dir_all(&out).unwrap();
        }
    }
    assert!(
        failed > operations,
        "{failed} of {} runs failed",
        operations * 2
    );
    println!(
        "{operations} operations, {} runs with a fault, {failed} of them failed, 0 bad states",
        operations * 2
    );
}

#[test]
fn each_operation_of_a_first_run_fails() {
    let input = sessions(4, 10);
    each_operation_fails(input.path(), |_| ());
}

#[test]
fn each_operation_of_a_run_that_replaces_tapes_fails() {
    let input = sessions(4, 10);
    let old = tempfile::tempdir().unwrap();
    let tapes_of_old = old.path().join("tapes");
    assert_eq!(ingest(input.path(), &tapes_of_old), Exit::Success);
    write_sessions(input.path(), 5, 20);
    each_operation_fails(input.path(), |out| {
        fs::create_dir_all(out.join("claude-code")).unwrap();
        for name in [
            INDEX,
            "claude-code/s0.tape.jsonl",
            "claude-code/s1.tape.jsonl",
            "claude-code/s2.tape.jsonl",
            "claude-code/s3.tape.jsonl",
        ] {
            fs::copy(tapes_of_old.join(name), out.join(name)).unwrap();
        }
    });
}
