//! `engram stats`: the same numbers from a log, a store and their tapes.

use super::*;

fn stats(paths: &[&Path]) -> Value {
    let output = engram()
        .args(["stats", "--json"])
        .args(paths)
        .output()
        .unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_log_and_its_tape_give_the_same_numbers() {
    for name in [
        CLAUDE,
        CODEX,
        "opencode/1.18.34/anthropic",
        "gemini/0.61.0/b_edit",
    ] {
        let directory = fixture(name);
        let tapes = tempfile::tempdir().unwrap();
        let output = run(&["ingest", text(&directory), "--out", text(tapes.path())]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let counts = stats(&[&directory]);
        assert!(counts["prompts"].as_u64() > Some(0), "{counts}");
        assert_eq!(counts, stats(&[tapes.path()]), "{name}");
    }
}

#[test]
fn sessions_are_added() {
    let (one, both) = (
        stats(&[&claude_file()]),
        stats(&[&claude_file(), &fixture(CODEX)]),
    );
    assert_eq!(
        (&one["sessions"], &one["sub_agents"]),
        (&1.into(), &0.into())
    );
    assert!(both["prompts"].as_u64() > one["prompts"].as_u64());
    assert!(both["tokens"].as_object().unwrap().len() > one["tokens"].as_object().unwrap().len());
}

/// Numbers that must not depend on how many forms of a session there are.
fn sums(counts: &Value) -> Value {
    let tokens = counts["tokens"].as_object().unwrap().values();
    let [input, output] = ["input", "output"].map(|name| {
        tokens
            .clone()
            .map(|model| model[name].as_u64().unwrap_or_default())
            .sum::<u64>()
    });
    serde_json::json!([
        counts["sessions"],
        counts["sub_agents"],
        counts["prompts"],
        input,
        output
    ])
}

#[test]
fn a_session_in_several_forms_counts_once() {
    let mut several = 0;
    for harness in ["claude-code", "codex", "gemini", "opencode", "cursor"] {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../fixtures")
            .join(harness);
        let versions = fs::read_dir(fixtures)
            .unwrap()
            .map(|version| version.unwrap().path());
        let directories = versions.flat_map(|version| {
            fs::read_dir(version)
                .unwrap()
                .map(|directory| directory.unwrap().path())
        });
        // Sessions, and what the same runs printed.
        for directory in directories.filter(|directory| {
            directory.join("stdout").is_dir() && directory.join("session").is_dir()
        }) {
            let session = run(&["stats", "--json", text(&directory.join("session"))]);
            if code(&session) != 0 {
                continue;
            }
            let session: Value = serde_json::from_slice(&session.stdout).unwrap();
            let all = run(&["stats", "--json", "-v", text(&directory)]);
            assert_eq!(
                sums(&serde_json::from_slice(&all.stdout).unwrap()),
                sums(&session),
                "{}",
                directory.display()
            );
            several += stderr(&all)
                .matches(": the session is counted from ")
                .count();
        }
    }
    assert!(several > 4, "{several}");
}

#[test]
fn a_session_and_its_tapes_count_once_unless_every_form_is_asked_for() {
    let (log, out) = (claude_file(), tempfile::tempdir().unwrap());
    assert_eq!(
        code(&run(&["ingest", text(&log), "--out", text(out.path())])),
        0
    );
    let (once, both) = (stats(&[&log]), stats(&[&log, out.path()]));
    assert_eq!(once, both);
    let output = run(&["stats", "--json", text(&log), text(out.path())]);
    assert!(
        stderr(&output).contains("1 input with a session that another one has"),
        "{}",
        stderr(&output)
    );
    let every: Value = serde_json::from_slice(
        &run(&[
            "stats",
            "--json",
            "--every-form",
            text(&log),
            text(out.path()),
        ])
        .stdout,
    )
    .unwrap();
    assert_eq!(
        every["prompts"].as_u64(),
        once["prompts"].as_u64().map(|prompts| 2 * prompts)
    );
    // A part of the session has less, and what another session has is not compared with it.
    let directory = directory_of(&[
        ("part.jsonl", &claude_session(CLAUDE_ID)),
        ("other.jsonl", &claude_session("other")),
    ]);
    assert_eq!(stats(&[&log, &directory.path().join("part.jsonl")]), once);
    assert_eq!(stats(&[&log, directory.path()])["sessions"], 2);
}

#[test]
fn the_table_has_the_same_numbers() {
    let counts = stats(&[&claude_file()]);
    let table = String::from_utf8(run(&["stats", text(&claude_file())]).stdout).unwrap();
    let row = |name: &str| {
        table
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_default()
            .split_whitespace()
            .last()
            .map(str::to_owned)
    };
    assert_eq!(row("prompts"), Some(counts["prompts"].to_string()));
    assert_eq!(
        row("files edited"),
        Some(counts["files_edited"].to_string())
    );
}

#[test]
fn a_cost_that_no_response_states_is_unknown_and_not_zero() {
    let counts = stats(&[&fixture(CODEX)]);
    let models = counts["tokens"].as_object().unwrap();
    assert!(
        !models.is_empty()
            && models
                .values()
                .all(|tokens| tokens.get("cost_usd").is_none() && tokens["input"].is_u64()),
        "{counts}"
    );
    let table = String::from_utf8(run(&["stats", text(&fixture(CODEX))]).stdout).unwrap();
    let rows: Vec<&str> = table
        .lines()
        .skip_while(|line| !line.ends_with("model"))
        .skip(1)
        .take(models.len())
        .collect();
    assert!(
        rows.iter()
            .all(|row| row.split_whitespace().nth(5) == Some("-")),
        "{table}"
    );
}

#[test]
fn a_file_that_is_neither_log_nor_tape_is_an_error() {
    let directory = directory_of(&[
        ("notes.jsonl", "hello\n"),
        ("bad.tape.jsonl", "{\"seq\":0,\"t\":\"x\"}\n"),
    ]);
    assert_eq!(
        code(&run(&[
            "stats",
            text(&directory.path().join("notes.jsonl"))
        ])),
        3
    );
    assert_eq!(
        code(&run(&[
            "stats",
            text(&directory.path().join("bad.tape.jsonl"))
        ])),
        5
    );
}
