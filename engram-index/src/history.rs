//! What happened to a file, and what was taken away from it.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension};
use serde::Serialize;

use crate::align::align;
use crate::anchors::{self, Side};
use crate::answer::{CallInfo, Quote};
use crate::asked::Asked;
use crate::attribute;
use crate::explain;
use crate::files::path_of;
use crate::files::{self, Files, Named, list};
use crate::hit::Hit;
use crate::line_key::Key;
use crate::query::{Query, Words};
use crate::replay::Replay;
use crate::{line_key, lineage, replay, window};

/// One thing that happened to a file.
#[derive(Debug, Clone, Serialize)]
pub struct Event {
    /// `read`, `create`, `update`, `overwrite`, `delete`, `move`, `link` or `failed`.
    pub what: &'static str,
    /// The file.
    pub file: String,
    /// The lines before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before_range: Option<(i64, i64)>,
    /// The lines after; of a read, the lines that were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_range: Option<(i64, i64)>,
    /// False if the log shows the request, not the outcome.
    #[serde(skip_serializing_if = "std::clone::Clone::clone")]
    pub confirmed: bool,
    /// The share of the fingerprints of the asked text that were removed; 1 if the text is the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// In the history of lines, how the edit is known: `made` (it made one of the lines), `chain`, `declared`, `anchor` or `again`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub way: Option<&'static str>,
    /// The call.
    pub call: CallInfo,
    /// The prompt of its turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Quote>,
    /// The arguments of the call, for removals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Quote>,
}

/// A list that may be longer than what is shown of it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Events {
    /// What is shown, the newest first.
    #[serde(skip)]
    pub items: Vec<Event>,
    /// How many there are.
    pub total: usize,
    /// What was left out or could not be told, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Everything that happened to a file: edits, reads, moves, and changes that failed. Of lines: where they come from.
pub fn history(db: &Connection, query: &Query<'_>) -> rusqlite::Result<Events> {
    if query.range.is_some() {
        return history_of_lines(db, query);
    }
    let files = files::of_question(db, query)?;
    let condition = format!(
        "file IN ({}) AND ifnull(t, 0) <= ?1 ORDER BY t DESC, tape DESC, seq DESC",
        list(&files)
    );
    let mut hits = Hit::find(db, &condition, [query.at.unwrap_or(i64::MAX)])?;
    // The spans of one call are one thing that happened, as are forms of one session.
    let mut steps = HashSet::new();
    hits.retain(|hit| steps.insert((hit.step(), hit.what as i64, hit.file)));
    events(
        db,
        query,
        hits.into_iter().map(|hit| (hit, None)).collect(),
        false,
    )
}

fn history_of_lines(db: &Connection, query: &Query<'_>) -> rusqlite::Result<Events> {
    let (mut found, notes) = lineage::trace(db, explain::makers(db, query)?)?;
    found.sort_by_key(|ancestor| std::cmp::Reverse(ancestor.hit.when()));
    let page = found
        .iter()
        .map(|ancestor| {
            (
                ancestor.hit.clone(),
                ancestor.share.map(|share| (share * 100.0).round() / 100.0),
            )
        })
        .collect();
    let mut events = events(db, query, page, false)?;
    for (event, ancestor) in events.items.iter_mut().zip(found.iter().skip(query.skip)) {
        event.way = Some(ancestor.way.as_str());
    }
    Ok(Events { notes, ..events })
}

/// What was taken away: from a file, or of a text wherever it stood. With lines of a text, where they were taken away.
pub fn removed(db: &Connection, query: &Query<'_>) -> rusqlite::Result<Events> {
    let text = Asked::of(query.text);
    let asked = &*text.lines;
    let (first, last) = explain::bounds(query.range, asked.len());
    let files = if query.paths.is_empty() {
        Files::from_iter(
            attribute::files_of(db, asked)?
                .into_iter()
                .map(|file| (file, Named::default())),
        )
    } else {
        files::of_question(db, query)?
    };
    let steps = replay::replay(db, &files, query.at, &text)?;
    let wanted: Vec<usize> = match query.range {
        Some(_) if !query.paths.is_empty() => between(&steps, asked, first, last),
        _ => (0..steps.removed.len()).collect(),
    };
    let mut found: Vec<(Hit, Option<f64>)> = Vec::new();
    let (mut seen, mut notes) = (HashSet::new(), Vec::new());
    for removed in wanted.into_iter().map(|at| &steps.removed[at]) {
        let step = &steps.steps[removed.step];
        // A text was removed where all of its lines stood together.
        let has_text = || {
            removed
                .lines
                .windows(asked.len().max(1))
                .any(|run| run == asked)
        };
        if (!query.paths.is_empty() || has_text())
            && seen.insert((step.tape, step.call.unwrap_or(step.seq), step.file))
        {
            found.push((
                explain::hit_of(db, step)?,
                query.paths.is_empty().then_some(1.0),
            ));
        }
    }
    if steps.has_lost {
        notes.push("a call changed the file, and its tape does not say how".to_owned());
    }
    found.sort_by_key(|(hit, _)| std::cmp::Reverse(hit.when()));
    Ok(Events {
        notes,
        ..events(db, query, found, true)?
    })
}

/// What stood between lines of a text, or beside them: `first` is the first one, from 0, and `last` the one after the last.
fn between(steps: &Replay, asked: &[Key], first: usize, last: usize) -> Vec<usize> {
    let mut found = Vec::new();
    for (state, gone) in &steps.now {
        let stayed = align(&state.lines, asked, &|_, _| true, state.whole).from;
        // Without a line that stayed, nobody knows where the others stood.
        if stayed.iter().all(Option::is_none) && !state.lines.is_empty() {
            continue;
        }
        for (place, removed) in gone {
            let above = stayed
                .iter()
                .rposition(|from| from.is_some_and(|from| from < *place))
                .map_or(0, |at| at + 1);
            let below = stayed
                .iter()
                .position(|from| from.is_some_and(|from| from >= *place))
                .unwrap_or(asked.len())
                + 1;
            if above <= last && below > first && above < below {
                found.push(*removed);
            }
        }
    }
    found
}

/// The share of fingerprints of a text that is like another one; and with `all`.
const SHARE: f64 = 0.50;
const SHARE_OF_ALL: f64 = 0.30;

/// Edits that left something like a text, the most alike first. It proves nothing about who made a line.
pub fn like(db: &Connection, query: &Query<'_>, all: bool) -> rusqlite::Result<Events> {
    let asked: Vec<&str> = line_key::lines(query.text).collect();
    let (first, last) = explain::bounds(query.range, asked.len());
    let text = asked[first.min(last)..last].join("\n");
    let least = if all { SHARE_OF_ALL } else { SHARE };
    let found = anchors::find(db, &text, Side::After, least, query.at)?;
    let mut steps = HashSet::new();
    let one_of_call = found
        .into_iter()
        .filter(|like| steps.insert((like.hit.step(), like.hit.file)));
    let share = |share: f64| (share * 100.0).round() / 100.0;
    let hits = one_of_call
        .map(|like| (like.hit, Some(share(like.share))))
        .collect();
    events(db, query, hits, true)
}

/// Most calls and sub-agents of one prompt that are followed.
const MAX_CALLS: usize = 10_000;

/// What one prompt changed, over sub-agents: `seq` is the prompt, or any call of its turn. `None` if the tape has no such event.
pub fn changes(
    db: &Connection,
    tape: &str,
    seq: i64,
    query: &Query<'_>,
) -> rusqlite::Result<Option<Events>> {
    let sql = "SELECT tape, (SELECT seq FROM prompt WHERE tape = p.tape AND seq = ?2 UNION
            SELECT prompt FROM call WHERE tape = p.tape AND seq = ?2) FROM place p WHERE path = ?1 AND tape IS NOT NULL";
    let found: Option<(i64, Option<i64>)> = db
        .prepare_cached(sql)?
        .query_row((tape, seq), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((tape, Some(prompt))) = found else {
        return Ok(None);
    };
    let mut open = calls(db, "tape = ?1 AND prompt = ?2", (tape, prompt))?;
    let (mut hits, mut at, mut seen) = (Vec::new(), 0, HashSet::from([tape]));
    while let Some((tape, call)) = open.get(at).copied().filter(|_| at < MAX_CALLS) {
        at += 1;
        hits.extend(Hit::find(
            db,
            "tape = ?1 AND call = ?2 AND what BETWEEN 1 AND 6",
            (tape, call),
        )?);
        for agent in started_by(db, tape, call)? {
            if seen.insert(agent) {
                open.extend(calls(db, "tape = ?1 AND ?2 = ?2", (agent, 0))?);
            }
        }
    }
    hits.sort_by_key(Hit::when);
    let mut steps = HashSet::new();
    hits.retain(|hit| steps.insert((hit.step(), hit.what as i64, hit.file)));
    events(
        db,
        query,
        hits.into_iter().map(|hit| (hit, None)).collect(),
        false,
    )
    .map(Some)
}

fn calls(db: &Connection, condition: &str, key: (i64, i64)) -> rusqlite::Result<Vec<(i64, i64)>> {
    let sql = format!("SELECT tape, seq FROM call WHERE {condition} AND replay = 0 ORDER BY seq");
    db.prepare_cached(&sql)?
        .query_map(key, |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// The tapes of the sub-agents that a call started.
fn started_by(db: &Connection, tape: i64, call: i64) -> rusqlite::Result<Vec<i64>> {
    let sql = "SELECT a.id FROM call c JOIN tape t ON t.id = c.tape JOIN tape a ON a.parent_call = c.call_id AND a.harness = t.harness
        WHERE c.tape = ?1 AND c.seq = ?2 AND ifnull(a.parent_session, a.session) = t.session AND a.superseded_by IS NULL AND a.id != t.id";
    db.prepare_cached(sql)?
        .query_map((tape, call), |row| row.get(0))?
        .collect()
}

fn events(
    db: &Connection,
    query: &Query<'_>,
    hits: Vec<(Hit, Option<f64>)>,
    with_change: bool,
) -> rusqlite::Result<Events> {
    let total = hits.len();
    let mut items = Vec::new();
    for (hit, share) in hits.into_iter().skip(query.skip).take(query.limit) {
        let call = window::call(db, hit.tape, hit.call.unwrap_or(hit.seq), query.keys)?;
        let file = path_of(db, hit.file)?;
        items.push(Event {
            what: hit.what.as_str(),
            before_range: hit.before,
            after_range: hit.after,
            confirmed: hit.is_confirmed(),
            share,
            way: None,
            prompt: if query.words == Words::None {
                None
            } else {
                call.prompt(db)?
            },
            change: (with_change && query.words == Words::All)
                .then(|| call.change(&file))
                .flatten(),
            call: call.info,
            file,
        });
    }
    Ok(Events {
        items,
        total,
        notes: Vec::new(),
    })
}
