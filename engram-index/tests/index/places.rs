//! What lies in the place of the index, of its lock, of a list or of a tape, and is something else: nothing is read, written or waited for.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use engram_index::{Error, Index, Next, Query, TakeRow, Writer, rebuild};

use crate::recorded::{Made, fixtures, made};

fn one() -> Made {
    made(&[&fixtures("claude-code/2.1.329/b_edit")[0]])
}

/// All that opens an index refuses this one, and nothing in its directory changes.
fn is_refused(directory: &Path) {
    let names = || {
        let entries = fs::read_dir(directory).unwrap().flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        names.retain(|name| name != "index.lock");
        names.sort();
        names
    };
    let before = names();
    let opened = [
        Index::open(directory).err(),
        Writer::open(directory, || ()).err(),
        Writer::try_open(directory).err(),
        rebuild(directory, &[], false, || ()).err(),
    ];
    for error in &opened {
        assert!(
            matches!(error, Some(Error::Foreign { .. })),
            "{}: {error:?}",
            directory.display()
        );
    }
    assert_eq!(names(), before);
}

#[test]
fn a_database_of_another_program_is_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("index.db");
    let foreign = rusqlite::Connection::open(&path).unwrap();
    foreign
        .execute_batch("CREATE TABLE place (path TEXT); INSERT INTO place VALUES ('mine')")
        .unwrap();
    drop(foreign);
    let before = fs::read(&path).unwrap();
    is_refused(directory.path());
    assert_eq!(fs::read(&path).unwrap(), before);
    fs::write(&path, "no database at all, but a text of somebody").unwrap();
    is_refused(directory.path());
    // What a killed process left before it wrote anything is no other program's.
    fs::write(&path, "").unwrap();
    assert!(matches!(
        Index::open(directory.path()),
        Err(Error::NoIndex(_))
    ));
    Writer::open(directory.path(), || ()).unwrap();
    Index::open(directory.path()).unwrap();
    // Neither is moved away what lies where the old index would go.
    fs::write(directory.path().join("index.db.old"), "a text of somebody").unwrap();
    let refused = rebuild(directory.path(), &[], false, || ());
    assert!(matches!(refused, Err(Error::Foreign { .. })));
}

#[test]
#[cfg(unix)]
fn links_and_pipes_are_refused_at_once() {
    use std::os::unix::fs::symlink;
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("target");
    let real = one();
    for name in ["index.db", "index.db-wal", "index.db-journal"] {
        for goal in [&target, &real.index.join("index.db")] {
            let directory = tempfile::tempdir().unwrap();
            symlink(goal, directory.path().join(name)).unwrap();
            is_refused(directory.path());
        }
        let directory = tempfile::tempdir().unwrap();
        pipe(&directory.path().join(name));
        is_refused(directory.path());
    }
    let directory = tempfile::tempdir().unwrap();
    let lock = directory.path().join("index.lock");
    symlink(&target, &lock).unwrap();
    for _ in 0..2 {
        let refused = Writer::open(directory.path(), || ()).err();
        assert!(
            matches!(refused, Some(Error::Foreign { .. })),
            "{refused:?}"
        );
        assert!(matches!(
            Writer::try_open(directory.path()),
            Err(Error::Foreign { .. })
        ));
        fs::remove_file(&lock).unwrap();
        pipe(&lock);
    }
    assert!(!target.exists(), "nothing was made through a link");
}

#[test]
#[cfg(unix)]
fn a_pipe_among_tapes_is_not_waited_for() {
    let made = one();
    pipe(&made.tapes.join("index.jsonl"));
    pipe(&made.tapes.join("more.tape.jsonl"));
    let mut writer = Writer::open(&made.index, || ()).unwrap();
    let added = writer.add(std::slice::from_ref(&made.tapes), &mut |_| ());
    assert!(added.unwrap().failed.is_empty());
    // One that is named is said to be no tape.
    let named = [made.tapes.join("more.tape.jsonl")];
    let added = writer.add(&named, &mut |_| ()).unwrap();
    assert!(
        matches!(added.failed[..], [Error::Io { .. }]),
        "{:?}",
        added.failed
    );
    // A file of the system has no size and may have no end.
    let named = [
        Path::new("/dev/zero").to_owned(),
        "/proc/self/pagemap".into(),
    ];
    let added = writer.add(&named, &mut |_| ()).unwrap();
    assert_eq!(added.failed.len(), 2, "{:?}", added.failed);
}

#[cfg(unix)]
fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn nothing_is_quoted_from_a_tape_that_has_another_text_now() {
    let made = one();
    let recording = &fixtures("claude-code/2.1.329/b_edit")[0];
    let files = crate::blame::real_files(&crate::truth::truth_of(recording));
    let file = files.iter().find(|file| file.name == "src/a.py").unwrap();
    let tape = fs::read_dir(&made.tapes)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let modified = tape.metadata().unwrap().modified().unwrap();
    let words = |index: &mut Index| {
        let query = Query::of_file("/home/dev/proj/src/a.py", &file.text);
        let answer = index.explain(&query).unwrap();
        let of_call = answer
            .items
            .into_iter()
            .find(|item| item.call.is_some())
            .unwrap();
        let mut texts = Vec::new();
        let sql = "SELECT text FROM prompts WHERE text IS NOT NULL";
        let take: TakeRow<'_> = &mut |_, row| {
            texts.extend(row);
            Next::Wanted
        };
        index.query(sql, Duration::from_secs(60), take).unwrap();
        (
            of_call.prompt.is_some(),
            of_call.change.is_some(),
            of_call.call.unwrap().changed,
            texts.len(),
        )
    };
    let mut index = made.open();
    let (prompt, change, changed, texts) = words(&mut index);
    assert!(prompt && change && !changed && texts > 0);
    // As long, and as old: only its text is another one.
    let text = fs::read_to_string(&tape).unwrap();
    let other = text.replace("LAB please do many edits", "LAB please do other work");
    assert!(other != text && other.len() == text.len());
    fs::write(&tape, &other).unwrap();
    fs::File::options()
        .append(true)
        .open(&tape)
        .unwrap()
        .set_modified(modified)
        .unwrap();
    assert_eq!(words(&mut index), (false, false, true, 0));
    fs::write(&tape, text).unwrap();
    assert_eq!(words(&mut index), (prompt, change, changed, texts));
}
