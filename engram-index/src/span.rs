//! Tier 2: runs of lines that are byte for byte what an edit left.

use std::collections::HashMap;

use rusqlite::Connection;

use crate::files::{Files, list};
use crate::hit::Hit;
use crate::lines::{Lines, hash_of, letters};
use crate::rows::Digest;

/// Most spans that are compared.
const MAX_SPANS: i64 = 20_000;
/// Most bytes that are hashed.
const MAX_HASHED: usize = 256 << 20;
/// A run with fewer letters proves nothing alone.
const MIN_LETTERS: usize = 20;

/// What the spans say.
pub struct Spans {
    /// The span that left each line.
    pub made: Vec<Option<Hit>>,
    /// True if there was too much to compare.
    pub is_cut: bool,
}

/// Finds spans of these files in the lines that `taken` leaves.
pub fn find(
    db: &Connection,
    lines: &Lines<'_>,
    files: &Files,
    at: Option<i64>,
    taken: &[bool],
) -> rusqlite::Result<Spans> {
    let mut spans = Spans {
        made: vec![None; lines.len()],
        is_cut: false,
    };
    if files.is_empty() || taken.iter().all(|taken| *taken) {
        return Ok(spans);
    }
    let condition = format!(
        "file IN ({}) AND ah IS NOT NULL AND lines > 0 AND what BETWEEN 1 AND 3 AND ifnull(t, 0) <= ?1
        ORDER BY t DESC, tape DESC, seq DESC LIMIT ?2",
        list(files)
    );
    let mut all = Hit::find(db, &condition, (at.unwrap_or(i64::MAX), MAX_SPANS))?;
    spans.is_cut = all.len() as i64 == MAX_SPANS;
    all.retain(Hit::is_confirmed);
    place(lines, all, taken, &mut spans);
    Ok(spans)
}

/// Where a text stands, and the spans that left it, newest first.
struct Text {
    hits: Vec<Hit>,
    count: usize,
    runs: Vec<usize>,
}

fn place(lines: &Lines<'_>, all: Vec<Hit>, taken: &[bool], spans: &mut Spans) {
    let mut texts: Vec<Text> = Vec::new();
    let mut by_length: HashMap<usize, HashMap<Digest, usize>> = HashMap::new();
    for hit in all {
        let (Some(hash), Some(count)) = (
            hit.ah,
            hit.lines.and_then(|count| usize::try_from(count).ok()),
        ) else {
            continue;
        };
        let same = by_length
            .entry(count)
            .or_default()
            .entry(hash)
            .or_insert_with(|| {
                texts.push(Text {
                    hits: Vec::new(),
                    count,
                    runs: Vec::new(),
                });
                texts.len() - 1
            });
        texts[*same].hits.push(hit);
    }
    let mut hashed = 0;
    let mut lengths: Vec<_> = by_length
        .into_iter()
        .filter(|(count, _)| *count <= lines.len())
        .collect();
    lengths.sort_by_key(|(count, _)| *count);
    for (count, hashes) in lengths {
        let mut free = 0;
        for (line, taken) in taken.iter().enumerate() {
            free = if *taken { 0 } else { free + 1 };
            if free < count {
                continue;
            }
            let first = line + 1 - count;
            let run = lines.run(first, count);
            hashed += run.len();
            if hashed > MAX_HASHED {
                spans.is_cut = true;
                break;
            }
            // A snippet is the text as the call has it: with the last line end, or without.
            let with_end = || {
                lines
                    .run_with_end(first, count)
                    .and_then(|run| hashes.get(&hash_of(run)))
            };
            if let Some(text) = hashes.get(&hash_of(run)).or_else(with_end) {
                texts[*text].runs.push(first);
            }
        }
    }
    texts.retain(|text| !text.runs.is_empty());
    texts.sort_by_key(|text| std::cmp::Reverse(text.hits[0].when()));
    give(lines, &texts, spans);
}

/// Newest first, each text gets its runs, unless there are more of them than the edit left: then nobody knows which.
fn give(lines: &Lines<'_>, texts: &[Text], spans: &mut Spans) {
    let (long, short): (Vec<&Text>, Vec<&Text>) = texts
        .iter()
        .partition(|text| letters(lines.run(text.runs[0], text.count)) >= MIN_LETTERS);
    for text in long {
        let free: Vec<usize> = text
            .runs
            .iter()
            .copied()
            .filter(|run| is_free(&spans.made, *run, text.count))
            .collect();
        let newest = text
            .hits
            .iter()
            .filter(|hit| hit.step() == text.hits[0].step())
            .count();
        if free.len() <= newest {
            free.into_iter()
                .for_each(|run| spans.made[run..run + text.count].fill(Some(text.hits[0].clone())));
        }
    }
    for text in short {
        let is_beside = |run: &usize| {
            let step = |line: Option<usize>| {
                line.and_then(|line| spans.made.get(line)?.as_ref())
                    .map(Hit::step)
            };
            let step_of = Some(text.hits[0].step());
            is_free(&spans.made, *run, text.count)
                && (step(run.checked_sub(1)) == step_of || step(Some(run + text.count)) == step_of)
        };
        let beside: Vec<usize> = text.runs.iter().copied().filter(is_beside).collect();
        if let [run] = beside.as_slice() {
            spans.made[*run..run + text.count].fill(Some(text.hits[0].clone()));
        }
    }
}

fn is_free(made: &[Option<Hit>], first: usize, count: usize) -> bool {
    made[first..first + count].iter().all(Option::is_none)
}
