//! Tapes with span text in a public index, `clickety-clacks/engram` (read at 7282151). `ENGRAM_PUBLIC_INDEX` names its program; without it
//! the test is skipped, and says so.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{code, fixture, run, stderr, tape_files, text};

/// A session that writes a new file.
const LOG: &str = "codex/0.169.0/main";

/// Runs the other program in a repository that has a home of its own.
fn ask(program: &OsStr, repository: &Path, args: &[&str]) -> String {
    let output = Command::new(program)
        .args(args)
        .current_dir(repository)
        .env("HOME", repository.join("home"))
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A repository with the tapes where the index looks for them.
fn repository(options: &[&str]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let (out, tapes) = (
        directory.path().join("out"),
        directory.path().join(".engram/tapes"),
    );
    let output = run(&[
        &[
            "ingest",
            text(&fixture(LOG)),
            "--out",
            text(&out),
            "--zstd",
            "--unicode",
            "replace",
        ],
        options,
    ]
    .concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    fs::create_dir_all(&tapes).unwrap();
    fs::create_dir_all(directory.path().join("home")).unwrap();
    for file in tape_files(&out) {
        let name = file
            .file_name()
            .unwrap()
            .to_string_lossy()
            .replace(".tape.jsonl.zst", ".jsonl.zst");
        fs::copy(&file, tapes.join(name)).unwrap();
    }
    directory
}

#[test]
fn a_public_index_finds_the_session_of_a_line_by_its_span_text() {
    let Some(program) = std::env::var_os("ENGRAM_PUBLIC_INDEX") else {
        return eprintln!(
            "skipped: ENGRAM_PUBLIC_INDEX names no program (clickety-clacks/engram at 7282151, `cargo build`)"
        );
    };
    let plain = repository(&[]);
    let spans = repository(&["--span-text"]);
    let read = spans.path().join("read");
    assert_eq!(
        code(&run(&[
            "ingest",
            text(&fixture(LOG)),
            "--span-text",
            "--out",
            text(&read)
        ])),
        0
    );
    let lines: String = tape_files(&read)
        .iter()
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    let events: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    // What the session wrote as a new file, long enough for a fingerprint.
    let created = events
        .iter()
        .filter(|event| event["k"] == "code.edit" && event["op"] == "create");
    let texts = created.filter_map(|event| {
        Some((
            event["source"]["session_id"].as_str()?,
            event["after_text"].as_str()?,
        ))
    });
    let (session, written) = texts
        .max_by_key(|(_, written)| written.len())
        .expect("the fixture creates a file");
    for (repository, is_found) in [(&spans, true), (&plain, false)] {
        let status = ask(&program, repository.path(), &["fingerprint"]);
        assert!(
            status.contains("\"failure_count\":0") && !status.contains("\"fingerprinted_tapes\":0"),
            "{status}"
        );
        fs::write(repository.path().join("new.txt"), written).unwrap();
        let answer = ask(
            &program,
            repository.path(),
            &["explain", &format!("new.txt:1-{}", written.lines().count())],
        );
        assert_eq!(answer.contains(session), is_found, "{answer}");
    }
}
