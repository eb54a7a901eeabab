//! Redaction: no key leaves the process, and a directory remembers how its tapes were made.
#![cfg(unix)]

use super::attack::many;
use super::*;

const KEY: &str = "ghp_aB3dE5gH7jK9mN2pQ4rS6tU8vW0xY1zA2b3C";

/// The beginning of a session in which this is replaced.
fn with(old: &str, new: &str) -> String {
    let text: String = claude_session("x").split_inclusive('\n').take(14).collect();
    assert!(text.contains(old), "{old}");
    text.replacen(old, new, 1)
}

#[test]
fn with_redaction_no_key_leaves_the_process() {
    let broken = format!(
        "{}{{\"type\":\"user\",\"message\": {KEY} }}\n",
        with("x", "x")
    );
    let unknown = format!("{}{{\"type\":\"{KEY}\",\"a\":1}}\n", with("x", "x"));
    let padded = format!(
        "{}{{\"type\":\"user\",\"message\": {} {KEY} }}\n",
        with("x", "x"),
        "word ".repeat(10)
    );
    for (name, log) in [
        (
            "version",
            with("\"version\":\"2.1.329\"", &format!("\"version\":\"{KEY}\"")),
        ),
        (
            "member",
            with("\"isSidechain\":", &format!("\"{KEY}\":1,\"isSidechain\":")),
        ),
        ("broken", broken),
        ("padded", padded),
        ("unknown", unknown),
        ("first line", format!("{{\"x\":\"{KEY}\"}}\n")),
    ] {
        for policy in ["strict", "permissive"] {
            for format in ["text", "json"] {
                let parent = directory_of(&[("logs/s.jsonl", &log)]);
                let at = |name: &str| parent.path().join(name);
                let (logs, out, summary) = (at("logs/s.jsonl"), at("tapes"), at("summary"));
                let args = [
                    "ingest",
                    "--redact",
                    text(&logs),
                    "--out",
                    text(&out),
                    "--summary",
                    text(&summary),
                ];
                let output = engram()
                    .args(args)
                    .args(["--policy", policy, "--error-format", format])
                    .output()
                    .unwrap();
                let mut all = vec![("standard error".to_owned(), stderr(&output))];
                let written = files(parent.path())
                    .into_iter()
                    .filter(|file| *file != logs);
                all.extend(written.map(|file| {
                    (
                        text(&file).to_owned(),
                        String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned(),
                    )
                }));
                for (place, content) in all {
                    let leak = content.find(&KEY[..20]);
                    assert_eq!(
                        leak,
                        None,
                        "{name}, {policy}, {format}: {place}: {}",
                        leak.map_or("", |at| &content[at.saturating_sub(90)..at])
                    );
                }
            }
        }
    }
}

#[test]
fn redaction_is_remembered() {
    let (input, out) = (many(2), tempfile::tempdir().unwrap());
    let ingest = |more: &[&str]| {
        run(&[
            &["ingest", text(input.path()), "--out", text(out.path())],
            more,
        ]
        .concat())
    };
    assert_eq!(code(&ingest(&["--redact"])), 0);
    let redacted: Vec<Vec<u8>> = tape_files(out.path())
        .iter()
        .map(|tape| fs::read(tape).unwrap())
        .collect();
    let refused = ingest(&[]);
    assert_eq!(code(&refused), 2);
    assert!(
        stderr(&refused).contains("--no-redact"),
        "{}",
        stderr(&refused)
    );
    assert!(
        redacted
            == tape_files(out.path())
                .iter()
                .map(|tape| fs::read(tape).unwrap())
                .collect::<Vec<_>>()
    );
    assert_eq!(code(&ingest(&["--redact"])), 0);
    assert_eq!(code(&ingest(&["--no-redact"])), 0);
    assert!(
        !fs::read_to_string(&tape_files(out.path())[0])
            .unwrap()
            .lines()
            .next()
            .unwrap()
            .contains("redaction")
    );
    assert_eq!(code(&ingest(&[])), 0);
}

#[test]
fn a_session_has_one_tape_whatever_the_options() {
    let (input, out) = (many(3), tempfile::tempdir().unwrap());
    let forms: [&[&str]; 4] = [&[], &["--redact"], &["--no-redact"], &[]];
    for options in forms {
        let output = run(&[
            &["ingest", text(input.path()), "--out", text(out.path())],
            options,
        ]
        .concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert_eq!(
            tapes(out.path()).len(),
            3,
            "{options:?}: {:?}",
            tapes(out.path())
        );
        assert!(
            index(out.path())
                .iter()
                .all(|entry| entry.get("supersedes").is_none()),
            "{options:?}"
        );
        assert_whole_in_any_form(out.path());
    }
    // Another form beside them would count twice.
    let compressed = run(&[
        "ingest",
        text(input.path()),
        "--out",
        text(out.path()),
        "--zstd",
    ]);
    assert_eq!(code(&compressed), 2, "{}", stderr(&compressed));
    assert_eq!(tapes(out.path()).len(), 3);
}

fn assert_whole_in_any_form(out: &Path) {
    assert_eq!(code(&run(&["-q", "check", text(out)])), 0);
}

#[test]
fn a_repaired_index_remembers_redaction() {
    let (input, out) = (many(1), tempfile::tempdir().unwrap());
    assert_eq!(
        code(&run(&[
            "ingest",
            "--redact",
            text(input.path()),
            "--out",
            text(out.path())
        ])),
        0
    );
    fs::remove_file(out.path().join("index.jsonl")).unwrap();
    assert_eq!(code(&run(&["check", "--repair", text(out.path())])), 0);
    assert_eq!(
        code(&run(&[
            "ingest",
            text(input.path()),
            "--out",
            text(out.path())
        ])),
        2
    );
}
