//! Numbers as decimal digits, eight at a time since most have fewer, and bytes as hex digits.

use wide::u8x16;

use crate::buffer::Buffer;

/// The first number of more than eight digits.
const LONG: u64 = 100_000_000;

/// Appends a number.
#[inline(never)]
pub(crate) fn push_number(out: &mut Buffer, number: u64) {
    if number >= LONG {
        return push_long(out, number);
    }
    let digits = eight_digits(number);
    let zeros = (digits.trailing_zeros() / 8).min(7);
    out.padded(&(spelled(digits) >> (zeros * 8)).to_le_bytes(), zeros as usize);
}

#[cold]
fn push_long(out: &mut Buffer, number: u64) {
    push_number(out, number / LONG);
    out.ascii(&spelled(eight_digits(number % LONG)).to_le_bytes());
}

/// The digits of a number of at most eight, a byte each, the first digit in the lowest byte. Both halves are divided at once, then
/// all quarters, then all eighths; a division by a fixed number is a multiplication and a shift.
fn eight_digits(number: u64) -> u64 {
    let halves = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = (halves * 5243) >> 19 & 0x7f_0000_007f;
    let quarters = hundreds | (halves - hundreds * 100) << 16;
    let tens = (quarters * 103) >> 10 & 0xf_000f_000f_000f;
    tens | (quarters - tens * 10) << 8
}

/// Digits as ASCII.
fn spelled(digits: u64) -> u64 {
    digits | u64::from_ne_bytes([b'0'; 8])
}

/// Two hex digits a byte.
pub(crate) fn hex_digits(bytes: [u8; 8]) -> [u8; 16] {
    let bytes = u64::from_le_bytes(bytes);
    let halves = |bytes: u64| {
        let mut halves = [0; 16];
        halves[..8].copy_from_slice(&(bytes & u64::from_ne_bytes([0xf; 8])).to_le_bytes());
        u8x16::new(halves)
    };
    let halves = u8x16::unpack_low(halves(bytes >> 4), halves(bytes));
    let letters = halves.simd_gt(u8x16::splat(9)) & u8x16::splat(b'a' - b'0' - 10);
    (halves + u8x16::splat(b'0') + letters).to_array()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(number: u64) -> String {
        let mut out = Buffer::default();
        push_number(&mut out, number);
        out.to_str().to_owned()
    }

    #[test]
    fn every_number_of_four_digits_is_written() {
        for number in 0..10_000 {
            assert_eq!(written(number), number.to_string());
            assert_eq!(written(number * 10_000 + 9999), (number * 10_000 + 9999).to_string());
        }
    }

    #[test]
    fn every_byte_has_two_hex_digits() {
        for byte in 0..=u8::MAX {
            let spelled = format!("{byte:02x}{:02x}", !byte).repeat(4);
            assert_eq!(hex_digits([byte, !byte, byte, !byte, byte, !byte, byte, !byte]), spelled.as_bytes());
        }
    }

    proptest! {
        #[test]
        fn numbers_of_any_length_are_written(number in any::<u64>(), shift in 0..64u32) {
            prop_assert_eq!(written(number >> shift), (number >> shift).to_string());
        }
    }
}
