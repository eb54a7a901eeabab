//! Seeds: the recorded sessions of `fixtures/`, and short pieces of them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::mutate::MAX_BYTES;

/// The most lines of a piece.
const LINES: usize = 12;
/// The longest line of a piece, in bytes.
const MAX_LINE: usize = 4 << 10;

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("fuzz/ is inside the repository")
        .to_owned()
}

/// All files below a directory, sorted.
pub fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                directories.push(path)
            } else {
                found.push(path)
            }
        }
    }
    found.sort();
    found
}

/// Pieces of the logs of a harness: the beginning of each log with lines from its middle.
pub fn logs(harness: &str) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for path in files(&root().join("fixtures").join(harness)) {
        let is_log = path.extension().is_some_and(|extension| {
            ["json", "jsonl", "txt"]
                .into_iter()
                .any(|log| extension == log)
        });
        if !is_log || path.ends_with("truth.json") {
            continue;
        }
        let Ok(text) = fs::read(&path) else { continue };
        seeds.extend(pieces(&text));
    }
    seeds.sort();
    seeds.dedup();
    seeds
}

/// Small texts as a whole; of others windows of lines, after the first line.
pub fn pieces(text: &[u8]) -> Vec<Vec<u8>> {
    let lines: Vec<&[u8]> = text
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| line.len() <= MAX_LINE)
        .collect();
    if lines.len() <= LINES {
        return if text.len() <= MAX_BYTES {
            vec![text.to_vec()]
        } else {
            Vec::new()
        };
    }
    lines
        .chunks(LINES - 1)
        .take(8)
        .map(|window| [&lines[..1], window].concat().concat())
        .collect()
}
