//! Decimal and hexadecimal digits.

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x16};

use super::buffer::Buffer;
use crate::text::Push as _;

/// Appends a number.
#[inline(never)]
pub(crate) fn push_number(out: &mut Buffer, number: u64) {
    out.push_str(itoa::Buffer::new().format(number));
}

/// Two hex digits per byte.
#[inline]
pub(crate) fn hex_digits(bytes: [u8; 8]) -> [u8; 16] {
    dispatch!(Level::baseline(), simd => {
        let bytes = u8x16::load_array(simd, u128::from(u64::from_le_bytes(bytes)).to_le_bytes());
        let halves = simd.zip_low_u8x16(bytes >> 4, bytes & 0xf);
        let letters = halves.simd_gt(9);
        (halves + letters.select(u8x16::splat(simd, b'a' - 10), u8x16::splat(simd, b'0'))).to_array()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_two_hex_digits() {
        for byte in 0..=u8::MAX {
            let expected = format!("{byte:02x}{:02x}", !byte).repeat(4);
            assert_eq!(hex_digits([byte, !byte, byte, !byte, byte, !byte, byte, !byte]), expected.as_bytes());
        }
    }
}
