//! What other programs see of a run: `--fail-on`, `--summary`, and plain messages for people.

use std::io::Read;

use flate2::Compression;
use flate2::read::GzEncoder;

use super::*;

/// A session with an unknown record type and an unknown member, which is cut off.
fn odd_session() -> String {
    let odd =
        claude_session("odd").replacen("\"type\":\"atis-latch\"", "\"type\":\"brand-new\"", 1);
    let odd = odd.replacen(
        "\"isSidechain\":false",
        "\"isSidechain\":false,\"surprise\":1",
        1,
    );
    odd[..odd.trim_end().len() - 20].to_owned()
}

fn summary_of(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_run_can_fail_on_what_is_not_fully_understood() {
    let directory = directory_of(&[
        ("1.jsonl", &claude_session("good")),
        ("2.jsonl", &odd_session()),
    ]);
    let out = tempfile::tempdir().unwrap();
    let ingest = |more: &[&str]| {
        engram()
            .args(["ingest", text(directory.path()), "--out", text(out.path())])
            .args(more)
            .output()
            .unwrap()
    };
    assert_eq!(code(&ingest(&[])), 0);
    // Also when nothing has changed since the last run.
    for what in ["degraded", "unrecognized", "unknown-members", "cut"] {
        let failed = ingest(&["--fail-on", what]);
        assert_eq!(code(&failed), 1, "{what}");
        assert!(
            stderr(&failed).contains(&format!("error: --fail-on: {what}: 1 session\n")),
            "{}",
            stderr(&failed)
        );
    }
    assert_eq!(code(&ingest(&["--fail-on", "nothing"])), 2);
    let good = directory.path().join("1.jsonl");
    assert_eq!(
        code(&run(&[
            "ingest",
            text(&good),
            "--fail-on",
            "degraded,unrecognized,unknown-members,cut"
        ])),
        0
    );
    let json = run_with_input(
        &["ingest", "-", "--error-format", "json", "--fail-on", "cut"],
        odd_session().as_bytes(),
    );
    assert_eq!(
        (code(&json), json_errors(&json)[0]["code"].as_str()),
        (1, Some("fail_on"))
    );
    assert!(!json.stdout.is_empty(), "the tape is there");
}

/// A session in which one record in the middle was written by a version that no recording proves.
fn session_with_an_unknown_part() -> String {
    let session = claude_session("mid");
    let known = "\"version\":\"2.1.329\"";
    let places: Vec<usize> = session.match_indices(known).map(|(at, _)| at).collect();
    assert!(places.len() > 9, "the version is in many records");
    let at = places[6];
    format!(
        "{}{}{}",
        &session[..at],
        "\"version\":\"0.0.9\"",
        &session[at + known.len()..]
    )
}

#[test]
fn a_session_is_understood_as_well_as_its_least_known_part() {
    let directory = directory_of(&[("1.jsonl", &session_with_an_unknown_part())]);
    let (out, file) = (
        tempfile::tempdir().unwrap(),
        directory.path().join("summary"),
    );
    let log = directory.path().join("1.jsonl");
    let failed = run(&[
        "ingest",
        text(&log),
        "--out",
        text(out.path()),
        "--fail-on",
        "degraded",
        "--summary",
        text(&file),
    ]);
    assert_eq!(code(&failed), 1, "{}", stderr(&failed));
    assert!(
        stderr(&failed).contains("degraded (unknown_harness_version)"),
        "{}",
        stderr(&failed)
    );
    assert_eq!(summary_of(&file)["warnings"]["degraded"], 1);
    let states = |overview: &Value| {
        (
            overview["version"].clone(),
            overview["support"].clone(),
            overview["degraded"].clone(),
        )
    };
    let expected = (
        "2.1.329".into(),
        "unknown".into(),
        serde_json::json!(["unknown_harness_version"]),
    );
    assert_eq!(states(&index(out.path())[0]["overview"]), expected);
    for path in [&log, &tape_files(out.path())[0]] {
        let listed: Value =
            serde_json::from_slice(&run(&["list", "--json", text(path)]).stdout).unwrap();
        assert_eq!(states(&listed), expected);
        let shown = run(&["show", text(path)]);
        assert!(
            String::from_utf8_lossy(&shown.stdout)
                .contains("lowered claims: unknown_harness_version")
        );
    }
}

#[test]
fn records_that_are_kept_as_unrecognized_are_not_called_omitted() {
    let lines =
        |type_of: &str| claude_session("odd").replacen("\"type\":\"atis-latch\"", type_of, 1);
    let omitted = |session: &str| {
        let directory = directory_of(&[("1.jsonl", session)]);
        let said = stderr(&run(&["ingest", text(&directory.path().join("1.jsonl"))]));
        said.split("; ")
            .find_map(|part| part.strip_suffix(" omitted"))
            .unwrap_or_else(|| panic!("{said}"))
            .to_owned()
    };
    let number = |said: &str| said.split(' ').next().unwrap().parse::<u64>().unwrap();
    let (known, odd) = (
        omitted(&lines("\"type\":\"atis-latch\"")),
        omitted(&lines("\"type\":\"brand-new\"")),
    );
    assert_eq!(number(&odd) + 1, number(&known), "{odd} and {known}");
}

#[test]
fn the_numbers_of_a_run_are_a_json_file() {
    let directory = directory_of(&[
        ("1.jsonl", &claude_session("good")),
        ("2.jsonl", &odd_session()),
        ("3.json", "{}"),
    ]);
    let out = tempfile::tempdir().unwrap();
    let file = directory.path().join("summary");
    let ingest = |more: &[&str]| {
        let args = [
            "ingest",
            text(directory.path()),
            "--out",
            text(out.path()),
            "--summary",
            text(&file),
        ];
        code(&engram().args(args).args(more).output().unwrap())
    };
    assert_eq!(ingest(&["--fail-on", "cut,degraded"]), 1);
    let first = summary_of(&file);
    assert_eq!(
        (&first["exit_code"], &first["new"], &first["failed"]),
        (&1.into(), &2.into(), &0.into())
    );
    assert_eq!(first["sessions"], serde_json::json!({ "claude-code": 2 }));
    let warnings =
        serde_json::json!({ "degraded": 1, "unrecognized": 1, "unknown_members": 1, "cut": 1 });
    assert_eq!(
        (&first["warnings"], &first["failed_on"]),
        (&warnings, &serde_json::json!(["cut", "degraded"]))
    );
    assert_eq!(ingest(&[]), 0);
    let second = summary_of(&file);
    assert_eq!(
        (&second["new"], &second["unchanged"], &second["warnings"]),
        (&0.into(), &2.into(), &warnings)
    );
    assert_eq!(ingest(&["--policy", "strict"]), 1);
    let strict = summary_of(&file);
    assert_eq!(
        (&strict["failed"], &strict["exit_code"]),
        (&1.into(), &1.into())
    );
    assert_eq!(strict["errors"][0]["code"], "unknown_member");
}

#[test]
fn gzip_is_read_and_sizes_have_units() {
    let log = fs::read(claude_file()).unwrap();
    let mut compressed = Vec::new();
    GzEncoder::new(&log[..], Compression::fast())
        .read_to_end(&mut compressed)
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("old.jsonl.gz"), &compressed).unwrap();
    let plain = run(&["ingest", text(&claude_file()), "--max-record-bytes", "10MB"]).stdout;
    assert_same(
        &run_with_input(&["ingest", "-"], &compressed).stdout,
        &plain,
    );
    let out = tempfile::tempdir().unwrap();
    run(&["ingest", text(directory.path()), "--out", text(out.path())]);
    assert_same(&fs::read(&tape_files(out.path())[0]).unwrap(), &plain);
    assert_eq!(
        code(&run(&["ingest", "x", "--max-record-bytes", "many"])),
        2
    );
    let cut = run_with_input(
        &["ingest", "-", "--policy", "strict"],
        &compressed[..compressed.len() - 20],
    );
    assert_eq!(code(&cut), 5, "{}", stderr(&cut));
}

#[test]
fn errors_say_what_is_wrong_in_plain_words() {
    let directory = directory_of(&[
        ("log.jsonl", &claude_session("a")),
        ("empty.jsonl", ""),
        ("file", ""),
    ]);
    let at = |name: &str| directory.path().join(name);
    let error = |args: &[&str]| {
        let output = run(args);
        assert_ne!(code(&output), 0, "{args:?}");
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    };
    let missing = error(&["ingest", text(&at("none.jsonl"))]);
    assert_eq!(
        missing,
        format!(
            "error: {}: no such file or directory\n",
            text(&at("none.jsonl"))
        )
    );
    assert!(
        error(&["ingest", text(&at("empty.jsonl"))])
            .ends_with(": the file is empty, so it is not a log\n")
    );
    assert!(
        error(&["ingest", text(&at("log.jsonl")), "--out", text(&at("file"))])
            .contains("this is a file; tapes need a directory")
    );
    let tape = run(&["ingest", text(&at("log.jsonl"))]).stdout;
    fs::write(at("a.tape.jsonl"), tape).unwrap();
    assert!(
        error(&["ingest", text(&at("a.tape.jsonl"))]).contains("this is a tape already, not a log")
    );
    let checked = error(&["check", text(&at("log.jsonl"))]);
    assert!(
        checked.contains("log.jsonl: not a tape")
            && checked.contains("1 violation\n")
            && checked.lines().count() == 2,
        "{checked}"
    );
}
