//! Tests of names and of what may be replaced.

use std::io::Write;

use crate::tape_dir::entry::{Setup, State};
use engram_adapters::sessions::Stamp;
use engram_core::hash::Hash;
use tempfile::TempDir;

use super::*;

const START: &str = r#"{"seq":0,"k":"meta","label":"tape.start"}"#;
const STOP: &str = r#"{"seq":9,"k":"meta","label":"tape.stop"}"#;

/// A directory of tapes, its index, and sources that exist.
struct Place {
    root: TempDir,
    out: OutDir,
    index: Index,
    placer: Placer,
}

impl Place {
    fn new() -> Place {
        let root = tempfile::tempdir().unwrap();
        let out = OutDir::open(root.path(), || ()).unwrap();
        Place {
            root,
            out,
            index: Index::default(),
            placer: Placer::default(),
        }
    }

    /// A source in the directory.
    fn source(&self, name: &str) -> Key {
        let path = self.root.path().join(name);
        fs::write(&path, "").unwrap();
        (path.to_str().unwrap().to_owned(), None)
    }

    /// Places a tape with these events and writes it down. Returns what became of it and its name.
    fn place(
        &mut self,
        source: &Key,
        stem: &str,
        events: &str,
        extends_old: bool,
    ) -> (Placed, String) {
        let text = format!(
            "{START}\n{}{STOP}\n",
            events
                .chars()
                .map(|c| format!("{{\"k\":\"{c}\"}}\n"))
                .collect::<String>()
        );
        let mut file = self.out.temporary("toy").unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let hash = Hash::of_bytes(text.as_bytes()).to_string();
        let mut tape = Finished {
            file: Some(file.into_temp_path()),
            hash: hash.clone(),
            bytes: text.len() as u64,
        };
        let target = Target {
            key: Some(source),
            harness: "toy",
            stem,
            ending: ".tape.jsonl",
            extends_old,
            setup: &Setup::default(),
        };
        let placement = self
            .placer
            .decide(&self.out, &self.index, &tape, &target)
            .unwrap();
        assert!(
            self.placer
                .commit(&self.out, &mut tape, &placement)
                .unwrap()
        );
        self.index.forget_missing(&placement.tape, Some(source));
        let stamp = Stamp {
            size: 0,
            modified: String::new(),
            changed: None,
            with: None,
        };
        let mut entry = Entry::new(source, State::Current, stamp, &Setup::default());
        (entry.tape, entry.tape_hash) = (Some(placement.tape.clone()), Some(hash));
        entry.supersedes = placement.supersedes;
        self.index.insert(entry);
        (placement.placed, placement.tape)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.root.path().join("toy")).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn tape(name: &str) -> String {
    format!("toy/{name}.tape.jsonl")
}

#[test]
fn sessions_of_one_id_are_numbered_and_equal_tapes_are_one() {
    let mut place = Place::new();
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| place.source(name));
    assert_eq!(place.place(&a, "s", "x", false), (Placed::New, tape("s")));
    assert_eq!(place.place(&b, "s", "y", false), (Placed::New, tape("s-2")));
    assert_eq!(place.place(&c, "S", "z", false), (Placed::New, tape("S-3")));
    assert_eq!(
        place.place(&d, "s", "y", false),
        (Placed::Unchanged, tape("s-2"))
    );
    assert_eq!(
        place.place(&a, "s", "x", true),
        (Placed::Unchanged, tape("s"))
    );
    assert_eq!(
        place.names(),
        ["S-3.tape.jsonl", "s-2.tape.jsonl", "s.tape.jsonl"],
        "no temporary file is left"
    );
}

#[test]
fn numbers_of_other_sources_are_not_tried_again_and_equal_tapes_are_still_found() {
    let mut place = Place::new();
    let key = |place: &Place, n: usize| place.source(&format!("source-{n}"));
    let events = ["a", "b", "c", "d", "e", "f"];
    for (n, events) in events.into_iter().enumerate() {
        let source = key(&place, n);
        place.place(&source, "s", events, false);
    }
    assert_eq!(
        place.placer.passed[&tape("s")].count,
        events.len() as u64 - 1,
        "the last search began where the one before ended"
    );
    let source = key(&place, events.len());
    assert_eq!(
        place.place(&source, "s", "b", false),
        (Placed::Unchanged, tape("s-2"))
    );
    fs::write(place.root.path().join(tape("s-3")), "mine").unwrap();
    let source = key(&place, events.len() + 1);
    assert_eq!(
        place.place(&source, "s", "c", false),
        (Placed::New, tape("s-7")),
        "a file that was changed by hand is not its tape"
    );
}

#[test]
fn a_session_that_grew_replaces_its_tape() {
    let mut place = Place::new();
    let a = place.source("a");
    place.place(&a, "s", "x", false);
    assert_eq!(
        place.place(&a, "s", "xy", false),
        (Placed::Replaced, tape("s")),
        "every event is in the new tape"
    );
    assert_eq!(
        place.place(&a, "s", "z", true),
        (Placed::Replaced, tape("s")),
        "the old source is a prefix of the new one"
    );
    assert_eq!(place.names().len(), 1);
}

#[test]
fn a_session_that_lost_something_leaves_its_tape_and_the_index_says_why() {
    let mut place = Place::new();
    let a = place.source("a");
    place.place(&a, "s", "xy", false);
    assert_eq!(place.place(&a, "s", "y", false), (Placed::New, tape("s-2")));
    let why = place.index.get(&a).unwrap().supersedes.clone();
    assert_eq!((why.len(), &why[0].tape), (1, &tape("s")));
    assert!(why[0].why.contains("does not begin as it did"));
    assert_eq!(
        place.place(&a, "s", "yz", false),
        (Placed::Replaced, tape("s-2")),
        "the newer one grows on"
    );
    assert_eq!(place.index.get(&a).unwrap().supersedes.len(), 1);
}

#[test]
fn a_tape_of_two_sources_or_changed_by_hand_is_not_replaced() {
    let mut place = Place::new();
    let [a, b] = ["a", "b"].map(|name| place.source(name));
    place.place(&a, "s", "x", false);
    place.place(&b, "s", "x", false);
    assert_eq!(place.place(&a, "s", "xy", true), (Placed::New, tape("s-2")));
    fs::write(
        place.root.path().join(tape("s-2")),
        format!("{START}\n{STOP}\n"),
    )
    .unwrap();
    assert_eq!(
        place.place(&a, "s", "xyz", true),
        (Placed::New, tape("s-3"))
    );
    let why: Vec<String> = place
        .index
        .get(&a)
        .unwrap()
        .supersedes
        .iter()
        .map(|old| old.why.clone())
        .collect();
    assert_eq!(
        why,
        [
            "it is the tape of another source too",
            "the tape is not as it was written"
        ]
    );
}

#[test]
fn a_session_that_moved_takes_its_tape_with_it() {
    let mut place = Place::new();
    let [a, b] = ["a", "b"].map(|name| place.source(name));
    place.place(&a, "s", "x", false);
    fs::remove_file(&a.0).unwrap();
    assert_eq!(
        place.place(&b, "s", "xy", false),
        (Placed::Replaced, tape("s"))
    );
    assert!(place.index.get(&a).is_none());
}

#[test]
fn what_somebody_else_wrote_is_not_overwritten() {
    let mut place = Place::new();
    let a = place.source("a");
    place.place(&a, "other", "x", false);
    let stranger = place.root.path().join(tape("s"));
    fs::write(&stranger, "mine").unwrap();
    assert_eq!(place.place(&a, "s", "x", false), (Placed::New, tape("s-2")));
    assert_eq!(fs::read_to_string(stranger).unwrap(), "mine");
}

#[test]
fn a_name_that_another_program_takes_meanwhile_is_not_overwritten() {
    let mut place = Place::new();
    let a = place.source("a");
    let file = place.out.temporary("toy").unwrap().into_temp_path();
    let mut tape = Finished {
        file: Some(file),
        hash: "x".to_owned(),
        bytes: 0,
    };
    let target = Target {
        key: Some(&a),
        harness: "toy",
        stem: "s",
        ending: ".tape.jsonl",
        extends_old: false,
        setup: &Setup::default(),
    };
    let placement = place
        .placer
        .decide(&place.out, &place.index, &tape, &target)
        .unwrap();
    fs::write(place.root.path().join(tape_path(&placement)), "mine").unwrap();
    assert!(
        !place
            .placer
            .commit(&place.out, &mut tape, &placement)
            .unwrap()
    );
    assert_eq!(
        place
            .placer
            .decide(&place.out, &place.index, &tape, &target)
            .unwrap()
            .tape,
        self::tape("s-2")
    );
}

#[test]
fn a_name_that_is_decided_on_is_not_given_twice() {
    let mut place = Place::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| place.source(name));
    place.place(&a, "s", "x", false);
    let file = place.out.temporary("toy").unwrap().into_temp_path();
    let tape = Finished {
        file: Some(file),
        hash: "x".to_owned(),
        bytes: 0,
    };
    let decided = |place: &mut Place, key: &Key, stem: &str| {
        let target = Target {
            key: Some(key),
            harness: "toy",
            stem,
            ending: ".tape.jsonl",
            extends_old: false,
            setup: &Setup::default(),
        };
        place
            .placer
            .decide(&place.out, &place.index, &tape, &target)
            .unwrap()
            .tape
    };
    assert_eq!(decided(&mut place, &b, "s"), self::tape("s-2"));
    assert_eq!(
        decided(&mut place, &c, "s-2"),
        self::tape("s-2-2"),
        "the session whose id is `s-2`"
    );
}

fn tape_path(placement: &Placement) -> &str {
    &placement.tape
}

/// What the index says after a run was killed while it replaced a tape, before or after it did.
#[test]
fn an_index_is_true_again_after_a_killed_run() {
    let mut place = Place::new();
    let a = place.source("a");
    place.place(&a, "s", "x", false);
    let old = place.index.get(&a).unwrap().clone();
    let begun = |entry: &Entry, hash: &str| Entry {
        state: State::Writing,
        replaces_hash: entry.tape_hash.clone(),
        tape_hash: Some(hash.to_owned()),
        ..entry.clone()
    };
    place.index.insert(begun(&old, "blake3:new"));
    place.index.recover(place.root.path()).unwrap();
    let recovered = place.index.get(&a).unwrap();
    assert_eq!(
        (recovered.state, &recovered.tape_hash),
        (State::Failed, &old.tape_hash),
        "it was not replaced"
    );
    let done = Entry {
        replaces_hash: Some("blake3:old".to_owned()),
        state: State::Writing,
        ..old.clone()
    };
    place.index.insert(done);
    place.index.recover(place.root.path()).unwrap();
    assert_eq!(
        place.index.get(&a).unwrap().state,
        State::Current,
        "it was replaced"
    );
    place.index.insert(Entry {
        replaces_hash: None,
        ..begun(&old, "blake3:new")
    });
    place.index.recover(place.root.path()).unwrap();
    assert!(
        place.index.get(&a).is_none(),
        "it is the tape of somebody else"
    );
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_a_tape_is_not_followed() {
    let mut place = Place::new();
    let a = place.source("a");
    place.place(&a, "other", "x", false);
    let elsewhere = place.root.path().join("elsewhere");
    fs::write(&elsewhere, format!("{START}\n{STOP}\n")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, place.root.path().join(tape("s"))).unwrap();
    assert_eq!(place.place(&a, "s", "x", false), (Placed::New, tape("s-2")));
    assert_eq!(
        fs::read_to_string(elsewhere).unwrap(),
        format!("{START}\n{STOP}\n")
    );
}
