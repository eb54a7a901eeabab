//! Conversions of a store that another process writes: a tape shows one moment of the store, or there is an error.
//!
//! `ENGRAM_TORN_READS=1000` sets the number of conversions per way of writing.

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use engram_adapters::sessions::{SessionOptions, sessions};
use engram_core::error::ErrorCode;
use engram_core::tape::JsonLines;
use rusqlite::Connection;

use super::*;

const STORE: &str = "opencode/1.18.34/resume";
const DEFAULT_CONVERSIONS: usize = 25;
const MARKER: &str = "commit number ";

/// How a harness writes its store.
#[derive(Clone, Copy, Debug)]
struct Writing {
    journal_mode: &'static str,
    pause: Duration,
    /// The file looks as if it had not changed for an hour, so it is read in place.
    looks_old: bool,
}

const WAYS: [Writing; 4] = [
    Writing {
        journal_mode: "DELETE",
        pause: Duration::from_millis(50),
        looks_old: false,
    },
    Writing {
        journal_mode: "WAL",
        pause: Duration::from_millis(50),
        looks_old: false,
    },
    Writing {
        journal_mode: "DELETE",
        pause: Duration::from_millis(2),
        looks_old: true,
    },
    Writing {
        journal_mode: "WAL",
        pause: Duration::from_millis(2),
        looks_old: false,
    },
];

/// Writes the number of the commit into every text of the store.
fn write(store: &Path, writing: Writing, is_done: &AtomicBool) {
    let connection = Connection::open(store).unwrap();
    connection.busy_timeout(Duration::from_secs(30)).unwrap();
    connection
        .pragma_update(None, "journal_mode", writing.journal_mode)
        .unwrap();
    let mut number = 0;
    while !is_done.load(Ordering::Relaxed) {
        number += 1;
        let text = format!(
            "{MARKER}{number} {}",
            "text that fills a page of the database ".repeat(100)
        );
        let update = "UPDATE part SET data = json_set(data, '$.text', ?1) WHERE json_extract(data, '$.type') = 'text'";
        assert!(connection.execute(update, [text]).unwrap() > 3);
        if writing.looks_old {
            let hour = SystemTime::now() - Duration::from_secs(3600);
            File::options()
                .write(true)
                .open(store)
                .unwrap()
                .set_modified(hour)
                .unwrap();
        }
        thread::sleep(writing.pause);
    }
}

/// The numbers of commits in a tape.
fn commits(tape: &str) -> BTreeSet<&str> {
    tape.split(MARKER)
        .skip(1)
        .map(|rest| rest.split(' ').next().unwrap_or_default())
        .collect()
}

/// What became of the conversions of a store.
#[derive(Debug, Default)]
struct Counts {
    converted: usize,
    refused: usize,
    torn: usize,
    /// The states of the store that were seen.
    states: BTreeSet<String>,
}

fn convert(store: &Path, conversions: usize) -> Counts {
    let mut counts = Counts::default();
    let mut rounds = 0;
    while rounds < conversions || counts.states.len() < 2 && rounds < 100 * conversions {
        rounds += 1;
        for session in sessions(store, &SessionOptions::default()) {
            let mut tape = Vec::new();
            match session.and_then(|session| session.convert(&mut JsonLines::new(&mut tape))) {
                Ok(_) => {}
                Err(error) => {
                    assert_eq!(error.code, ErrorCode::Io, "{error:?}");
                    counts.refused += 1;
                    continue;
                }
            }
            let tape = String::from_utf8(tape).unwrap();
            match commits(&tape).len() {
                // A session without a text.
                0 => {}
                1 => counts.converted += 1,
                _ => counts.torn += 1,
            }
            counts
                .states
                .extend(commits(&tape).into_iter().map(str::to_owned));
        }
    }
    counts
}

/// Ends the writer, after a panic too.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Converts the store while it is written in this way.
fn convert_while_written(writing: Writing, conversions: usize) -> Counts {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("opencode.db");
    fs::copy(only_file(&fixture(STORE), ".db"), &store).unwrap();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| write(&store, writing, &is_done));
        let _done = Done(&is_done);
        convert(&store, conversions)
    })
}

#[test]
fn a_store_in_use_gives_no_tape_of_two_states() {
    let conversions = env::var("ENGRAM_TORN_READS")
        .ok()
        .and_then(|number| number.parse().ok())
        .unwrap_or(DEFAULT_CONVERSIONS);
    for writing in WAYS {
        let counts = convert_while_written(writing, conversions);
        eprintln!(
            "{writing:?}: {} converted, {} refused, {} torn, {} states",
            counts.converted,
            counts.refused,
            counts.torn,
            counts.states.len()
        );
        assert_eq!(counts.torn, 0, "{writing:?}");
        assert!(
            counts.converted > 0 && counts.states.len() > 1,
            "{writing:?}: the writer was not at work"
        );
    }
}

#[test]
fn a_tape_of_two_states_would_be_noticed() {
    assert_eq!(
        commits("commit number 7 a commit number 8 b commit number 7 c").len(),
        2
    );
}
