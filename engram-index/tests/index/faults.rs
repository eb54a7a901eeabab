//! Faults: a process that is killed, a full disk, two writers, a reader meanwhile, a changed bit. No wrong answer, no half tape.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engram_index::{Error, Index, Query, Writer, rebuild};

use crate::blame::real_files;
use crate::judge::{Calls, Verdict, verdict};
use crate::recorded::{Made, fixtures, made};
use crate::truth::{paths, truth_of};

/// Tells a copy of this test program to be the process that is killed.
const CHILD: &str = "ENGRAM_INDEX_TEST_CHILD";

fn some_tapes() -> Made {
    let recordings = fixtures("");
    made(&recordings.iter().step_by(40).collect::<Vec<_>>())
}

fn tapes(made: &Made) -> Vec<PathBuf> {
    let mut tapes: Vec<PathBuf> = fs::read_dir(&made.tapes)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    tapes.sort();
    tapes
}

/// Not a test of its own: what the killed process does.
#[test]
fn child() {
    let Some(place) = std::env::var_os(CHILD) else {
        return;
    };
    let place = Path::new(&place);
    println!("begin");
    std::io::stdout().flush().unwrap();
    for tape in fs::read_dir(place.join("tapes")).unwrap() {
        Writer::open(&place.join("killed"), || ())
            .unwrap()
            .add(&[tape.unwrap().path()], &mut |_| ())
            .unwrap();
    }
    println!("end");
}

#[test]
fn a_killed_process_leaves_whole_tapes_only() {
    let made = some_tapes();
    let index = made.directory.path().join("killed");
    let instants = std::env::var("ENGRAM_KILLS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(12);
    let mut random = fastrand::Rng::with_seed(3);
    let (mut partial, mut whole, mut none) = (0, 0, 0);
    for _ in 0..instants {
        let _ = fs::remove_dir_all(&index);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "faults::child", "--nocapture"])
            .env(CHILD, made.directory.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("begin")
            && std::io::BufRead::read_line(&mut out, &mut line).unwrap() > 0
        {}
        std::thread::sleep(Duration::from_micros(random.u64(0..600_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        match Index::open(&index) {
            Err(Error::NoIndex(_)) => none += 1,
            Err(error) => panic!("{error}"),
            Ok(opened) => {
                let verified = opened.verify(usize::MAX).unwrap();
                assert_eq!(verified.faults, Vec::<String>::new());
                let done = verified.compared == tapes(&made).len();
                (partial, whole) = (partial + usize::from(!done), whole + usize::from(done));
            }
        }
        // The next run finishes the work.
        Writer::open(&index, || ())
            .unwrap()
            .add(std::slice::from_ref(&made.tapes), &mut |_| ())
            .unwrap();
        let (now, expected) = (
            Index::open(&index).unwrap().status().unwrap(),
            made.open().status().unwrap(),
        );
        assert_eq!(
            (now.tapes, now.calls, now.spans),
            (expected.tapes, expected.calls, expected.spans)
        );
    }
    println!(
        "killed {instants} times: {none} without an index, {partial} with some tapes, {whole} with all"
    );
}

#[test]
fn a_full_disk_is_a_named_error_and_loses_nothing() {
    let made = made(&fixtures("").iter().step_by(8).collect::<Vec<_>>());
    let index = made.directory.path().join("full");
    let all = tapes(&made);
    Writer::open(&index, || ())
        .unwrap()
        .add(&all[..1], &mut |_| ())
        .unwrap();
    let before = Index::open(&index).unwrap().status().unwrap();
    let mut writer = Writer::open(&index, || ()).unwrap();
    // No page more than there are.
    writer.limit_size(64 << 10).unwrap();
    let error = writer.add(&all, &mut |_| ()).unwrap_err();
    assert!(matches!(error, Error::Full(_)), "{error}");
    assert_eq!(error.code(), "index_full");
    drop(writer);
    let opened = Index::open(&index).unwrap();
    assert_eq!(opened.status().unwrap().calls, before.calls);
    assert!(opened.verify(usize::MAX).unwrap().faults.is_empty());
    // With room again, the rest is taken in.
    Writer::open(&index, || ())
        .unwrap()
        .add(&all, &mut |_| ())
        .unwrap();
    assert_eq!(
        Index::open(&index).unwrap().status().unwrap().calls,
        made.open().status().unwrap().calls
    );
}

#[test]
fn two_writers_take_turns_and_a_reader_sees_whole_tapes() {
    let made = some_tapes();
    let index = made.directory.path().join("shared");
    let all = tapes(&made);
    Writer::open(&index, || ())
        .unwrap()
        .add(&all[..1], &mut |_| ())
        .unwrap();
    let (one, other) = all.split_at(all.len() / 2);
    let is_done = AtomicBool::new(false);
    let write = |part: &[PathBuf]| {
        for tape in part {
            Writer::open(&index, || ())
                .unwrap()
                .add(std::slice::from_ref(tape), &mut |_| ())
                .unwrap();
        }
    };
    std::thread::scope(|scope| {
        let first = scope.spawn(|| write(one));
        let second = scope.spawn(|| write(other));
        let reader = scope.spawn(|| {
            let mut reads = 0;
            while !is_done.load(Ordering::Relaxed) {
                let opened = Index::open(&index).unwrap();
                let status = opened.status().unwrap();
                assert!(status.tapes >= 1 && status.calls > 0);
                reads += 1;
            }
            reads
        });
        first.join().unwrap();
        second.join().unwrap();
        is_done.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 0);
    });
    let opened = Index::open(&index).unwrap();
    assert!(opened.verify(usize::MAX).unwrap().faults.is_empty());
    assert_eq!(
        opened.status().unwrap().spans,
        made.open().status().unwrap().spans
    );
}

#[test]
fn a_tape_with_a_changed_byte_is_found() {
    let made = made(&[&fixtures("claude-code/2.1.329/b_edit")[0]]);
    let tape = &tapes(&made)[0];
    let mut bytes = fs::read(tape).unwrap();
    // A changed digit of a hash: still a valid tape.
    let at = memchr::memmem::find(&bytes, b"\"after_hash\":\"blake3:").unwrap() + 30;
    bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
    fs::write(tape, &bytes).unwrap();
    let faults = made.open().verify(10).unwrap().faults;
    assert!(
        faults.len() == 1 && faults[0].contains("changed"),
        "{faults:?}"
    );
    // A file that is no tape any more is left out and named, each time.
    bytes.truncate(bytes.len() / 2);
    fs::write(tape, &bytes).unwrap();
    for _ in 0..2 {
        let added = made.add();
        assert!(
            matches!(added.failed[..], [Error::BadTape { .. }]),
            "{:?}",
            added.failed
        );
    }
    assert_eq!(made.open().status().unwrap().invalid, 1);
}

/// A bit of a tape changes before the tape is taken in: it is refused by name, or what it still says is right.
#[test]
fn a_changed_bit_gives_no_wrong_answer() {
    let recording = &fixtures("claude-code/2.1.329/b_edit")[0];
    let made = made(&[recording]);
    let truth = truth_of(recording);
    let (calls, files) = (
        Calls::of(&made.tapes, &truth, recording),
        real_files(&truth),
    );
    let tape = &tapes(&made)[0];
    let (whole, mut random) = (fs::read(tape).unwrap(), fastrand::Rng::with_seed(13));
    let (mut refused, mut given) = (0, 0);
    for round in 0..60 {
        let mut bytes = whole.clone();
        bytes[random.usize(..whole.len())] ^= 1 << random.u32(..8);
        fs::write(tape, bytes).unwrap();
        let index = made.directory.path().join(format!("bit-{round}"));
        let mut writer = Writer::open(&index, || ()).unwrap();
        let added = writer.add(std::slice::from_ref(tape), &mut |_| ()).unwrap();
        let opened = Index::open(&index).unwrap();
        if !added.failed.is_empty() {
            assert!(
                matches!(added.failed[..], [Error::BadTape { .. }]),
                "{:?}",
                added.failed
            );
            assert_eq!(opened.status().unwrap().tapes, 0);
            refused += 1;
            continue;
        }
        for file in &files {
            let mut query = Query::new(&file.text);
            query.paths = paths(&file.name);
            for (at, line) in opened.attribute(&query).unwrap().iter().enumerate() {
                let Some(call) = &line.call else { continue };
                let verdict = verdict(&calls, file, at, calls.get(call));
                assert_ne!(
                    verdict,
                    Verdict::Wrong,
                    "round {round}: {}:{}",
                    file.name,
                    at + 1
                );
                given += 1;
            }
        }
    }
    println!("{refused} tapes were refused; the others gave {given} lines to calls");
    assert!(refused > 5 && given > 100);
}

#[test]
fn an_index_of_another_schema_is_refused_and_made_again() {
    let made = some_tapes();
    let database = made.index.join("index.db");
    let before = made.open().status().unwrap();
    rusqlite::Connection::open(&database)
        .unwrap()
        .pragma_update(None, "user_version", 99)
        .unwrap();
    assert!(matches!(
        Index::open(&made.index),
        Err(Error::OtherSchema { found: 99, .. })
    ));
    assert!(matches!(
        Writer::open(&made.index, || ()),
        Err(Error::OtherSchema { .. })
    ));
    rebuild(&made.index, &[], false, || ()).unwrap();
    let after = made.open().status().unwrap();
    assert_eq!(
        (after.tapes, after.calls, after.spans),
        (before.tapes, before.calls, before.spans)
    );
    assert!(
        made.index.join("index.db.old").exists()
            && made.open().verify(usize::MAX).unwrap().faults.is_empty()
    );
}
