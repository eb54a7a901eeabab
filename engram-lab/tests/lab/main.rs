//! The command as a person or a script meets it: the real binary, its output, its files and its exit codes.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

mod conform;
mod drift;
#[cfg(unix)]
mod episode;
#[cfg(unix)]
mod live;
#[cfg(unix)]
mod matrix;
mod units;

/// The binary, far from any terminal and from what this machine has.
fn lab() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_engram-lab"));
    command.env_remove("COLUMNS").stdin(Stdio::null());
    for variable in [
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "GEMINI_CLI_HOME",
        "CURSOR_DATA_DIR",
        "OPENCODE_DB",
        "XDG_DATA_HOME",
        "XDG_CONFIG_HOME",
        "LOCALAPPDATA",
    ] {
        command.env_remove(variable);
    }
    let home = if cfg!(windows) {
        "C:\\nowhere"
    } else {
        "/nowhere/home"
    };
    command.env("HOME", home).env("USERPROFILE", home);
    command
}

/// Runs the binary with these arguments.
fn run(args: &[&str]) -> Output {
    lab().args(args).output().unwrap()
}

/// Runs the binary with these arguments and this standard input.
fn run_with_input(args: &[&str], input: &[u8]) -> Output {
    let mut child = lab()
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // The command may stop reading early.
    let _ = stdin.write_all(input);
    drop(stdin);
    child.wait_with_output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Standard error as the JSON objects that it must consist of.
fn json_errors(output: &Output) -> Vec<Value> {
    stderr(output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The directory of a fixture: `<harness>/<version>/<scenario>`.
fn fixture(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fixtures")
        .join(name)
        .join("session");
    assert!(directory.is_dir(), "no fixture {name}");
    directory
}

/// Every file below a directory, in order.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path)
            } else {
                found.push(path)
            }
        }
    }
    found.sort();
    found
}

/// The log of a Claude Code session.
fn claude_file() -> PathBuf {
    let mut files = files(&fixture("claude-code/2.1.329/b_edit"));
    files.retain(|path| text(path).ends_with(".jsonl"));
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

/// A directory with these files.
fn directory_of(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    directory
}
