//! Tier 3: spans that have most of the fingerprints of a text.

use std::collections::{HashMap, HashSet};

use engram_core::anchor::anchors;
use rusqlite::Connection;

use crate::hit::Hit;
use crate::runs::{self, Of};
use crate::write::AFTER;

/// A text with fewer fingerprints has no answer.
pub const MIN_ANCHORS: usize = 3;
/// Bytes for each fingerprint of a text that does not repeat itself, four times over. A text with fewer repeats a few patterns, and many other
/// texts have those.
const MOST_BYTES_PER_ANCHOR: usize = 64;
/// A text with this many different fingerprints does not repeat itself, whatever its length: there is a most.
const MANY_ANCHORS: usize = 256;
/// A fingerprint in more tapes than this, and in more than one of a hundred, is common.
const COMMON_TAPES: usize = 200;
/// Most entries of one fingerprint that are read.
const MAX_ENTRIES: usize = 20_000;
/// Most spans of one answer.
const MAX_FOUND: usize = 20;

/// The share of a text's fingerprints that a span has.
#[derive(Debug, Clone)]
pub struct Likeness {
    pub hit: Hit,
    /// From 0 to 1.
    pub share: f64,
}

/// Which side of the spans is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// What edits left.
    After,
    /// What edits took away.
    Before,
}

/// A fingerprint in more tapes than this is common.
pub fn common(db: &Connection) -> rusqlite::Result<usize> {
    let tapes: i64 = db
        .prepare_cached("SELECT count(*) FROM tape WHERE superseded_by IS NULL")?
        .query_row([], |row| row.get(0))?;
    Ok(COMMON_TAPES.max(usize::try_from(tapes).unwrap_or_default() / 100))
}

/// The spans that have at least `least` of the fingerprints of a text, the most alike first, then the newest.
pub fn find(
    db: &Connection,
    text: &str,
    side: Side,
    least: f64,
    at: Option<i64>,
) -> rusqlite::Result<Vec<Likeness>> {
    let own = anchors(text);
    if repeats_itself(text, own.len()) {
        Ok(Vec::new())
    } else {
        find_of(db, &own, side, least, at)
    }
}

/// True for a text that consists of a few patterns, such as a line of one letter.
fn repeats_itself(text: &str, anchors: usize) -> bool {
    anchors < MANY_ANCHORS && anchors * MOST_BYTES_PER_ANCHOR < text.len()
}

/// As [`find`], for a text of which only the fingerprints are known.
pub fn find_of(
    db: &Connection,
    own: &[u64],
    side: Side,
    least: f64,
    at: Option<i64>,
) -> rusqlite::Result<Vec<Likeness>> {
    if own.len() < MIN_ANCHORS {
        return Ok(Vec::new());
    }
    let common = common(db)?;
    let wanted = if side == Side::After { AFTER } else { 0 };
    let mut of_span: HashMap<i64, Option<i64>> = HashMap::new();
    let mut hits: HashMap<i64, usize> = HashMap::new();
    let mut counted = 0;
    let mut tape_of = db.prepare_cached("SELECT tape FROM span WHERE id = ?1 AND flags & 2 = 0")?;
    for anchor in own {
        let found = runs::find(db, Of::Spans, *anchor, MAX_ENTRIES)?;
        let mut in_tapes = HashSet::new();
        let mut spans = Vec::new();
        for entry in &found {
            let span = entry / 2;
            let tape = match of_span.get(&span) {
                Some(tape) => *tape,
                None => {
                    let tape = tape_of
                        .query_map([span], |row| row.get(0))?
                        .next()
                        .transpose()?;
                    of_span.insert(span, tape);
                    tape
                }
            };
            if let Some(tape) = tape {
                in_tapes.insert(tape);
                if entry % 2 == wanted {
                    spans.push(span);
                }
            }
            if in_tapes.len() > common {
                break;
            }
        }
        if in_tapes.len() > common || found.len() == MAX_ENTRIES {
            continue;
        }
        counted += 1;
        spans
            .into_iter()
            .for_each(|span| *hits.entry(span).or_default() += 1);
    }
    if counted < MIN_ANCHORS {
        return Ok(Vec::new());
    }
    let enough = (least * counted as f64).ceil().max(1.0) as usize;
    let mut likely: Vec<(i64, usize)> = hits
        .into_iter()
        .filter(|(_, count)| *count >= enough)
        .collect();
    likely.sort_by_key(|(span, count)| std::cmp::Reverse((*count, *span)));
    likely.truncate(MAX_FOUND * 5);
    let mut found = Vec::new();
    for (span, count) in likely {
        for hit in Hit::find(
            db,
            "id = ?1 AND ifnull(t, 0) <= ?2",
            (span, at.unwrap_or(i64::MAX)),
        )? {
            found.push(Likeness {
                hit,
                share: count as f64 / counted as f64,
            });
        }
    }
    found.sort_by(|one, other| {
        other
            .share
            .total_cmp(&one.share)
            .then(other.hit.when().cmp(&one.hit.when()))
    });
    found.truncate(MAX_FOUND);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_a_few_patterns_repeats_itself() {
        let is_repetitive = |text: &str| repeats_itself(text, anchors(text).len());
        for text in [
            "λ".repeat(3000),
            "日本語".repeat(900),
            format!("{}\n{}", "ab".repeat(500), " 😀".repeat(700)),
        ] {
            assert!(is_repetitive(&text), "{}", anchors(&text).len());
        }
        let code: String = (0..40)
            .map(|n| {
                format!(
                    "        let value_{n} = compute(input_{n}, {});\n",
                    n * 7919
                )
            })
            .collect();
        for text in [&*code, "fn main() {\n    println!(\"hello, tape\");\n}\n"] {
            assert!(!is_repetitive(text), "{}", anchors(text).len());
        }
    }
}
