//! Winnowed fingerprints of text, so that a span is found again after it moves or changes a little.
//!
//! Schleimer, Wilkerson, Aiken: Winnowing (SIGMOD 2003). `docs/anchors.md` gives the scheme to the byte, with test vectors.

use std::cell::RefCell;
use std::{array, mem};

use wide::{i8x16, i16x16, u8x16};

use crate::keys::KeyMap;

/// Bytes of one k-gram.
const K: usize = 24;
/// k-grams of one window.
const W: usize = 32;
/// The most fingerprints of one span: the smallest are kept.
const MAX: usize = 128;
/// Bytes of text that are worked on together: few enough that their grams stay in a core's cache.
const PIECE: usize = 1024;
/// Bytes whose white space is looked for together.
const BLOCK: usize = 64;
/// Bytes of a word that are copied together.
const WORD: usize = 16;
/// Room for what a piece leaves to the next one, and for what is copied and cut off again.
const ROOM: usize = K + W + WORD;

/// The name of the scheme, as it stands in `tape.start`.
pub const SCHEME: &str = "winnow/1:k=24,w=32";

thread_local! {
    /// Most texts are short: memory for them is asked for once.
    static SCRATCH: RefCell<(Rolling, Winnow)> = RefCell::default();
}

/// The fingerprints of `text`, in text order, without repeats.
pub fn anchors(text: &str) -> Vec<u64> {
    let (mut rolling, mut winnow) = SCRATCH.take();
    rolling.restart();
    winnow.restart(text.len());
    let mut rest = text.as_bytes();
    loop {
        let (piece, behind) = rest.split_at(rest.len().min(PIECE));
        rolling.take(piece, &mut winnow.grams);
        if behind.is_empty() {
            break;
        }
        winnow.pick(false);
        rest = behind;
    }
    rolling.finish(&mut winnow.grams);
    winnow.pick(true);
    let picked = mem::take(&mut winnow.picked);
    SCRATCH.set((rolling, winnow));
    bounded(picked)
}

/// What each byte adds to the hash of a gram: the first 256 numbers of SplitMix64 from seed 0.
static ADDS: [u64; 256] = {
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

/// What is left of it when the byte leaves the gram: `K` bytes have come behind it.
static LEAVES: [u64; 256] = {
    let mut leaves = [0; 256];
    let mut byte = 0;
    while byte < leaves.len() {
        leaves[byte] = ADDS[byte].rotate_left(K as u32);
        byte += 1;
    }
    leaves
};

/// Hashes each k-gram of the bytes that are no ASCII white space by rolling (a cyclic polynomial). Shorter text is one gram.
#[derive(Default)]
struct Rolling {
    /// The last bytes, `K` of them where there were so many.
    bytes: Vec<u8>,
    hash: u64,
}

impl Rolling {
    fn restart(&mut self) {
        self.bytes.clear();
        self.bytes.reserve(PIECE + ROOM);
        self.hash = 0;
    }

    fn take(&mut self, piece: &[u8], grams: &mut Vec<u64>) {
        let known = self.bytes.len();
        push_dense(&mut self.bytes, piece);
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
        let ((fours, ones), (old_fours, old_ones)) = (newest.as_chunks::<4>(), oldest.as_chunks::<4>());
        grams.extend(fours.iter().zip(old_fours).flat_map(|(newest, oldest)| {
            // What four bytes change is worked out beside the hash, so that each waits for the hash four bytes before it only.
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

    fn finish(&self, grams: &mut Vec<u64>) {
        if (1..K).contains(&self.bytes.len()) {
            grams.push(self.hash);
        }
    }
}

/// Appends what is no white space, word by word: as many bytes as are copied at once, of which what stands behind the word is cut
/// off again.
fn push_dense(bytes: &mut Vec<u8>, piece: &[u8]) {
    let mut rest = piece;
    while !rest.is_empty() {
        let padded;
        let block: &[u8; BLOCK + WORD] = match rest.first_chunk() {
            Some(block) => block,
            None => {
                padded = padded_block(rest);
                &padded
            }
        };
        let (mut words, mut at) = (words(block), 0);
        while words != 0 {
            let spaces = words.trailing_zeros();
            words >>= spaces;
            at += spaces as usize;
            let len = words.trailing_ones().min(WORD as u32);
            words >>= len;
            bytes.extend_from_slice(&block[at..at + WORD]);
            bytes.truncate(bytes.len() - WORD + len as usize);
            at += len as usize;
        }
        rest = rest.get(BLOCK..).unwrap_or_default();
    }
}

/// The last bytes of a piece, with white space behind them.
fn padded_block(rest: &[u8]) -> [u8; BLOCK + WORD] {
    let mut block = [b' '; BLOCK + WORD];
    let len = rest.len().min(BLOCK);
    block[..len].copy_from_slice(&rest[..len]);
    block
}

/// A bit for each of the first bytes that is no white space.
fn words(block: &[u8; BLOCK + WORD]) -> u64 {
    let parts = block[..BLOCK].as_chunks().0;
    !parts.iter().rev().fold(0, |bits, part| bits << WORD | u64::from(spaces(*part)))
}

/// A bit for each byte that is ASCII white space.
fn spaces(block: [u8; WORD]) -> u32 {
    let block = u8x16::new(block);
    let is = |byte| block.simd_eq(u8x16::splat(byte));
    (is(b' ') | is(b'\n') | is(b'\t') | is(b'\r') | is(b'\x0c')).to_bitmask()
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
    fn restart(&mut self, text: usize) {
        self.grams.clear();
        self.grams.reserve(PIECE + ROOM);
        self.tops.clear();
        self.tops.reserve(PIECE + ROOM);
        // Of random grams two in a window and one more are picked.
        self.picked = Vec::with_capacity(text / (W / 2));
    }

    /// Picks among the grams that are there. The one picked last stands for every window that holds it, up to the first with a
    /// gram that is as small.
    fn pick(&mut self, is_last: bool) {
        let Winnow { grams, tops, picked } = self;
        tops.extend(grams[tops.len()..].iter().map(|gram| (gram >> 49) as i16));
        let mut at = 0;
        if picked.is_empty() {
            let first = match tops.first_chunk() {
                Some(window) => Some(rightmost_smallest(window, grams)),
                None if is_last => (0..grams.len()).rev().min_by_key(|at| grams[*at]),
                None => None,
            };
            let Some(first) = first else { return };
            picked.push(grams[first]);
            at = first;
        }
        while let Some(window) = tops[at + 1..].first_chunk() {
            let start = at + 1;
            for ahead in places(up_to(window, tops[at])) {
                at = follow(grams, picked, at, start + ahead);
            }
            if at < start {
                at = start + rightmost_smallest(window, &grams[start..]);
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
fn up_to(window: &[i16; W], bound: i16) -> u32 {
    let (halves, bound) = (window.as_chunks().0, i16x16::splat(bound));
    let above = |tops: &[i16; W / 2]| i8x16::from_i16x16_saturate(i16x16::new(*tops).simd_gt(bound)).to_bitmask();
    !halves.iter().rev().fold(0, |bits, tops| bits << (W / 2) | above(tops))
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

fn rightmost_smallest(window: &[i16; W], grams: &[u64]) -> usize {
    let lowest = window.iter().copied().min().unwrap_or_default();
    let mut marked = places(up_to(window, lowest));
    let first = marked.next().unwrap_or_default();
    marked.fold(first, |at, next| if grams[next] <= grams[at] { next } else { at })
}

/// Keeps each hash once, at its first place, and of too many the `MAX` smallest.
fn bounded(mut picked: Vec<u64>) -> Vec<u64> {
    if picked.len() < 2 {
        return picked;
    }
    let mut known = KeyMap::default();
    // Text that repeats itself gives few hashes many times: of very many picks the map does not wait for all.
    known.reserve(picked.len().min(8 * MAX));
    // The smallest hashes begin with zeros, and the map tells its keys apart by their beginnings.
    picked.retain(|hash| known.insert(hash.rotate_left(32), ()).is_none());
    if picked.len() > MAX {
        let largest = *picked.clone().select_nth_unstable(MAX - 1).1;
        picked.retain(|hash| *hash <= largest);
    }
    picked
}

#[cfg(test)]
mod tests {
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
            for step in [1, 7, 31, 100] {
                let mut winnow = Winnow::default();
                for piece in grams.chunks(step) {
                    winnow.grams.extend(piece);
                    winnow.pick(false);
                }
                winnow.pick(true);
                assert_eq!(winnow.picked, expected, "{step} at a time");
            }
        }
    }

    #[test]
    fn white_space_is_left_out_wherever_it_stands() {
        let text = "\t if\x0b(a)  {\r\n\x0c                    return_of_more_than_a_block_of_text;\u{a0}é\n}\n";
        for start in 0..text.len() {
            let mut dense = b"before".to_vec();
            push_dense(&mut dense, &text.as_bytes()[start..]);
            let kept = text.bytes().skip(start).filter(|byte| !byte.is_ascii_whitespace());
            assert_eq!(dense, b"before".iter().copied().chain(kept).collect::<Vec<u8>>());
        }
    }

    #[test]
    fn rolling_equals_hashing_each_gram_anew() {
        let bytes: Vec<u8> = TEXT.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let anew: Vec<u64> =
            bytes.windows(K).map(|gram| gram.iter().fold(0u64, |hash, byte| hash.rotate_left(1) ^ ADDS[*byte as usize])).collect();
        for step in [1, 5, K, K + 1, PIECE] {
            let (mut rolling, mut rolled) = (Rolling::default(), Vec::new());
            TEXT.as_bytes().chunks(step).for_each(|piece| rolling.take(piece, &mut rolled));
            rolling.finish(&mut rolled);
            assert_eq!(rolled, anew, "{step} bytes at a time");
        }
    }
}
