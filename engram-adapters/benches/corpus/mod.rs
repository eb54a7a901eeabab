//! Large logs for measurements: the fixtures, repeated with new ids.

// The benchmark and the example each use some of the functions.
#![allow(dead_code)]

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Smaller fixtures are mostly session metadata, which is not typical of a log.
const MIN_BYTES: u64 = 4 << 10;

/// The text before the first record of a document.
const LIST_START: &str = "\"messages\": [";

/// True for one document of many records, false for one record per line.
pub fn is_document(artifact: &str) -> bool {
    artifact.starts_with("{\n") && artifact.contains(LIST_START)
}

/// The artifacts of one harness whose records can be repeated, the largest first.
fn fixtures(harness: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fixtures")
        .join(harness);
    let mut paths = Vec::new();
    collect(&root, &mut paths);
    paths.sort();
    let text = |path: &PathBuf| {
        fs::read_to_string(path)
            .ok()
            .filter(|text| is_document(text) || text.lines().all(|line| line.starts_with('{')))
    };
    let mut fixtures: Vec<String> = paths.iter().filter_map(text).collect();
    fixtures.sort_by_key(|fixture| std::cmp::Reverse(fixture.len()));
    fixtures
}

fn collect(directory: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_export = path
            .extension()
            .is_some_and(|extension| extension == "json")
            && directory.ends_with("export");
        let is_artifact = is_export
            || path
                .extension()
                .is_some_and(|extension| extension == "jsonl")
                && !path.ends_with("history.jsonl");
        if path.is_dir() {
            collect(&path, paths);
        } else if is_artifact && entry.metadata().is_ok_and(|meta| meta.len() >= MIN_BYTES) {
            paths.push(path);
        }
    }
}

/// One artifact per fixture, each repeated to the same size; `total` bytes together.
pub fn artifacts(harness: &str, total: usize) -> Vec<String> {
    let fixtures = fixtures(harness);
    assert!(
        !fixtures.is_empty(),
        "fixtures/{harness} contains no artifact"
    );
    let each = total / fixtures.len();
    fixtures
        .iter()
        .enumerate()
        .map(|(salt, fixture)| repeat(fixture, each, salt))
        .collect()
}

/// The largest fixture of one harness, repeated to `bytes`.
pub fn one_artifact(harness: &str, bytes: usize) -> Option<String> {
    fixtures(harness)
        .first()
        .map(|fixture| repeat(fixture, bytes, 0))
}

/// One artifact, repeated with new ids until it has `bytes`. Its first line (a header in some formats), or the text around a document's
/// list, is not repeated.
fn repeat(fixture: &str, bytes: usize, salt: usize) -> String {
    let (start, end, comma) = if is_document(fixture) {
        let start = fixture
            .find(LIST_START)
            .map_or(0, |at| at + LIST_START.len());
        (start, fixture.rfind(']').unwrap_or(start), ",")
    } else {
        (fixture.find('\n').map_or(0, |at| at + 1), fixture.len(), "")
    };
    let mut artifact = String::with_capacity(bytes + fixture.len());
    artifact.push_str(&fixture[..start]);
    for round in 0.. {
        artifact.push_str(if round > 0 { comma } else { "" });
        push_with_new_ids(&mut artifact, &fixture[start..end], (salt, round));
        if artifact.len() >= bytes {
            break;
        }
    }
    artifact.push_str(&fixture[end..]);
    artifact
}

/// Copies text and replaces the end of every quoted id. Within a round, the same id gets the same new end.
fn push_with_new_ids(out: &mut String, text: &str, round: (usize, usize)) {
    for (n, part) in text.split('"').enumerate() {
        if n > 0 {
            out.push('"');
        }
        if is_id(part) {
            let mut hasher = DefaultHasher::new();
            (part, round).hash(&mut hasher);
            let new_end = format!("{:012x}", hasher.finish() & 0xffff_ffff_ffff);
            out.push_str(&part[..part.len() - new_end.len()]);
            out.push_str(&new_end);
        } else {
            out.push_str(part);
        }
    }
}

fn is_id(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let has_form = (20..=64).contains(&text.len())
        && text.bytes().all(word)
        && text.bytes().any(|byte| byte.is_ascii_digit());
    has_form && !is_name(text)
}

/// True for names of models, which end with a date, and names of token counts. They are not replaced.
fn is_name(text: &str) -> bool {
    let end = text.rsplit(['-', '_']).next().unwrap_or_default();
    end == "tokens" || end.len() == 8 && end.bytes().all(|byte| byte.is_ascii_digit())
}
