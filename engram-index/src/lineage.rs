//! Where lines come from: from the edits that made them to earlier ones, breadth first, and never by place alone.

use std::collections::{HashSet, VecDeque};
use std::io::{BufRead, Read};

use engram_core::event::{CodeEdit, Event, EventRecord};
use rusqlite::{Connection, OptionalExtension, params};

use crate::anchors::{self, Side};
use crate::hit::Hit;
use crate::rows::What;
use crate::tape_file;
use crate::window::{self, There};

/// Most earlier edits of one edit, of one answer, and most edits in a row.
const MAX_OF_ONE: usize = 50;
const MAX_ALL: usize = 500;
const MAX_DEPTH: usize = 10;
/// The share of fingerprints that an earlier text has; and one that was removed and is here again.
const SHARE: f64 = 0.50;
const SHARE_AGAIN: f64 = 0.90;
/// Most states of a file between two edits.
const MAX_STATES: usize = 10_000;
/// Most bytes between a call and its edit that are read.
const MAX_WINDOW: u64 = 4 << 20;

/// How an earlier edit is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It made one of the lines itself.
    Made,
    /// Equal hashes of the file lead back to it, and it made lines that the later edit replaced.
    Chain,
    /// The log says that the text was moved or copied.
    Declared,
    /// It left most of the text that the later edit replaced.
    Anchor,
    /// It removed nearly the same text, and the later edit wrote it again.
    Again,
}

impl Way {
    /// The name in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Way::Made => "made",
            Way::Chain => "chain",
            Way::Declared => "declared",
            Way::Anchor => "anchor",
            Way::Again => "again",
        }
    }
}

/// An edit of a line of descent.
pub struct Ancestor {
    pub hit: Hit,
    pub way: Way,
    /// The share of fingerprints, where these are the way.
    pub share: Option<f64>,
}

/// The edits that made lines and those that they come from, in the order in which they are found; and what was cut off.
pub fn trace(db: &Connection, made: Vec<Hit>) -> rusqlite::Result<(Vec<Ancestor>, Vec<String>)> {
    let mut seen: HashSet<i64> = HashSet::new();
    let mut found: Vec<Ancestor> = Vec::new();
    let mut open: VecDeque<(Hit, usize)> = VecDeque::new();
    let mut notes = Vec::new();
    let mut note = |what: String| {
        if !notes.contains(&what) {
            notes.push(what);
        }
    };
    for hit in made {
        if seen.insert(hit.id) {
            open.push_back((hit.clone(), 0));
            found.push(Ancestor {
                hit,
                way: Way::Made,
                share: None,
            });
        }
    }
    while let Some((hit, depth)) = open.pop_front() {
        let mut earlier = earlier(db, &hit)?;
        earlier.retain(|ancestor| !seen.contains(&ancestor.hit.id));
        if earlier.len() > MAX_OF_ONE {
            note(format!(
                "an edit has {} earlier ones; {MAX_OF_ONE} of them are followed",
                earlier.len()
            ));
            earlier.truncate(MAX_OF_ONE);
        }
        if depth == MAX_DEPTH && !earlier.is_empty() {
            note(format!(
                "older edits are left out: {MAX_DEPTH} in a row are followed"
            ));
            continue;
        }
        for ancestor in earlier {
            if found.len() >= MAX_ALL {
                note(format!("older edits are left out: {MAX_ALL} are followed"));
                return Ok((found, notes));
            }
            if seen.insert(ancestor.hit.id) {
                open.push_back((ancestor.hit.clone(), depth + 1));
                found.push(ancestor);
            }
        }
    }
    Ok((found, notes))
}

/// The edits that one edit comes from: by certain ways if there are any, else by fingerprints.
fn earlier(db: &Connection, hit: &Hit) -> rusqlite::Result<Vec<Ancestor>> {
    let of = |way: Way| {
        move |hit: Hit| Ancestor {
            hit,
            way,
            share: None,
        }
    };
    let mut all: Vec<Ancestor> = declared(db, hit)?
        .into_iter()
        .map(of(Way::Declared))
        .collect();
    all.extend(chain(db, hit)?.into_iter().map(of(Way::Chain)));
    if !all.is_empty() || hit.what == What::Link {
        return Ok(all);
    }
    let (before, after) = fingerprints(db, hit)?;
    let mut like = |own: &[u64], side: Side, share: f64, way: Way| -> rusqlite::Result<()> {
        for like in anchors::find_of(db, own, side, share, hit.t)? {
            if like.hit.when() < hit.when() && like.hit.step() != hit.step() {
                all.push(Ancestor {
                    hit: like.hit,
                    way,
                    share: Some(like.share),
                });
            }
        }
        Ok(())
    };
    like(&before, Side::After, SHARE, Way::Anchor)?;
    like(&after, Side::Before, SHARE_AGAIN, Way::Again)?;
    Ok(all)
}

/// What the log itself connects: the link that leads here, or the last edit of the file that a link leads from.
fn declared(db: &Connection, hit: &Hit) -> rusqlite::Result<Vec<Hit>> {
    if hit.what == What::Link {
        let sql = "file = (SELECT other FROM span WHERE id = ?1) AND what BETWEEN 1 AND 3 AND flags & 2 = 0 AND ifnull(t, 0) <= ?2
            ORDER BY t DESC, tape DESC, seq DESC LIMIT 1";
        return Hit::find(db, sql, params![hit.id, hit.t.unwrap_or(i64::MAX)]);
    }
    let sql = "+file = ?1 AND what = 6 AND tape = ?2 AND seq <= ?3 ORDER BY seq DESC LIMIT 50";
    let mut links = Hit::find(db, sql, params![hit.file, hit.tape, hit.seq])?;
    let meets = |link: &Hit| match (link.after, hit.before) {
        (Some((first, last)), Some(before)) => first <= before.1 && before.0 <= last,
        _ => true,
    };
    links.retain(meets);
    Ok(links)
}

/// The edits that made the lines that an edit replaced, along equal hashes of the whole file.
fn chain(db: &Connection, hit: &Hit) -> rusqlite::Result<Vec<Hit>> {
    let (Some((first, last)), Some(mut hash)) = (hit.before, hit.fbh) else {
        return Ok(Vec::new());
    };
    let mut ranges: Vec<(i64, i64)> = if first <= last {
        vec![(first, last)]
    } else {
        Vec::new()
    };
    let (mut found, mut seq) = (Vec::new(), hit.seq);
    for _ in 0..MAX_STATES {
        if ranges.is_empty() {
            break;
        }
        // On one tape the order is certain; from one tape to another, equal hashes are.
        let sql = "fah = ?1 AND +file = ?2 AND what BETWEEN 1 AND 3 AND flags & 2 = 0 AND (tape != ?3 OR seq < ?4) AND ifnull(t, 0) <= ?5
            ORDER BY tape = ?3 DESC, t DESC, tape DESC, seq DESC LIMIT 4096";
        let mut step = Hit::find(
            db,
            sql,
            params![hash, hit.file, hit.tape, seq, hit.t.unwrap_or(i64::MAX)],
        )?;
        let Some(newest) = step.first().cloned() else {
            break;
        };
        step.retain(|span| (span.step(), span.fbh) == (newest.step(), newest.fbh));
        step.sort_by_key(|span| span.after);
        let (made, rest) = through(&step, &ranges);
        found.extend(made);
        if newest.tape == hit.tape {
            seq = step.iter().map(|span| span.seq).min().unwrap_or(seq);
        }
        let Some(before) = newest.fbh.filter(|before| *before != hash) else {
            break;
        };
        (ranges, hash) = (rest, before);
    }
    Ok(found)
}

/// The spans of a step that made lines of these ranges, and the other lines with their numbers before the step.
fn through(step: &[Hit], ranges: &[(i64, i64)]) -> (Vec<Hit>, Vec<(i64, i64)>) {
    let (mut made, mut rest) = (Vec::new(), ranges.to_vec());
    let mut shift = 0;
    let mut older = Vec::new();
    for span in step {
        let (Some(before), Some(after), What::Update) = (span.before, span.after, span.what) else {
            return (vec![span.clone()], Vec::new());
        };
        let mut later = Vec::new();
        for (first, last) in rest {
            if first <= after.1 && after.0 <= last {
                made.push(span.clone());
            }
            // What stands before the span is settled; what stands after it may meet the next one.
            older.extend(
                Some((first - shift, last.min(after.0 - 1) - shift))
                    .filter(|(first, last)| first <= last),
            );
            later.extend(
                Some((first.max(after.1.max(after.0 - 1) + 1), last))
                    .filter(|(first, last)| first <= last),
            );
        }
        rest = later;
        shift += (after.1 - after.0) - (before.1 - before.0);
    }
    older.extend(
        rest.into_iter()
            .map(|(first, last)| (first - shift, last - shift)),
    );
    made.dedup_by_key(|span| span.id);
    (made, older)
}

/// The fingerprints of both sides of an edit, from its tape.
fn fingerprints(db: &Connection, hit: &Hit) -> rusqlite::Result<(Vec<u64>, Vec<u64>)> {
    let none = (Vec::new(), Vec::new());
    let (tape, there) = window::checked_place(db, hit.tape)?;
    let sql = "SELECT offset FROM call WHERE tape = ?1 AND seq <= ?2 ORDER BY seq DESC LIMIT 1";
    let seq = hit.call.unwrap_or(hit.seq);
    let offset: Option<u64> = db
        .prepare_cached(sql)?
        .query_row([hit.tape, seq], |row| row.get(0))
        .optional()?;
    let Some(text) = offset
        .filter(|_| there == There::Tape)
        .and_then(|offset| tape_file::open_at(&tape, offset).ok())
    else {
        return Ok(none);
    };
    for line in text.take(MAX_WINDOW).lines().map_while(Result::ok) {
        let Ok(record) = EventRecord::parse(&line) else {
            break;
        };
        match &record.event {
            Event::CodeEdit(CodeEdit {
                before_anchor_hashes,
                after_anchor_hashes,
                ..
            }) if record.seq.get() as i64 == hit.seq => {
                return Ok((before_anchor_hashes.clone(), after_anchor_hashes.clone()));
            }
            _ if record.seq.get() as i64 > hit.seq => break,
            _ => {}
        }
    }
    Ok(none)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(id: i64, before: (i64, i64), after: (i64, i64)) -> Hit {
        Hit {
            id,
            tape: 1,
            seq: id,
            call: None,
            file: 1,
            what: What::Update,
            before: Some(before),
            after: Some(after),
            bh: None,
            ah: None,
            fbh: None,
            fah: None,
            lines: None,
            flags: 0,
            t: None,
        }
    }

    #[test]
    fn lines_that_a_step_did_not_make_have_the_numbers_before_it() {
        // Line 2 became lines 2 to 4; then line 8 (now 10) was removed.
        let step = [span(1, (2, 2), (2, 4)), span(2, (8, 8), (10, 9))];
        let (made, rest) = through(&step, &[(1, 12)]);
        assert_eq!(made.iter().map(|hit| hit.id).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(rest, [(1, 1), (3, 7), (9, 11)]);
        let (made, rest) = through(&step, &[(11, 12)]);
        assert_eq!((made.len(), rest), (0, vec![(10, 11)]));
    }
}
