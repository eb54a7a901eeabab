//! One session that is there in several forms is one session: the form that says most is converted, and the others say why they are not.

use std::collections::BTreeMap;
use std::fs;

use rayon::prelude::*;

use super::*;

/// A session of Cursor as transcript, chat store and run store.
const FORMS: &str = "cursor/sdk-1.0.18/compaction";

/// A copy of the fixture, which may be changed.
fn home() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let from = fixture(FORMS);
    for name in names(&from) {
        let target = home.path().join(&name);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(from.join(&name), target).unwrap();
    }
    home
}

fn transcript(home: &Path) -> PathBuf {
    only_file(&home.join(".cursor"), ".jsonl")
}

fn ingest(home: &Path, out: &Path, more: &[&str]) -> Output {
    let output = engram()
        .args(["ingest", text(home), "--out", text(out)])
        .args(more)
        .output()
        .unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    output
}

fn json(args: &[&str]) -> Vec<Value> {
    let output = run(args);
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The schemas of the tapes in a directory.
fn schemas(out: &Path) -> Vec<String> {
    let schema = |tape: &PathBuf| {
        let start: Value =
            serde_json::from_str(fs::read_to_string(tape).unwrap().lines().next().unwrap())
                .unwrap();
        start["harness"]["schema"].as_str().unwrap().to_owned()
    };
    tape_files(out).iter().map(schema).collect()
}

fn states(out: &Path) -> BTreeMap<String, usize> {
    let mut states = BTreeMap::new();
    index(out).iter().for_each(|entry| {
        *states
            .entry(entry["state"].as_str().unwrap().to_owned())
            .or_default() += 1
    });
    states
}

#[test]
fn every_command_has_a_session_once() {
    let home = home();
    let out = tempfile::tempdir().unwrap();
    let output = ingest(home.path(), out.path(), &["-v"]);
    assert_eq!(schemas(out.path()), ["store-db"]);
    let said = stderr(&output);
    assert!(
        said.contains(": transcript of a session that is converted from its chat store, ")
            && said.contains("store.db#"),
        "{said}"
    );
    assert!(
        said.contains(": run store of a session")
            && said.contains("does not state the reads of files"),
        "{said}"
    );
    assert!(
        said.contains("2 other forms of sessions that are converted"),
        "{said}"
    );
    assert_eq!(
        states(out.path()),
        BTreeMap::from([("current".to_owned(), 1), ("other_form".to_owned(), 2)])
    );
    let directory = text(home.path());
    assert_eq!(json(&["stats", "--json", directory])[0]["sessions"], 1);
    assert_eq!(
        (
            json(&["list", "--json", directory]).len(),
            json(&["audit", "--json", directory]).len()
        ),
        (1, 1)
    );
    let noted = stderr(&run(&["list", directory]));
    assert!(noted.contains("2 other forms of sessions"), "{noted}");
    assert_eq!(
        json(&["detect", "--json", directory]).len(),
        3,
        "what is there is still listed"
    );
}

/// A recording can have a session as a log, as what its run printed, and as what hooks got.
#[test]
fn logs_and_their_tapes_give_the_same_counts() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let recordings = walkdir::WalkDir::new(&fixtures)
        .min_depth(3)
        .max_depth(3)
        .into_iter()
        .map(|entry| entry.unwrap().into_path());
    let has_forms = |directory: &PathBuf| {
        directory.join("stdout").is_dir() || directory.starts_with(fixtures.join("cursor"))
    };
    let directories: Vec<PathBuf> = recordings.filter(has_forms).collect();
    assert!(directories.len() > 30, "{directories:?}");
    directories.par_iter().for_each(|directory| {
        let out = tempfile::tempdir().unwrap();
        ingest(directory, out.path(), &["--jobs", "1"]);
        let counts = [directory, out.path()]
            .map(|path| json(&["stats", "--json", "--jobs", "1", text(path)]));
        assert_eq!(counts[0], counts[1], "{}", directory.display());
    });
}

#[test]
fn a_form_that_is_named_or_asked_for_is_converted() {
    let home = home();
    let out = tempfile::tempdir().unwrap();
    let transcript = transcript(home.path());
    ingest(home.path(), out.path(), &[text(&transcript)]);
    assert_eq!(schemas(out.path()).len(), 2);
    let every = tempfile::tempdir().unwrap();
    ingest(home.path(), every.path(), &["--every-form"]);
    let mut schemas = schemas(every.path());
    schemas.sort();
    assert_eq!(schemas, ["run-store", "store-db", "transcript-jsonl"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_second_run_opens_no_form_again() {
    let home = home();
    let out = tempfile::tempdir().unwrap();
    ingest(home.path(), out.path(), &[]);
    let before = fs::read_to_string(out.path().join("index.jsonl")).unwrap();
    let mut again = String::new();
    let opened = opened_while(home.path(), || {
        again = stderr(&ingest(home.path(), out.path(), &[]))
    });
    assert_eq!(
        opened
            .iter()
            .find(|name| name.ends_with(".db") || name.ends_with(".jsonl")),
        None
    );
    assert!(
        again.contains("0 new, 0 replaced, 1 unchanged, 0 failed")
            && again.contains("2 other forms"),
        "{again}"
    );
    assert_eq!(
        fs::read_to_string(out.path().join("index.jsonl")).unwrap(),
        before
    );
}

/// The transcript goes on although the store does not: nothing of it may be lost.
#[test]
fn a_form_that_has_more_is_converted_too() {
    let home = home();
    let out = tempfile::tempdir().unwrap();
    ingest(home.path(), out.path(), &[]);
    let log = transcript(home.path());
    let more = r#"{"role":"user","message":{"content":[{"type":"text","text":"<user_query>\na synthetic prompt\n</user_query>"}]}}"#;
    fs::write(&log, fs::read_to_string(&log).unwrap() + more + "\n").unwrap();
    let output = ingest(home.path(), out.path(), &["-v"]);
    assert!(
        stderr(&output).contains("which lacks prompts, calls or results of it"),
        "{}",
        stderr(&output)
    );
    assert_eq!(
        states(out.path()),
        BTreeMap::from([("current".to_owned(), 2), ("other_form".to_owned(), 1)])
    );
    assert_eq!(schemas(out.path()).len(), 2);
}

#[test]
fn a_form_takes_the_place_of_one_that_is_gone_and_gives_it_back() {
    let home = home();
    let (out, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = home
        .path()
        .join(".cursor/projects/home-dev-proj/sdk-agent-store");
    fs::rename(&store, kept.path().join("store")).unwrap();
    ingest(home.path(), out.path(), &[]);
    assert_eq!(schemas(out.path()), ["transcript-jsonl"]);
    // The transcript has not changed, but the store is new.
    fs::rename(kept.path().join("store"), &store).unwrap();
    ingest(home.path(), out.path(), &[]);
    assert_eq!(
        states(out.path()),
        BTreeMap::from([("current".to_owned(), 1), ("other_form".to_owned(), 2)])
    );
    let entries = index(out.path());
    let current = entries
        .iter()
        .find(|entry| entry["state"] == "current")
        .unwrap();
    assert_eq!(
        current["supersedes"][0]["why"],
        "it was made from another form of the session"
    );
    assert_eq!(
        json(&["stats", "--json", text(out.path())])[0]["sessions"],
        1,
        "the older tape is not counted"
    );
    // And away again: the transcript is all that is left.
    fs::remove_dir_all(&store).unwrap();
    ingest(home.path(), out.path(), &[]);
    let entries = index(out.path());
    assert!(
        entries.iter().any(|entry| entry["state"] == "current"
            && text(&transcript(home.path())) == entry["source"]),
        "{entries:?}"
    );
}

#[test]
fn no_fixture_home_gives_a_session_twice() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let mut other_forms = 0;
    for harness in ["cursor", "opencode"] {
        let directories = fs::read_dir(fixtures.join(harness))
            .unwrap()
            .flat_map(|version| fs::read_dir(version.unwrap().path()).unwrap());
        for directory in directories
            .map(|directory| directory.unwrap().path().join("session"))
            .filter(|directory| directory.is_dir())
        {
            let output = run(&["list", "--agents", "--json", "-v", text(&directory)]);
            other_forms += stderr(&output)
                .lines()
                .filter(|line| {
                    line.starts_with("skipped: ") && line.contains(" of a session that ")
                })
                .count();
            let mut seen = BTreeMap::new();
            for line in String::from_utf8(output.stdout).unwrap().lines() {
                let row: Value = serde_json::from_str(line).unwrap();
                let path = row["path"].as_str().unwrap().to_owned();
                // A person's own program wrote this one.
                if row["session_id"].is_null() || path.ends_with("hooks.ndjson") {
                    continue;
                }
                let old = seen.insert(
                    (row["session_id"].to_string(), row["agent_id"].to_string()),
                    path.clone(),
                );
                assert!(old.is_none(), "{old:?} and {path}");
            }
        }
    }
    assert!(other_forms > 40, "{other_forms}");
}
