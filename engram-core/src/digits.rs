//! Numbers as decimal digits, bytes as hex digits.

use wide::u8x16;

use crate::buffer::{Buffer, Push as _};

/// Appends a number.
#[inline(never)]
pub(crate) fn push_number(out: &mut Buffer, number: u64) {
    out.push_str(itoa::Buffer::new().format(number));
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
    use super::*;

    #[test]
    fn every_byte_has_two_hex_digits() {
        for byte in 0..=u8::MAX {
            let spelled = format!("{byte:02x}{:02x}", !byte).repeat(4);
            assert_eq!(hex_digits([byte, !byte, byte, !byte, byte, !byte, byte, !byte]), spelled.as_bytes());
        }
    }
}
