//! `engram ingest --out DIR` without a path: the homes of all harnesses.

use super::*;

/// A home directory with sessions of three harnesses.
pub fn home() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let codex = only_file(&fixture(CODEX), ".jsonl");
    let chat = only_file(&fixture("cursor/2026.09/store"), ".db");
    for (from, to) in [
        (claude_file(), ".claude/projects/p/a.jsonl"),
        (codex, ".codex/sessions/2026/11/21/rollout-1.jsonl"),
        (chat, ".cursor/chats/x/y/store.db"),
    ] {
        let to = home.path().join(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    }
    home
}

pub fn at_home(home: &Path, args: &[&str]) -> Command {
    let mut command = engram();
    command
        .args(args)
        .env("HOME", home)
        .env("USERPROFILE", home)
        .env("APPDATA", home.join("AppData"));
    command
}

#[test]
fn every_home_that_is_there_is_converted_and_a_missing_one_is_no_error() {
    let (home, out) = (home(), tempfile::tempdir().unwrap());
    let output = at_home(home.path(), &["ingest", "-v", "--out", text(out.path())])
        .output()
        .unwrap();
    let said = stderr(&output);
    assert_eq!(code(&output), 0, "{said}");
    assert!(
        said.contains("looking in  ~/.claude, ~/.codex, ~/.cursor\n"),
        "{said}"
    );
    assert!(
        said.contains("not there ") && said.contains("~/.gemini"),
        "{said}"
    );
    assert!(
        said.contains("sessions    2 (1 claude-code, 1 codex, 0 cursor), 1 sub-agent\n"),
        "{said}"
    );
    assert_eq!(tapes(out.path()).len(), 3);
    let short = at_home(
        home.path(),
        &["ingest", "--again", "--out", text(out.path())],
    )
    .output()
    .unwrap();
    assert!(
        !stderr(&short).contains("looking in") && stderr(&short).lines().count() <= 6,
        "{}",
        stderr(&short)
    );
    let quiet = at_home(home.path(), &["-q", "ingest", "--out", text(out.path())])
        .output()
        .unwrap();
    assert_eq!((code(&quiet), stderr(&quiet)), (0, String::new()));
}

#[test]
fn tapes_answer_where_the_logs_are_gone() {
    let home = home();
    let made = at_home(home.path(), &["ingest"]).output().unwrap();
    assert_eq!(code(&made), 0, "{}", stderr(&made));
    for directory in [".claude", ".codex", ".cursor"] {
        fs::remove_dir_all(home.path().join(directory)).unwrap();
    }
    for more in [&["--json"][..], &["--json", "--every-form"]] {
        let stats = at_home(home.path(), &[&["stats"], more].concat())
            .output()
            .unwrap();
        assert_eq!((code(&stats), stderr(&stats)), (0, String::new()));
        let counts: Value = serde_json::from_slice(&stats.stdout).unwrap();
        assert_eq!(
            (&counts["sessions"], &counts["sub_agents"]),
            (&2.into(), &1.into())
        );
    }
}

#[test]
fn a_database_that_a_variable_names_is_searched_and_said() {
    let (home, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let database = only_file(
        &fixture("opencode/2.0.0-pre.20260717/ask"),
        "opencode-next.db",
    );
    let elsewhere = home.path().join("work/sessions.db");
    let ingest = || {
        at_home(home.path(), &["ingest", "-v", "--out", text(out.path())])
            .env("OPENCODE_DB", &elsewhere)
            .output()
            .unwrap()
    };
    let missing = stderr(&ingest());
    assert!(missing.contains("~/work/sessions.db"), "{missing}");
    fs::create_dir(home.path().join("work")).unwrap();
    fs::copy(database, &elsewhere).unwrap();
    let output = ingest();
    let said = stderr(&output);
    assert_eq!(code(&output), 0, "{said}");
    assert!(said.contains("looking in  ~/work/sessions.db\n"), "{said}");
    assert!(!tapes(out.path()).is_empty(), "{said}");
}

#[test]
fn a_variable_of_a_harness_names_its_home() {
    let (home, empty, out) = (
        home(),
        tempfile::tempdir().unwrap(),
        tempfile::tempdir().unwrap(),
    );
    let output = at_home(empty.path(), &["ingest", "--out", text(out.path())])
        .env("CLAUDE_CONFIG_DIR", home.path().join(".claude"))
        .env("CODEX_HOME", home.path().join(".codex"))
        .output()
        .unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(
        stderr(&output).contains("sessions    2 (1 claude-code, 1 codex)\n"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn without_any_home_nothing_is_recognised() {
    let (empty, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (tapes, summary) = (out.path().join("tapes"), out.path().join("summary.json"));
    let output = at_home(
        empty.path(),
        &["ingest", "--out", text(&tapes), "--summary", text(&summary)],
    )
    .output()
    .unwrap();
    assert_eq!(code(&output), 3);
    assert!(
        stderr(&output).contains("error: no session found"),
        "{}",
        stderr(&output)
    );
    assert!(!tapes.exists());
    assert_eq!(
        serde_json::from_str::<Value>(&fs::read_to_string(summary).unwrap()).unwrap()["exit_code"],
        3
    );
}

#[test]
fn other_commands_look_into_the_homes_too() {
    let (home, empty) = (home(), tempfile::tempdir().unwrap());
    // The chat is a sub-agent's whose session is not there: `list` has a row for it.
    for (command, lines_expected) in [("list", 3), ("audit", 3), ("stats", 1)] {
        let output = at_home(home.path(), &[command, "--json"])
            .current_dir(empty.path())
            .output()
            .unwrap();
        assert_eq!(code(&output), 0, "{command}: {}", stderr(&output));
        let lines: Vec<Value> = String::from_utf8(output.stdout.clone())
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), lines_expected, "{command}");
        let number = |name: &str| lines[0].get(name).and_then(Value::as_u64);
        let all = number("sessions").map(|sessions| sessions + number("sub_agents").unwrap_or(0));
        assert!(all.is_none_or(|all| all == 3), "{command}: {}", lines[0]);
        assert_eq!(stderr(&output), "", "{command}");
        assert_eq!(
            code(
                &at_home(empty.path(), &[command])
                    .current_dir(empty.path())
                    .output()
                    .unwrap()
            ),
            3,
            "{command}"
        );
    }
}

#[cfg(unix)]
#[test]
fn directories_of_a_home_that_are_links_are_searched() {
    let (home, elsewhere, out) = (
        home(),
        tempfile::tempdir().unwrap(),
        tempfile::tempdir().unwrap(),
    );
    let (projects, moved) = (
        home.path().join(".claude/projects"),
        elsewhere.path().join("projects"),
    );
    fs::create_dir(&moved).unwrap();
    fs::rename(projects.join("p/a.jsonl"), moved.join("a.jsonl")).unwrap();
    fs::remove_dir_all(&projects).unwrap();
    std::os::unix::fs::symlink(&moved, &projects).unwrap();
    let output = at_home(home.path(), &["ingest", "-v", "--out", text(out.path())])
        .output()
        .unwrap();
    assert!(
        stderr(&output).contains("sessions    2 (1 claude-code, 1 codex, 0 cursor), 1 sub-agent\n"),
        "{}",
        stderr(&output)
    );
    assert!(
        !stderr(&output).contains("a link out of the directory"),
        "{}",
        stderr(&output)
    );
}
