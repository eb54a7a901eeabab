//! The cost of runs over many sessions: the first run, a run without changes, and a run after one session grew. `cargo bench -p
//! engram-tape --bench reruns [-- SESSIONS]`. `ENGRAM_BIN` names another build of the command.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Logs of the fixtures in this range of sizes are copied, with an id of its own for each copy.
const LOG_BYTES: std::ops::Range<usize> = 8 << 10..48 << 10;
const HARNESSES: [&str; 3] = ["claude-code", "codex", "gemini"];
/// How many different logs of a harness are copied.
const LOGS: usize = 12;

/// A log and the id in it.
struct Log {
    harness: &'static str,
    text: String,
    id: String,
}

fn main() {
    let sessions = std::env::args()
        .skip(1)
        .find_map(|arg| arg.parse().ok())
        .unwrap_or(10_000);
    let logs: Vec<Log> = HARNESSES.into_iter().flat_map(logs_of).collect();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (input, out) = (directory.path().join("input"), directory.path().join("out"));
    let (mut bytes, mut last) = (0, PathBuf::new());
    for (n, log) in logs.iter().cycle().take(sessions).enumerate() {
        let of = input.join(log.harness).join((n / 100).to_string());
        fs::create_dir_all(&of).expect("a directory");
        last = of.join(format!("{n}.jsonl"));
        let text = log
            .text
            .replace(&log.id, &format!("{n:08x}-0000-4000-8000-000000000000"));
        bytes += text.len();
        fs::write(&last, text).expect("a log");
    }
    println!(
        "{sessions} sessions of {} logs, {:.1} MB",
        logs.len(),
        bytes as f64 / 1e6
    );
    println!(
        "{:<28} {:>8} {:>8} {:>12} {:>12}",
        "run", "s", "cpu s", "MB read", "MB written"
    );
    run("first", &input, &out);
    run("nothing has changed", &input, &out);
    let line = fs::read_to_string(&last)
        .expect("a log")
        .lines()
        .last()
        .unwrap_or_default()
        .to_owned()
        + "\n";
    File::options()
        .append(true)
        .open(&last)
        .and_then(|mut log| log.write_all(line.as_bytes()))
        .expect("a longer log");
    run("one session grew", &input, &out);
    run("nothing has changed", &input, &out);
}

/// The smaller logs of a harness with an id that can be replaced.
fn logs_of(harness: &'static str) -> Vec<Log> {
    let mut found = Vec::new();
    let mut open = vec![
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../fixtures")
            .join(harness),
    ];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let mut entries: Vec<PathBuf> = fs::read_dir(path)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path())
                .collect();
            entries.sort();
            open.extend(entries);
        } else if path.extension().is_some_and(|ending| ending == "jsonl")
            && !path.components().any(|part| part.as_os_str() == "stdout")
        {
            let Ok(text) = fs::read_to_string(&path) else {
                continue;
            };
            if let Some(id) = id_in(&text).filter(|_| LOG_BYTES.contains(&text.len())) {
                found.push(Log { harness, text, id });
            }
        }
        if found.len() == LOGS {
            break;
        }
    }
    found
}

/// The id that the first line says.
fn id_in(text: &str) -> Option<String> {
    let line = text.lines().next()?;
    let after = ["\"sessionId\":\"", "\"session_id\":\"", "\"id\":\""]
        .iter()
        .find_map(|name| line.split_once(name))?
        .1;
    after
        .split_once('"')
        .map(|(id, _)| id.to_owned())
        .filter(|id| id.len() == 36)
}

fn run(name: &str, input: &Path, out: &Path) {
    let built = || env!("CARGO_BIN_EXE_engram").into();
    let mut command = Command::new(std::env::var_os("ENGRAM_BIN").unwrap_or_else(built));
    command.arg("ingest").arg(input).arg("--out").arg(out);
    let (began, before) = (Instant::now(), used());
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("the command runs");
    assert!(status.success(), "{name}: engram fails with {status}");
    let (seconds, after) = (began.elapsed().as_secs_f64(), used());
    let [cpu, read, written] = [0, 1, 2].map(|n| after[n] - before[n]);
    println!(
        "{name:<28} {seconds:>8.2} {cpu:>8.2} {:>12.2} {:>12.2}",
        read / 1e6,
        written / 1e6
    );
}

/// Processor time, and bytes read and written, of all child processes that have ended (Linux only).
fn used() -> [f64; 3] {
    let stat =
        fs::read_to_string("/proc/self/stat").expect("what a run costs is measured on Linux only");
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks: u64 = [13, 14]
        .iter()
        .filter_map(|field| fields.get(*field)?.parse::<u64>().ok())
        .sum();
    let io = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let count = |name: &str| {
        io.lines()
            .find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok())
            .unwrap_or_default()
    };
    [ticks as f64 / 100.0, count("rchar:"), count("wchar:")]
}
