//! Large artifacts for measurements: the repository's own fixtures, repeated with fresh ids.

// The benchmark and the example each use a part.
#![allow(dead_code)]

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Fixtures smaller than this are mostly head and say little about throughput.
const SMALLEST: u64 = 4 << 10;

/// What stands before the first of the records that a document repeats.
const LIST: &str = "\"messages\": [";

/// True for one document of many records, as opposed to a record a line.
pub fn is_document(artifact: &str) -> bool {
    artifact.starts_with("{\n") && artifact.contains(LIST)
}

/// The artifacts of one harness whose records can be repeated, the largest first.
fn fixtures(harness: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(harness);
    let mut paths = Vec::new();
    collect(&root, &mut paths);
    paths.sort();
    let text =
        |path: &PathBuf| fs::read_to_string(path).ok().filter(|text| is_document(text) || text.lines().all(|line| line.starts_with('{')));
    let mut fixtures: Vec<String> = paths.iter().filter_map(text).collect();
    fixtures.sort_by_key(|fixture| std::cmp::Reverse(fixture.len()));
    fixtures
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_export = path.extension().is_some_and(|extension| extension == "json") && folder.ends_with("export");
        let is_artifact = is_export || path.extension().is_some_and(|extension| extension == "jsonl") && !path.ends_with("history.jsonl");
        if path.is_dir() {
            collect(&path, paths);
        } else if is_artifact && entry.metadata().is_ok_and(|meta| meta.len() >= SMALLEST) {
            paths.push(path);
        }
    }
}

/// One artifact a fixture, each repeated to the same size, `total` bytes together.
pub fn artifacts(harness: &str, total: usize) -> Vec<String> {
    let fixtures = fixtures(harness);
    assert!(!fixtures.is_empty(), "fixtures/{harness} holds no artifact");
    let each = total / fixtures.len();
    fixtures.iter().enumerate().map(|(salt, fixture)| repeat(fixture, each, salt)).collect()
}

/// The largest fixture of one harness, repeated to `bytes`.
pub fn one_artifact(harness: &str, bytes: usize) -> Option<String> {
    fixtures(harness).first().map(|fixture| repeat(fixture, bytes, 0))
}

/// One artifact, repeated with fresh ids until it holds `bytes`. Its first line (a header in some formats), or what a document
/// has around its list, stands once.
fn repeat(fixture: &str, bytes: usize, salt: usize) -> String {
    let (start, end, comma) = if is_document(fixture) {
        let start = fixture.find(LIST).map_or(0, |at| at + LIST.len());
        (start, fixture.rfind(']').unwrap_or(start), ",")
    } else {
        (fixture.find('\n').map_or(0, |at| at + 1), fixture.len(), "")
    };
    let mut artifact = String::with_capacity(bytes + fixture.len());
    artifact.push_str(&fixture[..start]);
    for round in 0.. {
        artifact.push_str(if round > 0 { comma } else { "" });
        push_fresh(&mut artifact, &fixture[start..end], (salt, round));
        if artifact.len() >= bytes {
            break;
        }
    }
    artifact.push_str(&fixture[end..]);
    artifact
}

/// Copies text with the end of every quoted id made anew: the same id gives the same new one within a round.
fn push_fresh(out: &mut String, text: &str, round: (usize, usize)) {
    for (n, piece) in text.split('"').enumerate() {
        if n > 0 {
            out.push('"');
        }
        if is_id(piece) {
            let mut hasher = DefaultHasher::new();
            (piece, round).hash(&mut hasher);
            let fresh = format!("{:012x}", hasher.finish() & 0xffff_ffff_ffff);
            out.push_str(&piece[..piece.len() - fresh.len()]);
            out.push_str(&fresh);
        } else {
            out.push_str(piece);
        }
    }
}

fn is_id(piece: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let has_form = (20..=64).contains(&piece.len()) && piece.bytes().all(word) && piece.bytes().any(|byte| byte.is_ascii_digit());
    has_form && !is_name(piece)
}

/// Names of models end with a date, and those of counts say what is counted: they stay as they are.
fn is_name(piece: &str) -> bool {
    let end = piece.rsplit(['-', '_']).next().unwrap_or_default();
    end == "tokens" || end.len() == 8 && end.bytes().all(|byte| byte.is_ascii_digit())
}
