//! Texts of files with the origin of each line, and how origins go from one text to the next.

use std::collections::HashSet;
use std::rc::Rc;

use crate::align::{LONG, align};
use crate::answer::Why;
use crate::diff::{self, Hunk};
use crate::line_key::{Counts, Key, counts, is_hole, letters};
use crate::rows::Digest;

/// Removed runs and pieces that are kept.
pub const MAX_PIECES: usize = 20_000;

/// Where a line comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// This step made it.
    Made(usize),
    /// It was there when a session first saw the file.
    Older,
    /// It came later, and no step proves from where.
    Unproven(Why),
}

/// A text with the origins of its lines: of a whole file, or of a piece of it.
#[derive(Debug, Clone)]
pub struct State {
    pub file: i64,
    pub lines: Rc<[Key]>,
    pub origins: Rc<[Origin]>,
    pub whole: bool,
    /// Later states have higher numbers.
    pub order: usize,
    /// The step after which it was there.
    pub at: usize,
    /// How many of its lines stand in the text that is asked about.
    pub score: usize,
    /// A step has changed the file since, and nobody knows how.
    pub is_stale: bool,
    /// The hash of the whole file, if the tape of the step has it.
    pub hash: Option<Digest>,
}

/// Lines that a step took away from a file.
#[derive(Debug, Clone)]
pub struct Removed {
    pub step: usize,
    pub file: i64,
    pub lines: Vec<Key>,
}

/// Short lines of a text of which steps after a state removed some, and which are as many as before: somebody wrote them again, and nobody knows
/// which ones.
pub fn written_again(removed: &[Removed], since: &State, now: &Counts) -> HashSet<Key> {
    let mut gone = Counts::default();
    let later = removed.iter().rev().take(MAX_PIECES);
    let later = later
        .take_while(|removed| removed.step > since.at)
        .filter(|removed| removed.file == since.file);
    for key in later.flat_map(|removed| &removed.lines) {
        if letters(*key) < LONG {
            *gone.entry(*key).or_default() += 1;
        }
    }
    let before = counts(&since.lines);
    let is_again =
        |(key, gone): (Key, u32)| (now.get(&key)? + gone > *before.get(&key)?).then_some(key);
    gone.into_iter().filter_map(is_again).collect()
}

/// Where a place between two lines is in the next text.
pub fn place_after(place: usize, hunks: &[Hunk]) -> usize {
    let (mut old_end, mut new_end) = (0, 0);
    for hunk in hunks {
        if place <= hunk.old.start {
            break;
        }
        if place < hunk.old.end {
            return hunk.new.start;
        }
        (old_end, new_end) = (hunk.old.end, hunk.new.end);
    }
    place - old_end + new_end
}

/// The origins of a text after these hunks, which have a new one.
pub fn carried(old: &[Origin], hunks: &[Hunk], new: Origin) -> Rc<[Origin]> {
    let (mut all, mut at) = (Vec::with_capacity(old.len()), 0);
    for hunk in hunks {
        all.extend_from_slice(&old[at..hunk.old.start]);
        all.extend(std::iter::repeat_n(new, hunk.new.len()));
        at = hunk.old.end;
    }
    all.extend_from_slice(&old[at..]);
    all.into()
}

pub fn whole(lines: &[Key]) -> Vec<Hunk> {
    vec![Hunk {
        old: 0..lines.len(),
        new: 0..0,
    }]
}

/// The origins of a text from those of an earlier one. `new` is that of lines that did not stay, and `unseen` gives that of a line where nobody had
/// seen the earlier text.
pub fn inherited(
    state: &State,
    text: &[Key],
    new: Origin,
    unseen: &dyn Fn(usize) -> Origin,
) -> Rc<[Origin]> {
    let same = |one: usize, other: usize| state.origins[one] == state.origins[other];
    let aligned = align(&state.lines, text, &same, state.whole);
    let mut origins: Vec<Origin> = aligned
        .from
        .iter()
        .map(|from| from.map_or(new, |old| state.origins[old]))
        .collect();
    for hunk in diff::hunks(&state.lines, text) {
        let is_at_end = !state.whole && hunk.old.end == state.lines.len();
        let old = &state.lines[hunk.old.clone()];
        if old.iter().all(|key| is_hole(*key)) && (is_at_end || !old.is_empty()) {
            let free = |line: &usize| aligned.from[*line].is_none();
            hunk.new
                .clone()
                .filter(free)
                .for_each(|line| origins[line] = unseen(line));
        }
        // A read shows the text of a line that an edit made and whose text was not known.
        if state.whole && hunk.old.len() == hunk.new.len() {
            for (old, line) in hunk.old.zip(hunk.new) {
                if is_hole(state.lines[old]) && matches!(state.origins[old], Origin::Made(_)) {
                    origins[line] = state.origins[old];
                }
            }
        }
    }
    origins.into()
}
