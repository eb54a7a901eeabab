//! Winnowed fingerprints of text. They find a span again after it has moved or changed a little.
//!
//! Schleimer, Wilkerson, Aiken: Winnowing (SIGMOD 2003). `docs/anchors.md` specifies the scheme exactly, with test vectors.

mod bits;
mod bottom_k;
mod dedup;
mod rolling;
mod scheme;
mod winnow;

use std::cell::RefCell;
use std::mem;

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch};

use self::bottom_k::LowGrams;
use self::dedup::dedup_and_bound;
use self::rolling::{Rolling, only_gram};
pub use self::scheme::SCHEME;
use self::scheme::{CHUNK_BYTES, K, LONG_TEXT_BYTES, MAX_ANCHORS};
use self::winnow::Winnow;

thread_local! {
    /// Most texts are so short that allocating buffers for each would take longer than the work itself.
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::default());
}

/// The fingerprints of `text`: in text order, without repetitions, at most 1024: of a text with more, the smallest
/// ones. White space does not count; text of white space only has
/// none.
///
/// ```
/// use engram_core::anchor::anchors;
///
/// let span = "fn area(width: u64, height: u64) -> u64 {\n    width * height\n}\n";
/// let file = format!("// Geometry.\n\n{span}\nfn main() {{}}\n");
/// assert!(anchors(span).iter().any(|anchor| anchors(&file).contains(anchor)));
/// ```
pub fn anchors(text: &str) -> Vec<u64> {
    let text = text.as_bytes();
    if text.len() <= K {
        return only_gram(text).into_iter().collect();
    }
    SCRATCH.with_borrow_mut(|scratch| {
        dispatch!(Level::new(), simd => {
            let smallest = if text.len() < LONG_TEXT_BYTES { None } else { scratch.smallest_anchors(simd, text) };
            smallest.unwrap_or_else(|| scratch.all_anchors(simd, text))
        })
    })
}

/// Buffers that are reused for each text.
#[derive(Default)]
struct Scratch {
    rolling: Rolling,
    winnow: Winnow,
    low: LowGrams,
}

impl Scratch {
    /// Picks among all grams.
    #[inline(always)]
    fn all_anchors<S: Simd>(&mut self, simd: S, text: &[u8]) -> Vec<u64> {
        let Scratch {
            rolling, winnow, ..
        } = self;
        rolling.restart();
        winnow.restart(text.len());
        for chunk in text.chunks(CHUNK_BYTES) {
            rolling.update(simd, chunk, &mut winnow.grams);
            winnow.pick(simd, false);
        }
        rolling.finish(&mut winnow.grams);
        winnow.pick(simd, true);
        dedup_and_bound(mem::take(&mut winnow.picked))
    }

    /// Picks among small grams only. `None` if too few of them are picked, as in a text that repeats itself.
    #[inline(always)]
    fn smallest_anchors<S: Simd>(&mut self, simd: S, text: &[u8]) -> Option<Vec<u64>> {
        let Scratch {
            rolling,
            winnow,
            low,
        } = self;
        rolling.restart();
        low.restart(text.len());
        for chunk in text.chunks(CHUNK_BYTES) {
            winnow.grams.clear();
            rolling.update(simd, chunk, &mut winnow.grams);
            low.add(simd, &winnow.grams)?;
        }
        Some(dedup_and_bound(low.picked())).filter(|picked| picked.len() == MAX_ANCHORS)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::scheme::W;
    use super::*;

    const TEXT: &str = "fn main() {\n    println!(\"hello, tape\");\n}\n\nfn other(value: u64) -> u64 {\n    value.wrapping_mul(3)\n}\n";

    #[test]
    fn white_space_does_not_matter() {
        assert_eq!(
            anchors(TEXT),
            anchors(&TEXT.replace("    ", "\t").replace('\n', "\r\n"))
        );
        assert!(anchors(" \n\t").is_empty());
    }

    #[test]
    fn short_text_has_one_anchor() {
        assert_eq!(anchors("x").len(), 1);
        assert_ne!(anchors("x"), anchors("y"));
    }

    #[test]
    fn moved_text_shares_an_anchor() {
        let moved = format!("// different text before it\n{TEXT}// and after it\n");
        let found = anchors(&moved);
        assert!(anchors(TEXT).iter().any(|anchor| found.contains(anchor)));
    }

    #[test]
    fn the_number_of_anchors_is_bounded() {
        let long: String = (0..40_000)
            .map(|n| format!("line {n} {}\n", n * 7919))
            .collect();
        assert_eq!(anchors(&long).len(), MAX_ANCHORS);
    }

    /// The fingerprints, straight from the definition.
    fn reference(text: &str) -> Vec<u64> {
        let bytes: Vec<u8> = text
            .bytes()
            .filter(|byte| !byte.is_ascii_whitespace())
            .collect();
        let grams: Vec<u64> = if bytes.len() < K {
            only_gram(&bytes).into_iter().collect()
        } else {
            bytes.windows(K).filter_map(only_gram).collect()
        };
        let windows = if grams.len() < W {
            grams.chunks(W).collect()
        } else {
            grams.windows(W).collect::<Vec<_>>()
        };
        let mut picked: Vec<(usize, u64)> = Vec::new();
        for (start, window) in windows.into_iter().enumerate() {
            let smallest = (0..window.len())
                .rev()
                .min_by_key(|at| window[*at])
                .unwrap_or_default();
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
        smallest.truncate(MAX_ANCHORS);
        kept.retain(|gram| smallest.contains(gram));
        kept
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn anchors_follow_the_definition(
            words in proptest::collection::vec("[a-z0-9_(){};.]{1,12}[ \n]{1,3}", 0..9000),
            repeats in 1usize..4,
            different in 1usize..9000,
        ) {
            // Part of the text repeats itself.
            let text: String = words.iter().take(different).cycle().take(words.len()).map(String::as_str).collect();
            let text = text.repeat(repeats);
            prop_assert_eq!(anchors(&text), reference(&text));
        }
    }
}
