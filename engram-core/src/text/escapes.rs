//! Search for the next byte of JSON strings that needs attention. Most are near, so 16 bytes are compared inline before `memchr` is called.

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x16};
use memchr::{memchr, memchr2};

/// Bytes per block.
const BLOCK: usize = 16;
/// Blocks that are searched inline. After that many, a call of `memchr` is cheaper.
const INLINE_BLOCKS: usize = 8;

/// A mask of the bytes that equal `byte`.
#[inline(always)]
fn equal(block: &[u8; BLOCK], byte: u8) -> u64 {
    // The level that every processor has: dispatch to a higher level takes a call, too much for so few bytes.
    dispatch!(Level::baseline(), simd => u8x16::load_array_ref(simd, block).simd_eq(byte).to_bitmask())
}

/// A mask of the control characters.
#[inline(always)]
fn controls(block: &[u8; BLOCK]) -> u64 {
    dispatch!(Level::baseline(), simd => u8x16::load_array_ref(simd, block).simd_lt(b' ').to_bitmask())
}

/// The position of the first backslash at or after `from`.
#[inline]
pub(crate) fn backslash(bytes: &[u8], from: usize) -> Option<usize> {
    search(
        bytes,
        from,
        INLINE_BLOCKS,
        |block| equal(block, b'\\'),
        |far| memchr(b'\\', far),
    )
}

/// The position of the first quote or backslash at or after `from`.
#[inline]
pub(crate) fn quote_or_backslash(bytes: &[u8], from: usize) -> Option<usize> {
    search(
        bytes,
        from,
        INLINE_BLOCKS,
        |block| equal(block, b'"') | equal(block, b'\\'),
        |far| memchr2(b'"', b'\\', far),
    )
}

/// The position of the first byte at or after `from` that a JSON string must escape.
#[inline]
pub(crate) fn escaped(bytes: &[u8], from: usize) -> Option<usize> {
    // `memchr` cannot search for so many different bytes.
    search(
        bytes,
        from,
        usize::MAX,
        |block| controls(block) | equal(block, b'"') | equal(block, b'\\'),
        |_| None,
    )
}

/// The first position at or after `from` that `hits` marks in the first `near` blocks, or that `far` finds in the bytes after them.
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
    // Too few bytes for a block: use one that overlaps the bytes before them.
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
        fn searches_equal_a_bytewise_search(bytes in r#"[\x00-\x21"\\\x5b-\x60aé€]{0,200}"#, from in 0usize..220) {
            let bytes = bytes.as_bytes();
            let search = |hit: fn(u8) -> bool| (from..bytes.len()).find(|at| hit(bytes[*at]));
            prop_assert_eq!(backslash(bytes, from), search(|byte| byte == b'\\'));
            prop_assert_eq!(quote_or_backslash(bytes, from), search(|byte| byte == b'"' || byte == b'\\'));
            prop_assert_eq!(escaped(bytes, from), search(|byte| byte < 0x20 || byte == b'"' || byte == b'\\'));
        }

        #[test]
        fn bytes_that_are_not_utf8_are_searched_too(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(backslash(&bytes, 0), bytes.iter().position(|byte| *byte == b'\\'));
            prop_assert_eq!(quote_or_backslash(&bytes, 0), bytes.iter().position(|byte| matches!(byte, b'"' | b'\\')));
            prop_assert_eq!(escaped(&bytes, 0), bytes.iter().position(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\')));
        }
    }
}
