//! Where the next byte is that matters to JSON strings, looked for sixteen bytes at a time: most are near.

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x16};
use memchr::{memchr, memchr2};

/// Bytes that are looked at together.
const BLOCK: usize = 16;
/// Blocks after which a search that calls is cheaper than one that stands in place.
const NEAR: usize = 8;

/// A bit for each byte of a block that is `byte`.
#[inline(always)]
fn are(block: &[u8; BLOCK], byte: u8) -> u64 {
    // What every processor has: so few bytes are not worth the call that others take.
    dispatch!(Level::baseline(), simd => u8x16::load_array_ref(simd, block).simd_eq(byte).to_bitmask())
}

/// A bit for each byte of a block that is a control character.
#[inline(always)]
fn are_controls(block: &[u8; BLOCK]) -> u64 {
    dispatch!(Level::baseline(), simd => u8x16::load_array_ref(simd, block).simd_lt(b' ').to_bitmask())
}

/// The place of the first backslash at `from` or behind it.
#[inline]
pub(crate) fn backslash(bytes: &[u8], from: usize) -> Option<usize> {
    search(bytes, from, NEAR, |block| are(block, b'\\'), |far| memchr(b'\\', far))
}

/// The place of the first quote or backslash at `from` or behind it.
#[inline]
pub(crate) fn quote_or_backslash(bytes: &[u8], from: usize) -> Option<usize> {
    search(bytes, from, NEAR, |block| are(block, b'"') | are(block, b'\\'), |far| memchr2(b'"', b'\\', far))
}

/// The place of the first byte at `from` or behind it that stands in no JSON string as it is.
#[inline]
pub(crate) fn escaped(bytes: &[u8], from: usize) -> Option<usize> {
    // No search that calls knows all these bytes.
    search(bytes, from, usize::MAX, |block| are_controls(block) | are(block, b'"') | are(block, b'\\'), |_| None)
}

/// The first place at `from` or behind it that `hits` marks in the first `near` blocks, or that `far` finds in the bytes behind them.
#[inline(always)]
fn search(
    bytes: &[u8],
    from: usize,
    near: usize,
    hits: impl Fn(&[u8; BLOCK]) -> u64,
    far: impl Fn(&[u8]) -> Option<usize>,
) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let blocks = rest.as_chunks::<BLOCK>().0;
    for (number, block) in blocks.iter().take(near).enumerate() {
        let hits = hits(block);
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
        Some(block) => hits(block) >> (BLOCK - left),
        None => {
            let mut block = [b' '; BLOCK];
            block[..left].copy_from_slice(rest);
            hits(&block)
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
