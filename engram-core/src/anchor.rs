//! Winnowed fingerprints of text, so that a span is found again after it moves or changes a little.
//!
//! Schleimer, Wilkerson, Aiken: Winnowing (SIGMOD 2003). `docs/anchors.md` gives the scheme to the byte, with test vectors.

/// Bytes of one k-gram.
const K: usize = 24;
/// k-grams of one window.
const W: usize = 32;
/// The most fingerprints of one span: the smallest are kept.
const MAX: usize = 128;
/// Base of the rolling hash, modulo 2^64.
const BASE: u64 = 0x0000_0100_0000_01b3;

/// The name of the scheme, as it stands in `tape.start`.
pub const SCHEME: &str = "winnow/1:k=24,w=32";

/// The fingerprints of `text`, in text order, without repeats.
pub fn anchors(text: &str) -> Vec<u64> {
    let grams = Grams::new(text);
    let mut picked = winnow(grams);
    keep_smallest(&mut picked);
    picked
}

/// The hashes of all k-grams of the bytes that are no ASCII white space. Shorter text is one gram.
struct Grams<'t> {
    bytes: std::str::Bytes<'t>,
    ring: [u8; K],
    next: usize,
    filled: usize,
    rolling: u64,
    drop: u64,
    done: bool,
}

impl<'t> Grams<'t> {
    fn new(text: &'t str) -> Self {
        let drop = (0..K).fold(1u64, |power, _| power.wrapping_mul(BASE));
        Grams { bytes: text.bytes(), ring: [0; K], next: 0, filled: 0, rolling: 0, drop, done: false }
    }

    fn push(&mut self, byte: u8) {
        let value = u64::from(byte) + 1;
        self.rolling = self.rolling.wrapping_mul(BASE).wrapping_add(value);
        if self.filled == K {
            let oldest = u64::from(self.ring[self.next]) + 1;
            self.rolling = self.rolling.wrapping_sub(oldest.wrapping_mul(self.drop));
        } else {
            self.filled += 1;
        }
        self.ring[self.next] = byte;
        self.next = (self.next + 1) % K;
    }
}

impl Iterator for Grams<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        while let Some(byte) = self.bytes.next() {
            if byte.is_ascii_whitespace() {
                continue;
            }
            self.push(byte);
            if self.filled == K {
                self.done = true;
                return Some(mix(self.rolling));
            }
        }
        if self.done || self.filled == 0 {
            return None;
        }
        self.done = true;
        Some(mix(self.rolling))
    }
}

/// Spreads the rolling hash over all bits (the finalizer of SplitMix64).
fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The rightmost smallest hash of every window of `W` grams; of all grams where there are fewer.
fn winnow(grams: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut window = std::collections::VecDeque::<(usize, u64)>::with_capacity(W + 1);
    let mut picked = Vec::new();
    let mut last = usize::MAX;
    let mut count = 0;
    for (at, hash) in grams.enumerate() {
        count = at + 1;
        while window.back().is_some_and(|(_, held)| *held >= hash) {
            window.pop_back();
        }
        window.push_back((at, hash));
        if window.front().is_some_and(|(held, _)| *held + W <= at) {
            window.pop_front();
        }
        if at + 1 >= W
            && let Some((held, smallest)) = window.front()
            && *held != last
        {
            last = *held;
            picked.push(*smallest);
        }
    }
    if count < W
        && let Some((_, smallest)) = window.front()
    {
        picked.push(*smallest);
    }
    picked
}

/// Keeps the `MAX` smallest hashes, each at its first place.
fn keep_smallest(picked: &mut Vec<u64>) {
    let mut smallest = picked.clone();
    smallest.sort_unstable();
    smallest.dedup();
    smallest.truncate(MAX);
    let mut kept = [false; MAX];
    picked.retain(|hash| match smallest.binary_search(hash) {
        Ok(at) => !std::mem::replace(&mut kept[at], true),
        Err(_) => false,
    });
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

    #[test]
    fn rolling_equals_hashing_each_gram_anew() {
        let bytes: Vec<u8> = TEXT.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let anew: Vec<u64> = bytes
            .windows(K)
            .map(|gram| mix(gram.iter().fold(0u64, |hash, byte| hash.wrapping_mul(BASE).wrapping_add(u64::from(*byte) + 1))))
            .collect();
        assert_eq!(Grams::new(TEXT).collect::<Vec<_>>(), anew);
    }
}
