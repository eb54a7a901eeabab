//! Winnowed fingerprints of text, so that a span is found again after it moves or changes a little.
//!
//! Schleimer, Wilkerson, Aiken: Winnowing (SIGMOD 2003). `docs/anchors.md` gives the scheme to the byte, with test vectors.

mod rolling;

use std::cell::RefCell;
use std::mem;

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, i16x32};

use self::rolling::Rolling;

/// Bytes of one k-gram.
const K: usize = 24;
/// k-grams of one window.
const W: usize = 32;
/// The most fingerprints of one span: the smallest are kept.
const MAX: usize = 128;
/// Of more than so many fingerprints, those that are too large are left out before they are compared.
const FEW: usize = 4 * MAX;
/// Bytes of text that are worked on together: few enough that their grams stay in a core's cache.
const PIECE: usize = 1024;

/// The name of the scheme, as it stands in `tape.start`.
pub const SCHEME: &str = "winnow/1:k=24,w=32";

thread_local! {
    /// Most texts are short, and asking for memory takes longer than they do.
    static SCRATCH: RefCell<(Rolling, Winnow)> = RefCell::new((Rolling::with_room(), Winnow::with_room()));
}

/// The fingerprints of `text`, in text order, without repeats.
pub fn anchors(text: &str) -> Vec<u64> {
    let picked = SCRATCH.with_borrow_mut(|(rolling, winnow)| {
        dispatch!(Level::new(), simd => pick(simd, text.as_bytes(), rolling, winnow));
        mem::take(&mut winnow.picked)
    });
    if picked.len() > 1 { bounded(picked) } else { picked }
}

/// Picks among the grams of `text`.
#[inline(always)]
fn pick<S: Simd>(simd: S, text: &[u8], rolling: &mut Rolling, winnow: &mut Winnow) {
    rolling.restart();
    winnow.restart(text.len());
    for piece in text.chunks(PIECE) {
        rolling.take(simd, piece, &mut winnow.grams);
        winnow.pick(simd, false);
    }
    rolling.finish(&mut winnow.grams);
    winnow.pick(simd, true);
}

/// Picks the rightmost smallest hash of every window of `W` grams; of all grams where there are fewer.
#[derive(Default)]
struct Winnow {
    /// The grams from the one picked last on.
    grams: Vec<u64>,
    /// The upper bits of each: they tell most grams apart, and sixteen are compared at once.
    tops: Vec<i16>,
    picked: Vec<u64>,
}

impl Winnow {
    fn with_room() -> Winnow {
        // A piece leaves the next one less than a window and the gram picked last.
        let room = PIECE + W + 1;
        Winnow { grams: Vec::with_capacity(room), tops: Vec::with_capacity(room), picked: Vec::new() }
    }

    fn restart(&mut self, text: usize) {
        self.grams.clear();
        self.tops.clear();
        // Of random grams two in a window and one more are picked.
        self.picked = Vec::with_capacity(text / (W / 2));
    }

    /// Picks among the grams that are there. The one picked last stands for every window that holds it, up to the first with a
    /// gram that is as small.
    #[inline(always)]
    fn pick<S: Simd>(&mut self, simd: S, is_last: bool) {
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
fn up_to<S: Simd>(simd: S, window: &[i16; W], bound: i16) -> u32 {
    i16x32::load_array_ref(simd, window).simd_le(bound).to_bitmask() as u32
}

/// The places of the bits, the lowest first.
fn places(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = bits.trailing_zeros() as usize;
        let is_there = bits != 0;
        bits &= bits.wrapping_sub(1);
        is_there.then_some(place)
    })
}

#[inline(always)]
fn rightmost_smallest<S: Simd>(simd: S, window: &[i16; W], grams: &[u64]) -> usize {
    let lowest = window.iter().copied().min().unwrap_or_default();
    let mut marked = places(up_to(simd, window, lowest));
    let first = marked.next().unwrap_or_default();
    marked.fold(first, |at, next| if grams[next] <= grams[at] { next } else { at })
}

/// Keeps each hash once, at its first place, and of too many the `MAX` smallest.
#[inline(never)]
fn bounded(mut picked: Vec<u64>) -> Vec<u64> {
    if picked.len() > FEW {
        picked = lowest(picked);
    } else {
        keep_first(&mut picked);
    }
    if picked.len() > MAX {
        let largest = *picked.clone().select_nth_unstable(MAX - 1).1;
        picked.retain(|hash| *hash <= largest);
    }
    picked
}

/// Some of many hashes, each once, the `MAX` smallest among them.
fn lowest(mut picked: Vec<u64>) -> Vec<u64> {
    let bound = *picked.clone().select_nth_unstable(FEW - 1).1;
    let mut lowest: Vec<u64> = picked.iter().copied().filter(|hash| *hash <= bound).collect();
    keep_first(&mut lowest);
    if lowest.len() >= MAX {
        return lowest;
    }
    // Text that repeats itself gives few hashes many times.
    let mut sorted = picked.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if let Some(largest) = sorted.get(MAX - 1) {
        picked.retain(|hash| hash <= largest);
    }
    keep_first(&mut picked);
    picked
}

/// Keeps each hash once, at its first place. Most are told from all others by twelve of their bits, and the rest is looked for: few
/// hashes may differ, or that takes long.
fn keep_first(hashes: &mut Vec<u64>) {
    let (mut marks, mut kept) = ([0u64; 64], 0);
    for at in 0..hashes.len() {
        let hash = hashes[at];
        let (marks, mark) = (&mut marks[hash as usize % 64], 1 << (hash >> 6 & 63));
        let is_known = *marks & mark != 0 && hashes[..kept].contains(&hash);
        *marks |= mark;
        hashes[kept] = hash;
        kept += usize::from(!is_known);
    }
    hashes.truncate(kept);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::rolling::ADDS;
    use super::*;

    const TEXT: &str = "fn main() {\n    println!(\"hello, tape\");\n}\n\nfn other(value: u64) -> u64 {\n    value.wrapping_mul(3)\n}\n";

    #[test]
    fn white_space_does_not_matter() {
        assert_eq!(anchors(TEXT), anchors(&TEXT.replace("    ", "\t").replace('\n', "\r\n")));
        assert!(anchors(" \n\t").is_empty());
    }

    #[test]
    fn short_text_has_one_anchor() {
        assert_eq!(anchors("x").len(), 1);
        assert_ne!(anchors("x"), anchors("y"));
    }

    #[test]
    fn a_long_common_run_shares_an_anchor() {
        let moved = format!("// something quite different in front of it\n{TEXT}// and behind it\n");
        let found = anchors(&moved);
        assert!(anchors(TEXT).iter().any(|anchor| found.contains(anchor)));
    }

    /// As `bounded`, without looking for speed.
    fn slowly_bounded(picked: &[u64]) -> Vec<u64> {
        let mut kept: Vec<u64> = Vec::new();
        for hash in picked {
            if !kept.contains(hash) {
                kept.push(*hash);
            }
        }
        let mut sorted = kept.clone();
        sorted.sort_unstable();
        let largest = sorted.get(MAX - 1).copied().unwrap_or(u64::MAX);
        kept.retain(|hash| *hash <= largest);
        kept
    }

    proptest! {
        #[test]
        fn each_hash_is_kept_once_and_the_smallest_of_many(len in 0..4 * FEW, different in 1..4 * FEW as u64, seed in any::<u64>()) {
            // Many of the same, and such as share the bits by which most are told apart.
            for mask in [u64::MAX, !0xfff] {
                let hash = |at: usize| (at as u64).wrapping_mul(seed) % different;
                let picked: Vec<u64> = (0..len).map(|at| hash(at).wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask).collect();
                prop_assert_eq!(bounded(picked.clone()), slowly_bounded(&picked));
            }
        }
    }

    #[test]
    fn the_number_of_anchors_is_bounded() {
        let long: String = (0..20_000).map(|n| format!("line {n} {}\n", n * 7919)).collect();
        assert_eq!(anchors(&long).len(), MAX);
    }

    /// A spread of numbers with equal ones among them.
    fn spread(n: u64) -> u64 {
        ADDS[(n % 251) as usize] % 5
    }

    #[test]
    fn the_smallest_are_kept_where_they_stand_first() {
        let few_values: Vec<u64> = (0..5000).map(|n| n * 7919 % 100).collect();
        let many_repeats: Vec<u64> = (0..5000).map(|n| if n % 10 == 0 { n } else { 3 }).collect();
        for hashes in [few_values, many_repeats, (0..300).rev().collect(), vec![]] {
            let mut smallest = hashes.clone();
            smallest.sort_unstable();
            smallest.dedup();
            smallest.truncate(MAX);
            let mut expected = Vec::new();
            for hash in &hashes {
                if smallest.contains(hash) && !expected.contains(hash) {
                    expected.push(*hash);
                }
            }
            assert_eq!(bounded(hashes), expected);
        }
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
