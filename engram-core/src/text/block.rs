//! Blocks of 64 bytes of text, and masks with one bit per byte.

/// Bytes per block: the bits of a `u64`.
pub const BLOCK: usize = 64;

/// A block of at most [`BLOCK`] bytes, padded with spaces at the end.
///
/// # Panics
/// If `text` is longer than a block.
pub fn pad_block(text: &[u8]) -> [u8; BLOCK] {
    let mut padded = [b' '; BLOCK];
    padded[..text.len()].copy_from_slice(text);
    padded
}

/// A mask of the escaped bytes of a block, and whether the first byte of the next block is escaped. A byte is escaped if an odd number of
/// backslashes comes directly before it. `begins_escaped` is true if the first byte of this block is escaped.
///
/// If a run of backslashes begins at an odd position, adding the run's first bit to the mask carries to the byte after the run.
#[inline(always)]
pub fn escaped(backslashes: u64, begins_escaped: bool) -> (u64, bool) {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let first = u64::from(begins_escaped);
    let escaping = backslashes & !first;
    let followers = escaping << 1 | first;
    let odd_starts = escaping & !EVEN & !followers;
    let (carried, ends_escaping) = odd_starts.overflowing_add(escaping);
    ((EVEN ^ carried << 1) & followers, ends_escaping)
}

/// The parity of bits `0..=i` for each bit `i` (prefix XOR). Of a mask of unescaped quotes, it gives the mask of bytes inside strings.
#[inline(always)]
pub fn prefix_xor(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_after_an_odd_run_of_backslashes_are_escaped(backslashes: u64, mask: u64, begins_escaped: bool) {
            // Long runs as well as single backslashes.
            let backslashes = backslashes | mask;
            let (mut expected, mut is_escaped) = (0u64, begins_escaped);
            for bit in 0..BLOCK {
                expected |= u64::from(is_escaped) << bit;
                is_escaped = !is_escaped && backslashes >> bit & 1 == 1;
            }
            prop_assert_eq!(escaped(backslashes, begins_escaped), (expected, is_escaped));
        }
    }
}
