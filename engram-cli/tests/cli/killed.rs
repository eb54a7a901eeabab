//! A run that is killed at any instant leaves whole tapes and a true index, and the next run needs no help.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use engram_core::hash::Hash;

use super::*;

/// Writes the first records of this many sessions.
fn write_sessions(directory: &Path, log: &str, sessions: usize, records: usize) {
    let text: String = log.split_inclusive('\n').take(records).collect();
    for n in 0..sessions {
        fs::write(
            directory.join(format!("{n}.jsonl")),
            text.replace(CLAUDE_ID, &format!("s{n}")),
        )
        .unwrap();
    }
}

/// Every tape is whole, and what the index says of a tape is so.
pub(super) fn assert_whole_and_true(out: &Path) -> BTreeSet<String> {
    for path in tape_files(out) {
        let tape = fs::read_to_string(&path).unwrap();
        let last = tape.lines().last().unwrap_or_default();
        assert!(
            tape.ends_with('\n') && last.contains("\"label\":\"tape.stop\""),
            "{} is cut",
            path.display()
        );
    }
    let entries = index(out);
    for entry in &entries {
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
                "{entry}"
            ),
            _ => assert_eq!(there.as_deref(), hash, "{entry}"),
        }
    }
    entries
        .iter()
        .map(|entry| entry["state"].as_str().unwrap().to_owned())
        .collect()
}

/// The directories have the same tapes. No tape has a number that the other one does not have.
pub(super) fn assert_same_tapes(out: &Path, fresh: &Path) {
    assert_eq!(tapes(out), tapes(fresh));
    for name in tapes(out) {
        assert_same(
            &fs::read(out.join(&name)).unwrap(),
            &fs::read(fresh.join(&name)).unwrap(),
        );
    }
}

/// The temporary files in a directory.
pub(super) fn leftovers(out: &Path) -> Vec<String> {
    names(out)
        .into_iter()
        .filter(|name| name.ends_with(".tmp"))
        .collect()
}

/// A directory of sessions, and one of the tapes that killed runs made from it.
struct Killed {
    log: String,
    sessions: usize,
    directory: TempDir,
    parent: TempDir,
    killed: usize,
    states: BTreeSet<String>,
}

impl Killed {
    fn new(sessions: usize) -> Killed {
        let (directory, parent) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let log = fs::read_to_string(claude_file()).unwrap();
        Killed {
            log,
            sessions,
            directory,
            parent,
            killed: 0,
            states: BTreeSet::new(),
        }
    }

    fn out(&self) -> PathBuf {
        self.parent.path().join("tapes")
    }

    fn ingest(&self) -> Command {
        let mut command = engram();
        command
            .args([
                "ingest",
                text(self.directory.path()),
                "--out",
                text(&self.out()),
                "--jobs",
                "2",
            ])
            .stderr(Stdio::null());
        command
    }

    /// How long a run over sessions of this many records takes.
    fn whole_run(&self, records: usize) -> Duration {
        write_sessions(self.directory.path(), &self.log, self.sessions, records);
        let began = Instant::now();
        assert!(self.ingest().status().unwrap().success());
        began.elapsed()
    }

    /// Lets the sessions grow to this many records, and kills a run over them after a while.
    fn round(&mut self, records: usize, delay: Duration) {
        write_sessions(self.directory.path(), &self.log, self.sessions, records);
        let mut child = self.ingest().spawn().unwrap();
        std::thread::sleep(delay);
        child.kill().unwrap();
        self.killed += usize::from(child.wait().unwrap().code().is_none());
        if self.out().exists() {
            self.states.extend(assert_whole_and_true(&self.out()));
        }
    }

    /// A run that is not killed makes up for all of them.
    fn assert_made_up_for(self) {
        write_sessions(self.directory.path(), &self.log, self.sessions, 150);
        let out = self.out();
        let last = run(&["ingest", text(self.directory.path()), "--out", text(&out)]);
        assert_eq!(code(&last), 0, "{}", stderr(&last));
        assert_eq!(
            assert_whole_and_true(&out),
            BTreeSet::from(["current".to_owned()])
        );
        let fresh = tempfile::tempdir().unwrap();
        run(&[
            "ingest",
            text(self.directory.path()),
            "--out",
            text(fresh.path()),
        ]);
        assert_same_tapes(&out, fresh.path());
        assert_eq!(leftovers(&out), [""; 0], "seen states: {:?}", self.states);
    }
}

#[test]
fn a_killed_run_leaves_whole_tapes_and_a_true_index() {
    let mut rounds = Killed::new(8);
    let mut delay = rounds.whole_run(19);
    for round in 0..60 {
        let killed = rounds.killed;
        rounds.round(20 + round, delay * (round as u32 % 10) / 10);
        // A run that ended before it was killed shows that the machine is faster now.
        if rounds.killed == killed {
            delay = delay * 9 / 10;
        }
    }
    assert!(rounds.killed > 5, "only {} runs were killed", rounds.killed);
    rounds.assert_made_up_for();
}

/// The long form: `cargo test --release -p engram-tape --test cli -- --ignored --nocapture killed`. `ENGRAM_SEED` chooses the instants.
#[test]
#[ignore = "takes minutes"]
fn runs_over_500_sessions_that_are_killed_at_200_random_instants() {
    let mut random = std::env::var("ENGRAM_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(0x9e37_79b9_7f4a_7c15_u64);
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut rounds = Killed::new(500);
    // Runs that replace tapes take longer than the first one.
    let whole = rounds.whole_run(20).as_micros() as u64 * 3 / 2;
    let mut checked = 0;
    for round in 0..200 {
        // Every tenth round begins without tapes.
        if round % 10 == 9 {
            fs::remove_dir_all(rounds.out()).unwrap();
        }
        rounds.round(
            21 + round % 10 * 8 + next() as usize % 8,
            Duration::from_micros(next() % whole),
        );
        if !rounds.out().exists() || tapes(&rounds.out()).is_empty() {
            continue;
        }
        let check = run(&["-q", "check", text(&rounds.out())]);
        assert_eq!(
            code(&check),
            0,
            "{}",
            String::from_utf8_lossy(&check.stdout)
        );
        checked += tapes(&rounds.out()).len();
    }
    println!(
        "200 runs, {} killed; {checked} tapes checked; states of sources: {:?}",
        rounds.killed, rounds.states
    );
    assert!(
        rounds.killed > 100,
        "only {} runs were killed",
        rounds.killed
    );
    rounds.assert_made_up_for();
}
