//! The steps of files, as the tapes have them, in the order of time.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use rusqlite::Connection;

use crate::diff;
use crate::files::{Files, list};
use crate::line_key::{Key, is_hole};
use crate::parts::Parts;
use crate::rows::{Digest, Kind};
use crate::step_text;

/// Most steps that are read.
const MAX_STEPS: i64 = 200_000;

/// The flag of a step whose text is all of the file.
const WHOLE: i64 = 1;

/// A step of a tape.
#[derive(Debug, Clone)]
pub struct Step {
    pub tape: i64,
    pub seq: i64,
    pub call: Option<i64>,
    pub file: i64,
    pub t: Option<i64>,
    pub kind: Kind,
    pub other: Option<i64>,
    flags: i64,
    session: Option<(i64, i64)>,
    call_id: Option<i64>,
    pub before: Option<Rc<[Key]>>,
    pub after: Rc<[Key]>,
    /// The hashes of the whole file before and after it, where its tape has them.
    pub file_hashes: [Option<Digest>; 2],
}

impl Step {
    /// True if the text after it is all of the file.
    pub const fn whole(&self) -> bool {
        self.flags & WHOLE != 0
    }

    /// The step in the text that the file had before it, if nothing of that text is unknown and it is the one that the hash says: the tape of the
    /// step may know no more of it than a few lines.
    pub fn in_text(&self, text: &Rc<[Key]>) -> Option<Step> {
        let before = self.before.as_ref()?;
        let run = text.get(..before.len())?;
        let differs = |(known, key): (&Key, &Key)| !is_hole(*known) && known != key;
        if before.iter().zip(run).any(differs) {
            return None;
        }
        let mut after = text.to_vec();
        for hunk in diff::hunks(before, &self.after).into_iter().rev() {
            after.splice(hunk.old, self.after[hunk.new].iter().copied());
        }
        Some(Step {
            before: Some(text.clone()),
            after: after.into(),
            flags: self.flags | WHOLE,
            ..self.clone()
        })
    }

    /// True if both are of one call; it may stand on several tapes of its session.
    pub fn is_call_of(&self, other: &Step) -> bool {
        let id = |step: &Step| step.session.zip(step.call_id);
        (self.tape, self.call, self.seq) == (other.tape, other.call, other.seq)
            || (self.call.is_some() && (self.tape, self.call) == (other.tape, other.call))
            || (id(self).is_some() && id(self) == id(other))
    }

    /// True if a command ran since the last step of the file on its tape.
    pub const fn after_command(&self) -> bool {
        self.flags & 4 != 0
    }
}

/// Files under earlier names, and until when each was the file of the question.
pub fn until(files: &Files) -> impl Iterator<Item = (i64, i64)> {
    files
        .iter()
        .filter_map(|(file, named)| Some((*file, named.until?)))
}

/// A tape of a session, by what it is worth: it has times, it has texts, and its number among equals.
type Worth = (bool, usize, [u8; 16]);

/// What a tape has of a call: its time, a text, what the tape is worth, and the tape.
type Best = (bool, bool, Worth, i64);

/// The steps in the order of time. Of one call that stands on several tapes of its session the best tape counts.
pub fn load(
    db: &Connection,
    files: &Files,
    at: Option<i64>,
) -> rusqlite::Result<(Vec<Step>, bool)> {
    if files.is_empty() {
        return Ok((Vec::new(), false));
    }
    // `+` keeps SQLite from an index of files: the spans of one call are few, those of a file or a tape as many as its steps.
    let sql = format!(
        "SELECT step.tape, step.seq, step.call, step.file, step.t, step.kind, step.other, step.flags, tape.harness, tape.session, call.call_id,
        step.data, tape.tape_hash, span.fbh, span.fah FROM step JOIN tape ON tape.id = step.tape
        LEFT JOIN call ON call.tape = step.tape AND call.seq = step.call
        LEFT JOIN span ON +span.file = step.file AND span.tape = step.tape AND span.call IS step.call AND span.seq = step.seq WHERE step.file IN ({}) ORDER BY step.tape, step.seq, step.nth LIMIT {MAX_STEPS}",
        list(files)
    );
    let mut find = db.prepare(&sql)?;
    let mut rows = find.query([])?;
    let (mut steps, mut written) = (Vec::new(), HashMap::new());
    let mut parts = Parts::default();
    let mut hashes: HashMap<i64, [u8; 16]> = HashMap::new();
    while let Some(row) = rows.next()? {
        let harness: i64 = row.get(8)?;
        let mut step = Step {
            tape: row.get(0)?,
            seq: row.get(1)?,
            call: row.get(2)?,
            file: row.get(3)?,
            t: row.get(4)?,
            kind: Kind::of_number(row.get(5)?),
            other: row.get(6)?,
            flags: row.get(7)?,
            session: row
                .get::<_, Option<i64>>(9)?
                .map(|session| (harness, session)),
            call_id: row.get(10)?,
            before: None,
            after: Rc::default(),
            file_hashes: [row.get(13)?, row.get(14)?],
        };
        hashes.insert(step.tape, row.get(12)?);
        let last: &mut Rc<[Key]> = written.entry((step.tape, step.file)).or_default();
        // Data that does not fit is damage that `verify` finds: the step has no text then.
        let data = parts.unpack(db, row.get_ref(11)?.as_blob()?)?;
        let texts =
            data.and_then(|data| step_text::read(step.kind, step.flags & 2 != 0, &data, last));
        match texts {
            Some(texts) => (step.before, step.after) = (texts.before, texts.after),
            None => step.kind = Kind::Lost,
        }
        steps.push(step);
    }
    let is_cut = steps.len() as i64 == MAX_STEPS;
    keep_best(&mut steps, &hashes);
    in_time(&mut steps);
    let until: HashMap<i64, i64> = until(files).collect();
    let last = |file: &i64| until.get(file).copied().into_iter().chain(at).min();
    steps.retain(|step| last(&step.file).is_none_or(|last| step.t.is_none_or(|t| t <= last)));
    Ok((steps, is_cut))
}

fn keep_best(steps: &mut Vec<Step>, hashes: &HashMap<i64, [u8; 16]>) {
    let mut worth: HashMap<i64, Worth> = HashMap::new();
    for step in steps.iter() {
        let of = worth
            .entry(step.tape)
            .or_insert((false, 0, hashes[&step.tape]));
        of.0 |= step.t.is_some();
        of.1 += usize::from(!matches!(step.kind, Kind::Lost | Kind::Piece));
    }
    let has_text = |step: &Step| !matches!(step.kind, Kind::Lost | Kind::Piece);
    let mut best: HashMap<(i64, i64, i64, i64), Best> = HashMap::new();
    let mut timed: HashSet<(i64, i64)> = HashSet::new();
    for step in steps.iter() {
        let Some(session) = step.session else {
            continue;
        };
        timed.extend(step.t.map(|_| session));
        if let Some(call) = step.call_id {
            let own = (
                step.t.is_some(),
                has_text(step),
                worth[&step.tape],
                step.tape,
            );
            let known = best
                .entry((session.0, session.1, call, step.file))
                .or_insert(own);
            *known = own.max(*known);
        }
    }
    steps.retain(|step| {
        let Some(session) = step.session else {
            return true;
        };
        let is_best = step
            .call_id
            .is_none_or(|call| best[&(session.0, session.1, call, step.file)].3 == step.tape);
        is_best && (step.t.is_some() || !timed.contains(&session))
    });
}

/// On one tape the order of events is certain, whatever their times are.
fn in_time(steps: &mut [Step]) {
    let mut latest: HashMap<i64, i64> = HashMap::new();
    let mut keys: HashMap<(i64, i64), i64> = HashMap::new();
    for step in steps.iter() {
        let latest = latest.entry(step.tape).or_insert(i64::MIN);
        *latest = step.t.map_or(*latest, |t| t.max(*latest));
        keys.insert((step.tape, step.seq), *latest);
    }
    steps.sort_by_key(|step| (keys[&(step.tape, step.seq)], step.tape, step.seq));
}
