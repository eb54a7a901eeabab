//! Text 64 bytes at a time, a bit for each of them: what is asked of such blocks in more than one place.

/// Bytes looked at together: as many as a word has bits.
pub const BLOCK: usize = 64;

/// A block of fewer bytes, with spaces behind them.
pub fn pad_block(text: &[u8]) -> [u8; BLOCK] {
    let mut padded = [b' '; BLOCK];
    padded[..text.len()].copy_from_slice(text);
    padded
}

/// The bytes of a block that are escaped, those behind an odd number of backslashes in a row; and whether the first byte of the next block
/// is. `begins_escaped` says it of the first byte of this one.
///
/// Where such a row begins at an odd place, adding it to its own bits carries to the place behind it.
#[inline(always)]
pub fn escaped(backslashes: u64, begins_escaped: bool) -> (u64, bool) {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let before = u64::from(begins_escaped);
    let escaping = backslashes & !before;
    let behind = escaping << 1 | before;
    let odd_starts = escaping & !EVEN & !behind;
    let (carried, ends_escaping) = odd_starts.overflowing_add(escaping);
    ((EVEN ^ carried << 1) & behind, ends_escaping)
}

/// A bit for each place up to which there is an odd number of bits: of unescaped quotes, those are the places in strings.
#[inline(always)]
pub fn prefix_xor(mut bits: u64) -> u64 {
    for places in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << places;
    }
    bits
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_an_odd_number_of_backslashes_stands_before_is_escaped(backslashes: u64, mask: u64, begins_escaped: bool) {
            // Rows of many as well as single ones.
            let backslashes = backslashes | mask;
            let (mut expected, mut is_escaped) = (0u64, begins_escaped);
            for place in 0..BLOCK {
                expected |= u64::from(is_escaped) << place;
                is_escaped = !is_escaped && backslashes >> place & 1 == 1;
            }
            prop_assert_eq!(escaped(backslashes, begins_escaped), (expected, is_escaped));
        }
    }
}
