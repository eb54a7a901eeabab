//! Tier 4: prompts, answers and outputs that have most of the fingerprints of a text. They mention it, which proves nothing.

use std::collections::{HashMap, HashSet};

use engram_core::anchor::anchors;
use engram_core::event::{Event, EventRecord};
use rusqlite::{Connection, OptionalExtension};

use crate::anchors::{MIN_ANCHORS, common};
use crate::answer::{Mention, Quote};
use crate::query::Query;
use crate::runs::{self, Of};
use crate::store;
use crate::window::{self, Keys, There};

/// Most entries of one fingerprint that are read, and most mentions of an answer.
const MAX_ENTRIES: usize = 20_000;
const MAX_MENTIONS: usize = 5;
/// Characters of a quotation.
const QUOTE_CHARS: usize = 300;

/// The texts that mention another one, the most alike first; none if the index was made without texts.
pub fn mentions(
    db: &Connection,
    text: &str,
    least: f64,
    query: &Query<'_>,
) -> rusqlite::Result<Vec<Mention>> {
    let own = anchors(text);
    if own.len() < MIN_ANCHORS || !store::has_texts(db)? {
        return Ok(Vec::new());
    }
    let common = common(db)?;
    let mut shared: HashMap<i64, usize> = HashMap::new();
    let mut counted = 0;
    let mut speech =
        db.prepare_cached("SELECT id, tape FROM speech WHERE id = ?1 AND ifnull(t, 0) <= ?2")?;
    for anchor in own {
        let mut found: Vec<(i64, i64)> = Vec::new();
        for text in runs::find(db, Of::Texts, anchor, MAX_ENTRIES)? {
            found.extend(
                speech
                    .query_row((text, query.at.unwrap_or(i64::MAX)), |row| {
                        Ok((row.get(0)?, row.get(1)?))
                    })
                    .optional()?,
            );
        }
        let tapes: HashSet<i64> = found.iter().map(|(_, tape)| *tape).collect();
        if tapes.len() <= common && found.len() < MAX_ENTRIES {
            counted += 1;
            found
                .iter()
                .for_each(|(speech, _)| *shared.entry(*speech).or_default() += 1);
        }
    }
    if counted < MIN_ANCHORS {
        return Ok(Vec::new());
    }
    let share = |count: usize| count as f64 / counted as f64;
    let mut likely: Vec<(i64, usize)> = shared
        .into_iter()
        .filter(|(_, count)| share(*count) >= least)
        .collect();
    likely.sort_by_key(|(speech, count)| (std::cmp::Reverse(*count), *speech));
    likely.truncate(MAX_MENTIONS);
    likely
        .into_iter()
        .map(|(speech, count)| {
            mention(
                db,
                speech,
                (share(count) * 100.0).round() / 100.0,
                query.keys,
            )
        })
        .collect()
}

/// Reads the words of a speech from its tape: none if the file is gone or another one. `keys` says whether secrets are shown.
fn mention(db: &Connection, speech: i64, share: f64, keys: Keys) -> rusqlite::Result<Mention> {
    let sql = "SELECT tape, offset FROM speech WHERE id = ?1";
    let (tape, offset) = db
        .prepare_cached(sql)?
        .query_row([speech], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (path, there) = window::checked_place(db, tape)?;
    let said = window::line_at(&path, offset)
        .filter(|_| there == There::Tape)
        .and_then(|line| {
            let record = EventRecord::parse(&line).ok()?;
            let text = texts(&record.event).into_iter().next()?;
            Some((
                record.event.kind().as_str().to_owned(),
                window::quote(&path, record.seq.get() as i64, &text, QUOTE_CHARS, keys),
            ))
        });
    let (kind, said): (Option<String>, Option<Quote>) = said.unzip();
    Ok(Mention {
        share,
        tape: path.to_string_lossy().into_owned(),
        kind,
        said,
    })
}

/// What an event says: a prompt, an answer, or the output of a call.
pub fn texts(event: &Event<'_>) -> Vec<String> {
    let texts = match event {
        Event::MsgIn(message) => [message.text, None],
        Event::MsgOut(message) => [message.text, None],
        Event::ToolResult(result) => [result.stdout, result.stderr],
        _ => [None, None],
    };
    texts
        .into_iter()
        .flatten()
        .map(|text| text.decode_lossy().into_owned())
        .collect()
}
