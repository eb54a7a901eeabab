//! `engram ingest --watch`: tapes follow their logs.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::*;

fn wait_for(what: &str, is_there: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_there() {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "waited for {what}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn tapes_follow_their_logs_quietly() {
    let session = claude_session("a");
    let half: String = session.split_inclusive('\n').take(30).collect();
    let directory = directory_of(&[("1.jsonl", &half)]);
    let out = directory.path().join("tapes");
    let mut child = engram()
        .args([
            "ingest",
            text(directory.path()),
            "--out",
            text(&out),
            "--watch",
        ])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (sender, lines) = mpsc::channel();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    std::thread::spawn(move || {
        stderr
            .lines()
            .map_while(Result::ok)
            .try_for_each(|line| sender.send(line))
    });
    let mut said = Vec::new();
    while said
        .last()
        .is_none_or(|line: &String| !line.starts_with("watching"))
    {
        said.push(lines.recv_timeout(Duration::from_secs(60)).unwrap());
    }
    let tape = out.join("claude-code/a.tape.jsonl");
    let before = fs::metadata(&tape).unwrap().len();
    fs::write(directory.path().join("1.jsonl"), &session).unwrap();
    wait_for("the longer tape", || {
        fs::metadata(&tape).is_ok_and(|found| found.len() > before)
    });
    fs::write(directory.path().join("2.jsonl"), claude_session("b")).unwrap();
    wait_for("the new tape", || {
        out.join("claude-code/b.tape.jsonl").exists()
    });
    assert_eq!(
        lines.recv_timeout(Duration::from_secs(60)).unwrap(),
        "0 new, 1 replaced, 0 unchanged, 0 failed"
    );
    assert_eq!(
        lines.recv_timeout(Duration::from_secs(60)).unwrap(),
        "1 new, 0 replaced, 1 unchanged, 0 failed"
    );
    assert!(
        Command::new("sh")
            .args(["-c", &format!("kill -INT {}", child.id())])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let rest: Vec<String> = lines.iter().collect();
    assert!(
        rest.is_empty() || rest[0].starts_with("interrupted"),
        "{rest:?}"
    );
    assert_eq!(
        tapes(&out),
        ["claude-code/a.tape.jsonl", "claude-code/b.tape.jsonl"]
    );
}
