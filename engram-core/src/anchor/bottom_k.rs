//! The fast path for long texts: winnowing of the small grams only.
//!
//! Only the [`MAX_ANCHORS`] smallest of the picked grams of a text are kept, and whether a gram is picked depends on smaller grams only.
//! So all grams above a bound can be ignored, as long as at least [`MAX_ANCHORS`] grams below the bound are picked.

use fearless_simd::prelude::*;
use fearless_simd::u64x8;

use super::bits::set_bits;
use super::scheme::{MAX_ANCHORS, W};

/// Grams that are compared with the bound together, one bit of a `u64` for each.
const BLOCK_GRAMS: usize = 64;
/// The bound is set so that a text without repetitions has about this many grams below it. [`MAX_ANCHORS`] of them are picked.
const EXPECTED_GRAMS: usize = 3 * MAX_ANCHORS;
/// A text repeats itself if it has this many times more or fewer grams below the bound than expected.
const MAX_DEVIATION_FACTOR: usize = 4;
/// A difference of this many grams may be random.
const RANDOM_DEVIATION_GRAMS: usize = 16;

/// A gram at or below the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Gram {
    /// Its index among all grams of the text.
    position: usize,
    hash: u64,
}

/// The grams of a text that are at or below a bound.
#[derive(Default)]
pub(super) struct LowGrams {
    /// Bytes of the text.
    text_bytes: usize,
    bound: u64,
    low: Vec<Gram>,
    /// The number of all grams so far.
    total: usize,
}

impl LowGrams {
    /// Begins a text of this length. The text is long.
    pub fn restart(&mut self, text_bytes: usize) {
        self.text_bytes = text_bytes.max(EXPECTED_GRAMS);
        self.bound = u64::MAX / self.text_bytes as u64 * EXPECTED_GRAMS as u64;
        self.low.clear();
        self.total = 0;
    }

    /// Adds the next grams. `None` if the text repeats itself.
    #[inline(always)]
    pub fn add<S: Simd>(&mut self, simd: S, grams: &[u64]) -> Option<()> {
        for block in grams.chunks(BLOCK_GRAMS) {
            let (eights, rest) = block.as_chunks();
            let low_of = |eight: &[u64; 8]| {
                u64x8::load_array_ref(simd, eight)
                    .simd_le(self.bound)
                    .to_bitmask()
            };
            let mut low = eights
                .iter()
                .rev()
                .fold(0, |low, eight| low << 8 | low_of(eight));
            for (at, gram) in rest.iter().enumerate() {
                low |= u64::from(*gram <= self.bound) << (8 * eights.len() + at);
            }
            self.low.extend(set_bits(low).map(|at| Gram {
                position: self.total + at,
                hash: block[at],
            }));
            self.total += block.len();
        }
        let (found, expected) = (
            self.low.len(),
            self.total * EXPECTED_GRAMS / self.text_bytes,
        );
        let is_too_many = found > MAX_DEVIATION_FACTOR * (expected + RANDOM_DEVIATION_GRAMS);
        let is_too_few = expected > MAX_DEVIATION_FACTOR * found + RANDOM_DEVIATION_GRAMS;
        (!is_too_many && !is_too_few).then_some(())
    }

    /// The low grams that some window picks, in text order.
    pub fn picked(&self) -> Vec<u64> {
        (0..self.low.len())
            .filter(|at| self.is_picked(*at))
            .map(|at| self.low[at].hash)
            .collect()
    }

    /// True if some window picks the gram. Of the windows that contain it but no smaller gram on its left, the leftmost decides: it picks
    /// the gram if no gram on its right is equal or smaller.
    fn is_picked(&self, at: usize) -> bool {
        let Gram { position, hash } = self.low[at];
        let mut left = self.low[..at]
            .iter()
            .rev()
            .take_while(|gram| gram.position + W > position);
        let smaller = left.find(|gram| gram.hash < hash);
        let start = smaller.map_or(position.saturating_sub(W - 1), |gram| gram.position + 1);
        let mut right = self.low[at + 1..]
            .iter()
            .take_while(|gram| gram.position < start + W);
        start + W <= self.total && !right.any(|gram| gram.hash <= hash)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use fearless_simd::{Level, dispatch};
    use proptest::prelude::*;

    use super::*;

    /// The grams up to `bound` that windows pick, straight from the definition.
    fn reference_picked(grams: &[u64], bound: u64) -> Vec<u64> {
        let smallest = |start: usize| (start..start + W).rev().min_by_key(|at| grams[*at]);
        let positions: BTreeSet<usize> = (0..=grams.len() - W).filter_map(smallest).collect();
        positions
            .into_iter()
            .map(|at| grams[at])
            .filter(|gram| *gram <= bound)
            .collect()
    }

    proptest! {
        #[test]
        fn low_grams_are_picked_as_by_the_definition(
            grams in proptest::collection::vec(0u64..40, W..200), bound in 0u64..40, chunk in 1usize..200, spread in any::<bool>()
        ) {
            // Many equal grams, or nearly none.
            let grams: Vec<u64> = if spread { (0..).zip(grams).map(|(n, gram)| (gram << 8) | (n * 7 % 256)).collect() } else { grams };
            let bound = if spread { bound << 8 } else { bound };
            for level in [Level::new(), Level::baseline()] {
                let mut low = LowGrams { text_bytes: grams.len(), bound, ..LowGrams::default() };
                dispatch!(level, simd => {
                    for chunk in grams.chunks(chunk) {
                        // Whether the text repeats itself does not matter here.
                        let _ = low.add(simd, chunk);
                    }
                });
                prop_assert_eq!(low.picked(), reference_picked(&grams, bound));
            }
        }
    }

    #[test]
    fn repetitive_text_is_detected_early() {
        let added = |gram: fn(u64) -> u64| {
            let mut low = LowGrams::default();
            low.restart(100_000);
            let grams: Vec<u64> = (0..100_000).map(gram).collect();
            dispatch!(Level::new(), simd => grams.chunks(1000).take_while(|chunk| low.add(simd, chunk).is_some()).count())
        };
        assert_eq!(added(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)), 100);
        assert!(added(|_| u64::MAX) < 10);
        assert_eq!(added(|_| 0), 0);
    }
}
