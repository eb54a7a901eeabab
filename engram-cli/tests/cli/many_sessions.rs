//! `engram ingest` of several sessions and of directories: names, files, totals.

use std::fs;

use super::*;

fn ingest(paths: &[&Path], out: &Path, more: &[&str]) -> Output {
    let paths = paths.iter().map(|path| text(path));
    engram()
        .arg("ingest")
        .args(paths)
        .arg("--out")
        .arg(out)
        .args(more)
        .output()
        .unwrap()
}

#[test]
fn a_directory_is_searched_for_the_sessions_of_all_harnesses() {
    let out = tempfile::tempdir().unwrap();
    let (claude, codex) = (fixture("claude-code/2.1.329/c_subagent"), fixture(CODEX));
    let output = ingest(&[&claude, &codex], out.path(), &[]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let names = tapes(out.path());
    let session = "claude-code/69a38eaa-79ad-4865-bd62-78e0d1276315";
    assert!(
        names.contains(&format!("{session}.tape.jsonl")),
        "{names:?}"
    );
    assert_eq!(
        names
            .iter()
            .filter(|name| name.starts_with(&format!("{session}.")))
            .count(),
        5,
        "four sub-agents: {names:?}"
    );
    assert_eq!(
        names
            .iter()
            .filter(|name| name.starts_with("codex/"))
            .count(),
        1,
        "{names:?}"
    );
    for file in tape_files(out.path()) {
        assert_checked(&fs::read(file).unwrap());
    }
    let summary = stderr(&output);
    assert!(
        summary.contains("sessions    2 (1 claude-code, 1 codex), 4 sub-agents\n")
            && summary.contains("skipped     4 files without a session\n"),
        "{summary}"
    );
}

#[test]
fn several_sessions_or_a_directory_need_a_directory_for_the_tapes() {
    let file = claude_file();
    let codex = only_file(&fixture(CODEX), ".jsonl");
    for paths in [
        vec![text(&file), text(&codex)],
        vec![text(file.parent().unwrap())],
    ] {
        let output = engram().arg("ingest").args(paths).output().unwrap();
        assert_eq!((code(&output), output.stdout.len()), (2, 0));
        assert!(stderr(&output).contains("--out"), "{}", stderr(&output));
    }
}

#[test]
fn what_is_no_session_is_passed_over_and_counted() {
    let session = claude_session("a");
    let directory = directory_of(&[
        ("1.jsonl", &session),
        ("empty.jsonl", ""),
        ("package.json", "{\"name\":\"x\"}"),
        ("notes.txt", "not looked into"),
        ("deep/.hidden/2.jsonl", &claude_session("b")),
    ]);
    let out = tempfile::tempdir().unwrap();
    let output = ingest(&[directory.path()], out.path(), &[]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(
        tapes(out.path()),
        ["claude-code/a.tape.jsonl", "claude-code/b.tape.jsonl"]
    );
    assert!(
        stderr(&output).contains("tapes       2 new, 0 replaced, 0 unchanged, 0 failed\n")
            && stderr(&output).contains("skipped     2 files without a session\n"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_directory_without_sessions_is_not_recognised() {
    let directory = directory_of(&[("package.json", "{}")]);
    let out = tempfile::tempdir().unwrap();
    let output = ingest(
        &[directory.path()],
        &out.path().join("tapes"),
        &["--error-format", "json"],
    );
    assert_eq!(code(&output), 3);
    assert_eq!(json_errors(&output)[0]["code"], "unknown_harness");
    assert!(!out.path().join("tapes").exists());
}

#[test]
fn a_failed_session_leaves_no_file_and_stops_nothing() {
    let good = claude_session("good");
    let bad = claude_session("bad").replacen("{\"type\":\"atis-latch\"", "{type:", 1);
    let directory = directory_of(&[("1.jsonl", &bad), ("2.jsonl", &good)]);
    let out = tempfile::tempdir().unwrap();
    let output = ingest(
        &[directory.path()],
        out.path(),
        &["--policy", "strict", "--error-format", "json"],
    );
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    assert_eq!(tapes(out.path()), ["claude-code/good.tape.jsonl"]);
    let errors = json_errors(&output);
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0]["code"], "malformed_record");
    assert_eq!(errors[0]["path"], text(&directory.path().join("1.jsonl")));
    assert!(errors[0]["line"].is_u64() && errors[0]["message"].is_string());
}

#[test]
fn failures_that_are_all_alike_give_their_own_exit_code() {
    let newer =
        |id: &str| claude_session(id).replace("\"version\":\"2.1.329\"", "\"version\":\"999.0.0\"");
    let directory = directory_of(&[("1.jsonl", &newer("a")), ("2.jsonl", &newer("b"))]);
    let out = tempfile::tempdir().unwrap();
    let output = ingest(&[directory.path()], out.path(), &["--policy", "strict"]);
    assert_eq!(code(&output), 4, "{}", stderr(&output));
    assert_eq!(tapes(out.path()), [""; 0]);
    assert!(
        stderr(&output).ends_with("tapes       0 new, 0 replaced, 0 unchanged, 2 failed\n"),
        "nothing to total: {}",
        stderr(&output)
    );
}

#[test]
fn any_number_of_jobs_gives_the_same_files_and_the_same_words() {
    let sessions: Vec<(String, String)> = (0..12)
        .map(|n| {
            (
                format!("{n:02}.jsonl"),
                claude_session(&format!("s{}", n / 2)),
            )
        })
        .collect();
    let borrowed: Vec<(&str, &str)> = sessions
        .iter()
        .map(|(name, content)| (name.as_str(), content.as_str()))
        .collect();
    let directory = directory_of(&borrowed);
    let outcome = |jobs: &str| {
        let out = tempfile::tempdir().unwrap();
        let output = ingest(&[directory.path()], out.path(), &["--jobs", jobs]);
        assert_eq!(code(&output), 0);
        let contents: Vec<Vec<u8>> = tape_files(out.path())
            .iter()
            .map(|file| fs::read(file).unwrap())
            .collect();
        (
            tapes(out.path()),
            contents,
            stderr(&output).replace(text(out.path()), "OUT"),
        )
    };
    assert_eq!(outcome("1"), outcome("8"));
}

#[test]
fn a_second_run_leaves_tapes_alone_and_changed_sessions_get_a_number() {
    let directory = directory_of(&[
        ("1.jsonl", &claude_session("a")),
        ("2.jsonl", &claude_session("b")),
    ]);
    let out = tempfile::tempdir().unwrap();
    ingest(&[directory.path()], out.path(), &[]);
    let before = fs::read(out.path().join("claude-code/a.tape.jsonl")).unwrap();
    let again = ingest(&[directory.path()], out.path(), &[]);
    assert!(
        stderr(&again).contains("0 new, 0 replaced, 2 unchanged, 0 failed"),
        "{}",
        stderr(&again)
    );
    assert_eq!(tapes(out.path()).len(), 2);

    let first_lines: String = claude_session("a").split_inclusive('\n').take(40).collect();
    fs::write(directory.path().join("1.jsonl"), first_lines).unwrap();
    let changed = ingest(&[directory.path()], out.path(), &[]);
    assert_eq!(code(&changed), 0);
    assert_eq!(
        tapes(out.path()),
        [
            "claude-code/a-2.tape.jsonl",
            "claude-code/a.tape.jsonl",
            "claude-code/b.tape.jsonl"
        ]
    );
    assert_same(
        &fs::read(out.path().join("claude-code/a.tape.jsonl")).unwrap(),
        &before,
    );
}

#[test]
fn ids_cannot_leave_the_directory_or_fall_together() {
    let long = "x".repeat(4000);
    let ids = [
        "../../x",
        "/etc/passwd",
        "nul",
        "a\u{0}b",
        "Same",
        "sAME",
        &long,
    ];
    let sessions: Vec<(String, String)> = ids
        .iter()
        .enumerate()
        .map(|(n, id)| (format!("{n}.jsonl"), claude_session(id)))
        .collect();
    let borrowed: Vec<(&str, &str)> = sessions
        .iter()
        .map(|(name, content)| (name.as_str(), content.as_str()))
        .collect();
    let directory = directory_of(&borrowed);
    let parent = tempfile::tempdir().unwrap();
    let out = parent.path().join("deep/tapes");
    let output = ingest(&[directory.path()], &out, &[]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let names = tapes(parent.path());
    assert_eq!(names.len(), ids.len());
    assert!(
        names
            .iter()
            .all(|name| name.starts_with("deep/tapes/claude-code/") && name.len() < 220),
        "{names:?}"
    );
    for name in [
        "%2E%2E%2F%2E%2E%2Fx",
        "%2Fetc%2Fpasswd",
        "%6Eul",
        "a%00b",
        "Same",
        "sAME-2",
    ] {
        assert!(
            names.contains(&format!("deep/tapes/claude-code/{name}.tape.jsonl")),
            "{name} in {names:?}"
        );
    }
}

#[test]
fn a_session_reached_twice_is_converted_once() {
    let directory = directory_of(&[("1.jsonl", &claude_session("a"))]);
    let out = tempfile::tempdir().unwrap();
    let file = directory.path().join("1.jsonl");
    let output = ingest(
        &[directory.path(), &file, directory.path()],
        out.path(),
        &[],
    );
    assert!(
        stderr(&output).contains("tapes       1 new, 0 replaced, 0 unchanged, 0 failed"),
        "{}",
        stderr(&output)
    );
    assert_eq!(tapes(out.path()), ["claude-code/a.tape.jsonl"]);
}

#[test]
fn compressed_tapes_say_so_in_their_names() {
    let out = tempfile::tempdir().unwrap();
    ingest(&[&claude_file()], out.path(), &["--zstd"]);
    let tape = fs::read(
        out.path()
            .join(format!("claude-code/{CLAUDE_ID}.tape.jsonl.zst")),
    )
    .unwrap();
    assert_same(
        &zstd::decode_all(&tape[..]).unwrap(),
        &run(&["ingest", text(&claude_file())]).stdout,
    );
}

#[test]
fn in_a_directory_a_named_adapter_takes_only_its_own() {
    let out = tempfile::tempdir().unwrap();
    let output = ingest(
        &[&fixture(CLAUDE), &fixture(CODEX)],
        out.path(),
        &["--adapter", "codex"],
    );
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(
        tapes(out.path())
            .iter()
            .all(|name| name.starts_with("codex/"))
    );
    assert!(
        stderr(&output).contains("skipped     1 file without a session"),
        "{}",
        stderr(&output)
    );
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_leaves_no_temporary_file_and_no_copy_of_a_store() {
    use std::io::Write;
    use std::time::{Duration, Instant};

    let [out, copies, home] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let store = home.path().join("store.db");
    fs::copy(
        only_file(&fixture("opencode/1.18.34/resume"), ".db"),
        &store,
    )
    .unwrap();
    // A database with a journal beside it is copied before it is opened.
    fs::write(home.path().join("store.db-journal"), "no journal").unwrap();
    let mut command = engram();
    command
        .args(["ingest", text(&store), "-", "--out", text(out.path())])
        .env("TMPDIR", copies.path());
    let mut child = command
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Enough for the log to be recognised; then it does not end.
    let log = fs::read(claude_file()).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for _ in 0..(3 << 20) / log.len() + 1 {
        stdin.write_all(&log).unwrap();
    }
    let began = Instant::now();
    let is_temporary = |name: &String| name.ends_with(".tmp");
    while !names(out.path()).iter().any(is_temporary) || names(copies.path()).is_empty() {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "no tape is begun: {:?}",
            names(out.path())
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(
        Command::new("sh")
            .args(["-c", &format!("kill -INT {}", child.id())])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 130);
    let said = stderr(&output);
    assert!(
        said.starts_with("interrupted;") && said.contains("0 failed"),
        "{said}"
    );
    assert!(!names(out.path()).iter().any(is_temporary));
    assert_eq!(fs::read_dir(copies.path()).unwrap().count(), 0);
    drop(stdin);
}
