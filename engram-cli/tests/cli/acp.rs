//! `engram acp`: the bytes of both directions are those that were sent, whatever becomes of the log, the client or the agent.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus};
use std::time::{Duration, Instant};

use engram_core::hash::Hash;

use super::*;

/// The recorder between this test and an agent that is a shell script.
struct Connection {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

fn connect(out: Option<&Path>, home: &Path, script: &str) -> Connection {
    let mut command = engram();
    command.arg("acp");
    if let Some(out) = out {
        command.arg("--out").arg(out);
    }
    let mut child = command
        .args(["--", "/bin/sh", "-c", script])
        .env("HOME", home)
        .env("XDG_DATA_HOME", home.join("data"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let input = child.stdin.take();
    let output = BufReader::new(child.stdout.take().unwrap());
    Connection {
        child,
        input,
        output,
    }
}

impl Connection {
    fn send(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    fn receive(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.output.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Closes the input; returns how it ended, the rest of the output, and what it said on standard error.
    fn end(mut self) -> (ExitStatus, Vec<u8>, String) {
        drop(self.input.take());
        let mut rest = Vec::new();
        self.output.read_to_end(&mut rest).unwrap();
        let mut errors = String::new();
        let stderr = self.child.stderr.as_mut().unwrap();
        stderr.read_to_string(&mut errors).unwrap();
        (self.child.wait().unwrap(), rest, errors)
    }
}

fn lines(log: &Path) -> Vec<Value> {
    let text = fs::read_to_string(log).unwrap();
    assert!(text.ends_with('\n'));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn bytes_are_passed_on_before_their_line_is_whole() {
    let home = TempDir::new().unwrap();
    let log = home.path().join("log.jsonl");
    let mut connection = connect(Some(&log), home.path(), "exec cat");
    for part in [
        &b"{\"a\":"[..],
        b"1}\n{\"b\"",
        b":\xff\xfe",
        b"}\r\n\n\n",
        b"{\"c\":2}",
    ] {
        connection.send(part);
        assert_eq!(connection.receive(part.len()), part);
    }
    let (status, rest, errors) = connection.end();
    assert_eq!(
        (status.code(), rest, errors.as_str()),
        (Some(0), vec![], "")
    );
    let lines = lines(&log);
    assert_eq!(lines[0]["log"], "engram-acp");
    assert_eq!(lines[0]["command"][0], "/bin/sh");
    let of = |direction: &str| -> Vec<Value> {
        let is = |line: &&Value| line["dir"] == direction;
        let mut found: Vec<Value> = lines.iter().filter(is).cloned().collect();
        for line in &mut found {
            assert!(line["t"].as_f64().is_some_and(|t| t > 1.7e9), "{line}");
            let line = line.as_object_mut().unwrap();
            line.remove("t");
            line.remove("dir");
        }
        found
    };
    let expected = serde_json::json!([
        {"m": {"a": 1}},
        {"log": "text", "text": "{\"b\":\u{fffd}\u{fffd}}", "lossy": true},
        {"m": {"c": 2}},
    ]);
    assert_eq!(
        (&of("out"), &of("in")),
        (expected.as_array().unwrap(), expected.as_array().unwrap())
    );
    let end = lines.last().unwrap();
    assert_eq!((&end["log"], &end["exit"]), (&"end".into(), &0.into()));
    let mode = fs::metadata(&log).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn large_messages_are_passed_on_whole_and_in_order() {
    let home = TempDir::new().unwrap();
    let log = home.path().join("log.jsonl");
    let mut connection = connect(Some(&log), home.path(), "exec cat");
    let mut sent = Vec::new();
    for (n, length) in [20 << 20, 1, 3 << 20, 0, 70_001].into_iter().enumerate() {
        let byte = b"abcde"[n];
        sent.push(b'"');
        sent.extend(std::iter::repeat_n(byte, length));
        sent.extend(b"\"\n");
    }
    let mut input = connection.input.take().unwrap();
    let bytes = sent.clone();
    let sender = std::thread::spawn(move || {
        // Odd pieces, so that messages begin and end anywhere in them.
        for piece in bytes.chunks(77_777) {
            input.write_all(piece).unwrap();
        }
    });
    let received = connection.receive(sent.len());
    sender.join().unwrap();
    assert!(received == sent);
    assert!(connection.end().0.success());
    let lines = lines(&log);
    let agent: Vec<&Value> = lines.iter().filter(|line| line["dir"] == "in").collect();
    let long = Hash::of_bytes(&sent[..(20 << 20) + 2]).to_string();
    assert_eq!(
        (&agent[0]["bytes"], &agent[0]["hash"]),
        (&((20 << 20) + 2).into(), &long.into())
    );
    let lengths: Vec<usize> = agent[1..]
        .iter()
        .map(|line| line["m"].as_str().unwrap().len())
        .collect();
    assert_eq!(lengths, [1, 3 << 20, 0, 70_001]);
}

#[test]
fn the_end_of_the_agent_is_the_end_of_the_command() {
    let home = TempDir::new().unwrap();
    let log = |name: &str| home.path().join(name);
    // In the middle of a message, while the client goes on. Its own errors are untouched.
    let script = "read line; printf '{\"a\":1}\\n{\"cut'; echo trouble >&2; exit 7";
    let mut connection = connect(Some(&log("a")), home.path(), script);
    connection.send(b"{}\n");
    assert_eq!(connection.receive(13), b"{\"a\":1}\n{\"cut");
    let (status, _, errors) = connection.end();
    assert_eq!((status.code(), errors.as_str()), (Some(7), "trouble\n"));
    let found = lines(&log("a"));
    let of_agent: Vec<&Value> = found.iter().filter(|line| line["dir"] == "in").collect();
    assert_eq!(of_agent[1]["text"], "{\"cut");
    assert_eq!(found.last().unwrap()["exit"], 7);
    // By a signal.
    let connection = connect(Some(&log("b")), home.path(), "kill -9 $$");
    assert_eq!(connection.end().0.code(), Some(128 + 9));
    assert_eq!(lines(&log("b")).last().unwrap()["signal"], 9);
    // With a process left behind that holds its output.
    let begun = Instant::now();
    let connection = connect(Some(&log("c")), home.path(), "sleep 60 & exit 3");
    let mut connection = connection;
    assert_eq!(connection.child.wait().unwrap().code(), Some(3));
    assert!(begun.elapsed() < Duration::from_secs(30));
    // A program that is not there.
    let output = run(&["acp", "--", "/nowhere/agent"]);
    assert!(code(&output) == 7 && stderr(&output).contains("/nowhere/agent"));
}

#[test]
fn a_client_that_goes_ends_the_input_and_the_output_of_the_agent() {
    let home = TempDir::new().unwrap();
    let log = home.path().join("log");
    // An agent that ends by itself once its input has ended.
    let script = "while read line; do :; done; echo '\"last\"'; exit 4";
    let connection = connect(Some(&log), home.path(), script);
    let (status, rest, _) = connection.end();
    assert_eq!(
        (status.code(), rest.as_slice()),
        (Some(4), &b"\"last\"\n"[..])
    );
    // One that only writes: it meets a closed pipe.
    let Connection {
        mut child,
        input,
        output,
    } = connect(None, home.path(), "exec yes '\"x\"'");
    drop((input, output));
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(128 + 13));
    let logs = files(&home.path().join("data/engram/acp"));
    assert_eq!(logs.len(), 1);
    assert_eq!(lines(&logs[0]).last().unwrap()["signal"], 13);
}

#[test]
fn signals_go_to_the_agent() {
    let home = TempDir::new().unwrap();
    let log = home.path().join("log");
    let script = "trap 'echo heard; exit 5' TERM; echo ready; while :; do sleep 0.05; done";
    let mut connection = connect(Some(&log), home.path(), script);
    let mut line = String::new();
    connection.output.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let pid = connection.child.id().to_string();
    assert!(Command::new("kill").arg(&pid).status().unwrap().success());
    let (status, rest, _) = connection.end();
    assert_eq!((status.code(), rest.as_slice()), (Some(5), &b"heard\n"[..]));
}

#[test]
fn a_log_that_cannot_be_written_stops_nothing() {
    let home = TempDir::new().unwrap();
    let there = home.path().join("there");
    fs::write(&there, "mine").unwrap();
    let full = Path::new("/dev/full");
    for out in [full, &there, &home.path().join("no/directory/log")] {
        if out == full && !out.exists() {
            continue;
        }
        let mut connection = connect(Some(out), home.path(), "exec cat");
        for _ in 0..50 {
            connection.send(b"{\"a\":1}\n");
            assert_eq!(connection.receive(8), b"{\"a\":1}\n");
        }
        let (status, _, errors) = connection.end();
        assert!(status.success());
        assert!(
            errors.lines().count() == 1 && errors.contains(text(out)),
            "{errors}"
        );
    }
    assert_eq!(fs::read_to_string(&there).unwrap(), "mine");
}

#[test]
fn keys_are_replaced_in_the_log_only() {
    let home = TempDir::new().unwrap();
    let message = b"{\"key\":\"AKIAIOSFODNN7EXAMPLE\"}\n";
    let log = home.path().join("log");
    let mut command = engram();
    command.args(["acp", "--redact", "--out", text(&log), "--", "cat"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(message).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stdout, message);
    let text = fs::read_to_string(&log).unwrap();
    assert!(
        !text.contains("AKIA") && text.contains("[redacted:aws-access-key-id]"),
        "{text}"
    );
}
