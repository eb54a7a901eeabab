//! How processor time grows: each construct of a log is doubled, and the exponent is printed. `cargo bench -p engram-tape --bench growth
//! [-- name]`. `ENGRAM_BIN` names another build of the command.
//!
//! The command is measured, not the library, because some work is done between sessions. An exponent of 1.0 is linear, 2.0 quadratic.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

#[path = "growth/constructs.rs"]
mod constructs;
#[path = "growth/databases.rs"]
mod databases;
#[path = "growth/edits.rs"]
mod edits;

/// One thing that a log can have any number of.
struct Construct {
    name: &'static str,
    /// The smallest number.
    from: usize,
    /// Writes input with this many into a directory.
    write: fn(usize, &Path),
}

/// A run with this processor time is long enough to be compared.
const ENOUGH_SECONDS: f64 = 0.5;
/// A run may not take longer.
const TOO_MANY_SECONDS: f64 = 20.0;
/// The exit code for a log that exceeds a limit, among others.
const LIMIT_EXCEEDED: i32 = 3;
/// Numbers are doubled at most so often.
const DOUBLINGS: u32 = 8;

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    println!(
        "{:<44} {:>9} {:>9} {:>9} {:>9}",
        "construct", "n", "s", "s at 2n", "exponent"
    );
    for construct in constructs::ALL
        .iter()
        .chain(edits::ALL)
        .chain(databases::ALL)
    {
        if wanted.is_empty()
            || wanted
                .iter()
                .any(|name| construct.name.contains(name.as_str()))
        {
            measure(construct);
        }
    }
}

/// Doubles until a run takes long enough. The last doubling counts.
fn measure(construct: &Construct) {
    let (mut n, mut seconds) = (
        construct.from,
        run(construct, construct.from).expect("the smallest number is within all limits"),
    );
    for _ in 0..DOUBLINGS {
        let Some(twice) = run(construct, 2 * n) else {
            println!(
                "{:<44} {n:>9} {seconds:>9.2} {:>9} {:>9}",
                construct.name, "", "limit"
            );
            return;
        };
        if seconds >= ENOUGH_SECONDS || twice >= TOO_MANY_SECONDS {
            let exponent = (twice / seconds).log2();
            println!(
                "{:<44} {n:>9} {seconds:>9.2} {twice:>9.2} {exponent:>9.2}",
                construct.name
            );
            return;
        }
        (n, seconds) = (2 * n, twice);
    }
    println!(
        "{:<44} {n:>9} {seconds:>9.2} {:>9} {:>9}",
        construct.name, "", "too fast"
    );
}

/// The processor time of one run of the command over this many. None if so many exceed a limit.
fn run(construct: &Construct, n: usize) -> Option<f64> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (input, out) = (directory.path().join("input"), directory.path().join("out"));
    fs::create_dir(&input).expect("a directory in it");
    (construct.write)(n, &input);
    let before = seconds_of_children();
    let built = || env!("CARGO_BIN_EXE_engram").into();
    let mut command = Command::new(std::env::var_os("ENGRAM_BIN").unwrap_or_else(built));
    command
        .args(["ingest", "--jobs", "1"])
        .arg(&input)
        .arg("--out")
        .arg(&out);
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("the command runs");
    if status.code() == Some(LIMIT_EXCEEDED) {
        return None;
    }
    assert!(
        status.success(),
        "{}: engram fails with {status}",
        construct.name
    );
    assert!(
        out.join("index.jsonl")
            .metadata()
            .is_ok_and(|index| index.len() > 0),
        "{}: no tapes",
        construct.name
    );
    Some(seconds_of_children() - before)
}

/// The processor time of all child processes that have ended, from the kernel (Linux only): user and system, in ticks of 10 ms.
fn seconds_of_children() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat")
        .expect("the growth of processor time is measured on Linux only");
    // The name of the program is in parentheses and may contain anything.
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
    ticks as f64 / 100.0
}
