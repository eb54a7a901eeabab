//! Winnowed fingerprints of text, so that a span is found again after it moves or changes a little.
//!
//! Schleimer, Wilkerson, Aiken: Winnowing (SIGMOD 2003). `docs/anchors.md` gives the scheme to the byte, with test vectors.

use crate::keys::KeyMap;

/// Bytes of one k-gram.
const K: usize = 24;
/// k-grams of one window.
const W: usize = 32;
/// The most fingerprints of one span: the smallest are kept.
const MAX: usize = 128;
/// Bytes of text that are worked on together: few enough that their grams stay in a core's cache.
const PIECE: usize = 1024;

/// The name of the scheme, as it stands in `tape.start`.
pub const SCHEME: &str = "winnow/1:k=24,w=32";

/// The fingerprints of `text`, in text order, without repeats.
pub fn anchors(text: &str) -> Vec<u64> {
    let (mut rolling, mut winnow) = (Rolling::default(), Winnow::default());
    for piece in text.as_bytes().chunks(PIECE) {
        rolling.take(piece, &mut winnow.grams);
        winnow.pick(false);
    }
    rolling.finish(&mut winnow.grams);
    winnow.pick(true);
    bounded(winnow.picked)
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

/// Hashes each k-gram of the bytes that are no ASCII white space by rolling (a cyclic polynomial). Shorter text is one gram.
#[derive(Default)]
struct Rolling {
    /// The last bytes, `K` of them where there were so many.
    bytes: Vec<u8>,
    hash: u64,
}

impl Rolling {
    fn take(&mut self, piece: &[u8], grams: &mut Vec<u64>) {
        let known = self.bytes.len();
        push_dense(&mut self.bytes, piece);
        let bytes = &self.bytes[..];
        grams.reserve(piece.len());
        for byte in bytes.iter().take(K).skip(known) {
            self.hash = self.hash.rotate_left(1) ^ ADDS[*byte as usize];
        }
        if known < K && bytes.len() >= K {
            grams.push(self.hash);
        }
        let newest = bytes.get(known.max(K)..).unwrap_or_default();
        let oldest = &bytes[known.saturating_sub(K)..];
        grams.extend(newest.iter().zip(oldest).map(|(newest, oldest)| {
            let both = ADDS[*newest as usize] ^ ADDS[*oldest as usize].rotate_left(K as u32);
            self.hash = self.hash.rotate_left(1) ^ both;
            self.hash
        }));
        self.bytes.drain(..self.bytes.len().saturating_sub(K));
    }

    fn finish(self, grams: &mut Vec<u64>) {
        if (1..K).contains(&self.bytes.len()) {
            grams.push(self.hash);
        }
    }
}

/// 0 for white space, 1 for all else.
static STEPS: [u8; 256] = {
    let mut steps = [1; 256];
    let mut byte = 0;
    while byte < 128 {
        steps[byte as usize] = !(byte as u8).is_ascii_whitespace() as u8;
        byte += 1;
    }
    steps
};

/// Appends what is no white space. Without a branch, since words are short.
fn push_dense(bytes: &mut Vec<u8>, piece: &[u8]) {
    let mut end = bytes.len();
    bytes.resize(end + piece.len(), 0);
    for byte in piece {
        bytes[end] = *byte;
        end += usize::from(STEPS[usize::from(*byte)]);
    }
    bytes.truncate(end);
}

/// Picks the rightmost smallest hash of every window of `W` grams; of all grams where there are fewer.
#[derive(Default)]
struct Winnow {
    /// The grams from the one picked last on.
    grams: Vec<u64>,
    /// Those of them that have been looked at.
    seen: usize,
    picked: Vec<u64>,
}

impl Winnow {
    /// Picks among the grams that are there. The one picked last stands for every window that holds it, up to the first with a
    /// gram that is as small.
    fn pick(&mut self, is_last: bool) {
        let grams = &self.grams[..];
        let mut at = 0;
        if self.picked.is_empty() {
            if grams.is_empty() || grams.len() < W && !is_last {
                return;
            }
            let first = &grams[..W.min(grams.len())];
            at = rightmost_smallest(first);
            self.seen = first.len();
            self.picked.push(grams[at]);
        }
        while self.seen < grams.len() {
            let smallest = grams[at];
            let reach = &grams[self.seen..grams.len().min(at + W)];
            if let Some(ahead) = reach.iter().position(|gram| *gram <= smallest) {
                at = self.seen + ahead;
                self.seen = at + 1;
            } else if at + W < grams.len() {
                self.seen = at + W + 1;
                at += 1 + rightmost_smallest(&grams[at + 1..self.seen]);
            } else {
                self.seen = grams.len();
                break;
            }
            // Of a run of equal grams, which text of one character is, one says it all.
            if grams[at] != smallest {
                self.picked.push(grams[at]);
            }
        }
        self.seen -= at;
        self.grams.drain(..at);
    }
}

fn rightmost_smallest(grams: &[u64]) -> usize {
    let smallest = grams.iter().copied().min();
    grams.iter().rposition(|gram| Some(*gram) == smallest).unwrap_or_default()
}

/// Keeps each hash once, at its first place, and of too many the `MAX` smallest.
fn bounded(mut picked: Vec<u64>) -> Vec<u64> {
    if picked.len() < 2 {
        return picked;
    }
    let mut known = KeyMap::default();
    // Text that repeats itself gives few hashes many times: the map grows with the hashes, not with the picks.
    known.reserve(picked.len().min(MAX));
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
        for grams in [(0..100).collect::<Vec<u64>>(), (0..100).rev().collect(), vec![7; 100], (0..100).map(spread).collect()] {
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
