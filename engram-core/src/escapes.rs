//! Where the next byte is that matters to JSON strings, looked for eight bytes at a time: most are near.

use memchr::{memchr, memchr2};

/// Bytes after which a search that calls is cheaper than one that stands in place.
const NEAR: usize = 64;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// The high bit of each byte that is 0; of those above the lowest one too, sometimes.
#[inline(always)]
const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGHS
}

#[inline(always)]
const fn equals(word: u64, byte: u8) -> u64 {
    zeros(word ^ (ONES * byte as u64))
}

/// As [`zeros`], for bytes below U+0020.
#[inline(always)]
const fn controls(word: u64) -> u64 {
    word.wrapping_sub(ONES * 0x20) & !word & HIGHS
}

#[inline(always)]
fn first(hits: u64) -> usize {
    hits.trailing_zeros() as usize / 8
}

/// The place of the first backslash at `from` or behind it.
#[inline]
pub(crate) fn backslash(bytes: &[u8], from: usize) -> Option<usize> {
    search(bytes, from, |word| equals(word, b'\\'), |far| memchr(b'\\', far))
}

/// The place of the first quote or backslash at `from` or behind it.
#[inline]
pub(crate) fn quote_or_backslash(bytes: &[u8], from: usize) -> Option<usize> {
    search(bytes, from, |word| equals(word, b'"') | equals(word, b'\\'), |far| memchr2(b'"', b'\\', far))
}

/// The first place at `from` or behind it that `hits` marks in a word of the near bytes, or that `far` finds in those behind them.
#[inline(always)]
fn search(bytes: &[u8], from: usize, hits: impl Fn(u64) -> u64, far: impl Fn(&[u8]) -> Option<usize>) -> Option<usize> {
    let rest = bytes.get(from..)?;
    for (number, word) in rest.as_chunks::<8>().0.iter().take(NEAR / 8).enumerate() {
        let hits = hits(u64::from_le_bytes(*word));
        if hits != 0 {
            return Some(from + number * 8 + first(hits));
        }
    }
    let near = from + (rest.len() & !7).min(NEAR);
    far(&bytes[near..]).map(|at| near + at)
}

/// The place of the first byte at `from` or behind it that stands in no JSON string as it is.
#[inline]
pub(crate) fn escaped(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let (words, last) = rest.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let hits = controls(word) | equals(word, b'"') | equals(word, b'\\');
        if hits != 0 {
            return Some(from + number * 8 + first(hits));
        }
    }
    let at = last.iter().position(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\'))?;
    Some(from + words.len() * 8 + at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_find_what_a_byte_wise_search_finds(bytes in r#"[\x00-\x21"\\\x5b-\x60aé€]{0,40}"#, from in 0usize..50) {
            let bytes = bytes.as_bytes();
            let search = |hit: fn(u8) -> bool| (from..bytes.len()).find(|at| hit(bytes[*at]));
            prop_assert_eq!(backslash(bytes, from), search(|byte| byte == b'\\'));
            prop_assert_eq!(quote_or_backslash(bytes, from), search(|byte| byte == b'"' || byte == b'\\'));
            prop_assert_eq!(escaped(bytes, from), search(|byte| byte < 0x20 || byte == b'"' || byte == b'\\'));
        }

        #[test]
        fn any_bytes_are_searched(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            prop_assert_eq!(backslash(&bytes, 0), bytes.iter().position(|byte| *byte == b'\\'));
            prop_assert_eq!(quote_or_backslash(&bytes, 0), bytes.iter().position(|byte| matches!(byte, b'"' | b'\\')));
            prop_assert_eq!(escaped(&bytes, 0), bytes.iter().position(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\')));
        }
    }
}
