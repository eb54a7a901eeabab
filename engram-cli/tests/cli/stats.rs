//! `engram stats`: the same numbers from a log, a store and their tapes.

use super::*;

fn stats(paths: &[&Path]) -> Value {
    let output = engram().args(["stats", "--json"]).args(paths).output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_log_and_its_tape_give_the_same_numbers() {
    for name in [CLAUDE, CODEX, "opencode/1.18.34/anthropic", "gemini/0.61.0/b_edit"] {
        let folder = fixture(name);
        let tapes = tempfile::tempdir().unwrap();
        let output = run(&["ingest", text(&folder), "--out", text(tapes.path())]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let counts = stats(&[&folder]);
        assert!(counts["prompts"].as_u64() > Some(0), "{counts}");
        assert_eq!(counts, stats(&[tapes.path()]), "{name}");
    }
}

#[test]
fn sessions_are_added() {
    let (one, both) = (stats(&[&claude_file()]), stats(&[&claude_file(), &fixture(CODEX)]));
    assert_eq!((&one["sessions"], &one["sub_agents"]), (&1.into(), &0.into()));
    assert!(both["prompts"].as_u64() > one["prompts"].as_u64());
    assert!(both["tokens"].as_object().unwrap().len() > one["tokens"].as_object().unwrap().len());
}

#[test]
fn the_table_has_the_same_numbers() {
    let counts = stats(&[&claude_file()]);
    let table = String::from_utf8(run(&["stats", text(&claude_file())]).stdout).unwrap();
    let row =
        |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap_or_default().split_whitespace().last().map(str::to_owned);
    assert_eq!(row("prompts"), Some(counts["prompts"].to_string()));
    assert_eq!(row("files edited"), Some(counts["files_edited"].to_string()));
}

#[test]
fn a_file_that_is_neither_log_nor_tape_is_an_error() {
    let folder = folder_of(&[("notes.jsonl", "hello\n"), ("bad.tape.jsonl", "{\"seq\":0,\"t\":\"x\"}\n")]);
    assert_eq!(code(&run(&["stats", text(&folder.path().join("notes.jsonl"))])), 3);
    assert_eq!(code(&run(&["stats", text(&folder.path().join("bad.tape.jsonl"))])), 5);
}
