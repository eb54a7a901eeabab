//! `engram list`: sessions as a table, from logs, tapes and the index; and filters.

use super::*;

fn list(args: &[&str]) -> Vec<Value> {
    let output = engram()
        .args(["list", "--json"])
        .args(args)
        .output()
        .unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn states(rows: &[Value]) -> Vec<&str> {
    rows.iter()
        .map(|row| row["tape"].as_str().unwrap())
        .collect()
}

#[test]
fn sessions_are_listed_with_what_is_worth_knowing() {
    let rows = list(&[text(&fixture(CLAUDE)), text(&fixture(CODEX))]);
    assert_eq!(rows.len(), 2);
    let claude = rows
        .iter()
        .find(|row| row["harness"] == "claude-code")
        .unwrap();
    assert_eq!(
        (&claude["session_id"], &claude["version"]),
        (&CLAUDE_ID.into(), &"2.1.329".into())
    );
    assert_eq!(
        (&claude["project"], &claude["prompts"]),
        (&"/home/dev/proj".into(), &1.into())
    );
    assert!(
        claude["calls"].as_u64() > Some(10) && claude["tokens"]["output"].as_u64() > Some(0),
        "{claude}"
    );
    assert!(claude["start"].as_str() < claude["end"].as_str() && claude["start"].is_string());
    assert_eq!(states(&rows), ["none", "none"]);
}

#[test]
fn a_directory_of_tapes_that_is_not_there_is_an_error() {
    let output = run(&["list", "--tapes", "/nowhere/tapes", text(&fixture(CODEX))]);
    assert_eq!(code(&output), 3);
    assert!(
        stderr(&output).contains("a directory of tapes"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_tape_is_none_current_or_old() {
    let session = claude_session("a");
    let half: String = session.split_inclusive('\n').take(40).collect();
    let directory = directory_of(&[("1.jsonl", &half)]);
    let out = tempfile::tempdir().unwrap();
    let seen = || list(&[text(directory.path()), "--tapes", text(out.path())]);
    assert_eq!(states(&seen()), ["none"]);
    run(&[
        "ingest",
        text(directory.path()),
        "--out",
        text(out.path()),
        "--zstd",
    ]);
    let listed = seen();
    assert_eq!(states(&listed), ["current"]);
    fs::write(directory.path().join("1.jsonl"), &session).unwrap();
    let grown = seen();
    assert_eq!(states(&grown), ["old"]);
    assert!(grown[0]["records"].as_u64() > listed[0]["records"].as_u64());
}

#[test]
fn tapes_give_the_rows_of_their_sessions() {
    let out = tempfile::tempdir().unwrap();
    run(&["ingest", text(&fixture(CLAUDE)), "--out", text(out.path())]);
    let (mut tapes, mut logs) = (list(&[text(out.path())]), list(&[text(&fixture(CLAUDE))]));
    for rows in [&mut tapes, &mut logs] {
        rows[0]
            .as_object_mut()
            .unwrap()
            .retain(|key, _| key != "path" && key != "tape");
    }
    assert_eq!(tapes, logs);
}

#[test]
fn sessions_with_one_id_are_told_apart_by_their_paths() {
    let directory = directory_of(&[
        ("1.jsonl", &claude_session("a")),
        ("2.jsonl", &claude_session("a")),
        ("3.jsonl", &claude_session("b")),
    ]);
    let table = String::from_utf8(run(&["list", text(directory.path())]).stdout).unwrap();
    let with = |ending: &str| table.lines().filter(|line| line.ends_with(ending)).count();
    assert_eq!(
        (
            with("path"),
            with("/1.jsonl"),
            with("/2.jsonl"),
            with("/3.jsonl")
        ),
        (1, 1, 1, 0),
        "{table}"
    );
    let table =
        String::from_utf8(run(&["list", text(&directory.path().join("3.jsonl"))]).stdout).unwrap();
    assert!(table.lines().next().unwrap().ends_with("title"), "{table}");
}

/// A table without a session says nothing, or that there is none.
#[test]
fn what_cannot_be_read_gives_an_error_and_no_table() {
    let tapes = tempfile::tempdir().unwrap();
    run(&["ingest", text(&claude_file()), "--out", text(tapes.path())]);
    let tape = tape_files(tapes.path()).remove(0);
    for command in ["list", "stats", "audit", "detect"] {
        let output = run(&[command, "/nowhere/at/all"]);
        assert_eq!((code(&output), output.stdout.len()), (3, 0), "{command}");
        assert!(
            stderr(&output).contains("error: /nowhere/at/all: no such file or directory"),
            "{command}: {}",
            stderr(&output)
        );
    }
    for command in ["audit", "detect"] {
        let output = run(&[command, text(&tape)]);
        assert_eq!((code(&output), output.stdout.len()), (3, 0), "{command}");
        assert!(
            stderr(&output).contains("this is a tape already, not a log"),
            "{command}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn sub_agents_are_listed_on_request() {
    let directory = fixture("claude-code/2.1.329/c_subagent");
    assert_eq!(
        (
            list(&[text(&directory)]).len(),
            list(&[text(&directory), "--agents"]).len()
        ),
        (1, 5)
    );
}

#[test]
fn a_session_that_only_a_history_names_is_lost() {
    let log = claude_session("kept");
    let history = concat!(
        r#"{"display":"the first words","pastedContents":{},"timestamp":1795256329654,"project":"/home/dev/old","sessionId":"gone"}"#,
        "\n",
        r#"{"display":"more","pastedContents":{},"timestamp":1795256340381,"project":"/home/dev/old","sessionId":"gone"}"#,
        "\n",
        r#"{"display":"here","pastedContents":{},"timestamp":1795256340381,"project":"/home/dev/proj","sessionId":"kept"}"#,
        "\n",
        r#"{"display":"/exit","pastedContents":{},"timestamp":1795256340381,"project":"/home/dev/proj","sessionId":"left"}"#,
        "\n",
    );
    let files = [
        (".claude/projects/p/kept.jsonl", log.as_str()),
        (".claude/history.jsonl", history),
    ];
    let directory = directory_of(&files);
    let claude = directory.path().join(".claude");
    let rows = list(&[text(&claude)]);
    assert_eq!(rows.len(), 2, "{rows:?}");
    let lost = rows.iter().find(|row| row["tape"] == "lost").unwrap();
    assert_eq!(
        (&lost["session_id"], &lost["first_prompt"], &lost["project"]),
        (
            &"gone".into(),
            &"the first words".into(),
            &"/home/dev/old".into()
        )
    );
    assert_eq!(
        (&lost["start"], &lost["prompts"]),
        (&"2026-11-21T10:18:49.654Z".into(), &2.into())
    );
    assert_eq!(list(&[text(&claude), "--harness", "codex"]).len(), 0);
    // Also where nothing else is left.
    fs::remove_dir_all(claude.join("projects")).unwrap();
    assert_eq!(states(&list(&[text(&claude)])), ["lost", "lost"]);
    // It is never a tape.
    let out = tempfile::tempdir().unwrap();
    run(&["ingest", text(&claude), "--out", text(out.path())]);
    assert!(tapes(out.path()).is_empty());
}

#[test]
fn a_directory_of_windows_is_one_project_in_any_spelling() {
    let session = |id: &str, project: &str| {
        let project = project.replace('\\', "\\\\");
        claude_session(id).replace("/home/dev/proj", &project)
    };
    let directory = directory_of(&[
        ("1.jsonl", &session("a", "C:\\Users\\dev")),
        ("2.jsonl", &session("b", "c:\\users\\dev")),
    ]);
    let path = text(directory.path());
    for wanted in ["C:\\Users\\dev", "c:/users/dev/"] {
        assert_eq!(list(&[path, "--project", wanted]).len(), 2, "{wanted}");
    }
    let output = run(&["stats", "--json", "--by", "project", path]);
    let projects = String::from_utf8(output.stdout).unwrap();
    assert_eq!(projects.lines().count(), 1, "{projects}");
}

#[test]
fn filters_choose_sessions() {
    let (claude, codex) = (fixture(CLAUDE), fixture(CODEX));
    let count = |args: &[&str]| list(&[&[text(&claude), text(&codex)], args].concat()).len();
    assert_eq!(
        [
            count(&[]),
            count(&["--harness", "codex"]),
            count(&["--project", "proj"]),
            count(&["--project", "none"])
        ],
        [2, 1, 2, 0]
    );
    assert_eq!(
        [
            count(&["--since", "2026-11-21"]),
            count(&["--since", "2099-01-01"])
        ],
        [2, 0]
    );
    assert_eq!(
        [
            count(&["--until", "2026-11-22"]),
            count(&["--until", "2020-01-01"])
        ],
        [2, 0]
    );
    for command in ["list", "stats"] {
        assert_eq!(
            code(&run(&[command, text(&claude), "--harness", "none"])),
            2,
            "{command}"
        );
    }
    let counts = |args: &[&str]| {
        let output = engram()
            .args(["stats", "--json", text(&claude), text(&codex)])
            .args(args)
            .output()
            .unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["sessions"].clone()
    };
    assert_eq!(
        [
            counts(&[]),
            counts(&["--harness", "codex"]),
            counts(&["--since", "2099-01-01"])
        ],
        [2, 1, 0]
    );
}

#[test]
fn what_a_log_contains_cannot_command_the_terminal() {
    let evil = claude_session("a\u{1b}[2J\u{9b}31m\u{202e}b")
        .replace("/home/dev/proj", "/tmp/\\u001b]0;x\\u0007\u{202e}");
    let directory = directory_of(&[("1.jsonl", &evil)]);
    let is_command =
        |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
    let out = tempfile::tempdir().unwrap();
    for args in [
        vec!["list"],
        vec!["list", "--json"],
        vec!["detect"],
        vec!["detect", "--json"],
        vec!["audit", "--json"],
        vec!["stats"],
        vec!["ingest", "-v", "--out", text(out.path())],
    ] {
        let output = engram().args(&args).arg(directory.path()).output().unwrap();
        let printed = String::from_utf8(output.stdout.clone()).unwrap() + &stderr(&output);
        assert!(!printed.contains(is_command), "{args:?}: {printed:?}");
        assert!(!printed.is_empty());
    }
}
