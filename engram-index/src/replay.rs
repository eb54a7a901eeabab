//! The states of files over all tapes, each line with its origin: the steps of the tapes are made again in the order of time.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use rusqlite::Connection;

use crate::align::LONG;
use crate::answer::Why;
use crate::asked::Asked;
use crate::diff::{self, Hunk};
use crate::files::Files;
use crate::line_key::{Key, counts, is_hole, letters};
use crate::origin::{
    MAX_PIECES, Origin, Removed, State, carried, inherited, place_after, whole, written_again,
};
use crate::rows::Kind;
use crate::steps::{Step, load, until};

/// States that are kept for the comparison with a text: those that have most of its lines.
const MAX_STATES: usize = 12;
/// Lines around a removed run that are kept with it.
const CONTEXT: usize = 3;

/// What the steps say about a text.
#[derive(Debug, Default)]
pub struct Replay {
    pub steps: Vec<Step>,
    /// States that are the text, the newest last.
    pub same: Vec<State>,
    /// The last states of the files, and those that have most lines of the text.
    pub states: Vec<State>,
    /// Pieces without a place, and runs of lines that were removed, the newest last.
    pub pieces: Vec<State>,
    /// What calls removed.
    pub removed: Vec<Removed>,
    /// The last step that removed such a line of a file.
    last_removed: HashMap<(i64, Key), usize>,
    /// The last text of each file (and the last whole one), and where lines of `removed` stood in it: before the line with this number, from 0.
    pub now: Vec<(State, Vec<(usize, usize)>)>,
    /// True if a call changed a file since its whole text was seen last, and its tape does not say how.
    pub has_lost: bool,
    /// True if there were too many steps.
    pub is_cut: bool,
}

impl Replay {
    fn remove(&mut self, step: usize, file: i64, lines: &[Key]) {
        self.last_removed
            .extend(lines.iter().map(|key| ((file, *key), step)));
        let lines = lines.to_vec();
        self.removed.push(Removed { step, file, lines });
    }

    /// True for a short line of a state that a later step removed: an equal one was written again. Who put a long line back put that line back.
    pub fn is_gone(&self, state: &State, key: Key) -> bool {
        let last = self.last_removed.get(&(state.file, key));
        letters(key) < LONG && last.is_some_and(|step| *step > state.at)
    }
}

/// Makes the steps of these files again, for a question about a text.
pub fn replay(
    db: &Connection,
    files: &Files,
    at: Option<i64>,
    text: &Asked,
) -> rusqlite::Result<Replay> {
    let (steps, is_cut) = load(db, files, at)?;
    let mut making = Making {
        wanted: text.lines.iter().copied().collect(),
        asked: text,
        now: HashMap::new(),
        gone: HashMap::new(),
        last_whole: HashMap::new(),
        touched: HashSet::new(),
        lost: HashSet::new(),
        earlier: until(files).collect(),
        order: 0,
        at: 0,
        found: Replay {
            is_cut,
            ..Replay::default()
        },
    };
    for (at, step) in steps.iter().enumerate() {
        making.at = at;
        making.step(step, at);
    }
    making.states_of_now();
    let mut found = making.found;
    found.has_lost = !making.lost.is_empty();
    found.steps = steps;
    Ok(found)
}

struct Making<'a> {
    asked: &'a Asked,
    wanted: HashSet<Key>,
    now: HashMap<i64, State>,
    /// Where removed lines stood in the text of each file.
    gone: HashMap<i64, Vec<(usize, usize)>>,
    /// The last whole text of a file of which only a part is known now, and where removed lines stood in it.
    last_whole: HashMap<i64, (State, Vec<(usize, usize)>)>,
    /// Files that a call has changed, nobody knows how.
    touched: HashSet<i64>,
    /// Files that a call has changed since their whole text was seen last, nobody knows how.
    lost: HashSet<i64>,
    /// Earlier names of the file, by when a commit gave it another one.
    earlier: Vec<(i64, i64)>,
    order: usize,
    at: usize,
    found: Replay,
}

impl Making<'_> {
    fn step(&mut self, step: &Step, at: usize) {
        match step.kind {
            Kind::Seen => {
                let origins = self.seen(step, &step.after);
                self.put(step, origins, None);
            }
            Kind::Changed | Kind::Created => self.change(step, at),
            Kind::Piece => self.piece(step, at),
            Kind::Appended => self.append(step, at),
            Kind::Moved | Kind::Copied => self.become_other(step),
            Kind::Deleted => {
                if let Some(state) = self.now.remove(&step.file) {
                    self.note_removed(&state, &whole(&state.lines), Some(at));
                }
            }
            Kind::Lost => {
                self.lost.insert(step.file);
                self.touched.insert(step.file);
                self.now
                    .entry(step.file)
                    .and_modify(|state| state.is_stale = true);
            }
        }
    }

    /// The origins of a text that was there, whoever made it.
    fn seen(&self, step: &Step, text: &[Key]) -> Rc<[Origin]> {
        let state = self.now.get(&step.file);
        let Some(state) = state.or_else(|| self.under_earlier_name(step.file)) else {
            let first = match self.touched.contains(&step.file) {
                true => Origin::Unproven(Why::NoText),
                false => Origin::Older,
            };
            return vec![first; text.len()].into();
        };
        if *state.lines == *text {
            return state.origins.clone();
        }
        let new = match (step.after_command(), state.is_stale) {
            (_, true) => Why::NoText,
            (true, _) => Why::Command,
            _ => Why::Nobody,
        };
        let new = Origin::Unproven(new);
        let now = counts(text);
        let known = |state: &State, unseen: &dyn Fn(usize) -> Origin| -> Rc<[Origin]> {
            let again = written_again(&self.found.removed, state, &now);
            let origins = inherited(state, text, new, unseen);
            let lines = text.iter().zip(origins.iter());
            let of =
                |(key, origin): (&Key, &Origin)| if again.contains(key) { new } else { *origin };
            lines.map(of).collect()
        };
        // Where this state has gaps, the last whole text may have had the lines.
        match self.last_whole.get(&step.file) {
            Some((whole, _)) => {
                let unseen = known(whole, &|_| new);
                known(state, &|line| unseen[line])
            }
            None => known(state, &|_| Origin::Older),
        }
    }

    /// The last text that a file had before a commit gave it its name.
    fn under_earlier_name(&self, file: i64) -> Option<&State> {
        let own = self.earlier.iter().find(|(earlier, _)| *earlier == file);
        let is_before = |until: i64| own.is_none_or(|own| until < own.1);
        let states = self.earlier.iter().filter(|(_, until)| is_before(*until));
        states
            .filter_map(|(earlier, _)| self.now.get(earlier))
            .max_by_key(|state| state.order)
    }

    /// The last text of the file, if it is the one before a step.
    fn text_before(&self, step: &Step) -> Option<&State> {
        let state = self.now.get(&step.file)?;
        let is_same = state.hash.is_some() && state.hash == step.file_hashes[0];
        (is_same && state.whole && !state.is_stale).then_some(state)
    }

    fn change(&mut self, step: &Step, at: usize) {
        let known = self.text_before(step).filter(|_| !step.whole());
        let filled = known.and_then(|state| step.in_text(&state.lines));
        let step = filled.as_ref().unwrap_or(step);
        let text = &step.after;
        let (old, origins): (Rc<[Key]>, Rc<[Origin]>) = match &step.before {
            Some(before) => (before.clone(), self.seen(step, before)),
            None if step.kind == Kind::Created => (Rc::default(), Rc::default()),
            // Nobody knows which of the lines were there before.
            None => {
                let unproven = Origin::Unproven(Why::Overwritten);
                let origins = match self.now.get(&step.file) {
                    Some(state) => inherited(state, text, unproven, &|_| unproven),
                    None => vec![unproven; text.len()].into(),
                };
                return self.put(step, origins, Some(at));
            }
        };
        // What a person did before the edit is no removal of this call.
        if self
            .now
            .get(&step.file)
            .is_none_or(|state| *state.lines != *old)
            && step.before.is_some()
        {
            self.put_text(step, old.clone(), origins.clone(), None);
        }
        let hunks = diff::hunks(&old, text);
        let origins = carried(&origins, &hunks, Origin::Made(at));
        self.put(step, origins.clone(), Some(at));
        if (!step.whole() || step.after.iter().any(|key| is_hole(*key)))
            && let Some(place) = self.asked.place_of(step)
        {
            self.fill(step, self.origins_in_asked(step, place, &origins));
        }
    }

    /// The origins of the text of the question, which a step left. `known` are those of the lines at this place.
    fn origins_in_asked(&self, step: &Step, place: usize, known: &[Origin]) -> Rc<[Origin]> {
        let mut origins = self.seen(step, &self.asked.lines).to_vec();
        for (line, (key, origin)) in step.after.iter().zip(known).enumerate() {
            let is_proven = match origin {
                // The hash of the file says what the line is.
                Origin::Made(_) => true,
                Origin::Older => !is_hole(*key),
                Origin::Unproven(_) => false,
            };
            if is_proven {
                origins[place + line] = *origin;
            }
        }
        origins.into()
    }

    /// What nobody knew of the last text of a file is as it is in the text of the question.
    fn fill(&mut self, step: &Step, origins: Rc<[Origin]>) {
        if let Some(mut state) = self.now.get(&step.file).cloned() {
            self.order += 1;
            state.lines = self.asked.lines.clone();
            state.origins = origins;
            state.whole = true;
            state.order = self.order;
            self.found.same.push(state.clone());
            self.keep(state.clone());
            self.now.insert(step.file, state);
        }
    }

    /// A piece of a known text changes it where it has one place. Else it is kept for what it is.
    fn piece(&mut self, step: &Step, at: usize) {
        let before = step.before.as_deref().unwrap_or_default();
        let state = self.now.get(&step.file).cloned();
        let places: Vec<usize> = match &state {
            Some(state) if !before.is_empty() => {
                let runs = state.lines.windows(before.len()).enumerate();
                runs.filter(|(_, run)| *run == before)
                    .map(|(place, _)| place)
                    .take(2)
                    .collect()
            }
            _ => Vec::new(),
        };
        let origins: Vec<Origin> = match (&state, places.first()) {
            (Some(state), Some(place)) => state.origins[*place..place + before.len()].to_vec(),
            _ => self.origins_of_run(step.file, before),
        };
        let hunks = diff::hunks(before, &step.after);
        let new = carried(&origins, &hunks, Origin::Made(at));
        if let Some(place) = self.asked.place_of(step) {
            let origins = self.origins_in_asked(step, place, &new);
            self.put_text(step, self.asked.lines.clone(), origins, Some(at));
        } else if let (Some(state), [place]) = (&state, places.as_slice()) {
            let (mut lines, mut all) = (state.lines.to_vec(), state.origins.to_vec());
            lines.splice(*place..place + before.len(), step.after.iter().copied());
            all.splice(*place..place + before.len(), new.iter().copied());
            self.put_text(step, lines.into(), all.into(), Some(at));
        } else {
            self.now
                .entry(step.file)
                .and_modify(|state| state.is_stale = true);
            let gone: Vec<Key> = hunks
                .into_iter()
                .flat_map(|hunk| before[hunk.old].to_vec())
                .collect();
            if !gone.is_empty() {
                self.found.remove(at, step.file, &gone);
            }
            if self.may_be_parts(&new, &step.after) {
                self.lost.insert(step.file);
            }
        }
        self.touched.insert(step.file);
        self.keep_piece(step.file, step.after.clone(), new, at);
    }

    /// True if a piece ends in lines that the text does not have: a string that was replaced may begin and end within a line.
    fn may_be_parts(&self, origins: &[Origin], lines: &[Key]) -> bool {
        let is_missing = |(origin, key): (&Origin, &Key)| {
            matches!(origin, Origin::Made(_)) && letters(*key) > 0 && !self.wanted.contains(key)
        };
        let mut ends = origins.iter().zip(lines);
        let first = ends.next();
        first.into_iter().chain(ends.next_back()).any(is_missing)
    }

    /// Lines at the end of a known text, or a piece.
    fn append(&mut self, step: &Step, at: usize) {
        let new = vec![Origin::Made(at); step.after.len()];
        let state = self.now.get(&step.file);
        if let Some(state) = state.filter(|state| state.whole && !state.is_stale) {
            let lines = [&*state.lines, &*step.after].concat();
            let origins = [&state.origins, new.as_slice()].concat();
            self.put_text(step, lines.into(), origins.into(), Some(at));
        }
        self.touched.insert(step.file);
        self.keep_piece(step.file, step.after.clone(), new.into(), at);
    }

    /// The origins of lines that stand together in an earlier piece.
    fn origins_of_run(&self, file: i64, run: &[Key]) -> Vec<Origin> {
        let unproven = vec![Origin::Unproven(Why::NoText); run.len()];
        if run.is_empty() {
            return unproven;
        }
        let pieces = self
            .found
            .pieces
            .iter()
            .rev()
            .filter(|piece| piece.file == file);
        let found = pieces.filter_map(|piece| {
            let place = piece
                .lines
                .windows(run.len())
                .position(|lines| lines == run)?;
            Some(piece.origins[place..place + run.len()].to_vec())
        });
        found.into_iter().next().unwrap_or(unproven)
    }

    fn become_other(&mut self, step: &Step) {
        let from = step.other.and_then(|other| match step.kind {
            Kind::Moved => self.now.remove(&other),
            _ => self.now.get(&other).cloned(),
        });
        match from {
            Some(state) => {
                let gone = self.gone.get(&state.file).cloned().unwrap_or_default();
                self.put_text(step, state.lines, state.origins, None);
                self.gone.insert(step.file, gone);
            }
            None if step.after.is_empty() => {}
            None => {
                let origins = vec![Origin::Older; step.after.len()].into();
                self.put(step, origins, None);
            }
        }
    }

    fn put(&mut self, step: &Step, origins: Rc<[Origin]>, by: Option<usize>) {
        self.put_text(step, step.after.clone(), origins, by);
    }

    /// The next text of a file; `by` is the step that made it, if a call did.
    fn put_text(
        &mut self,
        step: &Step,
        lines: Rc<[Key]>,
        origins: Rc<[Origin]>,
        by: Option<usize>,
    ) {
        self.order += 1;
        let old = self.now.remove(&step.file);
        let hunks = match &old {
            Some(old) => diff::hunks(&old.lines, &lines),
            None => vec![Hunk {
                old: 0..0,
                new: 0..lines.len(),
            }],
        };
        if let Some(old) = &old {
            if old.whole && !step.whole() && step.kind != Kind::Piece {
                let gone = self.gone.get(&old.file).cloned().unwrap_or_default();
                self.last_whole.insert(old.file, (old.clone(), gone));
            }
            self.note_removed(old, &hunks, by);
        }
        let wanted = |keys: &[Key]| keys.iter().filter(|key| self.wanted.contains(key)).count();
        let mut score = old.as_ref().map_or(0, |old| old.score);
        let same = old.as_ref().filter(|old| old.lines == lines);
        let hash = match (by, step.kind) {
            (Some(_), Kind::Changed | Kind::Created) => step.file_hashes[1],
            (Some(_), Kind::Piece) if self.asked.is_after(step) => step.file_hashes[1],
            _ => same.and_then(|old| old.hash),
        };
        for hunk in &hunks {
            let gone = old
                .as_ref()
                .map_or(0, |old| wanted(&old.lines[hunk.old.clone()]));
            score = score + wanted(&lines[hunk.new.clone()]) - gone.min(score);
        }
        // The text before a change was there after the step before it.
        let is_text_before = by.is_none() && step.kind == Kind::Changed && self.at > 0;
        let state = State {
            file: step.file,
            whole: step.whole()
                || (by.is_some() && self.asked.is_after(step) && lines == self.asked.lines)
                || (matches!(step.kind, Kind::Piece | Kind::Appended)
                    && old.is_some_and(|old| old.whole)),
            lines,
            origins,
            order: self.order,
            at: self.at - usize::from(is_text_before),
            score,
            is_stale: false,
            hash,
        };
        if state.whole && *state.lines == *self.asked.lines {
            self.found.same.push(state.clone());
        }
        if step.whole() {
            self.lost.remove(&step.file);
        }
        self.keep(state.clone());
        self.now.insert(step.file, state);
    }

    fn keep(&mut self, state: State) {
        if state.score == 0 {
            return;
        }
        let states = &mut self.found.states;
        states.push(state);
        if states.len() > 4 * MAX_STATES {
            states.sort_by_key(|state| std::cmp::Reverse((state.score, state.order)));
            states.truncate(MAX_STATES);
        }
    }

    /// Keeps what goes with a next text: it may be in the asked one again.
    fn note_removed(&mut self, old: &State, hunks: &[Hunk], by: Option<usize>) {
        let mut here = self.gone.remove(&old.file).unwrap_or_default();
        here.iter_mut()
            .for_each(|(place, _)| *place = place_after(*place, hunks));
        for hunk in hunks.iter().filter(|hunk| !hunk.old.is_empty()) {
            let gone = &old.lines[hunk.old.clone()];
            if gone
                .iter()
                .any(|key| letters(*key) >= 4 && self.wanted.contains(key))
            {
                let around = hunk.old.start.saturating_sub(CONTEXT)
                    ..(hunk.old.end + CONTEXT).min(old.lines.len());
                let (lines, origins) = (&old.lines[around.clone()], &old.origins[around]);
                self.keep_piece(old.file, lines.into(), origins.into(), old.at);
            }
            if let Some(step) = by {
                let place = (hunk.new.start, self.found.removed.len());
                self.found.remove(step, old.file, gone);
                here.push(place);
            }
        }
        self.gone.insert(old.file, here);
    }

    /// `at` is the step after which the lines were there.
    fn keep_piece(&mut self, file: i64, lines: Rc<[Key]>, origins: Rc<[Origin]>, at: usize) {
        self.order += 1;
        if self.found.pieces.len() < MAX_PIECES {
            self.found.pieces.push(State {
                file,
                lines,
                origins,
                whole: false,
                order: self.order,
                at,
                score: 0,
                is_stale: false,
                hash: None,
            });
        }
    }

    fn states_of_now(&mut self) {
        let of_file = |state: &State| {
            (
                state.clone(),
                self.gone.get(&state.file).cloned().unwrap_or_default(),
            )
        };
        let last_whole = std::mem::take(&mut self.last_whole).into_values();
        self.found.now = self.now.values().map(of_file).chain(last_whole).collect();
        let states = &mut self.found.states;
        states.extend(self.now.values().cloned());
        states.sort_by_key(|state| std::cmp::Reverse((state.score, state.order)));
        states.dedup_by_key(|state| state.order);
    }
}
