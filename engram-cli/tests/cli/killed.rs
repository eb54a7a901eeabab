//! A run that is killed at any instant leaves whole tapes and a true index, and the next run needs no help.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use engram_core::hash::Hash;

use super::*;

const SESSIONS: usize = 8;

/// Writes the first records of each session.
fn write_sessions(folder: &Path, log: &str, records: usize) {
    let text: String = log.split_inclusive('\n').take(records).collect();
    for n in 0..SESSIONS {
        fs::write(folder.join(format!("{n}.jsonl")), text.replace(CLAUDE_ID, &format!("s{n}"))).unwrap();
    }
}

/// Every tape is whole, and what the index states of a tape is so.
pub(super) fn assert_whole_and_true(out: &Path) -> BTreeSet<String> {
    for path in tape_files(out) {
        let tape = fs::read_to_string(&path).unwrap();
        let last = tape.lines().last().unwrap_or_default();
        assert!(tape.ends_with('\n') && last.contains("\"label\":\"tape.stop\""), "{} is cut", path.display());
    }
    let entries = index(out);
    for entry in &entries {
        let Some(tape) = entry["tape"].as_str() else { continue };
        let there = fs::read(out.join(tape)).ok().map(|bytes| Hash::of_bytes(&bytes).to_string());
        let (hash, old) = (entry["tape_hash"].as_str(), entry["replaces_hash"].as_str());
        match entry["state"].as_str().unwrap() {
            "writing" => assert!(there.is_none() || there.as_deref() == hash || there.as_deref() == old, "{entry}"),
            _ => assert_eq!(there.as_deref(), hash, "{entry}"),
        }
    }
    entries.iter().map(|entry| entry["state"].as_str().unwrap().to_owned()).collect()
}

/// The folders have the same tapes. No tape has a number that the other one does not have.
pub(super) fn assert_same_tapes(out: &Path, fresh: &Path) {
    assert_eq!(tapes(out), tapes(fresh));
    for name in tapes(out) {
        assert_same(&fs::read(out.join(&name)).unwrap(), &fs::read(fresh.join(&name)).unwrap());
    }
}

/// The temporary files in a folder.
pub(super) fn leftovers(out: &Path) -> Vec<String> {
    names(out).into_iter().filter(|name| name.ends_with(".tmp")).collect()
}

#[test]
fn a_killed_run_leaves_whole_tapes_and_a_true_index() {
    let log = fs::read_to_string(claude_file()).unwrap();
    let (folder, parent) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let out = parent.path().join("tapes");
    let (mut killed, mut states) = (0, BTreeSet::new());
    for round in 0..60 {
        write_sessions(folder.path(), &log, 20 + round);
        let mut child =
            engram().args(["ingest", text(folder.path()), "--out", text(&out), "--jobs", "2"]).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(round as u64 * 4));
        child.kill().unwrap();
        killed += usize::from(child.wait().unwrap().code().is_none());
        if out.exists() {
            states.extend(assert_whole_and_true(&out));
        }
    }
    assert!(killed > 5, "only {killed} runs were killed");
    write_sessions(folder.path(), &log, 100);
    let last = run(&["ingest", text(folder.path()), "--out", text(&out)]);
    assert_eq!(code(&last), 0, "{}", stderr(&last));
    assert_eq!(assert_whole_and_true(&out), BTreeSet::from(["current".to_owned()]));
    let fresh = tempfile::tempdir().unwrap();
    run(&["ingest", text(folder.path()), "--out", text(fresh.path())]);
    assert_same_tapes(&out, fresh.path());
    assert_eq!(leftovers(&out), [""; 0], "seen states: {states:?}");
}
