//! Winnowing of all grams of a text: each window picks a gram.

use fearless_simd::i16x32;
use fearless_simd::prelude::*;

use super::bits::set_bits;
use super::scheme::{CHUNK_BYTES, W};

/// Picks the rightmost smallest hash of every window of `W` grams, or of all grams if there are fewer.
pub(super) struct Winnow {
    /// The grams, beginning with the one that was picked last.
    pub grams: Vec<u64>,
    /// The upper bits of each gram. They decide most comparisons, and many can be compared at once.
    tops: Vec<i16>,
    pub picked: Vec<u64>,
}

impl Default for Winnow {
    fn default() -> Self {
        // Less than a window and the gram that was picked last are left over from the chunk before.
        let capacity = CHUNK_BYTES + W + 1;
        Winnow {
            grams: Vec::with_capacity(capacity),
            tops: Vec::with_capacity(capacity),
            picked: Vec::new(),
        }
    }
}

impl Winnow {
    /// Begins a text of this length.
    pub fn restart(&mut self, text_bytes: usize) {
        self.grams.clear();
        self.tops.clear();
        // Of random grams, about two in `W + 1` are picked.
        self.picked = Vec::with_capacity(text_bytes / (W / 2));
    }

    /// Picks among the grams so far; `is_last` at the end of the text. The gram that was picked last is the choice of every window that
    /// contains it, up to the first window with an equal or smaller gram.
    #[inline(always)]
    pub fn pick<S: Simd>(&mut self, simd: S, is_last: bool) {
        let Winnow {
            grams,
            tops,
            picked,
        } = self;
        tops.extend(grams[tops.len()..].iter().map(|gram| (gram >> 49) as i16));
        let mut at = 0;
        if picked.is_empty() {
            let first = match tops.first_chunk() {
                Some(window) => Some(rightmost_smallest(simd, window, grams)),
                None if is_last => (0..grams.len()).rev().min_by_key(|at| grams[*at]),
                None => None,
            };
            let Some(first) = first else { return };
            picked.push(grams[first]);
            at = first;
        }
        while let Some(window) = tops[at + 1..].first_chunk() {
            let start = at + 1;
            for ahead in set_bits(at_most(simd, window, tops[at])) {
                at = follow(grams, picked, at, start + ahead);
            }
            if at < start {
                at = start + rightmost_smallest(simd, window, &grams[start..]);
                picked.push(grams[at]);
            }
        }
        if is_last {
            at = (at + 1..grams.len()).fold(at, |at, next| follow(grams, picked, at, next));
        }
        grams.drain(..at);
        tops.drain(..at);
    }
}

/// Moves on from the gram at `at` to the one at `next`, if that is equal or smaller. Only a smaller one is added to `picked`: of a run of
/// equal grams, as in a text of one repeated character, one is enough.
#[inline(always)]
fn follow(grams: &[u64], picked: &mut Vec<u64>, at: usize, next: usize) -> usize {
    if grams[next] < grams[at] {
        picked.push(grams[next]);
    }
    if grams[next] <= grams[at] { next } else { at }
}

/// A mask of the tops that are not above `bound`.
#[inline(always)]
fn at_most<S: Simd>(simd: S, window: &[i16; W], bound: i16) -> u64 {
    i16x32::load_array_ref(simd, window)
        .simd_le(bound)
        .to_bitmask()
}

#[inline(always)]
fn rightmost_smallest<S: Simd>(simd: S, window: &[i16; W], grams: &[u64]) -> usize {
    let lowest = window.iter().copied().min().unwrap_or_default();
    let mut marked = set_bits(at_most(simd, window, lowest));
    let first = marked.next().unwrap_or_default();
    marked.fold(
        first,
        |at, next| if grams[next] <= grams[at] { next } else { at },
    )
}

#[cfg(test)]
mod tests {
    use fearless_simd::{Level, dispatch};

    use super::super::rolling::ADDS;
    use super::*;

    /// Numbers with many equal ones among them.
    fn few_values(n: u64) -> u64 {
        ADDS[(n % 251) as usize] % 5
    }

    #[test]
    fn every_window_picks_its_rightmost_smallest_gram() {
        let hashes = |n: u64| ADDS[(n * 7 % 256) as usize];
        let near = |n: u64| ((hashes(n) >> 60) << 50) | (hashes(n) % 3);
        for grams in [
            (0..100).collect::<Vec<u64>>(),
            (0..100).rev().collect(),
            vec![7; 100],
            (0..100).map(few_values).collect(),
            (0..2000).map(hashes).collect(),
            (0..2000).map(near).collect(),
        ] {
            let mut expected = Vec::new();
            for window in 0..=grams.len() - W {
                let smallest = (window..window + W)
                    .rev()
                    .min_by_key(|at| grams[*at])
                    .unwrap();
                if expected.last() != Some(&smallest) {
                    expected.push(smallest);
                }
            }
            let mut expected: Vec<u64> = expected.iter().map(|at| grams[*at]).collect();
            expected.dedup();
            for (step, level) in [1, 7, 31, 100]
                .into_iter()
                .zip([Level::new(), Level::baseline()].into_iter().cycle())
            {
                let mut winnow = Winnow::default();
                dispatch!(level, simd => {
                    for chunk in grams.chunks(step) {
                        winnow.grams.extend(chunk);
                        winnow.pick(simd, false);
                    }
                    winnow.pick(simd, true);
                });
                assert_eq!(winnow.picked, expected, "{step} at a time");
            }
        }
    }
}
