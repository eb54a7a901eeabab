//! The question *which session, prompt and call put these lines here?*, and its answer by tiers.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use engram_core::event::Status;
use rusqlite::Connection;

use crate::answer::{Answer, Item, LineCounts, Tier, Why};
use crate::attribute::{self, Attributed};
use crate::files::{list, path_of};
use crate::hit::Hit;
use crate::line::Line;
use crate::query::{Query, Words};
use crate::rows::{Kind, What};
use crate::steps::Step;
use crate::{line_key, names, said, window};

/// The share of fingerprints that a text has which mentions the lines.
const SHARE: f64 = 0.50;
/// Most names of later edits, and of commands of the time.
const MAX_LATER: usize = 3;
const MAX_HINTS: usize = 3;

/// Who made one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// What the answer rests on.
    pub tier: Tier,
    /// Why it is unknown.
    pub why: Option<Why>,
    /// White space or quotes of the line were changed since.
    pub reformatted: bool,
    /// The tape and the event of the call; the path of the tape where it was last.
    pub call: Option<(PathBuf, i64)>,
}

/// Finds who made each of the asked lines of a text.
pub fn made(db: &Connection, query: &Query<'_>) -> rusqlite::Result<Vec<Made>> {
    let attributed = attribute::attribute(db, query)?;
    let (first, last) = bounds(query.range, attributed.lines.len());
    let mut places: HashMap<i64, PathBuf> = HashMap::new();
    let lines = attributed.lines.into_iter().take(last).skip(first);
    let made = lines.map(|line| {
        let call = match &line.step {
            Some(step) => {
                let place = match places.entry(step.tape) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => new.insert(window::place(db, step.tape)?.0),
                };
                Some((place.clone(), step.call.unwrap_or(step.seq)))
            }
            None => None,
        };
        Ok(Made {
            tier: line.tier,
            why: line.why,
            reformatted: line.reformatted,
            call,
        })
    });
    made.collect()
}

/// The edits that made the asked lines, each once.
pub fn makers(db: &Connection, query: &Query<'_>) -> rusqlite::Result<Vec<Hit>> {
    let attributed = attribute::attribute(db, query)?;
    let (first, last) = bounds(query.range, attributed.lines.len());
    let mut makers: Vec<Hit> = Vec::new();
    for step in attributed
        .lines
        .iter()
        .take(last)
        .skip(first)
        .filter_map(|line| line.step.as_ref())
    {
        let hit = hit_of(db, step)?;
        if makers.iter().all(|known| known.step() != hit.step()) {
            makers.push(hit);
        }
    }
    Ok(makers)
}

/// The spans of a step. `+` keeps SQLite from an index of files, whose steps are many: a blame asks for each of them.
const OF_STEP: &str = "tape = ?1 AND call IS ?2 AND seq = ?3 AND +file = ?4";

/// The span of a step. A command whose effect is known has none.
pub(crate) fn hit_of(db: &Connection, step: &Step) -> rusqlite::Result<Hit> {
    let key = (step.tape, step.call, step.seq, step.file);
    let found = Hit::find(db, OF_STEP, key)?;
    Ok(found.into_iter().next().unwrap_or(Hit {
        id: -step.seq,
        tape: step.tape,
        seq: step.seq,
        call: step.call,
        file: step.file,
        what: match step.kind {
            Kind::Created => What::Create,
            Kind::Deleted => What::Delete,
            Kind::Moved | Kind::Copied => What::Move,
            _ => What::Update,
        },
        before: None,
        after: None,
        bh: None,
        ah: None,
        fbh: None,
        fah: None,
        lines: None,
        flags: 0,
        t: step.t,
    }))
}

/// The asked lines as a half-open range from 0.
pub(crate) fn bounds(range: Option<(usize, usize)>, count: usize) -> (usize, usize) {
    let (first, last) = range.unwrap_or((1, count));
    (first.saturating_sub(1).min(count), last.min(count))
}

/// Answers a question.
pub fn explain(db: &Connection, query: &Query<'_>) -> rusqlite::Result<Answer> {
    let attributed = attribute::attribute(db, query)?;
    let (first, last) = bounds(query.range, attributed.lines.len());
    let mut counts = LineCounts::default();
    // Lines of one edit are one item, wherever they are.
    let mut order: Vec<Key> = Vec::new();
    let mut runs: HashMap<Key, (Vec<[usize; 2]>, &Line)> = HashMap::new();
    for (at, line) in attributed.lines.iter().enumerate().take(last).skip(first) {
        counts.add(line.tier);
        let step = line
            .step
            .as_ref()
            .map(|step| (step.tape, step.call.unwrap_or(step.seq), step.file));
        let key = (line.tier, line.why, line.reformatted, step);
        let (lines, _) = runs.entry(key).or_insert_with(|| {
            order.push(key);
            (Vec::new(), line)
        });
        match lines.last_mut() {
            Some(run) if run[1] == at => run[1] = at + 1,
            _ => lines.push([at + 1, at + 1]),
        }
    }
    let mut answer = Answer {
        total: order.len(),
        lines: counts,
        state_known: attributed.state_known,
        notes: attributed.notes.clone(),
        ..Answer::default()
    };
    for key in order.iter().skip(query.skip).take(query.limit) {
        let (lines, line) = &runs[key];
        answer
            .items
            .push(item(db, query, &attributed, lines.clone(), line)?);
    }
    if query.words == Words::All && last > first {
        let asked: Vec<&str> = line_key::lines(query.text).take(last).skip(first).collect();
        answer.mentioned = said::mentions(db, &asked.join("\n"), SHARE, query)?;
    }
    Ok(answer)
}

/// What lines of one item have in common.
type Key = (Tier, Option<Why>, bool, Option<(i64, i64, i64)>);

fn item(
    db: &Connection,
    query: &Query<'_>,
    attributed: &Attributed,
    lines: Vec<[usize; 2]>,
    line: &Line,
) -> rusqlite::Result<Item> {
    let mut item = Item {
        lines,
        tier: line.tier,
        why: line.why,
        reformatted: line.reformatted,
        ..Item::default()
    };
    let Some(step) = &line.step else {
        if query.words == Words::All && line.why == Some(Why::Command) {
            item.hint = hints(db, attributed, query)?;
        }
        return Ok(item);
    };
    let hit = hit_of(db, step)?;
    fill(db, &mut item, &hit, query)?;
    if query.words != Words::All {
        return Ok(item);
    }
    let later = format!(
        "file IN ({}) AND what BETWEEN 1 AND 5 AND ifnull(t, 0) >= ?1 AND ifnull(t, 0) <= ?2 ORDER BY t DESC, seq DESC LIMIT 50",
        list(&attributed.files)
    );
    let mut steps = vec![hit.step()];
    for later in Hit::find(
        db,
        &later,
        (hit.t.unwrap_or_default(), query.at.unwrap_or(i64::MAX)),
    )? {
        if item.later.len() < MAX_LATER
            && later.when() > hit.when()
            && !steps.contains(&later.step())
        {
            steps.push(later.step());
            item.later.push(place_of(db, &later)?);
        }
    }
    Ok(item)
}

/// Adds the edit, its call and, as far as the question wants words, what the tape says around it.
fn fill(db: &Connection, item: &mut Item, hit: &Hit, query: &Query<'_>) -> rusqlite::Result<()> {
    let words = query.words;
    let (hit, twins) = first_of_twins(db, hit)?;
    item.also.extend(twins);
    let call = window::call(db, hit.tape, hit.call.unwrap_or(hit.seq), query.keys)?;
    item.op = Some(hit.what.as_str());
    item.file = Some(path_of(db, hit.file)?);
    (item.before_range, item.after_range) = (hit.before, hit.after);
    if words != Words::None {
        item.prompt = call.prompt(db)?;
    }
    if words == Words::All {
        item.started_by = call.started_by(db)?;
        let before = call.before(db)?;
        (item.said, item.reasoning) = (before.said, before.thought);
        item.change = call.change(item.file.as_deref().unwrap_or_default());
    }
    item.call = Some(call.info);
    if let (Some(call), Some(t)) = (&mut item.call, hit.t)
        && call.t.is_none()
    {
        call.t = Some(names::time(t));
    }
    Ok(())
}

/// The same edit on several tapes of one session (another form, a copy before an undo) is one answer: the tape with the least hash has it.
fn first_of_twins(db: &Connection, hit: &Hit) -> rusqlite::Result<(Hit, Vec<String>)> {
    let condition =
        "file = ?1 AND t IS ?2 AND what = ?3 AND ah IS ?4 AND fah IS ?5 AND a0 IS ?6 AND tape IN (SELECT o.id FROM tape o JOIN tape m
        ON m.harness = o.harness AND m.session = o.session AND m.agent IS o.agent WHERE m.id = ?7)
        ORDER BY (SELECT tape_hash FROM tape WHERE id = tape), seq LIMIT 20";
    let key = (
        hit.file,
        hit.t,
        hit.what as i64,
        hit.ah,
        hit.fah,
        hit.after.map(|after| after.0),
        hit.tape,
    );
    let mut one_of_tape: BTreeMap<i64, ()> = BTreeMap::new();
    let mut twins: Vec<Hit> = Hit::find(db, condition, key)?;
    twins.retain(|twin| one_of_tape.insert(twin.tape, ()).is_none());
    if twins.len() < 2 {
        return Ok((hit.clone(), Vec::new()));
    }
    let others = twins[1..]
        .iter()
        .map(|twin| place_of(db, twin))
        .collect::<Result<_, _>>()?;
    let first = twins.swap_remove(0);
    Ok((
        if first.tape == hit.tape {
            hit.clone()
        } else {
            first
        },
        others,
    ))
}

/// `TAPE#SEQ` of the call of a span.
fn place_of(db: &Connection, hit: &Hit) -> rusqlite::Result<String> {
    let (path, _) = window::place(db, hit.tape)?;
    Ok(format!(
        "{}#{}",
        path.to_string_lossy(),
        hit.call.unwrap_or(hit.seq)
    ))
}

/// The last commands of sessions that changed the file or ran in its directory, without those that were denied. They may have made lines that no edit explains.
fn hints(
    db: &Connection,
    attributed: &Attributed,
    query: &Query<'_>,
) -> rusqlite::Result<Vec<crate::answer::CallInfo>> {
    let sql = format!(
        "SELECT c.tape, c.seq FROM call c JOIN name k ON k.id = c.kind WHERE k.text = 'execute' AND c.replay = 0 AND ifnull(c.status, 0) <> {} AND ifnull(c.t, 0) <= ?1
        AND c.tape IN (SELECT DISTINCT tape FROM span WHERE file IN ({}) ORDER BY t DESC LIMIT 50) ORDER BY c.t DESC, c.seq DESC LIMIT ?2",
        Status::Denied as i64,
        list(&attributed.files)
    );
    let calls: Vec<(i64, i64)> = db
        .prepare_cached(&sql)?
        .query_map((query.at.unwrap_or(i64::MAX), MAX_HINTS as i64), |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .collect::<Result<_, _>>()?;
    calls
        .into_iter()
        .map(|(tape, seq)| Ok(window::call(db, tape, seq, query.keys)?.info))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_span_of_a_step_is_sought_among_those_of_its_call() {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(include_str!("schema.sql")).unwrap();
        let sql = format!("EXPLAIN QUERY PLAN SELECT id FROM span WHERE {OF_STEP}");
        let plan: String = db
            .query_row(&sql, (1, 2, 3, 4), |row| row.get("detail"))
            .unwrap();
        assert!(plan.contains("span_tape (tape=? AND call=?)"), "{plan}");
    }
}
