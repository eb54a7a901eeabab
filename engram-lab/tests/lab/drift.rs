//! `engram-lab drift`: what it reads, what it prints, and its exit codes.

use std::fs;

use super::*;

/// The Claude Code session with a record and a block of unknown types.
fn changed() -> (String, usize) {
    let log = fs::read_to_string(claude_file()).unwrap();
    let log = log.replacen(
        "{\"type\":\"tool_use\",",
        "{\"type\":\"brand-new-block\",",
        1,
    );
    let record = r#"{"type":"brand-new","uuid":"5a00000f-0000-4000-8000-00000000000f"}"#;
    (format!("{log}{record}\n"), log.lines().count() + 1)
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn sessions_that_have_not_changed_give_one_line_and_exit_code_0() {
    let output = run(&["drift", text(&claude_file())]);
    assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
    let records = fs::read_to_string(claude_file()).unwrap().lines().count();
    assert_eq!(
        stdout(&output),
        format!("nothing has changed: 1 session, {records} records\n")
    );
    let output = run(&["drift", "--json", text(&claude_file())]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (code(&output), &found["sessions"], &found["records"]),
        (0, &1.into(), &records.into())
    );
    let group = &found["groups"][0];
    assert_eq!(
        (&group["harness"], &group["version"]),
        (&"claude-code".into(), &"2.1.329".into())
    );
    assert_eq!(
        (&group["rows"], &group["more"]),
        (&serde_json::json!([]), &0.into())
    );
}

#[test]
fn changes_are_listed_with_their_first_place_and_give_exit_code_1() {
    let (log, line) = changed();
    let output = run_with_input(&["drift", "-"], log.as_bytes());
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let table = stdout(&output);
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|row| {
            row.split("  ")
                .map(str::trim)
                .filter(|cell| !cell.is_empty())
                .collect()
        })
        .collect();
    assert_eq!(
        rows[0],
        [
            "harness",
            "version",
            "what",
            "type",
            "pointer",
            "count",
            "first place"
        ]
    );
    let place = format!("-:{line}");
    assert!(
        rows.contains(&vec![
            "claude-code",
            "2.1.329",
            "unknown type",
            "brand-new",
            "1",
            &place
        ]),
        "{table}"
    );
    let block = rows
        .iter()
        .find(|row| row.get(3) == Some(&"brand-new-block"))
        .expect("a row for the block");
    assert!(
        block[4] == "/message/content/*" && block[6].contains(" /message/content/"),
        "{table}"
    );
    assert!(
        table.ends_with(&format!("3 changes in 1 session, {line} records\n")),
        "{table}"
    );
}

#[test]
fn json_is_one_object_with_the_same_rows() {
    let (log, line) = changed();
    let directory = directory_of(&[("a.jsonl", &log), ("b.jsonl", &log)]);
    let output = run(&["drift", "--json", text(directory.path())]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = serde_json::json!({
        "what": "unknown_type", "type": "brand-new", "pointer": "", "count": 2,
        "first": {"path": text(&directory.path().join("a.jsonl")), "line": line, "pointer": ""},
    });
    assert_eq!(found["groups"][0]["rows"][0], expected, "{found}");
    assert_eq!(
        (&found["sessions"], &found["groups"][0]["sessions"]),
        (&2.into(), &2.into())
    );
}

#[test]
fn stores_directories_and_compressed_files_are_read() {
    let compressed = zstd::encode_all(&fs::read(claude_file()).unwrap()[..], 0).unwrap();
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("log.jsonl.zst"), compressed).unwrap();
    let (chat, upgraded) = (
        fixture("cursor/2026.09/store"),
        fixture("opencode/1.2.27/upgrade").join("opencode"),
    );
    let output = run(&[
        "drift",
        text(directory.path()),
        text(&chat),
        text(&upgraded),
    ]);
    assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
    assert!(
        stdout(&output).starts_with("nothing has changed: 6 sessions, "),
        "{}",
        stdout(&output)
    );
}

#[test]
fn drift_fails_as_the_other_commands_do() {
    assert_eq!(code(&run(&["drift", "/nowhere/at/all.jsonl"])), 3);
    assert_eq!(code(&run_with_input(&["drift", "-"], b"hello\n")), 3);
    assert_eq!(
        code(&run(&["drift", "--adapter", "none", text(&claude_file())])),
        2
    );
    let mixed = run(&["drift", text(&claude_file()), "/nowhere/at/all.jsonl"]);
    assert_eq!(code(&mixed), 1);
    assert!(
        stdout(&mixed).starts_with("nothing has changed: 1 session")
            && stderr(&mixed).contains("/nowhere"),
        "{}",
        stderr(&mixed)
    );
}

#[test]
fn records_that_cannot_be_read_are_warned_about() {
    let log = fs::read_to_string(claude_file()).unwrap() + "not a record\n";
    let output = run_with_input(&["drift", "-"], log.as_bytes());
    assert_eq!(code(&output), 0, "{}", stdout(&output));
    assert!(
        stderr(&output).contains("warning: -: 1 record malformed, not compared\n"),
        "{}",
        stderr(&output)
    );
}

#[cfg(unix)]
#[test]
fn a_name_with_a_line_end_in_it_stays_on_its_line() {
    let directory = directory_of(&[("a\nerror: b.jsonl", &changed().0)]);
    let table = stdout(&run(&["drift", text(directory.path())]));
    assert!(
        table.contains("a\\nerror: b.jsonl:") && table.lines().count() == 5,
        "{table}"
    );
}

#[test]
fn homes_and_filters_are_as_for_every_command() {
    let claude = claude_file();
    let home = directory_of(&[(
        ".claude/projects/-home-dev-proj/08a7d153-dbf5-4299-99e0-7e71fab11f9f.jsonl",
        &fs::read_to_string(&claude).unwrap(),
    )]);
    let at_home = |args: &[&str]| {
        let mut command = lab();
        command.args(["drift", "--json"]).args(args);
        command
            .env("HOME", home.path())
            .env("USERPROFILE", home.path());
        command.current_dir(home.path()).output().unwrap()
    };
    let sessions = |args: &[&str]| -> Value {
        let output = at_home(args);
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default()["sessions"].clone()
    };
    assert_eq!(sessions(&[]), 1);
    assert_eq!(
        sessions(&["--project", "/home/dev", "--harness", "claude-code"]),
        1
    );
    assert_eq!(code(&at_home(&["--harness", "none"])), 2);
    assert_eq!(sessions(&["--harness", "codex"]), Value::Null);
}

#[test]
fn what_is_no_log_is_an_error_and_no_table() {
    let gone = run(&["drift", "/nowhere/at/all"]);
    assert_eq!((code(&gone), gone.stdout.len()), (3, 0));
    let notes = directory_of(&[("notes.jsonl", "hello\n")]);
    let output = run(&["drift", text(notes.path()), "--error-format", "json"]);
    assert_eq!(code(&output), 3);
    assert_eq!(json_errors(&output)[0]["code"], "unknown_harness");
}
