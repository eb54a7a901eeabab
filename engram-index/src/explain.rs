//! The question *which session, prompt and call put these lines here?*, and its answer by tiers.

use std::collections::{BTreeMap, HashMap};

use rusqlite::Connection;

use crate::anchors::{self, Side};
use crate::answer::{Answer, Item, LineCounts, Tier};
use crate::files::{self, Files, InRepo, list};
use crate::hit::Hit;
use crate::lines::Lines;
use crate::new_lines::TakenBack;
use crate::{names, new_lines, said, span, state, window};

/// The share of fingerprints that an answer of tier 3 has; and with `all`.
const SHARE: f64 = 0.50;
const SHARE_OF_ALL: f64 = 0.30;
/// Unknown lines are compared in pieces of so many.
const PIECE_LINES: usize = 60;
/// Most pieces that are compared.
const MAX_PIECES: usize = 100;
/// Most names of other proofs, of later edits, and of commands of the time.
const MAX_ALSO: usize = 5;
const MAX_LATER: usize = 3;
const MAX_HINTS: usize = 3;

/// A question about lines of a text.
#[derive(Debug, Clone)]
pub struct Query<'q> {
    /// The absolute paths of the file: the one that was given, and where links lead.
    pub paths: Vec<String>,
    /// The same file as a repository knows it.
    pub repo: Option<InRepo>,
    /// The whole text.
    pub text: &'q str,
    /// The lines that are asked for, from 1, both ends included; all if `None`.
    pub range: Option<(usize, usize)>,
    /// The weakest tier that may answer.
    pub tiers: Tier,
    /// Compare with the spans of all files, not only of this one.
    pub moved: bool,
    /// Show tier 3 from 0.30 on.
    pub all: bool,
    /// Nothing that happened after this time, in milliseconds since 1970, counts.
    pub at: Option<i64>,
    /// The most items of the answer.
    pub limit: usize,
    /// Items that are left out at the beginning.
    pub skip: usize,
    /// What is read from the tapes.
    pub words: Words,
}

/// The words of tapes that an answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// None: nothing but the index is read.
    None,
    /// The prompt.
    Prompt,
    /// The prompt, those of the sessions above, the reasoning and the arguments of the call.
    All,
}

impl<'q> Query<'q> {
    /// A question about a whole text without a path.
    pub fn new(text: &'q str) -> Query<'q> {
        Query {
            paths: Vec::new(),
            repo: None,
            text,
            range: None,
            tiers: Tier::Anchor,
            moved: false,
            all: false,
            at: None,
            limit: 10,
            skip: 0,
            words: Words::All,
        }
    }

    /// A question about a file.
    pub fn of_file(path: &str, text: &'q str) -> Query<'q> {
        Query {
            paths: vec![path.to_owned()],
            ..Query::new(text)
        }
    }
}

/// Who made one line.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// The proof.
    pub tier: Tier,
    /// The edit; `None` if unknown.
    hit: Option<Hit>,
    share: Option<f64>,
}

const UNKNOWN: Made = Made {
    tier: Tier::Unknown,
    hit: None,
    share: None,
};

/// The lines of a text with their causes.
pub struct Attributed {
    /// One per line.
    pub made: Vec<Made>,
    /// Other edits that left the same text as a whole.
    others: Vec<Hit>,
    state_known: bool,
    files: Files,
    notes: Vec<String>,
}

/// Finds who made each line of a text.
pub fn attribute(db: &Connection, query: &Query<'_>) -> rusqlite::Result<Attributed> {
    let lines = Lines::new(query.text);
    let files = files::find(db, &query.paths, query.repo.as_ref())?;
    let mut made = vec![UNKNOWN; lines.len()];
    let mut notes = Vec::new();
    let mut state = state::trace(db, &lines, &files, query.at)?;
    let mut taken_back = vec![None; lines.len()];
    new_lines::keep(db, &lines, &mut state.made, &mut taken_back)?;
    give(&mut made, state.made, Tier::State);
    if query.tiers >= Tier::Span {
        let taken: Vec<bool> = made.iter().map(|made| made.hit.is_some()).collect();
        let mut spans = span::find(db, &lines, &files, query.at, &taken)?;
        new_lines::keep(db, &lines, &mut spans.made, &mut taken_back)?;
        give(&mut made, spans.made, Tier::Span);
        if spans.is_cut {
            notes.push(
                "the file has too many edits or lines; not all of them were compared".to_owned(),
            );
        }
        if query.moved {
            let taken: Vec<bool> = made.iter().map(|made| made.hit.is_some()).collect();
            let likely = likely_files(db, query, &lines, &taken)?;
            let mut spans = span::find(db, &lines, &likely, query.at, &taken)?;
            new_lines::keep(db, &lines, &mut spans.made, &mut taken_back)?;
            give(&mut made, spans.made, Tier::Span);
        }
    }
    if query.tiers >= Tier::Anchor {
        by_anchors(db, query, &lines, &taken_back, &mut made)?;
    }
    Ok(Attributed {
        made,
        others: state.others,
        state_known: state.is_known,
        files,
        notes,
    })
}

/// The edits that made the asked lines, each once.
pub fn makers(db: &Connection, query: &Query<'_>) -> rusqlite::Result<Vec<Hit>> {
    let made = attribute(db, query)?.made;
    let (first, last) = bounds(query.range, made.len());
    let mut makers: Vec<Hit> = Vec::new();
    for hit in made[first..last.max(first)]
        .iter()
        .filter_map(|made| made.hit.as_ref())
    {
        if makers.iter().all(|known| known.id != hit.id) {
            makers.push(hit.clone());
        }
    }
    Ok(makers)
}

fn give(made: &mut [Made], found: Vec<Option<Hit>>, tier: Tier) {
    for (made, hit) in made.iter_mut().zip(found) {
        if let Some(hit) = hit.filter(|_| made.hit.is_none()) {
            *made = Made {
                tier,
                hit: Some(hit),
                share: None,
            };
        }
    }
}

/// The files whose edits have fingerprints of the lines that nobody has made.
fn likely_files(
    db: &Connection,
    query: &Query<'_>,
    lines: &Lines<'_>,
    taken: &[bool],
) -> rusqlite::Result<Files> {
    let mut files = Files::new();
    for (first, count) in pieces(query, taken).into_iter().take(MAX_PIECES) {
        for likeness in anchors::find(
            db,
            lines.run(first, count),
            Side::After,
            SHARE_OF_ALL,
            query.at,
        )? {
            files.insert(likeness.hit.file, String::new());
        }
    }
    Ok(files)
}

/// Runs of the asked lines that nobody has made: the first line, and how many.
fn pieces(query: &Query<'_>, taken: &[bool]) -> Vec<(usize, usize)> {
    let (first, last) = bounds(query.range, taken.len());
    let mut pieces: Vec<(usize, usize)> = Vec::new();
    for line in (first..last).filter(|line| !taken[*line]) {
        match pieces.last_mut() {
            Some((first, count)) if *first + *count == line && *count < PIECE_LINES => *count += 1,
            _ => pieces.push((line, 1)),
        }
    }
    pieces
}

/// The asked lines as a half-open range from 0.
fn bounds(range: Option<(usize, usize)>, count: usize) -> (usize, usize) {
    let (first, last) = range.unwrap_or((1, count));
    (first.saturating_sub(1).min(count), last.min(count))
}

/// A span through which lines went, as the arguments of its call show, is no answer for them.
fn by_anchors(
    db: &Connection,
    query: &Query<'_>,
    lines: &Lines<'_>,
    taken_back: &TakenBack,
    made: &mut [Made],
) -> rusqlite::Result<()> {
    let least = if query.all { SHARE_OF_ALL } else { SHARE };
    let taken: Vec<bool> = made.iter().map(|made| made.hit.is_some()).collect();
    for (first, count) in pieces(query, &taken).into_iter().take(MAX_PIECES) {
        let found = anchors::find(db, lines.run(first, count), Side::After, least, query.at)?;
        let went_through = |hit: &Hit| taken_back[first..first + count].contains(&Some(hit.step()));
        if let Some(best) = found.into_iter().find(|found| !went_through(&found.hit)) {
            made[first..first + count].fill(Made {
                tier: Tier::Anchor,
                hit: Some(best.hit),
                share: Some(best.share),
            });
        }
    }
    Ok(())
}

/// Answers a question.
pub fn explain(db: &Connection, query: &Query<'_>) -> rusqlite::Result<Answer> {
    let attributed = attribute(db, query)?;
    let (first, last) = bounds(query.range, attributed.made.len());
    let mut counts = LineCounts::default();
    // Lines of one edit are one item, wherever they are.
    let mut order: Vec<Key> = Vec::new();
    let mut runs: HashMap<Key, (Vec<[usize; 2]>, &Made)> = HashMap::new();
    for (at, made) in attributed.made.iter().enumerate().take(last).skip(first) {
        *match made.tier {
            Tier::State => &mut counts.state,
            Tier::Span => &mut counts.span,
            Tier::Anchor => &mut counts.anchor,
            Tier::Unknown => &mut counts.unknown,
        } += 1;
        let key = (
            made.tier,
            made.hit.as_ref().map(Hit::step),
            made.hit.as_ref().map(|hit| hit.file),
        );
        let (lines, _) = runs.entry(key).or_insert_with(|| {
            order.push(key);
            (Vec::new(), made)
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
        let (lines, made) = &runs[key];
        answer
            .items
            .push(item(db, query, &attributed, lines.clone(), made)?);
    }
    if query.words == Words::All && last > first {
        let least = if query.all { SHARE_OF_ALL } else { SHARE };
        answer.mentioned = said::mentions(
            db,
            Lines::new(query.text).run(first, last - first),
            least,
            query.at,
        )?;
    }
    Ok(answer)
}

type Key = (Tier, Option<(i64, i64)>, Option<i64>);

fn item(
    db: &Connection,
    query: &Query<'_>,
    attributed: &Attributed,
    lines: Vec<[usize; 2]>,
    made: &Made,
) -> rusqlite::Result<Item> {
    let mut item = bare_item(lines, made.tier);
    let Some(hit) = &made.hit else {
        if query.words == Words::All {
            item.hint = hints(db, attributed, query)?;
        }
        return Ok(item);
    };
    item.share = made.share.map(|share| (share * 100.0).round() / 100.0);
    fill(db, &mut item, hit, query.words)?;
    if made.tier == Tier::State {
        let others = attributed
            .others
            .iter()
            .filter(|other| other.step() != hit.step());
        item.also.extend(
            others
                .take(MAX_ALSO)
                .map(|other| place_of(db, other))
                .collect::<Result<Vec<_>, _>>()?,
        );
    }
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

fn bare_item(lines: Vec<[usize; 2]>, tier: Tier) -> Item {
    Item {
        lines,
        tier,
        share: None,
        op: None,
        file: None,
        before_range: None,
        after_range: None,
        call: None,
        also: Vec::new(),
        prompt: None,
        started_by: Vec::new(),
        reasoning: Vec::new(),
        change: None,
        later: Vec::new(),
        hint: Vec::new(),
    }
}

/// Adds the edit, its call and, with `words`, what the tape says around it.
fn fill(db: &Connection, item: &mut Item, hit: &Hit, words: Words) -> rusqlite::Result<()> {
    let (hit, twins) = first_of_twins(db, hit)?;
    item.also.extend(twins);
    let call = window::call(db, hit.tape, hit.call.unwrap_or(hit.seq))?;
    item.op = Some(hit.what.as_str());
    item.file = Some(path_of(db, hit.file)?);
    (item.before_range, item.after_range) = (hit.before, hit.after);
    if words != Words::None {
        item.prompt = call.prompt(db)?;
    }
    if words == Words::All {
        item.started_by = call.started_by(db)?;
        item.reasoning = call.reasoning(db)?;
        item.change = call.change();
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

pub(crate) fn path_of(db: &Connection, file: i64) -> rusqlite::Result<String> {
    let sql = "SELECT CASE WHEN repo = 0 THEN path ELSE root || '/' || path END FROM file LEFT JOIN repo ON repo.id = repo WHERE file.id = ?1";
    db.prepare_cached(sql)?.query_row([file], |row| row.get(0))
}

/// The last commands of sessions that changed the file or ran in its directory. They may have made lines that no edit explains.
fn hints(
    db: &Connection,
    attributed: &Attributed,
    query: &Query<'_>,
) -> rusqlite::Result<Vec<crate::answer::CallInfo>> {
    let sql = format!(
        "SELECT c.tape, c.seq FROM call c JOIN name k ON k.id = c.kind WHERE k.text = 'execute' AND c.replay = 0 AND ifnull(c.t, 0) <= ?1
        AND c.tape IN (SELECT DISTINCT tape FROM span WHERE file IN ({}) ORDER BY t DESC LIMIT 50) ORDER BY c.t DESC, c.seq DESC LIMIT ?2",
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
        .map(|(tape, seq)| Ok(window::call(db, tape, seq)?.info))
        .collect()
}
