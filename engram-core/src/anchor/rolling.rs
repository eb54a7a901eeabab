//! Grams of a text without its white space, hashed by a rolling hash.

use std::array;

use fearless_simd::prelude::*;
use fearless_simd::u8x64;

use super::scheme::{CHUNK_BYTES, K};
use crate::text::block::{BLOCK, pad_block};

/// The value of each byte in the hash of a gram: the first 256 numbers of SplitMix64 with seed 0.
pub(super) static ADDS: [u64; 256] = {
    let mut adds = [0; 256];
    let (mut byte, mut state) = (0, 0u64);
    while byte < adds.len() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        adds[byte] = mixed ^ (mixed >> 31);
        byte += 1;
    }
    adds
};

/// The value of the byte that leaves the gram: rotated once for each of the `K` bytes after it.
static LEAVES: [u64; 256] = {
    let mut leaves = [0; 256];
    let mut byte = 0;
    while byte < leaves.len() {
        leaves[byte] = ADDS[byte].rotate_left(K as u32);
        byte += 1;
    }
    leaves
};

/// The hash of a text of at most one gram. `None` if it has only white space.
pub(super) fn only_gram(text: &[u8]) -> Option<u64> {
    let bytes = text.iter().filter(|byte| !byte.is_ascii_whitespace());
    bytes.fold(None, |hash, byte| {
        Some(hash.unwrap_or(0u64).rotate_left(1) ^ ADDS[usize::from(*byte)])
    })
}

/// A rolling hash (cyclic polynomial) over the bytes that are not ASCII white space. It gives the hash of each gram of `K` bytes. A
/// shorter text is one gram.
pub(super) struct Rolling {
    /// The last `K` bytes, or fewer at the start of the text.
    bytes: Vec<u8>,
    hash: u64,
}

impl Default for Rolling {
    fn default() -> Self {
        Rolling {
            bytes: Vec::with_capacity(K + CHUNK_BYTES),
            hash: 0,
        }
    }
}

impl Rolling {
    /// Begins a new text.
    pub fn restart(&mut self) {
        self.bytes.clear();
        self.hash = 0;
    }

    /// Adds the next chunk of the text, and appends the hashes of the grams that end in it to `grams`.
    #[inline(always)]
    pub fn update<S: Simd>(&mut self, simd: S, chunk: &[u8], grams: &mut Vec<u64>) {
        let known = self.bytes.len();
        push_dense(simd, &mut self.bytes, chunk);
        let mut hash = self.hash;
        for byte in self.bytes.iter().take(K).skip(known) {
            hash = hash.rotate_left(1) ^ ADDS[*byte as usize];
        }
        if known < K && self.bytes.len() >= K {
            grams.push(hash);
        }
        let newest = self.bytes.get(K..).unwrap_or_default();
        let oldest = &self.bytes[..newest.len()];
        let change = |newest: &u8, oldest: &u8| ADDS[*newest as usize] ^ LEAVES[*oldest as usize];
        let ((fours, ones), (old_fours, old_ones)) =
            (newest.as_chunks::<4>(), oldest.as_chunks::<4>());
        grams.extend(fours.iter().zip(old_fours).flat_map(|(newest, oldest)| {
            // The changes by four bytes are computed separately from the hash, so that a gram depends on the hash four bytes earlier only.
            let mut changed = 0u64;
            let rolled: [u64; 4] = array::from_fn(|at| {
                changed = changed.rotate_left(1) ^ change(&newest[at], &oldest[at]);
                hash.rotate_left(at as u32 + 1) ^ changed
            });
            hash = rolled[3];
            rolled
        }));
        grams.extend(ones.iter().zip(old_ones).map(|(newest, oldest)| {
            hash = hash.rotate_left(1) ^ change(newest, oldest);
            hash
        }));
        self.hash = hash;
        self.bytes.drain(..self.bytes.len().saturating_sub(K));
    }

    /// Ends the text. If it is shorter than a gram, appends its hash to `grams`.
    pub fn finish(&self, grams: &mut Vec<u64>) {
        if (1..K).contains(&self.bytes.len()) {
            grams.push(self.hash);
        }
    }
}

/// Appends the bytes that are not ASCII white space.
#[inline(always)]
fn push_dense<S: Simd>(simd: S, bytes: &mut Vec<u8>, chunk: &[u8]) {
    let (blocks, last) = chunk.as_chunks::<BLOCK>();
    // The padding is white space too.
    let padded = pad_block(last);
    let mut len = bytes.len();
    bytes.resize(len + chunk.len().next_multiple_of(BLOCK), 0);
    for block in blocks.iter().chain((!last.is_empty()).then_some(&padded)) {
        let Some(dense) = bytes[len..].first_chunk_mut::<BLOCK>() else {
            break;
        };
        let block = u8x64::load_array_ref(simd, block);
        let words = !b"\n\t\r\x0c"
            .iter()
            .fold(block.simd_eq(b' '), |spaces, space| {
                spaces | block.simd_eq(*space)
            });
        *dense = block.compress(words).into();
        len += words.to_bitmask().count_ones() as usize;
    }
    bytes.truncate(len);
}

#[cfg(test)]
mod tests {
    use fearless_simd::{Level, dispatch};

    use super::*;

    const TEXT: &str = "fn main() {\n    println!(\"hello, tape\");\n}\n\nfn other(value: u64) -> u64 {\n    value.wrapping_mul(3)\n}\n";

    #[test]
    fn ascii_white_space_is_removed() {
        let text = "\t if\x0b(a)  {\r\n\x0c                    return_of_more_than_a_block_of_text;\u{a0}é\n}\n";
        for (start, level) in
            (0..text.len()).flat_map(|start| [(start, Level::baseline()), (start, Level::new())])
        {
            let mut dense = b"before".to_vec();
            dispatch!(level, simd => push_dense(simd, &mut dense, &text.as_bytes()[start..]));
            let kept = text
                .bytes()
                .skip(start)
                .filter(|byte| !byte.is_ascii_whitespace());
            assert_eq!(
                dense,
                b"before".iter().copied().chain(kept).collect::<Vec<u8>>()
            );
        }
    }

    #[test]
    fn rolling_hash_equals_hashing_each_gram() {
        let bytes: Vec<u8> = TEXT
            .bytes()
            .filter(|byte| !byte.is_ascii_whitespace())
            .collect();
        let expected: Vec<u64> = bytes
            .windows(K)
            .map(|gram| {
                gram.iter().fold(0u64, |hash, byte| {
                    hash.rotate_left(1) ^ ADDS[*byte as usize]
                })
            })
            .collect();
        for step in [1, 5, K, K + 1, CHUNK_BYTES] {
            let (mut rolling, mut rolled) = (Rolling::default(), Vec::new());
            dispatch!(Level::new(), simd => TEXT.as_bytes().chunks(step).for_each(|chunk| rolling.update(simd, chunk, &mut rolled)));
            rolling.finish(&mut rolled);
            assert_eq!(rolled, expected, "{step} bytes at a time");
        }
    }
}
