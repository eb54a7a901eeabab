//! Where the next byte is that matters to JSON strings, looked for sixteen bytes at a time: most are near.

use memchr::{memchr, memchr2};
use wide::u8x16;

/// Bytes that are looked at together.
pub(crate) const BLOCK: usize = 16;
/// Blocks after which a search that calls is cheaper than one that stands in place.
const NEAR: usize = 8;

/// A bit for each byte of a block that `hit` marks.
#[inline(always)]
fn hits(block: &[u8; BLOCK], hit: impl Fn(u8x16) -> u8x16) -> u32 {
    u32::from(hit(u8x16::new(*block)).to_bitmask() as u16)
}

#[inline(always)]
fn is_backslash(block: u8x16) -> u8x16 {
    block.simd_eq(u8x16::splat(b'\\'))
}

#[inline(always)]
fn is_quote_or_backslash(block: u8x16) -> u8x16 {
    block.simd_eq(u8x16::splat(b'"')) | is_backslash(block)
}

#[inline(always)]
fn is_escaped(block: u8x16) -> u8x16 {
    block.min(u8x16::splat(0x1f)).simd_eq(block) | is_quote_or_backslash(block)
}

/// The place of the first backslash at `from` or behind it.
#[inline]
pub(crate) fn backslash(bytes: &[u8], from: usize) -> Option<usize> {
    search(bytes, from, NEAR, is_backslash, |far| memchr(b'\\', far))
}

/// How many bytes of a block stand before its first backslash.
#[inline(always)]
pub(crate) fn plain_bytes(block: &[u8; BLOCK]) -> usize {
    (hits(block, is_backslash) | 1 << BLOCK).trailing_zeros() as usize
}

/// The place of the first quote or backslash at `from` or behind it.
#[inline]
pub(crate) fn quote_or_backslash(bytes: &[u8], from: usize) -> Option<usize> {
    search(bytes, from, NEAR, is_quote_or_backslash, |far| memchr2(b'"', b'\\', far))
}

/// The place of the first byte at `from` or behind it that stands in no JSON string as it is.
#[inline]
pub(crate) fn escaped(bytes: &[u8], from: usize) -> Option<usize> {
    // No search that calls knows all these bytes.
    search(bytes, from, usize::MAX, is_escaped, |_| None)
}

/// The first place at `from` or behind it that `hit` marks in the first `near` blocks, or that `far` finds in the bytes behind them.
#[inline(always)]
fn search(bytes: &[u8], from: usize, near: usize, hit: impl Fn(u8x16) -> u8x16, far: impl Fn(&[u8]) -> Option<usize>) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let blocks = rest.as_chunks::<BLOCK>().0;
    for (number, block) in blocks.iter().take(near).enumerate() {
        let hits = hits(block, &hit);
        if hits != 0 {
            return Some(from + number * BLOCK + hits.trailing_zeros() as usize);
        }
    }
    let near = from + blocks.len().min(near) * BLOCK;
    let left = bytes.len() - near;
    if left >= BLOCK {
        return far(&bytes[near..]).map(|at| near + at);
    }
    // Too few for a block, so one is taken that begins before them.
    let hits = match bytes.last_chunk() {
        Some(block) => hits(block, hit) >> (BLOCK - left),
        None => {
            let mut block = [b' '; BLOCK];
            block[..left].copy_from_slice(rest);
            self::hits(&block, hit)
        }
    };
    (hits != 0).then(|| near + hits.trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_find_what_a_byte_wise_search_finds(bytes in r#"[\x00-\x21"\\\x5b-\x60aé€]{0,200}"#, from in 0usize..220) {
            let bytes = bytes.as_bytes();
            let search = |hit: fn(u8) -> bool| (from..bytes.len()).find(|at| hit(bytes[*at]));
            prop_assert_eq!(backslash(bytes, from), search(|byte| byte == b'\\'));
            prop_assert_eq!(quote_or_backslash(bytes, from), search(|byte| byte == b'"' || byte == b'\\'));
            prop_assert_eq!(escaped(bytes, from), search(|byte| byte < 0x20 || byte == b'"' || byte == b'\\'));
        }

        #[test]
        fn any_bytes_are_searched(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(backslash(&bytes, 0), bytes.iter().position(|byte| *byte == b'\\'));
            prop_assert_eq!(quote_or_backslash(&bytes, 0), bytes.iter().position(|byte| matches!(byte, b'"' | b'\\')));
            prop_assert_eq!(escaped(&bytes, 0), bytes.iter().position(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\')));
        }
    }
}
