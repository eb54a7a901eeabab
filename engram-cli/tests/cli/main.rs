//! The command as a person or a script meets it: the real binary, its output, its files and its exit codes.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

mod acp;
mod answer_schema;
mod answers;
mod attack;
mod broken_input;
mod ci;
mod commits;
#[cfg(feature = "parquet")]
mod dataset;
mod documentation;
mod export;
mod faults;
mod forms;
mod homes;
mod index;
mod keys;
mod killed;
mod large_records;
mod library;
mod list;
mod looking;
mod many_sessions;
#[cfg(feature = "mcp")]
mod mcp;
mod one_session;
mod opened_files;
#[cfg(target_os = "linux")]
mod packages;
mod public_index;
#[cfg(unix)]
mod recipes;
mod redaction;
mod rerun;
mod rewritten;
mod show;
#[cfg(unix)]
mod show_page;
mod stats;
mod stores;
#[cfg(feature = "parquet")]
mod sums;
mod torn_reads;
mod units;
mod unread;
mod watch;

/// The binary, far from any terminal.
fn engram() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_engram"));
    command.env_remove("COLUMNS").stdin(Stdio::null());
    for variable in [
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "GEMINI_CLI_HOME",
        "CURSOR_DATA_DIR",
        "OPENCODE_DB",
        "XDG_DATA_HOME",
        "XDG_CONFIG_HOME",
    ] {
        command.env_remove(variable);
    }
    // Nothing that this machine has is found without being named.
    for variable in ["ENGRAM_TAPES", "ENGRAM_INDEX", "LOCALAPPDATA"] {
        command.env_remove(variable);
    }
    for variable in ["HOME", "USERPROFILE"] {
        command.env(
            variable,
            if cfg!(windows) {
                "C:\\nowhere"
            } else {
                "/nowhere/home"
            },
        );
    }
    command
}

/// Runs the binary with these arguments.
fn run(args: &[&str]) -> Output {
    engram().args(args).output().unwrap()
}

/// Runs the binary with these arguments and this standard input.
fn run_with_input(args: &[&str], input: &[u8]) -> Output {
    let mut child = engram()
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let feeder = std::thread::spawn(move || {
        // The command may stop reading early.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    output
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

/// The files below a directory that were opened meanwhile, as the system reports it, by name.
#[cfg(target_os = "linux")]
fn opened_while(directory: &Path, work: impl FnOnce()) -> std::collections::BTreeSet<String> {
    use notify::event::AccessKind;
    use notify::{Event, EventKind, RecursiveMode, Watcher};
    let (sender, events) = std::sync::mpsc::channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        drop(sender.send(event.unwrap()))
    })
    .unwrap();
    watcher.watch(directory, RecursiveMode::Recursive).unwrap();
    work();
    // The reader of this file shows that all events before it have arrived.
    fs::write(directory.join("the-last-one"), "").unwrap();
    let mut opened = std::collections::BTreeSet::new();
    while let Ok(event) = events.recv_timeout(std::time::Duration::from_secs(20)) {
        let names = event
            .paths
            .iter()
            .filter_map(|path| path.file_name())
            .map(|name| name.to_string_lossy().into_owned());
        let names: Vec<String> = names.collect();
        if names.iter().any(|name| name == "the-last-one") {
            fs::remove_file(directory.join("the-last-one")).unwrap();
            return opened;
        }
        if matches!(event.kind, EventKind::Access(AccessKind::Open(_))) {
            opened.extend(names);
        }
    }
    panic!("the system reports nothing");
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

/// The one file of a directory whose name has this ending.
fn only_file(directory: &Path, ending: &str) -> PathBuf {
    let mut files: Vec<PathBuf> = files(directory)
        .into_iter()
        .filter(|path| text(path).ends_with(ending))
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
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

/// The tapes below a directory, in order.
fn tape_files(directory: &Path) -> Vec<PathBuf> {
    files(directory)
        .into_iter()
        .filter(|path| text(path).contains(".tape.jsonl"))
        .collect()
}

/// The names of the tapes below a directory, relative to it, in order.
fn tapes(directory: &Path) -> Vec<String> {
    names(directory)
        .into_iter()
        .filter(|name| name.contains(".tape.jsonl"))
        .collect()
}

/// The index of a directory of tapes, by source.
fn index(directory: &Path) -> Vec<Value> {
    let lines = fs::read_to_string(directory.join("index.jsonl")).unwrap_or_default();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The names of all files below a directory, relative to it, in order.
fn names(directory: &Path) -> Vec<String> {
    files(directory)
        .iter()
        .map(|path| text(path.strip_prefix(directory).unwrap()).replace('\\', "/"))
        .collect()
}

const CLAUDE: &str = "claude-code/2.1.329/b_edit";
/// A session with sub-agents in files of their own.
const SUB_AGENTS: &str = "claude-code/2.1.329/c_subagent";
const CODEX: &str = "codex/0.169.0/main";
/// The session id of [`CLAUDE`].
const CLAUDE_ID: &str = "08a7d153-dbf5-4299-99e0-7e71fab11f9f";

fn claude_file() -> PathBuf {
    only_file(&fixture(CLAUDE), ".jsonl")
}

/// The beginning of the Claude Code session, with another id.
fn claude_session(id: &str) -> String {
    let id = serde_json::to_string(id).unwrap();
    let log = fs::read_to_string(claude_file()).unwrap();
    let log = log
        .split_inclusive('\n')
        .take(60)
        .collect::<String>()
        .replace(CLAUDE_ID, id.trim_matches('"'));
    ["uuid\":\"", "Uuid\":\""]
        .iter()
        .fold(log, |log, key| with_own_uuids(&log, key, &id))
}

/// Lines with the ids of another session's lines would be copies of them, so each session has its own.
fn with_own_uuids(log: &str, key: &str, id: &str) -> String {
    let own = format!("{:08x}", engram_core::keys::hash64(id) as u32);
    let mut parts = log.split(key);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        if part.as_bytes()[8] == b'-' {
            text + key + &own + &part[8..]
        } else {
            text + key + part
        }
    })
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

/// Asserts that `tape` keeps every rule of the format, as `engram check` sees it.
fn assert_checked(tape: &[u8]) {
    let checked = run_with_input(&["check", "-"], tape);
    assert_eq!(
        code(&checked),
        0,
        "{}",
        String::from_utf8_lossy(&checked.stdout)
    );
}

/// Asserts that two outputs are one tape, without printing either.
fn assert_same(one: &[u8], other: &[u8]) {
    assert!(
        !one.is_empty() && one == other,
        "{} bytes and {} bytes differ",
        one.len(),
        other.len()
    );
}
