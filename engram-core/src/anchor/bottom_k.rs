//! Grams that are low enough to be kept of a long text, and which of them windows pick.
//!
//! Of a long text only the `MAX` smallest of the grams that windows pick are kept. Whether one is picked depends on smaller ones alone. So
//! all grams above a bound can be passed over, if enough of the others are picked.

use fearless_simd::prelude::*;
use fearless_simd::u64x8;

use super::{MAX, W, places};

/// Grams that are compared together: a bit each of a word.
const BLOCK: usize = 64;
/// Text that does not repeat itself has about so many low grams, more than enough for `MAX` that are picked.
const EXPECTED: usize = 3 * MAX;
/// With so many times more or fewer of them than expected, text repeats itself.
const FAR: usize = 4;
/// As many more or fewer are chance.
const CHANCE: usize = 16;

/// A gram that is not above the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Gram {
    /// Its number among all grams.
    place: usize,
    hash: u64,
}

/// The grams of a text that are not above a bound.
#[derive(Default)]
pub(super) struct Low {
    /// Bytes of the text.
    bytes: usize,
    bound: u64,
    low: Vec<Gram>,
    /// How many grams there were, low ones and others.
    grams: usize,
}

impl Low {
    /// Begins a text of so many bytes, which is long.
    pub fn restart(&mut self, bytes: usize) {
        self.bytes = bytes.max(EXPECTED);
        self.bound = u64::MAX / self.bytes as u64 * EXPECTED as u64;
        self.low.clear();
        self.grams = 0;
    }

    /// Takes the next grams. None where it shows that the text repeats itself.
    #[inline(always)]
    pub fn take<S: Simd>(&mut self, simd: S, grams: &[u64]) -> Option<()> {
        for block in grams.chunks(BLOCK) {
            let (eights, rest) = block.as_chunks();
            let low_of = |eight: &[u64; 8]| u64x8::load_array_ref(simd, eight).simd_le(self.bound).to_bitmask();
            let mut low = eights.iter().rev().fold(0, |low, eight| low << 8 | low_of(eight));
            for (at, gram) in rest.iter().enumerate() {
                low |= u64::from(*gram <= self.bound) << (8 * eights.len() + at);
            }
            self.low.extend(places(low).map(|at| Gram { place: self.grams + at, hash: block[at] }));
            self.grams += block.len();
        }
        let (found, expected) = (self.low.len(), self.grams * EXPECTED / self.bytes);
        (found <= FAR * (expected + CHANCE) && expected <= FAR * found + CHANCE).then_some(())
    }

    /// The low grams that windows pick, in text order.
    pub fn picked(&self) -> Vec<u64> {
        (0..self.low.len()).filter(|at| self.is_picked(*at)).map(|at| self.low[at].hash).collect()
    }

    /// True when a window picks the gram: the first of the windows that hold it and no smaller one before it holds none behind it that is
    /// as small.
    fn is_picked(&self, at: usize) -> bool {
        let Gram { place, hash } = self.low[at];
        let mut before = self.low[..at].iter().rev().take_while(|before| before.place + W > place);
        let smaller = before.find(|before| before.hash < hash);
        let start = smaller.map_or(place.saturating_sub(W - 1), |before| before.place + 1);
        let mut behind = self.low[at + 1..].iter().take_while(|behind| behind.place < start + W);
        start + W <= self.grams && !behind.any(|behind| behind.hash <= hash)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use fearless_simd::{Level, dispatch};
    use proptest::prelude::*;

    use super::*;

    /// The grams up to `bound` that windows pick, by the definition.
    fn slowly_picked(grams: &[u64], bound: u64) -> Vec<u64> {
        let smallest = |start: usize| (start..start + W).rev().min_by_key(|at| grams[*at]);
        let places: BTreeSet<usize> = (0..=grams.len() - W).filter_map(smallest).collect();
        places.into_iter().map(|at| grams[at]).filter(|gram| *gram <= bound).collect()
    }

    proptest! {
        #[test]
        fn the_low_grams_are_picked_that_windows_pick(
            grams in proptest::collection::vec(0u64..40, W..200), bound in 0u64..40, piece in 1usize..200, spread in any::<bool>()
        ) {
            // Many that are equal, or nearly none.
            let grams: Vec<u64> = if spread { (0..).zip(grams).map(|(n, gram)| (gram << 8) | (n * 7 % 256)).collect() } else { grams };
            let bound = if spread { bound << 8 } else { bound };
            for level in [Level::new(), Level::baseline()] {
                let mut low = Low { bytes: grams.len(), bound, ..Low::default() };
                dispatch!(level, simd => {
                    for piece in grams.chunks(piece) {
                        // Whether so many are expected does not matter here.
                        let _ = low.take(simd, piece);
                    }
                });
                prop_assert_eq!(low.picked(), slowly_picked(&grams, bound));
            }
        }
    }

    #[test]
    fn text_that_repeats_itself_is_told_early() {
        let taken = |gram: fn(u64) -> u64| {
            let mut low = Low::default();
            low.restart(100_000);
            let grams: Vec<u64> = (0..100_000).map(gram).collect();
            dispatch!(Level::new(), simd => grams.chunks(1000).take_while(|piece| low.take(simd, piece).is_some()).count())
        };
        assert_eq!(taken(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)), 100);
        assert!(taken(|_| u64::MAX) < 10);
        assert_eq!(taken(|_| 0), 0);
    }
}
