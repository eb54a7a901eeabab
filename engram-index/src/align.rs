//! Which lines of a text stayed from an older one, where a person may have changed anything in between.
//!
//! A line diff finds an order of equal lines. It is no proof for each of them: a `}` that a person wrote is equal to one that was deleted, and
//! of two equal lines side by side nobody knows which one is new. So a line counts only
//!
//! * if no equal line beside it could have stayed instead (a long line that stands more often now could have, wherever it is, and a short one at
//!   the end of a run), and
//! * if it stands in a run of lines that tells enough, or between two such runs at the same distance.

use std::collections::{HashMap, HashSet};

use engram_core::keys::PlaceMap;

use crate::diff;
use crate::line_key::{Counts, Key, counts, is_hole, letters, letters_of};

/// A run with fewer letters tells nothing alone.
const ENOUGH: usize = 20;
/// A run with so many letters tells something even if its lines are short.
const PLENTY: usize = 100;
/// A single line that stands once in each of two texts that are mostly the same tells something from so many letters on.
const ENOUGH_OF_ONE: usize = 6;
/// In a text that is mostly another one, a run needs a line with so many letters. A shorter one that was removed and stands there again is another line.
pub const LONG: usize = 14;
/// Of two lines that were copied together each has so many letters.
const MIN_OF_PAIR: usize = 4;
/// Lines that are compared while equal lines beside a line are looked for. What is left over then is unknown.
const MAX_COMPARED: usize = 50_000_000;

/// What became of the lines of a text.
#[derive(Debug, PartialEq, Eq)]
pub struct Aligned {
    /// For each line of the new text, the line of the old one that stayed.
    pub from: Vec<Option<usize>>,
    /// The lines of which nobody knows whether they stayed.
    pub unclear: Vec<bool>,
    /// The letters of the lines that stayed.
    pub letters: usize,
}

/// Compares a text with an older one. `same_cause` says whether two lines of the old text have one cause: then it does not matter which one
/// stayed. `whole` is false if the old text may have more lines.
pub fn align(
    old: &[Key],
    new: &[Key],
    same_cause: &dyn Fn(usize, usize) -> bool,
    whole: bool,
) -> Aligned {
    let texts = Texts {
        old,
        new,
        in_old: counts(old),
        in_new: counts(new),
        whole,
    };
    let mut from = diff::stayed(&diff::hunks(old, new), new.len());
    let settled = Settled::new(&texts, same_cause);
    let mut unclear = drop_unclear(&texts, &mut from, &settled, same_cause);
    drop_ends(&texts, &mut from, &mut unclear);
    let kept = telling(&texts, &from, &settled);
    for (from, kept) in from.iter_mut().zip(kept) {
        *from = from.filter(|_| kept);
    }
    let letters = from
        .iter()
        .zip(new)
        .filter(|(from, _)| from.is_some())
        .map(|(_, key)| letters(*key) + 1)
        .sum();
    Aligned {
        from,
        unclear,
        letters,
    }
}

/// Two texts that are compared, and how often each line stands in them.
struct Texts<'t> {
    old: &'t [Key],
    new: &'t [Key],
    in_old: Counts,
    in_new: Counts,
    /// False if the old text may have more lines.
    whole: bool,
}

impl Texts<'_> {
    /// True for a line of both texts that stands more often in the new one.
    fn is_more(&self, key: &Key) -> bool {
        let old = self.in_old.get(key);
        old.is_some_and(|old| *old < self.in_new[key])
    }
}

/// The lines of which it does not matter which one stayed: they stand no more often in the new text than in the old one, and all of the old ones
/// have one cause. Each with the place of the first one, and whether that is so.
struct Settled(PlaceMap<Key, (usize, bool)>);

impl Settled {
    fn new(texts: &Texts<'_>, same_cause: &dyn Fn(usize, usize) -> bool) -> Settled {
        let mut all = PlaceMap::with_capacity_and_hasher(texts.in_old.len(), Default::default());
        for (at, key) in texts.old.iter().enumerate() {
            let first = all
                .entry(*key)
                .or_insert_with(|| (at, texts.in_new.contains_key(key) && !texts.is_more(key)));
            first.1 = first.1 && same_cause(first.0, at);
        }
        Settled(all)
    }

    fn has(&self, key: &Key) -> bool {
        self.0.get(key).is_some_and(|(_, is_settled)| *is_settled)
    }
}

/// Lines that somebody copied, so that each of them may be the copy: long ones that stand more often in the new text than in the old one, and
/// two others that stand one after the other more often.
/// So are lines that stand more often, however short they are, in one run with such a line.
fn copied(texts: &Texts<'_>) -> Vec<bool> {
    let (old, new) = (texts.old, texts.new);
    let is_more = |key: &Key| texts.is_more(key);
    let long_enough = |key: &&Key| letters(**key) >= MIN_OF_PAIR && is_more(key);
    let more: HashSet<Key> = texts.in_new.keys().filter(long_enough).copied().collect();
    if more.is_empty() {
        return vec![false; new.len()];
    }
    let pairs = |text: &[Key]| {
        let mut pairs: HashMap<[Key; 2], u32> = HashMap::new();
        for pair in text
            .windows(2)
            .filter_map(|pair| <[Key; 2]>::try_from(pair).ok())
        {
            if pair.iter().all(|key| more.contains(key)) {
                *pairs.entry(pair).or_default() += 1;
            }
        }
        pairs
    };
    let old_pairs = pairs(old);
    let more_pairs = pairs(new)
        .into_iter()
        .filter(|(pair, count)| old_pairs.get(pair) < Some(count));
    let long = more.iter().copied().filter(|key| letters(*key) >= LONG);
    let copied: HashSet<Key> = more_pairs.flat_map(|(pair, _)| pair).chain(long).collect();
    let runs = new.chunk_by(|one, other| is_more(one) && is_more(other));
    let of_run = |run: &[Key]| vec![run.iter().any(|key| copied.contains(key)); run.len()];
    runs.flat_map(of_run).collect()
}

/// Lines that an equal one between their neighbours could replace are taken out, until none is left.
fn drop_unclear(
    texts: &Texts<'_>,
    from: &mut [Option<usize>],
    settled: &Settled,
    same_cause: &dyn Fn(usize, usize) -> bool,
) -> Vec<bool> {
    let (old, new) = (texts.old, texts.new);
    let mut unclear = vec![false; new.len()];
    let copied = copied(texts);
    // The lines that stayed, as a list that gets shorter.
    let mut pairs: Vec<(usize, usize)> = from
        .iter()
        .enumerate()
        .filter_map(|(n, o)| Some((n, (*o)?)))
        .collect();
    let mut compared = 0;
    loop {
        let mut rest = Vec::with_capacity(pairs.len());
        for (at, (n, o)) in pairs.iter().copied().enumerate() {
            let before = at.checked_sub(1).map(|at| pairs[at]);
            let after = pairs.get(at + 1).copied();
            let gap = |of: fn((usize, usize)) -> usize, count: usize| {
                before.map_or(0, |pair| of(pair) + 1)..after.map_or(count, of)
            };
            let (gap_new, gap_old) = (gap(|(n, _)| n, new.len()), gap(|(_, o)| o, old.len()));
            if settled.has(&new[n]) {
                rest.push((n, o));
                continue;
            }
            compared += gap_new.len() + gap_old.len();
            let again = copied[n]
                || gap_new
                    .clone()
                    .any(|other| other != n && new[other] == new[n]);
            let other_cause = gap_old
                .clone()
                .any(|other| other != o && old[other] == old[o] && !same_cause(o, other));
            if again || other_cause || compared > MAX_COMPARED {
                gap_new
                    .filter(|other| new[*other] == new[n])
                    .for_each(|other| unclear[other] = true);
                from[n] = None;
            } else {
                rest.push((n, o));
            }
        }
        if rest.len() == pairs.len() {
            return unclear;
        }
        pairs = rest;
    }
}

/// Lines that stand more often than in the old text are taken out at the ends of runs: who wrote what stands beside them may have written them too.
/// Inside a run, between lines that tell, they stayed with these.
fn drop_ends(texts: &Texts<'_>, from: &mut [Option<usize>], unclear: &mut [bool]) {
    let new = texts.new;
    let is_more = |at: usize| texts.is_more(&new[at]);
    let tells = |at: &usize| letters(new[*at]) >= ENOUGH_OF_ONE && !is_more(*at);
    for run in runs(from) {
        let end = run.new + run.count;
        let first = (run.new..end).find(tells);
        let last = (run.new..end).rev().find(tells);
        let inside = first.unwrap_or(end)..last.map_or(run.new, |last| last + 1);
        for at in (run.new..end).filter(|at| is_more(*at) && !inside.contains(at)) {
            (from[at], unclear[at]) = (None, true);
        }
    }
}

/// A run of lines that stand side by side in both texts.
#[derive(Debug, Clone, Copy)]
struct Run {
    old: usize,
    new: usize,
    count: usize,
}

fn runs(from: &[Option<usize>]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (n, o) in from.iter().enumerate() {
        let Some(o) = *o else { continue };
        match runs.last_mut() {
            Some(run) if (run.old + run.count, run.new + run.count) == (o, n) => run.count += 1,
            _ => runs.push(Run {
                old: o,
                new: n,
                count: 1,
            }),
        }
    }
    runs
}

/// Which lines stand in runs that tell enough.
fn telling(texts: &Texts<'_>, from: &[Option<usize>], settled: &Settled) -> Vec<bool> {
    let (old, new, whole) = (texts.old, texts.new, texts.whole);
    let runs = runs(from);
    let stayed: usize = runs
        .iter()
        .map(|run| letters_of(&new[run.new..run.new + run.count]))
        .sum();
    let known: Vec<Key> = old.iter().copied().filter(|key| !is_hole(*key)).collect();
    // A text of which little is known is no text that is mostly this one.
    let is_enough = stayed >= if whole { 1 } else { ENOUGH };
    let is_kin = 2 * stayed >= letters_of(new).min(letters_of(&known)) && is_enough;
    let keys = |run: &Run| &new[run.new..run.new + run.count];
    // What was replaced line by line between two runs moves nothing: runs at one distance tell together.
    let keeps_distance = |one: &Run, other: &Run| other.new - one.new == other.old - one.old;
    let mut tells = Vec::with_capacity(runs.len());
    for together in runs.chunk_by(keeps_distance) {
        let all = || together.iter().flat_map(keys);
        let longest = all()
            .filter(|key| settled.has(key))
            .map(|key| letters(*key))
            .max()
            .unwrap_or(0);
        let sum: usize = all().copied().map(letters).sum();
        let least = match (is_kin, sum >= PLENTY) {
            (true, true) => 2,
            (true, false) => 4,
            (false, _) => LONG,
        };
        let is_all_of_old = whole && together[0].count == old.len() && longest >= 3;
        let tell = sum >= ENOUGH && longest >= least;
        tells.extend(
            together
                .iter()
                .map(|_| tell || is_all_of_old || (is_kin && longest >= ENOUGH_OF_ONE)),
        );
    }
    // So is a run at the beginning or the end of both texts.
    if whole && is_kin {
        if let Some(tell) = tells.first_mut() {
            *tell |= runs[0].old == 0 && runs[0].new == 0;
        }
        if let (Some(tell), Some(run)) = (tells.last_mut(), runs.last()) {
            *tell |= run.old + run.count == old.len() && run.new + run.count == new.len();
        }
    }
    let mut kept = vec![false; new.len()];
    for (run, tells) in runs.iter().zip(tells) {
        kept[run.new..run.new + run.count].fill(tells);
    }
    kept
}

/// How a run must look to be found in any order, beside other lines.
#[derive(Debug, Clone, Copy)]
pub struct Loose {
    /// The letters that it must have.
    pub letters: usize,
    /// The lines that it must have.
    pub lines: usize,
}

/// The default: as in an ordered comparison.
pub const LOOSE: Loose = Loose {
    letters: ENOUGH,
    lines: 1,
};

/// Finds runs of an older text in lines that are still free, in any order. Pairs of a line of the text and a line of the old one.
pub fn find_runs(
    old: &[Key],
    new: &[Key],
    in_new: &Counts,
    is_free: &dyn Fn(usize) -> bool,
    needs: Loose,
) -> Vec<(usize, usize)> {
    let in_old = counts(old);
    // A line that stands more often in the text than in the old one was written again by somebody.
    let is_copy = |key: &Key| in_new.get(key) > in_old.get(key);
    let mut found = Vec::new();
    let mut first = 0;
    while first < new.len() {
        let end = first
            + new[first..]
                .iter()
                .enumerate()
                .take_while(|(at, _)| is_free(first + at))
                .count();
        let segment = &new[first..end];
        if segment.iter().any(|key| in_old.contains_key(key)) {
            for run in runs(&diff::stayed(&diff::hunks(old, segment), segment.len())) {
                let keys = &segment[run.new..run.new + run.count];
                // The ends may belong to what stands beside: so may a short line that the old text has elsewhere too.
                let telling = |key: &&Key| {
                    letters(**key) < 4 || (letters(**key) < LONG && in_old.get(*key) > Some(&1))
                };
                let skip = keys.iter().take_while(telling).count();
                let keys =
                    &keys[skip..keys.len() - keys[skip..].iter().rev().take_while(telling).count()];
                let longest = keys
                    .iter()
                    .filter(|key| in_old.get(key) == Some(&1))
                    .map(|key| letters(*key))
                    .max()
                    .unwrap_or(0);
                if letters_of(keys) >= needs.letters
                    && longest >= 4
                    && keys.len() >= needs.lines
                    && !keys.iter().any(|key| letters(*key) >= 4 && is_copy(key))
                {
                    found.extend(
                        (0..keys.len())
                            .map(|at| (first + run.new + skip + at, run.old + skip + at)),
                    );
                }
            }
        }
        first = end.max(first + 1);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line_key::keys;

    fn stayed(old: &str, new: &str) -> String {
        let (old, new) = (keys(old), keys(new));
        let aligned = align(&old, &new, &|_, _| false, true);
        let mark =
            |from: &Option<usize>| from.map_or('-', |o| char::from_digit(o as u32, 36).unwrap());
        aligned.from.iter().map(mark).collect()
    }

    const CODE: &str =
        "def first(value):\n    return value\n}\n\ndef second(value):\n    return 2 * value\n}\n";

    #[test]
    fn lines_around_a_change_stay() {
        assert_eq!(stayed(CODE, CODE), "0123456");
        assert_eq!(stayed(CODE, &format!("# on top\n{CODE}")), "-0123456");
        assert_eq!(
            stayed(CODE, &CODE.replace("return value", "return 0 * value")),
            "0-23456"
        );
        assert_eq!(
            stayed(CODE, "def second(value):\n    return 2 * value\n}\n"),
            "456"
        );
    }

    #[test]
    fn of_equal_lines_side_by_side_nobody_knows_which_is_new() {
        let (old, new) = (keys(CODE), keys(&CODE.replace("}\n\ndef", "}\n}\n\ndef")));
        let from = align(&old, &new, &|one, other| one == other, true).from;
        let expected = [
            Some(0),
            Some(1),
            None,
            None,
            Some(3),
            Some(4),
            Some(5),
            None,
        ];
        assert_eq!(from, expected);
        let doubled = format!("{CODE}{CODE}");
        assert_eq!(stayed(CODE, &doubled), "-".repeat(14));
    }

    #[test]
    fn a_block_that_was_copied_before_its_beginning_was_changed_is_nobodys() {
        let code = |names: &str| {
            names
                .chars()
                .map(|name| format!("    value_{name} = compute_{name}()\n"))
                .collect::<String>()
        };
        assert_eq!(stayed(&code("abcdef"), &code("abxyfef")), "01-----");
    }

    #[test]
    fn a_short_line_that_was_written_again_counts_inside_a_run_alone() {
        let old = "value_1 = compute(1)\n}\n\nvalue_2 = compute(2)\nvalue_3 = compute(3)\n";
        let inside = format!("}}\n\nhand_1 = think(1)\n{old}");
        assert_eq!(stayed(old, &inside), "---01234");
        // The first lines went with a block that was copied, and came back with the copy.
        let at_an_end = "}\n\nhand_1 = think(1)\n}\n\nvalue_2 = compute(2)\nvalue_3 = compute(3)\n";
        assert_eq!(stayed(old, at_an_end), "-----34");
    }

    #[test]
    fn short_lines_beside_a_copy_are_nobodys_too() {
        let old =
            "value_7 = compute(7)\nv8 = 56\nvalue_14 = compute(14)\n\nvalue_19 = compute(19)\n";
        // The block was doubled, and the beginning of the first one removed.
        let new = "value_7 = compute(7)\nvalue_14 = compute(14)\n\nv8 = 56\nvalue_14 = compute(14)\n\nvalue_19 = compute(19)\n";
        assert_eq!(stayed(old, new), "0-----4");
    }

    #[test]
    fn a_brace_or_a_few_short_lines_alone_tell_nothing() {
        assert_eq!(
            stayed(CODE, "class Other:\n    pass_through = 1\n}\n"),
            "---"
        );
        let other = "import sys\nclass Other:\n    x = 1\n    return value\n}\n\nother code that nobody wrote before\nand more\n}\n";
        assert!(
            !stayed(CODE, other).contains('2'),
            "{}",
            stayed(CODE, other)
        );
    }

    #[test]
    fn halves_of_a_short_file_are_found_in_any_order() {
        let text = "# NEW header\ndef uno():\n  return 11\n\ndef two():\n    \"\"\"two\"\"\"\n    return 1 + 1\n\ndef three():\n    return 3  # NEW\n# NEW end\n";
        let lines: Vec<&str> = text.lines().collect();
        let swapped = [&lines[5..], &lines[..5]].concat().join("\n");
        let (old, new) = (keys(text), keys(&swapped));
        let from = align(&old, &new, &|one, other| one == other, true).from;
        let found = find_runs(&old, &new, &counts(&new), &|at| from[at].is_none(), LOOSE);
        let count = from.iter().flatten().count() + found.len();
        assert!(count >= 9, "{from:?} {found:?}");
    }

    #[test]
    fn a_block_that_moved_is_found_but_not_one_that_was_copied() {
        let old = keys(CODE);
        let swapped = keys(
            "def second(value):\n    return 2 * value\n}\ndef first(value):\n    return value\n}\n\n",
        );
        let found = find_runs(&old, &swapped, &counts(&swapped), &|at| at >= 3, LOOSE);
        assert_eq!(found, [(3, 0), (4, 1)]);
        let copied = keys(&format!("{CODE}def first(value):\n    return value\n"));
        assert_eq!(
            find_runs(&old, &copied, &counts(&copied), &|at| at >= 7, LOOSE),
            []
        );
    }
}
