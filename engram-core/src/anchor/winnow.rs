//! Windows over all grams of a text, and the gram that each of them picks.

use fearless_simd::i16x32;
use fearless_simd::prelude::*;

use super::{PIECE, W, places};

/// Picks the rightmost smallest hash of every window of `W` grams; of all grams where there are fewer.
#[derive(Default)]
pub(super) struct Winnow {
    /// The grams from the one picked last on.
    pub grams: Vec<u64>,
    /// The upper bits of each: they tell most grams apart, and sixteen are compared at once.
    tops: Vec<i16>,
    pub picked: Vec<u64>,
}

impl Winnow {
    pub fn with_room() -> Winnow {
        // A piece leaves the next one less than a window and the gram picked last.
        let room = PIECE + W + 1;
        Winnow { grams: Vec::with_capacity(room), tops: Vec::with_capacity(room), picked: Vec::new() }
    }

    pub fn restart(&mut self, text: usize) {
        self.grams.clear();
        self.tops.clear();
        // Of random grams two in a window and one more are picked.
        self.picked = Vec::with_capacity(text / (W / 2));
    }

    /// Picks among the grams that are there. The one picked last stands for every window that holds it, up to the first with a
    /// gram that is as small.
    #[inline(always)]
    pub fn pick<S: Simd>(&mut self, simd: S, is_last: bool) {
        let Winnow { grams, tops, picked } = self;
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
            for ahead in places(up_to(simd, window, tops[at])) {
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

/// Picks the next gram after the one at `at`, if it is as small. Of a run of equal grams, which text of one character is, one says
/// it all.
#[inline(always)]
fn follow(grams: &[u64], picked: &mut Vec<u64>, at: usize, next: usize) -> usize {
    if grams[next] < grams[at] {
        picked.push(grams[next]);
    }
    if grams[next] <= grams[at] { next } else { at }
}

/// A bit for each top that is not above `bound`.
#[inline(always)]
fn up_to<S: Simd>(simd: S, window: &[i16; W], bound: i16) -> u64 {
    i16x32::load_array_ref(simd, window).simd_le(bound).to_bitmask()
}

#[inline(always)]
fn rightmost_smallest<S: Simd>(simd: S, window: &[i16; W], grams: &[u64]) -> usize {
    let lowest = window.iter().copied().min().unwrap_or_default();
    let mut marked = places(up_to(simd, window, lowest));
    let first = marked.next().unwrap_or_default();
    marked.fold(first, |at, next| if grams[next] <= grams[at] { next } else { at })
}

#[cfg(test)]
mod tests {
    use fearless_simd::{Level, dispatch};

    use super::super::rolling::ADDS;
    use super::*;

    /// A spread of numbers with equal ones among them.
    fn spread(n: u64) -> u64 {
        ADDS[(n % 251) as usize] % 5
    }

    #[test]
    fn every_window_is_looked_at() {
        let hashes = |n: u64| ADDS[(n * 7 % 256) as usize];
        let near = |n: u64| ((hashes(n) >> 60) << 50) | (hashes(n) % 3);
        for grams in [
            (0..100).collect::<Vec<u64>>(),
            (0..100).rev().collect(),
            vec![7; 100],
            (0..100).map(spread).collect(),
            (0..2000).map(hashes).collect(),
            (0..2000).map(near).collect(),
        ] {
            let mut expected = Vec::new();
            for window in 0..=grams.len() - W {
                let smallest = (window..window + W).rev().min_by_key(|at| grams[*at]).unwrap();
                if expected.last() != Some(&smallest) {
                    expected.push(smallest);
                }
            }
            let mut expected: Vec<u64> = expected.iter().map(|at| grams[*at]).collect();
            expected.dedup();
            for (step, level) in [1, 7, 31, 100].into_iter().zip([Level::new(), Level::baseline()].into_iter().cycle()) {
                let mut winnow = Winnow::default();
                dispatch!(level, simd => {
                    for piece in grams.chunks(step) {
                        winnow.grams.extend(piece);
                        winnow.pick(simd, false);
                    }
                    winnow.pick(simd, true);
                });
                assert_eq!(winnow.picked, expected, "{step} at a time");
            }
        }
    }
}
