//! Tier 1: the file is what an edit left. From there back along equal hashes, each line gets the edit that made it.

use std::collections::HashSet;

use rusqlite::Connection;

use crate::files::{Files, list};
use crate::hit::Hit;
use crate::lines::{Lines, hash_of};
use crate::rows::What;

/// The longest chain that is followed.
const MAX_STEPS: usize = 10_000;
/// Most spans that left the same text.
const MAX_SPANS: i64 = 4096;

/// What the chain says.
#[derive(Default)]
pub struct State {
    /// The span that made each line.
    pub made: Vec<Option<Hit>>,
    /// True if the text as a whole is what an edit left.
    pub is_known: bool,
    /// Other edits that left the same text as the newest one.
    pub others: Vec<Hit>,
    /// What was removed on the way, the newest first.
    pub gone: Vec<Gone>,
}

/// A removal, and where it was in the text of today.
pub struct Gone {
    pub hit: Hit,
    /// The lines (from 1) before and after the place: 0 and one more than the last are the ends of the text.
    pub between: (usize, usize),
}

/// All spans of one call that lead from one text of the file to another.
struct Step {
    spans: Vec<Hit>,
}

/// Follows the states of a file back from its text.
pub fn trace(
    db: &Connection,
    lines: &Lines<'_>,
    files: &Files,
    at: Option<i64>,
) -> rusqlite::Result<State> {
    let mut state = State {
        made: vec![None; lines.len()],
        ..State::default()
    };
    let (mut hash, mut count) = (lines.hash(), lines.len() as i64);
    // Lines of the query that are still without an edit, and their numbers in the current text.
    let mut live: Vec<(usize, i64)> = (0..lines.len())
        .map(|line| (line, line as i64 + 1))
        .collect();
    let mut bound = (at.unwrap_or(i64::MAX), i64::MAX, i64::MAX);
    let mut tape = None;
    let mut seen = HashSet::new();
    for _ in 0..MAX_STEPS {
        let Some((step, others)) = newest(db, &hash, files, bound, tape)? else {
            break;
        };
        if !state.is_known {
            (state.is_known, state.others) = (true, others);
        }
        let Some(rest) = apply(&step, &live, count, lines, &mut state.made) else {
            break;
        };
        state.gone.extend(
            step.spans
                .iter()
                .rev()
                .filter_map(|hit| gone(hit, &live, lines.len())),
        );
        (live, count) = rest;
        let first = &step.spans[0];
        let Some(before) = first.fbh.filter(|_| !live.is_empty()) else {
            break;
        };
        (bound, tape) = (first.when(), Some(first.tape));
        // The same text again at the same place would lead round in a circle.
        if !seen.insert((before, bound)) {
            break;
        }
        hash = before;
    }
    Ok(state)
}

/// The newest step that left this text before `bound`; on the same tape if there is one.
fn newest(
    db: &Connection,
    hash: &[u8; 16],
    files: &Files,
    bound: (i64, i64, i64),
    tape: Option<i64>,
) -> rusqlite::Result<Option<(Step, Vec<Hit>)>> {
    // With `+`, SQLite does not walk all edits of the file in their order: a text has few edits.
    let condition = format!(
        "fah = ?1 AND +file IN ({}) AND what BETWEEN 1 AND 3 ORDER BY t DESC, tape DESC, seq DESC LIMIT ?2",
        list(files)
    );
    let found = Hit::find(db, &condition, rusqlite::params![hash, MAX_SPANS])?;
    let is_before = |hit: &Hit| match tape {
        // On one tape the order is certain, whatever the times are.
        Some(tape) if hit.tape == tape => hit.seq < bound.2,
        _ => hit.when().0 <= bound.0,
    };
    let all: Vec<Hit> = found
        .into_iter()
        .filter(|hit| hit.is_confirmed() && is_before(hit))
        .collect();
    let same_tape = || {
        all.iter()
            .filter(|hit| Some(hit.tape) == tape)
            .max_by_key(|hit| hit.when())
    };
    let Some(mut first) = same_tape()
        .or_else(|| all.iter().max_by_key(|hit| hit.when()))
        .cloned()
    else {
        return Ok(None);
    };
    // A text that was written again over itself was made before.
    let mut earlier: Vec<&Hit> = all
        .iter()
        .filter(|hit| hit.tape == first.tape && hit.seq < first.seq)
        .collect();
    earlier.sort_by_key(|hit| std::cmp::Reverse(hit.seq));
    for hit in earlier {
        if hit.step() != first.step() && is_unchanged_between(db, hit, &first, files, hash)? {
            first = hit.clone();
        }
    }
    let is_step =
        |hit: &Hit| (hit.step(), hit.file, hit.fbh) == (first.step(), first.file, first.fbh);
    let (mut spans, mut others): (Vec<Hit>, Vec<Hit>) = all.into_iter().partition(is_step);
    spans.sort_by_key(|hit| hit.seq);
    let mut named = HashSet::new();
    others.retain(|hit| named.insert(hit.step()));
    Ok(Some((Step { spans }, others)))
}

/// True if no edit on the tape left another text of the file between two edits that left the same.
fn is_unchanged_between(
    db: &Connection,
    one: &Hit,
    other: &Hit,
    files: &Files,
    hash: &[u8; 16],
) -> rusqlite::Result<bool> {
    let sql = format!(
        "SELECT 1 FROM span WHERE tape = ?1 AND seq > ?2 AND seq < ?3 AND +file IN ({}) AND what BETWEEN 1 AND 5 AND fah IS NOT ?4",
        list(files)
    );
    db.prepare_cached(&sql)?
        .exists((one.tape, one.seq, other.seq, hash))
        .map(|changed| !changed)
}

type Live = Vec<(usize, i64)>;

/// Gives a step the lines that it made, and returns the others with their numbers before it. `None` if its ranges do not fit.
fn apply(
    step: &Step,
    live: &Live,
    count: i64,
    lines: &Lines<'_>,
    made: &mut [Option<Hit>],
) -> Option<(Live, i64)> {
    let is_whole = |hit: &Hit| matches!(hit.what, What::Create | What::Overwrite);
    if let [only] = step.spans.as_slice()
        && is_whole(only)
        && only
            .after
            .is_none_or(|(first, last)| (first, last) == (1, count) || count == 0)
    {
        live.iter()
            .for_each(|(line, _)| made[*line] = Some(only.clone()));
        return Some((Vec::new(), 0));
    }
    let ranged = step
        .spans
        .iter()
        .map(|hit| Some((hit, hit.before?, hit.after?)));
    let mut spans = ranged.collect::<Option<Vec<_>>>()?;
    spans.sort_by_key(|(_, before, after)| (after.0, before.0));
    let (mut shift, mut next) = (0, 1);
    for (_, before, after) in &spans {
        let fits = after.0 >= next
            && after.1 >= after.0 - 1
            && before.1 >= before.0 - 1
            && before.0 == after.0 - shift;
        if !fits || after.1 > count {
            return None;
        }
        shift += (after.1 - after.0) - (before.1 - before.0);
        next = after.1 + 1;
    }
    if spans
        .iter()
        .any(|(hit, _, after)| is_refuted(hit, *after, live, lines))
    {
        return None;
    }
    let mut rest = Vec::with_capacity(live.len());
    for (line, number) in live {
        match spans
            .iter()
            .find(|(_, _, after)| after.0 <= *number && *number <= after.1)
        {
            Some((hit, ..)) => made[*line] = Some((*hit).clone()),
            None => {
                let earlier = spans.iter().filter(|(_, _, after)| after.1 < *number);
                let shift: i64 = earlier
                    .map(|(_, before, after)| (after.1 - after.0) - (before.1 - before.0))
                    .sum();
                rest.push((*line, number - shift));
            }
        }
    }
    Some((rest, count - shift))
}

/// The place of a removal between the lines that were there then and are there today.
fn gone(hit: &Hit, live: &Live, count: usize) -> Option<Gone> {
    let (before, after) = hit.before.zip(hit.after)?;
    if after.1 >= after.0 || before.1 < before.0 {
        return None;
    }
    let at = live.partition_point(|(_, number)| *number < after.0);
    let line = |(line, _): &(usize, i64)| line + 1;
    Some(Gone {
        hit: hit.clone(),
        between: (
            live[..at].last().map_or(0, line),
            live.get(at).map_or(count + 1, line),
        ),
    })
}

/// True if all lines of a span are still there, side by side, and their text is another.
fn is_refuted(hit: &Hit, (first, last): (i64, i64), live: &Live, lines: &Lines<'_>) -> bool {
    let Some(hash) = hit.ah.filter(|_| last >= first) else {
        return false;
    };
    let at = live.partition_point(|(_, number)| *number < first);
    let count = (last - first + 1) as usize;
    let Some(run) = live.get(at..at + count) else {
        return false;
    };
    let is_run = run
        .iter()
        .enumerate()
        .all(|(n, (line, number))| *number == first + n as i64 && *line == run[0].0 + n);
    is_run && hash_of(lines.run(run[0].0, count)) != hash
}
