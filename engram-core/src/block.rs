//! Text 64 bytes at a time, a bit for each of them: what is asked of such blocks in more than one place.

/// Bytes looked at together: as many as a word has bits.
pub const BLOCK: usize = 64;

/// A block of fewer bytes, with spaces behind them.
pub fn padded(text: &[u8]) -> [u8; BLOCK] {
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

/// The bytes of a block that lie in strings, opening quotes among them; and whether the first byte of the next block does. `quotes` are those
/// that are not escaped, and `begins_in_string` says it of the first byte of this one.
#[inline(always)]
pub fn in_strings(quotes: u64, begins_in_string: bool) -> (u64, bool) {
    // A bit for each place up to which there is an odd number of quotes.
    let mut odd = quotes;
    for places in [1, 2, 4, 8, 16, 32] {
        odd ^= odd << places;
    }
    let in_strings = odd ^ if begins_in_string { u64::MAX } else { 0 };
    (in_strings, in_strings >> (BLOCK - 1) == 1)
}

/// The first `len` bytes of a block.
#[inline(always)]
pub fn first(len: usize) -> u64 {
    u64::MAX.checked_shr((BLOCK - len) as u32).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_bytes_are_counted() {
        assert_eq!([0, 1, 63, BLOCK].map(|len| first(len).trailing_ones() as usize), [0, 1, 63, BLOCK]);
        assert_eq!(first(BLOCK - 1).count_ones(), 63);
    }

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

        #[test]
        fn what_an_odd_number_of_quotes_stands_before_is_in_a_string(quotes: u64, mask: u64, begins_in_string: bool) {
            // Few quotes as well as many.
            let quotes = quotes & mask;
            let (mut expected, mut is_inside) = (0u64, begins_in_string);
            for place in 0..BLOCK {
                is_inside ^= quotes >> place & 1 == 1;
                expected |= u64::from(is_inside) << place;
            }
            prop_assert_eq!(in_strings(quotes, begins_in_string), (expected, is_inside));
        }
    }
}
