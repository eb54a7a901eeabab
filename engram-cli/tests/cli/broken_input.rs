//! Input that cannot be read as what it should be: exit codes, errors, and nothing left behind.

use std::fs;

use super::*;

/// Standard output is empty, and the one error has this code.
fn assert_fails(output: &Output, exit: i32, error: &str) -> Value {
    assert_eq!(code(output), exit, "{}", stderr(output));
    assert_eq!(output.stdout, b"", "no half-written tape");
    let errors = json_errors(output);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0]["code"], error);
    errors[0].clone()
}

fn ingest(path: &Path, more: &[&str]) -> Output {
    engram()
        .args(["ingest", "--error-format", "json", text(path)])
        .args(more)
        .output()
        .unwrap()
}

fn ingest_text(input: impl AsRef<[u8]>, more: &[&str]) -> Output {
    let args: Vec<&str> = ["ingest", "--error-format=json", "-"]
        .into_iter()
        .chain(more.iter().copied())
        .collect();
    run_with_input(&args, input.as_ref())
}

/// A session of Claude Code as if this version had written it.
fn claude_version(version: &str) -> String {
    claude_session("a").replace(
        "\"version\":\"2.1.329\"",
        &format!("\"version\":\"{version}\""),
    )
}

#[test]
fn wrong_usage_is_2() {
    for args in [
        &["ingest", "x", "--policy", "lax"][..],
        &["-q", "-v", "list"],
        &["ingest", "x", "--jobs", "none"],
        &["brew"],
        &[],
    ] {
        let output = run(args);
        assert_eq!((code(&output), output.stdout.len()), (2, 0), "{args:?}");
        assert!(!output.stderr.is_empty());
    }
    let output = run(&["ingest", "x", "--policy", "lax", "--error-format", "json"]);
    assert!(
        assert_fails(&output, 2, "usage")["message"]
            .as_str()
            .unwrap()
            .contains("strict")
    );
    assert_fails(
        &ingest_text("", &["--adapter", "none"]),
        2,
        "unknown_adapter",
    );
}

#[test]
fn what_no_adapter_recognises_is_3() {
    for input in ["", " \n\n", "hello\n", "{\"a\":1}\n", "[]"] {
        assert_fails(&ingest_text(input, &[]), 3, "unknown_harness");
    }
    let output = run_with_input(&["ingest", "-"], b"hello \x1b[2J\n");
    assert!(
        stderr(&output).starts_with("error: standard input: not the log of a supported harness"),
        "{}",
        stderr(&output)
    );
    assert!(
        !output.stderr.contains(&0x1b),
        "an excerpt cannot command the terminal"
    );
}

#[test]
fn an_unknown_version_is_4_or_a_warning() {
    let older = claude_version("0.0.1");
    let error = assert_fails(
        &ingest_text(&older, &["--policy", "strict"]),
        4,
        "unknown_harness_version",
    );
    assert_eq!(
        (&error["harness"], &error["version"]),
        (&"claude-code".into(), &"0.0.1".into())
    );
    assert_eq!(
        (&error["older_recorded"], &error["newer_recorded"]),
        (&Value::Null, &"0.2.96".into())
    );
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("older than 0.2.96, the oldest recorded version"),
        "{error}"
    );
    let degraded = run_with_input(&["ingest", "-"], older.as_bytes());
    assert_eq!(code(&degraded), 0);
    assert!(
        stderr(&degraded).contains("warning: -: degraded (unknown_harness_version)"),
        "{}",
        stderr(&degraded)
    );
    assert_checked(&degraded.stdout);
}

#[test]
fn a_version_between_two_schemas_is_4() {
    let error = assert_fails(
        &ingest_text(claude_version("0.2.105"), &["--policy", "strict"]),
        4,
        "unknown_harness_version",
    );
    assert_eq!(
        (&error["older_recorded"], &error["newer_recorded"]),
        (&"0.2.100".into(), &"0.2.109".into())
    );
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("between 0.2.100 and 0.2.109, which write different schemas"),
        "{error}"
    );
}

#[test]
fn a_version_that_is_ahead_is_4_or_a_tape_without_a_warning() {
    let newer = claude_version("999.0.0");
    let error = assert_fails(
        &ingest_text(&newer, &["--policy", "strict"]),
        4,
        "unknown_harness_version",
    );
    assert_eq!(
        (&error["older_recorded"], &error["newer_recorded"]),
        (&"2.1.332".into(), &Value::Null)
    );
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("newer than 2.1.332, the newest recorded version"),
        "{error}"
    );
    let converted = run_with_input(&["ingest", "-"], newer.as_bytes());
    assert_eq!(code(&converted), 0);
    assert!(
        !stderr(&converted).contains("warning"),
        "{}",
        stderr(&converted)
    );
    let start = String::from_utf8_lossy(&converted.stdout)
        .lines()
        .next()
        .unwrap()
        .to_owned();
    assert!(
        start.contains(r#""support":"ahead""#) && start.contains(r#""degraded":["ahead"]"#),
        "{start}"
    );
    assert!(
        start.contains(r#""harness":{"family":"claude-code","version":"999.0.0"}"#),
        "no schema is claimed: {start}"
    );
    assert_checked(&converted.stdout);
    let detected = run_with_input(&["detect", "-"], newer.as_bytes());
    assert!(
        String::from_utf8_lossy(&detected.stdout)
            .contains("claude-code 999.0.0, schema unknown, ahead;"),
        "{detected:?}"
    );
}

#[test]
fn sessions_that_are_ahead_and_have_unknown_records_give_one_warning() {
    const WARNING: &str =
        "newer than every recorded version, with content that this engram does not know";
    let with_unknown_record =
        claude_version("999.0.0").replace("\"type\":\"atis-latch\"", "\"type\":\"brand-new\"");
    let one = run_with_input(&["ingest", "-"], with_unknown_record.as_bytes());
    assert!(
        stderr(&one).contains(
            "with content that this engram does not know: 1 session (claude-code 999.0.0);"
        ),
        "{}",
        stderr(&one)
    );
    let directory = directory_of(&[
        ("1.jsonl", &with_unknown_record),
        (
            "2.jsonl",
            &with_unknown_record.replace("999.0.0", "999.0.1"),
        ),
        ("3.jsonl", &claude_version("999.0.2")),
    ]);
    let out = tempfile::tempdir().unwrap();
    let message = stderr(&run(&[
        "ingest",
        text(directory.path()),
        "--out",
        text(out.path()),
    ]));
    let expected = format!("{WARNING}: 2 sessions (claude-code 999.0.0, claude-code 999.0.1);");
    assert!(
        message.matches(WARNING).count() == 1 && message.contains(&expected),
        "{message}"
    );
    assert!(!message.contains("degraded"), "{message}");
}

#[test]
fn malformed_truncated_and_oversized_records_are_5_or_a_warning() {
    let good = claude_session("a");
    let malformed = good.replacen("{\"type\":\"atis-latch\"", "{type:", 1);
    let truncated = &good[..good.trim_end().len() - 20];
    let limit = ["--max-record-bytes", "10000"];
    let cases: [(&str, &[&str], &str, &str); 3] = [
        (&malformed, &[], "malformed_record", "1 record malformed"),
        (truncated, &[], "truncated_input", "the log ends mid-record"),
        (&good, &limit, "limit_exceeded", "of unknown type"),
    ];
    for (input, more, error, warning) in cases {
        let strict: Vec<&str> = more.iter().copied().chain(["--policy", "strict"]).collect();
        let error = assert_fails(&ingest_text(input, &strict), 5, error);
        assert!(error["line"].is_u64(), "{error}");
        let args: Vec<&str> = ["ingest", "-"]
            .into_iter()
            .chain(more.iter().copied())
            .collect();
        let permissive = run_with_input(&args, input.as_bytes());
        assert_eq!(code(&permissive), 0);
        assert!(
            stderr(&permissive).contains(warning),
            "{warning} in {}",
            stderr(&permissive)
        );
        assert_checked(&permissive.stdout);
    }
}

#[test]
fn a_cut_compressed_log_is_truncated_and_a_damaged_one_malformed() {
    let frame = zstd::encode_all(fs::File::open(claude_file()).unwrap(), 0).unwrap();
    let cut = &frame[..frame.len() - 10];
    assert_fails(&ingest_text(&frame[..6], &[]), 5, "truncated_input");
    assert_fails(
        &ingest_text(cut, &["--policy", "strict"]),
        5,
        "truncated_input",
    );
    let permissive = run_with_input(&["ingest", "-"], cut);
    assert_eq!(code(&permissive), 0, "{}", stderr(&permissive));
    assert!(
        stderr(&permissive).contains("ends mid-record"),
        "{}",
        stderr(&permissive)
    );
    let mut damaged = frame.clone();
    for byte in &mut damaged[12..20] {
        *byte ^= 0xff;
    }
    for policy in ["strict", "permissive"] {
        assert_fails(
            &ingest_text(&damaged, &["--policy", policy]),
            5,
            "malformed_record",
        );
    }
}

#[test]
fn a_log_cut_between_two_records_is_known_to_be_cut() {
    let mut frames = zstd::encode_all(claude_session("a").as_bytes(), 0).unwrap();
    let next = zstd::encode_all(&b"{}\n"[..], 0).unwrap();
    frames.extend(&next[..6]);
    assert_fails(
        &ingest_text(&frames, &["--policy", "strict"]),
        5,
        "truncated_input",
    );
    let permissive = run_with_input(&["ingest", "-"], &frames);
    assert!(
        stderr(&permissive).contains("ends mid-record"),
        "{}",
        stderr(&permissive)
    );
    assert!(
        String::from_utf8(permissive.stdout)
            .unwrap()
            .contains("\"complete\":false")
    );
}

#[test]
fn what_is_not_there_is_3_and_what_cannot_be_written_is_6() {
    let directory = directory_of(&[("occupied", "")]);
    assert_fails(
        &ingest(&directory.path().join("missing.jsonl"), &[]),
        3,
        "not_found",
    );
    let occupied = directory.path().join("occupied");
    let error = assert_fails(
        &ingest(&claude_file(), &["--out", text(&occupied)]),
        6,
        "io",
    );
    assert!(
        error["path"].as_str().unwrap().starts_with(text(&occupied)),
        "{error}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_read_that_fails_midway_is_6() {
    assert_fails(&ingest(Path::new("/proc/self/mem"), &[]), 6, "io");
}

#[cfg(unix)]
#[test]
fn what_cannot_be_read_in_a_directory_does_not_stop_the_rest() {
    let directory = directory_of(&[("good.jsonl", &claude_session("good"))]);
    std::os::unix::fs::symlink("self.jsonl", directory.path().join("self.jsonl")).unwrap();
    let out = tempfile::tempdir().unwrap();
    let output = ingest(directory.path(), &["--out", text(out.path())]);
    assert_eq!(code(&output), 1);
    assert_eq!(json_errors(&output)[0]["code"], "io");
    assert_eq!(tapes(out.path()), ["claude-code/good.tape.jsonl"]);
}

#[cfg(unix)]
#[test]
fn a_directory_that_cannot_be_read_is_an_error() {
    use std::os::unix::fs::PermissionsExt;
    let directory = directory_of(&[
        ("good.jsonl", &claude_session("good")),
        ("locked/1.jsonl", &claude_session("locked")),
    ]);
    let locked = directory.path().join("locked");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    let all_powerful = fs::read_dir(&locked).is_ok();
    let out = tempfile::tempdir().unwrap();
    let output = ingest(directory.path(), &["--out", text(out.path())]);
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).unwrap();
    if all_powerful {
        assert_eq!(
            (code(&output), tapes(out.path()).len()),
            (0, 2),
            "root reads everything"
        );
    } else {
        assert_eq!((code(&output), tapes(out.path()).len()), (1, 1));
        assert_eq!(json_errors(&output)[0]["code"], "io");
    }
}

#[test]
fn a_program_can_read_what_is_wrong_with_a_tape() {
    let directory = directory_of(&[("a.tape.jsonl", "{\"seq\":0,\"t\":\"x\"}\n")]);
    let check = run(&["check", "--error-format", "json", text(directory.path())]);
    assert_eq!((code(&check), check.stdout.len()), (1, 0), "{check:?}");
    let faults = json_errors(&check);
    assert!(!faults.is_empty() && faults.iter().all(|fault| fault["code"] == "bad_tape"));
    let message = faults[0]["message"].as_str().unwrap();
    assert!(message.contains("a.tape.jsonl"), "{message}");
}
