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
    let mut winnow = Winnow::default();
    each_gram(text, |gram| winnow.take(gram));
    let mut picked = winnow.finish();
    keep_smallest(&mut picked);
    picked
}

/// Hands on the hashes of all k-grams of the bytes that are no ASCII white space. Shorter text is one gram.
fn each_gram(text: &str, mut hand_on: impl FnMut(u64)) {
    /// The last bytes: a power of two of them, so that places in the ring are cheap.
    const RING: usize = K.next_power_of_two();
    let drop = (0..K).fold(1u64, |power, _| power.wrapping_mul(BASE));
    let mut ring = [0u8; RING];
    let (mut rolling, mut count) = (0u64, 0usize);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        rolling = rolling.wrapping_mul(BASE).wrapping_add(u64::from(byte) + 1);
        if count >= K {
            let oldest = u64::from(ring[(count - K) % RING]) + 1;
            rolling = rolling.wrapping_sub(oldest.wrapping_mul(drop));
        }
        ring[count % RING] = byte;
        count += 1;
        if count >= K {
            hand_on(mix(rolling));
        }
    }
    if (1..K).contains(&count) {
        hand_on(mix(rolling));
    }
}

/// Spreads the rolling hash over all bits (the finalizer of SplitMix64).
fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Picks the rightmost smallest hash of every window of `W` grams; of all grams where there are fewer.
#[derive(Default)]
struct Winnow {
    /// The last `W` grams.
    window: [u64; W],
    count: usize,
    /// The smallest gram of the window, the rightmost where several are equal, and its number.
    smallest: u64,
    at: usize,
    picked: Vec<u64>,
    /// The number of the gram picked last, plus one.
    last: usize,
}

impl Winnow {
    #[inline(always)]
    fn take(&mut self, gram: u64) {
        let now = self.count;
        self.window[now % W] = gram;
        self.count += 1;
        if gram <= self.smallest || now == 0 {
            (self.smallest, self.at) = (gram, now);
        } else if self.at + W <= now {
            self.look_again(now);
        }
        if self.count >= W && self.last != self.at + 1 {
            self.last = self.at + 1;
            self.picked.push(self.smallest);
        }
    }

    /// The smallest gram has left the window: finds that of the grams left. Rare, since the smallest of 32 stays for long.
    fn look_again(&mut self, now: usize) {
        (self.smallest, self.at) = (u64::MAX, now);
        for at in now + 1 - W..=now {
            if self.window[at % W] <= self.smallest {
                (self.smallest, self.at) = (self.window[at % W], at);
            }
        }
    }

    fn finish(mut self) -> Vec<u64> {
        if (1..W).contains(&self.count) {
            self.picked.push(self.smallest);
        }
        self.picked
    }
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
    fn every_window_is_looked_at() {
        for grams in [(0..100).collect::<Vec<u64>>(), (0..100).rev().collect(), vec![7; 100], (0..100).map(|n| mix(n) % 5).collect()] {
            let mut expected = Vec::new();
            for window in 0..=grams.len() - W {
                let smallest = (window..window + W).rev().min_by_key(|at| grams[*at]).unwrap();
                if expected.last() != Some(&smallest) {
                    expected.push(smallest);
                }
            }
            let mut winnow = Winnow::default();
            grams.iter().for_each(|gram| winnow.take(*gram));
            assert_eq!(winnow.finish(), expected.iter().map(|at| grams[*at]).collect::<Vec<_>>());
        }
    }

    #[test]
    fn rolling_equals_hashing_each_gram_anew() {
        let bytes: Vec<u8> = TEXT.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let anew: Vec<u64> = bytes
            .windows(K)
            .map(|gram| mix(gram.iter().fold(0u64, |hash, byte| hash.wrapping_mul(BASE).wrapping_add(u64::from(*byte) + 1))))
            .collect();
        let mut rolled = Vec::new();
        each_gram(TEXT, |gram| rolled.push(gram));
        assert_eq!(rolled, anew);
    }
}
