//! A second run: what has not changed is not read, what grew is replaced, and nothing else is overwritten.

use std::fs;

use rusqlite::Connection;

use super::*;

fn ingest(path: &Path, out: &Path, more: &[&str]) -> Output {
    let output = engram()
        .args(["ingest", text(path), "--out", text(out)])
        .args(more)
        .output()
        .unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    output
}

/// The line of the summary about tapes.
fn counts(output: &Output) -> String {
    stderr(output)
        .lines()
        .find_map(|line| line.strip_prefix("tapes       "))
        .unwrap_or_default()
        .to_owned()
}

/// The first records of the Claude Code session.
fn first(records: usize) -> String {
    claude_session("a")
        .split_inclusive('\n')
        .take(records)
        .collect()
}

#[cfg(target_os = "linux")]
#[test]
fn what_has_not_changed_is_not_read() {
    let directory = directory_of(&[
        ("1.jsonl", &claude_session("a")),
        ("x.json", "{}"),
        ("notes.txt", "user:\nhello\n"),
    ]);
    fs::copy(
        only_file(&fixture("opencode/1.18.34/resume"), ".db"),
        directory.path().join("s.db"),
    )
    .unwrap();
    let out = tempfile::tempdir().unwrap();
    ingest(directory.path(), out.path(), &[]);
    let before: Vec<_> = tape_files(out.path())
        .iter()
        .map(|path| (path.clone(), path.metadata().unwrap().modified().unwrap()))
        .collect();
    let names = ["1.jsonl", "x.json", "s.db"];
    let is_one = |name: &String| names.contains(&name.as_str());
    let mut again = None;
    let opened = opened_while(directory.path(), || {
        again = Some(ingest(directory.path(), out.path(), &[]))
    });
    assert_eq!(opened.iter().find(|name| is_one(name)), None);
    let again = again.unwrap();
    let tapes = before.len();
    assert_eq!(
        counts(&again),
        format!("0 new, 0 replaced, {tapes} unchanged, 0 failed")
    );
    assert!(
        before
            .iter()
            .all(|(path, time)| path.metadata().unwrap().modified().unwrap() == *time)
    );
    let opened = opened_while(directory.path(), || {
        drop(ingest(directory.path(), out.path(), &["--again"]))
    });
    assert_eq!(
        opened.iter().filter(|name| is_one(name)).count(),
        names.len(),
        "with --again everything is read"
    );
}

#[test]
fn tapes_of_files_that_each_project_has_are_named_after_the_project() {
    let out = tempfile::tempdir().unwrap();
    ingest(&fixture("gemini/0.61.0/s_saved"), out.path(), &[]);
    assert!(
        tapes(out.path()).contains(&"gemini/proj-checkpoint-labtag.tape.jsonl".to_owned()),
        "{:?}",
        tapes(out.path())
    );
}

#[test]
fn a_call_that_was_begun_does_not_keep_the_tape_that_has_it_without_arguments() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("opencode.db");
    fs::copy(only_file(&fixture("opencode/1.18.34/resume"), ".db"), &path).unwrap();
    let out = tempfile::tempdir().unwrap();
    let database = Connection::open(&path).unwrap();
    let last = "SELECT id, session_id, time_created FROM message WHERE json_extract(data, '$.role') = 'assistant' ORDER BY id DESC LIMIT 1";
    let (message, session, time): (String, String, i64) = database
        .query_row(last, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap();
    let state = |state: &str| {
        let call = format!(r#"{{"type":"tool","tool":"read","callID":"call_1","state":{state}}}"#);
        let part = "INSERT OR REPLACE INTO part (id, message_id, session_id, time_created, time_updated, data) VALUES ('prt_z', ?1, ?2, ?3, ?3, ?4)";
        database
            .execute(part, (&message, &session, time, call))
            .unwrap();
        counts(&ingest(&path, out.path(), &[]))
    };
    let first = state(r#"{"status":"pending","input":{},"raw":""}"#);
    assert!(
        first.ends_with("new, 0 replaced, 0 unchanged, 0 failed"),
        "{first}"
    );
    let second =
        state(r#"{"status":"running","input":{"filePath":"/p/a"},"time":{"start":1795256000000}}"#);
    assert!(second.starts_with("0 new, 1 replaced"), "{second}");
}

#[test]
fn a_session_that_grew_replaces_its_tape_and_the_index_is_true() {
    let directory = directory_of(&[("1.jsonl", &first(30))]);
    let (out, fresh) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assert_eq!(
        counts(&ingest(directory.path(), out.path(), &[])),
        "1 new, 0 replaced, 0 unchanged, 0 failed"
    );
    fs::write(directory.path().join("1.jsonl"), first(60)).unwrap();
    assert_eq!(
        counts(&ingest(directory.path(), out.path(), &[])),
        "0 new, 1 replaced, 0 unchanged, 0 failed"
    );
    assert_eq!(tapes(out.path()), ["claude-code/a.tape.jsonl"]);
    ingest(directory.path(), fresh.path(), &[]);
    let tape = fs::read(out.path().join("claude-code/a.tape.jsonl")).unwrap();
    assert_same(
        &tape,
        &fs::read(fresh.path().join("claude-code/a.tape.jsonl")).unwrap(),
    );
    let index = index(out.path());
    let entry = &index[0];
    assert_eq!(
        (index.len(), &entry["state"], &entry["tape"]),
        (1, &"current".into(), &"claude-code/a.tape.jsonl".into())
    );
    assert_eq!(entry["tape_bytes"], tape.len());
    assert_eq!(entry["size"], first(60).len());
    assert_eq!(entry["overview"]["input_bytes"], first(60).len());
    assert_eq!(
        (
            &entry["overview"]["session_id"],
            &entry["overview"]["harness"]
        ),
        (&"a".into(), &"claude-code".into())
    );
    assert_eq!(entry["source"], text(&directory.path().join("1.jsonl")));
    let last: Value = serde_json::from_slice(
        tape.trim_ascii_end()
            .rsplit(|byte| *byte == b'\n')
            .next()
            .unwrap(),
    )
    .unwrap();
    assert_eq!(last["input"]["hash"], entry["overview"]["input_hash"]);
}

#[test]
fn a_session_that_lost_records_leaves_its_tape_and_the_index_says_why() {
    let directory = directory_of(&[("1.jsonl", &first(60))]);
    let out = tempfile::tempdir().unwrap();
    ingest(directory.path(), out.path(), &[]);
    let before = fs::read(out.path().join("claude-code/a.tape.jsonl")).unwrap();
    fs::write(directory.path().join("1.jsonl"), first(40)).unwrap();
    ingest(directory.path(), out.path(), &[]);
    assert_eq!(
        tapes(out.path()),
        ["claude-code/a-2.tape.jsonl", "claude-code/a.tape.jsonl"]
    );
    assert_same(
        &fs::read(out.path().join("claude-code/a.tape.jsonl")).unwrap(),
        &before,
    );
    let superseded = &index(out.path())[0]["supersedes"][0];
    assert_eq!(superseded["tape"], "claude-code/a.tape.jsonl");
    assert!(
        superseded["why"]
            .as_str()
            .unwrap()
            .contains("does not begin as it did"),
        "{superseded}"
    );
    fs::write(directory.path().join("1.jsonl"), first(50)).unwrap();
    assert_eq!(
        counts(&ingest(directory.path(), out.path(), &[])),
        "0 new, 1 replaced, 0 unchanged, 0 failed"
    );
    assert_eq!(tapes(out.path()).len(), 2);
}

#[test]
fn a_store_that_grew_changes_the_tapes_of_its_changed_sessions_only() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("store.db");
    fs::copy(only_file(&fixture("cursor/2026.09/store"), ".db"), &path).unwrap();
    let out = tempfile::tempdir().unwrap();
    ingest(home.path(), out.path(), &[]);
    let store = Connection::open(&path).unwrap();
    store
        .execute_batch("CREATE TABLE later (x); INSERT INTO later VALUES (1)")
        .unwrap();
    store.close().unwrap();
    assert_eq!(
        counts(&ingest(home.path(), out.path(), &[])),
        "0 new, 0 replaced, 1 unchanged, 0 failed"
    );
    assert_eq!(
        counts(&ingest(home.path(), out.path(), &[])),
        "0 new, 0 replaced, 1 unchanged, 0 failed"
    );
}

#[test]
fn a_changed_file_beside_a_session_is_noticed() {
    let home = tempfile::tempdir().unwrap();
    for name in names(&fixture("claude-code/2.1.329/c_subagent")) {
        let to = home.path().join(&name);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(fixture("claude-code/2.1.329/c_subagent").join(&name), to).unwrap();
    }
    let out = tempfile::tempdir().unwrap();
    ingest(home.path(), out.path(), &[]);
    let meta = files(home.path())
        .into_iter()
        .find(|path| text(path).ends_with(".meta.json"))
        .unwrap();
    fs::write(&meta, "{}").unwrap();
    let again = counts(&ingest(home.path(), out.path(), &[]));
    assert!(
        again.starts_with("0 new, 1 replaced, ") || again.starts_with("1 new, 0 replaced, "),
        "{again}"
    );
}

#[test]
fn another_version_of_an_adapter_reads_everything_again() {
    let directory = directory_of(&[("1.jsonl", &first(30))]);
    let out = tempfile::tempdir().unwrap();
    ingest(directory.path(), out.path(), &[]);
    let path = out.path().join("index.jsonl");
    let adapters = index(out.path())[0]["adapters"]
        .as_str()
        .unwrap()
        .to_owned();
    fs::write(
        &path,
        fs::read_to_string(&path)
            .unwrap()
            .replace(&adapters, "0000"),
    )
    .unwrap();
    let verbose = stderr(&ingest(directory.path(), out.path(), &["-v"]));
    assert!(
        verbose.contains("(unchanged): claude-code"),
        "it was converted again: {verbose}"
    );
    assert_eq!(index(out.path())[0]["adapters"], adapters);
}

/// A sub-agent's call is given by the log of its parent only.
#[test]
fn a_tape_stays_if_a_file_beside_its_source_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let source = fixture("claude-code/2.0.29/c_subagent");
    for name in names(&source) {
        let target = directory.path().join(&name);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(source.join(&name), target).unwrap();
    }
    let out = tempfile::tempdir().unwrap();
    ingest(directory.path(), out.path(), &[]);
    let mut before: Vec<_> = tape_files(out.path())
        .into_iter()
        .map(|path| (fs::read(&path).unwrap(), path))
        .collect();
    // Tapes that do not name their call lose nothing.
    before.retain(|(tape, _)| String::from_utf8_lossy(tape).contains("parent_call_id"));
    assert!(before.len() > 1);
    let parent = names(directory.path())
        .into_iter()
        .find(|name| name.contains("/projects/") && !name.contains("agent-"))
        .unwrap();
    fs::remove_file(directory.path().join(parent)).unwrap();
    for _ in 0..2 {
        ingest(directory.path(), out.path(), &[]);
        before
            .iter()
            .for_each(|(tape, path)| assert_same(&fs::read(path).unwrap(), tape));
        let why = |entry: &Value| {
            entry["supersedes"][0]["why"]
                .as_str()
                .is_some_and(|why| why.starts_with("files beside the source"))
        };
        assert!(index(out.path()).iter().filter(|entry| why(entry)).count() > 1);
    }
}

#[test]
fn a_title_that_a_store_overwrites_is_superseded_and_nothing_else_is() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("opencode.db");
    fs::copy(
        only_file(&fixture("opencode/1.18.34/resume"), ".db"),
        &database,
    )
    .unwrap();
    let change = |sql: &str| {
        Connection::open(&database)
            .unwrap()
            .execute_batch(sql)
            .unwrap()
    };
    let out = tempfile::tempdir().unwrap();
    ingest(directory.path(), out.path(), &[]);
    let sessions = tape_files(out.path()).len();
    change(
        "UPDATE session SET title = 'another title', cost = coalesce(cost, 0) + 1, time_updated = time_updated + 5000",
    );
    assert_eq!(
        counts(&ingest(directory.path(), out.path(), &[])),
        format!("0 new, {sessions} replaced, 0 unchanged, 0 failed")
    );
    change("UPDATE session SET directory = directory || '/elsewhere'");
    assert_eq!(
        counts(&ingest(directory.path(), out.path(), &[])),
        format!("{sessions} new, 0 replaced, 0 unchanged, 0 failed")
    );
}

#[test]
fn what_a_store_lost_is_said_again_in_each_run() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("opencode");
    fs::create_dir(&root).unwrap();
    let database = root.join("opencode.db");
    fs::copy(
        only_file(&fixture("opencode/1.18.34/sub"), ".db"),
        &database,
    )
    .unwrap();
    let change = |sql: &str| {
        Connection::open(&database)
            .unwrap()
            .execute_batch(&format!("PRAGMA foreign_keys = OFF; {sql}"))
            .unwrap()
    };
    let out = tempfile::tempdir().unwrap();
    change("DELETE FROM session WHERE parent_id IS NOT NULL");
    for _ in 0..2 {
        let said = stderr(&ingest(directory.path(), out.path(), &[]));
        assert!(
            said.contains("opencode.db: not whole: rows of no session: ")
                && said.contains(" in part"),
            "{said}"
        );
        let strict = engram()
            .args([
                "ingest",
                text(directory.path()),
                "--policy",
                "strict",
                "--out",
                text(out.path()),
            ])
            .output()
            .unwrap();
        assert_eq!(code(&strict), 1, "{}", stderr(&strict));
        assert!(
            stderr(&strict).contains("rows of no session"),
            "{}",
            stderr(&strict)
        );
    }
    change("DROP TABLE part");
    for policy in ["strict", "permissive"] {
        let failed = engram()
            .args([
                "ingest",
                text(directory.path()),
                "--policy",
                policy,
                "--out",
                text(out.path()),
            ])
            .output()
            .unwrap();
        assert_eq!(code(&failed), 5, "{}", stderr(&failed));
        assert!(
            stderr(&failed).contains("expected the table `part` in an OpenCode database"),
            "{}",
            stderr(&failed)
        );
    }
}

#[test]
fn a_lost_index_or_a_lost_tape_is_made_again() {
    let directory = directory_of(&[("1.jsonl", &first(30))]);
    let out = tempfile::tempdir().unwrap();
    ingest(directory.path(), out.path(), &[]);
    fs::remove_file(out.path().join("index.jsonl")).unwrap();
    ingest(directory.path(), out.path(), &[]);
    assert_eq!((tapes(out.path()).len(), index(out.path()).len()), (1, 1));
    fs::remove_file(&tape_files(out.path())[0]).unwrap();
    assert_eq!(
        counts(&ingest(directory.path(), out.path(), &[])),
        "1 new, 0 replaced, 0 unchanged, 0 failed"
    );
}

#[test]
fn a_failure_is_tried_again_and_keeps_the_older_tape() {
    let directory = directory_of(&[("1.jsonl", &first(30))]);
    let out = tempfile::tempdir().unwrap();
    let strict = ["--policy", "strict"];
    ingest(directory.path(), out.path(), &strict);
    fs::write(directory.path().join("1.jsonl"), first(30) + "{broken\n").unwrap();
    for _ in 0..2 {
        let failed = engram()
            .args(["ingest", text(directory.path()), "--out", text(out.path())])
            .args(strict)
            .output()
            .unwrap();
        assert_eq!(code(&failed), 5, "{}", stderr(&failed));
        let entry = &index(out.path())[0];
        assert_eq!(
            (&entry["state"], &entry["error"]["code"]),
            (&"failed".into(), &"malformed_record".into())
        );
        assert_eq!(entry["tape"], "claude-code/a.tape.jsonl");
    }
    fs::write(directory.path().join("1.jsonl"), first(40)).unwrap();
    assert_eq!(
        counts(&ingest(directory.path(), out.path(), &strict)),
        "0 new, 1 replaced, 0 unchanged, 0 failed"
    );
}

#[test]
fn filters_leave_out_sessions_and_what_they_left_out_can_come_later() {
    let directory = directory_of(&[("1.jsonl", &first(30))]);
    fs::copy(
        only_file(&fixture(CODEX), ".jsonl"),
        directory.path().join("2.jsonl"),
    )
    .unwrap();
    let out = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let output = engram()
            .args([
                "ingest",
                text(directory.path()),
                "--out",
                text(out.path()),
                "--since",
                "1d",
            ])
            .output()
            .unwrap();
        let said = stderr(&output);
        // The machine's clock decides whether the recordings are old.
        assert!(
            said.contains("2 sessions by the filters") || !tapes(out.path()).is_empty(),
            "{said}"
        );
    }
    ingest(directory.path(), out.path(), &["--harness", "codex"]);
    assert!(
        tapes(out.path())
            .iter()
            .any(|name| name.starts_with("codex/"))
    );
    ingest(directory.path(), out.path(), &[]);
    assert_eq!(tapes(out.path()).len(), 2);
    assert_eq!(
        counts(&ingest(directory.path(), out.path(), &[])),
        "0 new, 0 replaced, 2 unchanged, 0 failed"
    );
}

#[test]
fn runs_at_the_same_time_give_the_tapes_of_one() {
    let sessions: Vec<(String, String)> = (0..12)
        .map(|n| (format!("{n:02}.jsonl"), claude_session(&format!("s{n}"))))
        .collect();
    let borrowed: Vec<(&str, &str)> = sessions
        .iter()
        .map(|(name, content)| (name.as_str(), content.as_str()))
        .collect();
    let directory = directory_of(&borrowed);
    let (out, alone) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let root = out.path().join("tapes");
    let start = || {
        engram()
            .args(["ingest", text(directory.path()), "--out", text(&root)])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let runs: Vec<_> = (0..4).map(|_| start()).collect();
    for run in runs {
        let output = run.wait_with_output().unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
    }
    ingest(directory.path(), alone.path(), &[]);
    let contents = |directory: &Path| {
        tape_files(directory)
            .iter()
            .map(|path| fs::read(path).unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(tapes(&root), tapes(alone.path()));
    assert!(contents(&root) == contents(alone.path()));
    assert_eq!(index(&root).len(), 12);
    assert!(index(&root).iter().all(|entry| entry["state"] == "current"));
}

#[test]
fn an_index_that_cannot_be_read_stops_the_run() {
    let directory = directory_of(&[("1.jsonl", &first(30))]);
    let out = tempfile::tempdir().unwrap();
    ingest(directory.path(), out.path(), &[]);
    let before = fs::read(out.path().join("claude-code/a.tape.jsonl")).unwrap();
    fs::write(directory.path().join("1.jsonl"), first(60)).unwrap();
    fs::remove_file(out.path().join(".engram-others.jsonl")).unwrap();
    fs::create_dir_all(out.path().join(".engram-others.jsonl/x")).unwrap();
    let failed = engram()
        .args(["ingest", text(directory.path()), "--out", text(out.path())])
        .output()
        .unwrap();
    assert_eq!(code(&failed), 6, "{}", stderr(&failed));
    assert_same(
        &fs::read(out.path().join("claude-code/a.tape.jsonl")).unwrap(),
        &before,
    );
}

#[test]
fn a_filter_does_not_change_what_the_index_states_of_a_tape() {
    let directory = directory_of(&[("1.jsonl", &first(60))]);
    let out = tempfile::tempdir().unwrap();
    ingest(directory.path(), out.path(), &[]);
    let tape = out.path().join("claude-code/a.tape.jsonl");
    let before = fs::read(&tape).unwrap();
    // What is left out does not extend the text of the tape, and what comes later extends only that.
    fs::write(directory.path().join("1.jsonl"), first(30)).unwrap();
    ingest(directory.path(), out.path(), &["--project", "nowhere"]);
    fs::write(directory.path().join("1.jsonl"), first(40)).unwrap();
    ingest(directory.path(), out.path(), &[]);
    assert_same(&fs::read(&tape).unwrap(), &before);
    assert_eq!(
        tapes(out.path()),
        ["claude-code/a-2.tape.jsonl", "claude-code/a.tape.jsonl"]
    );
}
