//! Winnowed fingerprints of text, so that a span is found again after it moves or changes a little.
//!
//! Schleimer, Wilkerson, Aiken: Winnowing (SIGMOD 2003). `docs/anchors.md` gives the scheme to the byte, with test vectors.

mod bottom_k;
mod dedup;
mod rolling;
mod winnow;

use std::cell::RefCell;
use std::mem;

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch};

use self::bottom_k::Low;
use self::dedup::dedup_and_bound;
use self::rolling::{Rolling, only_gram};
use self::winnow::Winnow;

/// Bytes of one k-gram.
const K: usize = 24;
/// k-grams of one window.
const W: usize = 32;
/// The most fingerprints of one span: the smallest are kept.
const MAX: usize = 128;
/// Bytes of text that are worked on together: few enough that their grams stay in a core's cache.
const PIECE: usize = 1024;
/// Of text of so many bytes, windows pick more grams than are kept.
const LONG: usize = 4 * PIECE;

/// The name of the scheme, as it stands in `tape.start`.
pub const SCHEME: &str = "winnow/1:k=24,w=32";

thread_local! {
    /// Most texts are short, and asking for memory takes longer than they do.
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch { rolling: Rolling::with_room(), winnow: Winnow::with_room(), low: Low::default() });
}

/// The fingerprints of `text`, in text order, without repeats.
pub fn anchors(text: &str) -> Vec<u64> {
    let text = text.as_bytes();
    if text.len() <= K {
        return only_gram(text).into_iter().collect();
    }
    SCRATCH.with_borrow_mut(|scratch| {
        dispatch!(Level::new(), simd => {
            let lowest = if text.len() < LONG { None } else { scratch.lowest(simd, text) };
            lowest.unwrap_or_else(|| scratch.all(simd, text))
        })
    })
}

/// What the work needs, used again from text to text.
struct Scratch {
    rolling: Rolling,
    winnow: Winnow,
    low: Low,
}

impl Scratch {
    /// Picks among all grams.
    #[inline(always)]
    fn all<S: Simd>(&mut self, simd: S, text: &[u8]) -> Vec<u64> {
        let Scratch { rolling, winnow, .. } = self;
        rolling.restart();
        winnow.restart(text.len());
        for piece in text.chunks(PIECE) {
            rolling.take(simd, piece, &mut winnow.grams);
            winnow.pick(simd, false);
        }
        rolling.finish(&mut winnow.grams);
        winnow.pick(simd, true);
        dedup_and_bound(mem::take(&mut winnow.picked))
    }

    /// Picks among the grams that are so low that they are hardly more than are kept. None where too few of them are picked, as of text
    /// that repeats itself.
    #[inline(always)]
    fn lowest<S: Simd>(&mut self, simd: S, text: &[u8]) -> Option<Vec<u64>> {
        let Scratch { rolling, winnow, low } = self;
        rolling.restart();
        low.restart(text.len());
        for piece in text.chunks(PIECE) {
            winnow.grams.clear();
            rolling.take(simd, piece, &mut winnow.grams);
            low.take(simd, &winnow.grams)?;
        }
        Some(dedup_and_bound(low.picked())).filter(|picked| picked.len() == MAX)
    }
}

/// The places of the bits, the lowest first.
fn places(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = bits.trailing_zeros() as usize;
        let is_there = bits != 0;
        bits &= bits.wrapping_sub(1);
        is_there.then_some(place)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    #[test]
    fn the_number_of_anchors_is_bounded() {
        let long: String = (0..20_000).map(|n| format!("line {n} {}\n", n * 7919)).collect();
        assert_eq!(anchors(&long).len(), MAX);
    }

    /// All grams that windows pick, by the definition.
    fn slowly(text: &str) -> Vec<u64> {
        let bytes: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let grams: Vec<u64> =
            if bytes.len() < K { only_gram(&bytes).into_iter().collect() } else { bytes.windows(K).filter_map(only_gram).collect() };
        let windows = if grams.len() < W { grams.chunks(W).collect() } else { grams.windows(W).collect::<Vec<_>>() };
        let mut picked: Vec<(usize, u64)> = Vec::new();
        for (start, window) in windows.into_iter().enumerate() {
            let smallest = (0..window.len()).rev().min_by_key(|at| window[*at]).unwrap_or_default();
            picked.push((start + smallest, window[smallest]));
        }
        picked.sort_unstable();
        let mut kept: Vec<u64> = Vec::new();
        picked.into_iter().for_each(|(_, gram)| {
            if !kept.contains(&gram) {
                kept.push(gram)
            }
        });
        let mut smallest = kept.clone();
        smallest.sort_unstable();
        smallest.truncate(MAX);
        kept.retain(|gram| smallest.contains(gram));
        kept
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn long_and_short_text_has_the_anchors_of_the_definition(
            words in proptest::collection::vec("[a-z0-9_(){};.]{1,12}[ \n]{1,3}", 0..1500),
            repeats in 1usize..4,
            different in 1usize..1500,
        ) {
            // Some of it repeats itself.
            let text: String = words.iter().take(different).cycle().take(words.len()).map(String::as_str).collect();
            let text = text.repeat(repeats);
            prop_assert_eq!(anchors(&text), slowly(&text));
        }
    }
}
