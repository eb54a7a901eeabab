//! The default place of tapes, and the commands that answer questions: `files`, `stats --by`.

use super::homes::{at_home, home};
use super::*;

fn lines(output: &Output) -> Vec<Value> {
    assert_eq!(code(output), 0, "{}", stderr(output));
    String::from_utf8(output.stdout.clone())
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Ingests the home into the default place, as a service does.
fn ingested(home: &Path) -> PathBuf {
    let tapes = home.join(".local/share/engram/tapes");
    let output = at_home(home, &["ingest", "--out", text(&tapes)])
        .output()
        .unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    tapes
}

#[cfg(target_os = "linux")]
#[test]
fn tapes_in_the_default_place_are_found_from_anywhere() {
    let (home, elsewhere) = (home(), tempfile::tempdir().unwrap());
    ingested(home.path());
    let at = |args: &[&str]| {
        at_home(home.path(), args)
            .current_dir(elsewhere.path())
            .output()
            .unwrap()
    };
    let listed = lines(&at(&["list", "--json"]));
    assert!(
        !listed.is_empty() && listed.iter().all(|row| row["tape"] == "current"),
        "{listed:?}"
    );
    let shown = at(&["show", &CLAUDE_ID[..8]]);
    assert!(
        String::from_utf8(shown.stdout)
            .unwrap()
            .contains("LAB please do many edits")
    );
    let without_tapes = at_home(home.path(), &["stats", "--json"])
        .env("ENGRAM_TAPES", elsewhere.path())
        .output()
        .unwrap();
    assert_eq!(
        lines(&at(&["stats", "--json"])),
        lines(&without_tapes),
        "the same numbers from tapes and from logs"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_over_the_homes_has_a_default_place_without_a_terminal_too() {
    let (home, tapes) = (home(), tempfile::tempdir().unwrap());
    let piped = at_home(home.path(), &["ingest"]).output().unwrap();
    assert_eq!(code(&piped), 0, "{}", stderr(&piped));
    assert!(piped.stdout.is_empty());
    let place = home.path().join(".local/share/engram/tapes");
    assert_eq!(super::tapes(&place).len(), 3);
    let out = at_home(home.path(), &["ingest", "--out", "-"])
        .output()
        .unwrap();
    assert_eq!(code(&out), 2);
    assert!(
        stderr(&out).contains("name it with `--out DIR`"),
        "{}",
        stderr(&out)
    );
    let output = at_home(home.path(), &["ingest"])
        .env("ENGRAM_TAPES", tapes.path())
        .output()
        .unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(super::tapes(tapes.path()).len(), 3);
}

#[cfg(target_os = "linux")]
#[test]
fn sessions_outlive_their_logs() {
    let home = home();
    ingested(home.path());
    let counts = || lines(&at_home(home.path(), &["stats", "--json"]).output().unwrap());
    let files = || lines(&at_home(home.path(), &["files", "--json"]).output().unwrap());
    let (stats_before, files_before) = (counts(), files());
    assert!(!files_before.is_empty());
    fs::remove_dir_all(home.path().join(".claude")).unwrap();
    assert_eq!((counts(), files()), (stats_before, files_before));
    let listed = lines(&at_home(home.path(), &["list", "--json"]).output().unwrap());
    let of = |harness: &str| {
        listed
            .iter()
            .find(|row| row["harness"] == harness)
            .map(|row| row["tape"].clone())
    };
    assert_eq!(
        (of("claude-code"), of("codex")),
        (Some("log_gone".into()), Some("current".into()))
    );
    let table =
        String::from_utf8(at_home(home.path(), &["list"]).output().unwrap().stdout).unwrap();
    assert!(
        table
            .lines()
            .any(|line| line.starts_with("08a7d153  ") && line.contains("log gone")),
        "{table}"
    );
}

#[test]
fn files_are_listed_with_their_edits_tools_and_harnesses() {
    let (claude, codex) = (fixture(CLAUDE), fixture(CODEX));
    let files = |args: &[&str]| run(&[&["files", text(&claude), text(&codex)], args].concat());
    let rows = lines(&files(&["--json"]));
    let of = |name: &str| rows.iter().find(|row| row["file"] == name).unwrap();
    assert_eq!(
        of("/home/dev/proj/src/a.py")["harnesses"],
        serde_json::json!(["claude-code"])
    );
    assert!(of("/home/dev/proj/src/a.py")["tools"]["Edit"].as_u64() > Some(0));
    assert!(of("/home/dev/proj/src/app.py")["last_change"].as_str() > Some("2026"));
    let edits: u64 = rows.iter().map(|row| row["edits"].as_u64().unwrap()).sum();
    let stats: Value =
        serde_json::from_slice(&run(&["stats", "--json", text(&claude), text(&codex)]).stdout)
            .unwrap();
    assert_eq!(
        edits,
        stats["edits"]
            .as_object()
            .unwrap()
            .values()
            .map(|edits| edits.as_u64().unwrap())
            .sum::<u64>()
    );
    assert_eq!(rows.len() as u64, stats["files_edited"].as_u64().unwrap());
    assert_eq!(lines(&files(&["--json", "--since", "2099-01-01"])).len(), 0);
    assert!(
        stderr(&files(&["--since", "2099-01-01"])).contains("none of 2 inputs fits the filters")
    );
    let csv = String::from_utf8(files(&["--csv"]).stdout).unwrap();
    assert_eq!(csv.lines().count(), rows.len() + 1);
    let table = files(&[]);
    assert!(
        stderr(&table).contains(&format!("{} files of 2 sessions, ", rows.len())),
        "{}",
        stderr(&table)
    );
    let narrow = engram()
        .args(["files", text(&claude)])
        .env("COLUMNS", "60")
        .output()
        .unwrap();
    assert!(
        String::from_utf8(narrow.stdout)
            .unwrap()
            .lines()
            .all(|line| line.chars().count() <= 60)
    );
}

#[test]
fn stats_by_a_value_add_up_to_the_whole() {
    let (claude, codex) = (fixture(CLAUDE), fixture(CODEX));
    let stats = |args: &[&str]| run(&[&["stats", text(&claude), text(&codex)], args].concat());
    let whole: Value = serde_json::from_slice(&stats(&["--json"]).stdout).unwrap();
    let sum_of = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .values()
            .flat_map(|kind| kind.as_object().unwrap().values())
            .filter_map(Value::as_u64)
            .sum::<u64>()
    };
    let output = |counts: &Value| {
        counts["by_model"]
            .as_object()
            .unwrap()
            .values()
            .map(|tokens| tokens["output"].as_u64().unwrap_or(0))
            .sum::<u64>()
    };
    for by in [
        "project", "day", "week", "harness", "model", "session", "tool",
    ] {
        let rows = lines(&stats(&["--json", "--by", by]));
        assert!(
            !rows.is_empty() && rows.iter().all(|row| row[by].is_string()),
            "{by}: {rows:?}"
        );
        if by != "model" {
            assert_eq!(
                rows.iter().map(|row| sum_of(&row["calls"])).sum::<u64>(),
                sum_of(&whole["calls"]),
                "{by}"
            );
        }
        if by != "tool" {
            assert_eq!(
                rows.iter().map(&output).sum::<u64>(),
                output(&whole),
                "{by}"
            );
        }
        let csv = String::from_utf8(stats(&["--csv", "--by", by]).stdout).unwrap();
        assert_eq!(
            (
                csv.lines().count(),
                csv.starts_with(&format!("{by},sessions,"))
            ),
            (rows.len() + 1, true),
            "{by}"
        );
        let table = String::from_utf8(stats(&["--by", by]).stdout).unwrap();
        assert!(table.starts_with(by), "{table}");
    }
}

#[test]
fn a_response_that_two_sessions_have_counts_once() {
    let session = claude_session("one");
    let directory = directory_of(&[
        ("1.jsonl", &session),
        ("2.jsonl", &session.replace("\"one\"", "\"two\"")),
    ]);
    let of = |path: &Path| {
        serde_json::from_slice::<Value>(&run(&["stats", "--json", text(path)]).stdout).unwrap()
    };
    let (both, one) = (of(directory.path()), of(&directory.path().join("1.jsonl")));
    assert_eq!(
        (&both["sessions"], &one["sessions"]),
        (&2.into(), &1.into())
    );
    assert_eq!(both["by_model"], one["by_model"]);
}

#[test]
fn obvious_arguments_are_understood() {
    let out = tempfile::tempdir().unwrap();
    let output = run(&[
        "ingest",
        text(&fixture(CLAUDE)),
        "-o",
        text(out.path()),
        "--jobs",
        "0",
        "--harness",
        "claude",
    ]);
    assert_eq!(
        (code(&output), tapes(out.path()).len()),
        (0, 1),
        "{}",
        stderr(&output)
    );
    assert_eq!(
        code(&run(&[
            "list",
            text(&claude_file()),
            "--since",
            "yesterday"
        ])),
        0
    );
    let picture = directory_of(&[("a.png", "")]);
    fs::write(
        picture.path().join("a.png"),
        b"\x89PNG\r\n\x1a\n\x00\xff\xfe",
    )
    .unwrap();
    let output = run(&["ingest", text(&picture.path().join("a.png"))]);
    assert!(
        stderr(&output).contains("as images and other binary files have"),
        "{}",
        stderr(&output)
    );
}
