//! Numbers as decimal digits, bytes as hex digits.

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x16};

use crate::buffer::{Buffer, Piece, Push as _};

/// Appends a number.
#[inline(never)]
pub(crate) fn push_number(out: &mut Buffer, number: u64) {
    out.push_str(itoa::Buffer::new().format(number));
}

/// A number behind its key. It mostly grows by one, and is then not spelled anew.
#[derive(Debug)]
pub(crate) struct Count {
    key: &'static Piece,
    number: u64,
    spelled: Piece,
}

impl Count {
    /// Zero behind a key, which leaves room for the digits of any number.
    pub const fn new(key: &'static Piece) -> Count {
        Count { key, number: 0, spelled: key.and(b"0") }
    }

    /// The number.
    pub fn get(&self) -> u64 {
        self.number
    }

    /// Key and number.
    pub fn spelled(&self) -> &Piece {
        &self.spelled
    }

    /// Sets the number.
    #[inline(always)]
    pub fn set(&mut self, number: u64) {
        let last = self.spelled.last_mut();
        match number.checked_sub(self.number) {
            Some(0) => {}
            Some(1) if *last < b'9' => *last += 1,
            _ => self.spell(number),
        }
        self.number = number;
    }

    #[inline(never)]
    fn spell(&mut self, number: u64) {
        self.spelled = self.key.and(itoa::Buffer::new().format(number).as_bytes());
    }
}

/// Two hex digits a byte.
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
    use crate::members::key;

    #[test]
    fn a_count_is_spelled_as_its_number() {
        let mut count = Count::new(key!("line"));
        for number in [0, 1, 2, 2, 8, 9, 10, 11, 98, 99, 100, 7, 8, u64::MAX - 1, u64::MAX, 0] {
            count.set(number);
            let mut buffer = Buffer::default();
            buffer.piece(count.spelled());
            assert_eq!((count.get(), buffer.to_str()), (number, &*format!(",\"line\":{number}")));
        }
    }

    #[test]
    fn every_byte_has_two_hex_digits() {
        for byte in 0..=u8::MAX {
            let spelled = format!("{byte:02x}{:02x}", !byte).repeat(4);
            assert_eq!(hex_digits([byte, !byte, byte, !byte, byte, !byte, byte, !byte]), spelled.as_bytes());
        }
    }
}
