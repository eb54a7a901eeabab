//! Who made each line of a text: the one engine behind every answer about lines.
//!
//! The text is compared with the states and pieces of its file, then with those of other files. Lines that stayed keep their origin. A line
//! that no comparison reaches is unknown, whatever stands around it.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;

use crate::align::{LONG, LOOSE, Loose, align, find_runs};
use crate::answer::{Tier, Why};
use crate::asked::Asked;
use crate::doubt;
use crate::files::{self, Files, Named};
use crate::line::Line;
use crate::line_key::{self, Counts, Key, counts, letters};
use crate::origin::{Origin, State, written_again};
use crate::query::Query;
use crate::replay::{Replay, replay};
use crate::runs::{self, Of};

/// Files of other names that are compared.
const MAX_OTHER_FILES: usize = 4;
/// A line in more files than this tells nothing about where a text comes from.
const MAX_FILES_OF_LINE: usize = 8;
/// Lines whose files are looked up.
const MAX_LOOKED_UP: usize = 2000;
/// A run of a file that is otherwise another one.
const FROM_ELSEWHERE: Loose = Loose {
    letters: 200,
    lines: 8,
};
/// The letters of a text that is byte for byte that of another file.
const ENOUGH_OF_ALL: usize = 10;
/// The fewest letters of a line by which a file is found.
const MIN_LETTERS: usize = 3;

/// The lines of a text with who made them.
#[derive(Debug)]
pub struct Attributed {
    /// One per line.
    pub lines: Vec<Line>,
    /// True if the whole text is a state that the index knows.
    pub state_known: bool,
    /// The files that the path means.
    pub files: Files,
    /// What was left out, and why.
    pub notes: Vec<String>,
}

/// Finds who made each line of the text of a question.
pub fn attribute(db: &Connection, query: &Query<'_>) -> rusqlite::Result<Attributed> {
    let text = Asked::of(query.text);
    let files = files::of_question(db, query)?;
    let own = replay(db, &files, query.at, &text)?;
    let mut of_text = Text::new(&text.lines);
    let is_same = of_text.compare(&own, Tier::Line);
    let why = match own.steps.is_empty() {
        true if query.paths.is_empty() => Why::NoEdit,
        true => Why::NoSession,
        false => own.why(),
    };
    let mut answers = of_text.answers(&own, why);
    if !is_same {
        from_elsewhere(db, query, &text, &files, &of_text, &mut answers)?;
        own.doubt(&text.lines, &mut answers);
        doubt::by_hash(db, &files, query.text, &mut answers)?;
    }
    let mut notes = Vec::new();
    if own.is_cut {
        notes.push("the file has too many steps; not all of them were looked at".to_owned());
    }
    Ok(Attributed {
        lines: answers,
        state_known: is_same,
        files,
        notes,
    })
}

impl Replay {
    /// Why a line is unknown that no step left.
    const fn why(&self) -> Why {
        match self.has_lost {
            true => Why::NoText,
            false => Why::Nobody,
        }
    }
}

/// Lines that are still free are looked up in files of other names.
fn from_elsewhere(
    db: &Connection,
    query: &Query<'_>,
    text: &Asked,
    own: &Files,
    of_text: &Text<'_>,
    answers: &mut [Line],
) -> rusqlite::Result<()> {
    // Lines that stand in files of several names and were made by several calls: nobody knows from which file they came.
    let mut is_open = vec![false; answers.len()];
    let mut others = Vec::new();
    for file in other_files(db, of_text, own)? {
        let same = same_file(db, file)?;
        others.push((replay(db, &same, query.at, text)?, same));
    }
    // A file that had this very text tells more than one that had a part of it.
    if others.iter().any(|(other, _)| !other.same.is_empty()) {
        others.retain(|(other, _)| !other.same.is_empty());
    }
    for (steps, files) in others {
        let mut compared = of_text.clone();
        let kin = compared.compare_other(&steps);
        let found = compared.answers(&steps, Why::Nobody);
        for (at, line) in found.into_iter().enumerate() {
            if of_text.found[at] != Found::Free || compared.found[at] == Found::Free {
                continue;
            }
            match (&answers[at].step, &line.step) {
                (Some(known), Some(step)) => is_open[at] |= !known.is_call_of(step),
                (Some(_), None) => {}
                (None, Some(_)) => answers[at] = line,
                (None, None) if line.tier == Tier::Older => answers[at] = line,
                (None, None) => {}
            }
        }
        if kin == Kin::SameFile {
            // The sessions of that file are those of this one.
            for answer in answers.iter_mut() {
                answer.why = answer.why.map(|why| match why {
                    Why::NoSession => steps.why(),
                    why => why,
                });
            }
            steps.doubt(&text.lines, answers);
            doubt::by_hash(db, &files, query.text, answers)?;
        }
    }
    for (answer, _) in answers
        .iter_mut()
        .zip(is_open)
        .filter(|(_, is_open)| *is_open)
    {
        *answer = Line {
            tier: Tier::Unknown,
            step: None,
            why: Some(Why::Unclear),
            reformatted: false,
        };
    }
    Ok(())
}

/// A file, and others of the index with the same path: sessions below different directories name it differently.
fn same_file(db: &Connection, file: i64) -> rusqlite::Result<Files> {
    let mut same = files::find(db, &[files::path_of(db, file)?], None)?;
    same.insert(file, Named::default());
    Ok(same)
}

/// The files that have the most lines of the text which are still free.
fn other_files(db: &Connection, of_text: &Text<'_>, own: &Files) -> rusqlite::Result<Vec<i64>> {
    let mut hits: HashMap<i64, usize> = HashMap::new();
    let mut seen = HashSet::new();
    for (at, key) in of_text.text.iter().enumerate() {
        if of_text.found[at] != Found::Free
            || letters(*key) < MIN_LETTERS
            || !seen.insert(*key)
            || seen.len() > MAX_LOOKED_UP
        {
            continue;
        }
        let mut found = runs::find(db, Of::Lines, *key, MAX_FILES_OF_LINE * 8)?;
        found.sort_unstable();
        found.dedup();
        if found.len() <= MAX_FILES_OF_LINE {
            found
                .into_iter()
                .for_each(|file| *hits.entry(file).or_default() += letters(*key));
        }
    }
    let mut files: Vec<(i64, usize)> = hits
        .into_iter()
        .filter(|(file, count)| !own.contains_key(file) && *count >= MIN_LETTERS)
        .collect();
    files.sort_by_key(|(file, count)| (std::cmp::Reverse(*count), *file));
    Ok(files
        .into_iter()
        .take(MAX_OTHER_FILES)
        .map(|(file, _)| file)
        .collect())
}

/// The files in which calls made most of these lines.
pub fn files_of(db: &Connection, text: &[Key]) -> rusqlite::Result<Vec<i64>> {
    other_files(db, &Text::new(text), &Files::new())
}

/// What is known of a line so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Free,
    /// An equal line stands beside it.
    Unclear,
    At(Tier, Origin),
}

/// What a file of another name is to a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kin {
    /// It had most of the text.
    SameFile,
    Other,
}

#[derive(Clone)]
struct Text<'t> {
    text: &'t [Key],
    counts: Counts,
    found: Vec<Found>,
    /// The lines whose white space or quotes were changed.
    reformatted: Vec<bool>,
}

impl<'t> Text<'t> {
    fn new(text: &'t [Key]) -> Text<'t> {
        Text {
            text,
            counts: counts(text),
            found: vec![Found::Free; text.len()],
            reformatted: vec![false; text.len()],
        }
    }

    /// Compares with the states of the text's own file. True if it is one of them.
    fn compare(&mut self, own: &Replay, tier: Tier) -> bool {
        if let Some(last) = own.same.last() {
            for at in 0..self.text.len() {
                self.found[at] = Found::At(Tier::State, origin_of_all(&own.same, last, at));
            }
            return true;
        }
        let Some(best) = self.best(own) else {
            self.take_pieces(own, tier);
            return false;
        };
        let stayed = self.take(&best, own, tier);
        self.take_later(&best, own, tier);
        self.take_runs(&best, own, Tier::Moved, LOOSE);
        let mut rest: Vec<&State> = own
            .states
            .iter()
            .filter(|state| state.order != best.order)
            .collect();
        rest.sort_by_key(|state| std::cmp::Reverse(state.order));
        rest.into_iter()
            .for_each(|state| self.take_runs(state, own, tier, LOOSE));
        self.take_pieces(own, tier);
        self.take_rearranged(&best, own);
        self.take_reformatted(&best, tier, &stayed);
        false
    }

    /// Compares with the states of a file of another name: as a whole if it is mostly this text, else only long runs.
    fn compare_other(&mut self, other: &Replay) -> Kin {
        if let Some(same) = other
            .same
            .last()
            .filter(|same| line_key::letters_of(&same.lines) >= ENOUGH_OF_ALL)
        {
            for at in 0..self.text.len() {
                if self.found[at] == Found::Free {
                    self.found[at] = Found::At(Tier::Moved, origin_of_all(&other.same, same, at));
                }
            }
            return Kin::SameFile;
        }
        let best = self.best(other);
        let is_mostly_same = match &best {
            Some(best) => self.is_mostly(best),
            None => self.has_most_of(&other.pieces),
        };
        if let Some(best) = best
            .as_ref()
            .filter(|_| is_mostly_same && self.found.iter().all(|found| *found == Found::Free))
        {
            self.take(best, other, Tier::Moved);
        }
        let needs = if is_mostly_same {
            LOOSE
        } else {
            FROM_ELSEWHERE
        };
        let states = best
            .iter()
            .chain(&other.states)
            .chain(other.pieces.iter().rev());
        states.for_each(|state| self.take_runs(state, other, Tier::Moved, needs));
        if is_mostly_same {
            self.take_patches(other, Tier::Moved);
            best.iter()
                .for_each(|best| self.take_rearranged(best, other));
        }
        match is_mostly_same {
            true => Kin::SameFile,
            false => Kin::Other,
        }
    }

    /// True for a text without a line that the state lacks: it was only cut or put in another order.
    fn is_rearranged(&self, state: &State) -> bool {
        let in_state = counts(&state.lines);
        let is_new = |(key, count): (&Key, &u32)| in_state.get(key) < Some(count);
        let half = line_key::letters_of(&state.lines) / 2;
        line_key::letters_of(self.text) >= half.max(MIN_LETTERS) && !self.counts.iter().any(is_new)
    }

    /// Each line of a rearranged text stayed, however short it is, if all equal ones have one cause, and no later call removed it.
    fn take_rearranged(&mut self, state: &State, own: &Replay) {
        if !self.is_rearranged(state) {
            return;
        }
        let again = written_again(&own.removed, state, &self.counts);
        let mut causes: HashMap<Key, Option<Origin>> = HashMap::new();
        for (key, origin) in state.lines.iter().zip(state.origins.iter()) {
            let cause = causes.entry(*key).or_insert(Some(*origin));
            *cause = cause.filter(|known| known == origin);
        }
        for (key, found) in self.text.iter().zip(&mut self.found) {
            if let (Some(Some(origin)), Found::Free) = (causes.get(key), *found)
                && !again.contains(key)
            {
                *found = Found::At(Tier::Moved, *origin);
            }
        }
    }

    /// True if half of the letters of the shorter of two texts stand in both, in order.
    fn is_mostly(&self, state: &State) -> bool {
        let all = line_key::letters_of(self.text).min(line_key::letters_of(&state.lines));
        let same = |one: usize, other: usize| state.origins[one] == state.origins[other];
        let aligned = align(&state.lines, self.text, &same, state.whole);
        let stayed = aligned
            .from
            .iter()
            .zip(self.text)
            .filter(|(from, _)| from.is_some());
        let stayed: usize = stayed.map(|(_, key)| letters(*key)).sum();
        stayed >= LOOSE.letters && 2 * stayed >= all
    }

    /// True if half of the letters of these pieces stand in the text.
    fn has_most_of(&self, pieces: &[State]) -> bool {
        let all: HashSet<Key> = pieces
            .iter()
            .flat_map(|piece| piece.lines.iter().copied())
            .collect();
        let sum = |keys: &mut dyn Iterator<Item = &Key>| keys.copied().map(letters).sum::<usize>();
        let here = sum(&mut all.iter().filter(|key| self.counts.contains_key(key)));
        here >= LOOSE.letters && 2 * here >= sum(&mut all.iter())
    }

    /// The newest state that the text only rearranges; else the one with the most lines in common, in order, and of equal ones the newest.
    fn best(&self, own: &Replay) -> Option<State> {
        let states = || own.states.iter().filter(|state| !state.lines.is_empty());
        let rearranged = states().filter(|state| self.is_rearranged(state));
        if let Some(state) = rearranged.max_by_key(|state| state.order) {
            return Some(state.clone());
        }
        let aligned = states().map(|state| {
            let same = |one: usize, other: usize| state.origins[one] == state.origins[other];
            let aligned = align(&state.lines, self.text, &same, state.whole);
            (aligned.letters, state.order, state)
        });
        let best = aligned.max_by_key(|(letters, order, _)| (*letters, *order))?;
        (best.0 > 0).then(|| best.2.clone())
    }

    /// Takes the lines that stayed, and returns them as lines of the state.
    fn take(&mut self, best: &State, own: &Replay, tier: Tier) -> HashSet<usize> {
        let same = |one: usize, other: usize| best.origins[one] == best.origins[other];
        let aligned = align(&best.lines, self.text, &same, best.whole);
        let equal: Vec<State> = own
            .states
            .iter()
            .filter(|state| state.lines == best.lines)
            .cloned()
            .collect();
        let again = written_again(&own.removed, best, &self.counts);
        for (at, from) in aligned.from.iter().enumerate() {
            match *from {
                Some(old) if !again.contains(&self.text[at]) => {
                    self.found[at] = Found::At(tier, origin_of_all(&equal, best, old));
                }
                None if !aligned.unclear[at] => {}
                _ => self.found[at] = Found::Unclear,
            }
        }
        aligned.from.into_iter().flatten().collect()
    }

    /// What a later step made again is of that step, though an older text has more lines in common.
    fn take_later(&mut self, best: &State, own: &Replay, tier: Tier) {
        let later = own.states.iter().chain(&own.pieces);
        let mut later: Vec<&State> = later.filter(|state| state.order > best.order).collect();
        later.sort_by_key(|state| state.order);
        for state in later {
            let is_later =
                |old: usize| matches!(state.origins[old], Origin::Made(step) if step > best.at);
            if !(0..state.lines.len()).any(is_later) {
                continue;
            }
            let mut runs = find_runs(&state.lines, self.text, &self.counts, &|_| true, LOOSE);
            runs.retain(|(at, old)| is_later(*old) && !own.is_gone(state, self.text[*at]));
            for run in runs.chunk_by(|one, other| (one.0 + 1, one.1 + 1) == *other) {
                let keys = || run.iter().map(|(at, _)| letters(self.text[*at]));
                let tells = keys().sum::<usize>() >= LOOSE.letters && keys().any(|key| key >= LONG);
                for (at, old) in run {
                    let now = Found::At(tier, state.origins[*old]);
                    // Of short lines that both texts have, nobody knows which ones these are.
                    self.found[*at] = match (tells, self.found[*at]) {
                        (true, _) => now,
                        (false, Found::At(..)) if self.found[*at] != now => Found::Unclear,
                        (false, found) => found,
                    };
                }
            }
        }
    }

    /// Lines that stayed in their order but for white space and quotes.
    fn take_reformatted(&mut self, best: &State, tier: Tier, stayed: &HashSet<usize>) {
        let bare = |keys: &[Key]| keys.iter().copied().map(line_key::bare).collect::<Vec<_>>();
        let same = |one: usize, other: usize| best.origins[one] == best.origins[other];
        let aligned = align(&bare(&best.lines), &bare(self.text), &same, best.whole);
        for (at, from) in aligned.from.into_iter().enumerate() {
            let Some(old) = from.filter(|old| !stayed.contains(old)) else {
                continue;
            };
            if self.found[at] == Found::Free && best.lines[old] != self.text[at] {
                self.found[at] = Found::At(tier, best.origins[old]);
                self.reformatted[at] = true;
            }
        }
    }

    fn take_pieces(&mut self, own: &Replay, tier: Tier) {
        for piece in own.pieces.iter().rev() {
            self.take_runs(piece, own, tier, LOOSE);
        }
        self.take_patches(own, tier);
    }

    fn take_patches(&mut self, own: &Replay, tier: Tier) {
        let call = |piece: &State| own.steps.get(piece.at).map(|step| (step.tape, step.call));
        for together in own.pieces.chunk_by(|one, other| call(one) == call(other)) {
            self.take_together(together, own, tier);
        }
    }

    /// The pieces of one call prove each other if each stands in the text once and whole, and none in another one.
    fn take_together(&mut self, pieces: &[State], own: &Replay, tier: Tier) {
        if pieces.len() < 2 {
            return;
        }
        let mut places = Vec::with_capacity(pieces.len());
        for piece in pieces.iter().filter(|piece| !piece.lines.is_empty()) {
            let runs = self.text.windows(piece.lines.len()).enumerate();
            let mut found = runs
                .filter(|(_, run)| **run == *piece.lines)
                .map(|(at, _)| at);
            match (found.next(), found.next()) {
                (Some(at), None) => places.push((at, at + piece.lines.len())),
                _ => return,
            }
        }
        let sum: usize = pieces
            .iter()
            .map(|piece| line_key::letters_of(&piece.lines))
            .sum();
        let mut in_order = places.clone();
        in_order.sort_unstable();
        let overlap = |pair: &[(usize, usize)]| pair[0].1 > pair[1].0;
        if places.len() < 2 || sum < LOOSE.letters || in_order.windows(2).any(overlap) {
            return;
        }
        let tier = if in_order == places {
            tier
        } else {
            Tier::Moved
        };
        let pieces = pieces.iter().filter(|piece| !piece.lines.is_empty());
        for (piece, (first, _)) in pieces.zip(places) {
            for (at, origin) in piece.origins.iter().enumerate() {
                let is_free = matches!(self.found[first + at], Found::Free | Found::Unclear);
                if is_free && !own.is_gone(piece, self.text[first + at]) {
                    self.found[first + at] = Found::At(tier, *origin);
                }
            }
        }
    }

    fn take_runs(&mut self, state: &State, own: &Replay, tier: Tier, needs: Loose) {
        let is_free = |at: usize| matches!(self.found[at], Found::Free | Found::Unclear);
        for (at, old) in find_runs(&state.lines, self.text, &self.counts, &is_free, needs) {
            if !own.is_gone(state, self.text[at]) {
                self.found[at] = Found::At(tier, state.origins[old]);
            }
        }
    }

    fn answers(&self, replay: &Replay, why: Why) -> Vec<Line> {
        let answer = |(found, reformatted): (&Found, &bool)| {
            let unknown = |why| Line {
                tier: Tier::Unknown,
                step: None,
                why: Some(why),
                reformatted: false,
            };
            match *found {
                Found::Free => unknown(why),
                Found::Unclear => unknown(Why::Unclear),
                Found::At(_, Origin::Unproven(why)) => unknown(why),
                Found::At(_, Origin::Older) => Line {
                    tier: Tier::Older,
                    step: None,
                    why: None,
                    reformatted: *reformatted,
                },
                Found::At(tier, Origin::Made(step)) => Line {
                    tier,
                    step: replay.steps.get(step).cloned(),
                    why: None,
                    reformatted: *reformatted,
                },
            }
        };
        self.found
            .iter()
            .zip(&self.reformatted)
            .map(answer)
            .collect()
    }
}

/// The origin of a line: of several equal states the newest that knows who made it.
fn origin_of_all(same: &[State], newest: &State, at: usize) -> Origin {
    let known = |state: &&State| matches!(state.origins[at], Origin::Made(_));
    if known(&newest) {
        return newest.origins[at];
    }
    let other = same.iter().filter(known).max_by_key(|state| state.order);
    other.map_or(newest.origins[at], |state| state.origins[at])
}
