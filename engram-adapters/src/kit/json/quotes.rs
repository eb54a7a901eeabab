//! Where the strings of a record begin and end, found 64 bytes at a time, so that no string is searched on its own.

use wide::u8x16;

use super::scan::Declined;

/// Bytes looked at together: as many as a word has bits.
const BLOCK: usize = 64;

/// The unescaped quotes of a text, in their order: each string has two.
#[derive(Debug, Default)]
pub(super) struct Quotes {
    places: Vec<u32>,
}

/// What one block holds, a bit a byte.
#[derive(Clone, Copy)]
struct Block {
    quotes: u64,
    backslashes: u64,
    /// Bytes below U+0020, which no string may hold.
    controls: u64,
}

impl Quotes {
    /// Notes the quotes of `text`, and checks what strings may hold: sound escapes, no control characters. The text's places
    /// fit 32 bits.
    pub(super) fn note(&mut self, text: &str) -> Result<(), Declined> {
        let bytes = text.as_bytes();
        self.places.clear();
        // Both reach from one block into the next.
        let (mut is_escaped, mut in_string) = (false, false);
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        let mut last = [b' '; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        for (number, block) in blocks.iter().chain([&last]).enumerate() {
            let mut found = Block::of(block);
            if found.backslashes != 0 || is_escaped {
                is_escaped = found.take_escapes(bytes, number * BLOCK, is_escaped)?;
            }
            let inside = parity(found.quotes) ^ if in_string { u64::MAX } else { 0 };
            if found.controls & inside != 0 {
                return Err(Declined);
            }
            in_string = inside >> (BLOCK - 1) == 1;
            self.push(number * BLOCK, found.quotes);
        }
        if is_escaped || in_string { Err(Declined) } else { Ok(()) }
    }

    /// Notes the quotes of the block that begins at `from`.
    #[inline(always)]
    fn push(&mut self, from: usize, mut quotes: u64) {
        while quotes != 0 {
            self.places.push((from + quotes.trailing_zeros() as usize) as u32);
            quotes &= quotes - 1;
        }
    }

    /// The places of the quotes.
    pub(super) fn places(&self) -> &[u32] {
        &self.places
    }
}

impl Block {
    #[inline(always)]
    fn of(bytes: &[u8; BLOCK]) -> Block {
        let mut block = Block { quotes: 0, backslashes: 0, controls: 0 };
        for (quarter, part) in bytes.as_chunks::<16>().0.iter().enumerate() {
            let part = u8x16::new(*part);
            let bits = |hits: u8x16| u64::from(hits.to_bitmask()) << (quarter * 16);
            block.quotes |= bits(part.simd_eq(u8x16::splat(b'"')));
            block.backslashes |= bits(part.simd_eq(u8x16::splat(b'\\')));
            block.controls |= bits(part.min(u8x16::splat(0x1f)).simd_eq(part));
        }
        block
    }

    /// Takes out the quotes and backslashes that a backslash before them escapes. `begins_escaped` is what this gave for the
    /// block before: true when the first byte of the next block is escaped. The block begins at `from` in the text.
    #[inline(always)]
    fn take_escapes(&mut self, text: &[u8], from: usize, begins_escaped: bool) -> Result<bool, Declined> {
        if begins_escaped {
            check_escape(text, from)?;
            self.quotes &= !1;
            self.backslashes &= !1;
        }
        while self.backslashes != 0 {
            let at = self.backslashes.trailing_zeros() as usize + 1;
            if at == BLOCK {
                return Ok(true);
            }
            check_escape(text, from + at)?;
            let both = 0b11 << (at - 1);
            self.quotes &= !both;
            self.backslashes &= !both;
        }
        Ok(false)
    }
}

/// Checks what follows a backslash.
#[inline(always)]
fn check_escape(text: &[u8], at: usize) -> Result<(), Declined> {
    match text.get(at) {
        Some(b'n' | b'"' | b'\\' | b't' | b'r' | b'/' | b'b' | b'f') => Ok(()),
        Some(b'u') => check_unicode_escape(text, at),
        _ => Err(Declined),
    }
}

#[cold]
fn check_unicode_escape(text: &[u8], at: usize) -> Result<(), Declined> {
    let digits = text.get(at + 1..at + 5).ok_or(Declined)?;
    if digits.iter().all(u8::is_ascii_hexdigit) { Ok(()) } else { Err(Declined) }
}

/// A bit for each byte with an odd number of quotes up to and with it: those inside a string, and its opening quote.
#[inline(always)]
const fn parity(quotes: u64) -> u64 {
    let mut bits = quotes;
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    bits ^ (bits << 32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn noted(text: &str) -> Option<Vec<usize>> {
        let mut quotes = Quotes::default();
        quotes.note(text).ok()?;
        Some(quotes.places().iter().map(|place| *place as usize).collect())
    }

    #[test]
    fn escapes_reach_over_the_end_of_a_block() {
        for lead in 50..80 {
            let text = format!("{}\"\\\"\\\\\"", " ".repeat(lead));
            assert_eq!(noted(&text), Some(vec![lead, lead + 5]), "{lead}");
        }
    }

    #[test]
    fn what_no_string_may_hold_is_declined() {
        for text in ["\"\t\"", "\"\\x\"", "\"\\u12\"", "\"", "\"\\", "\"\\\""] {
            assert_eq!(noted(text), None, "{text:?}");
            assert_eq!(noted(&format!("{}{text}", " ".repeat(63))), None, "{text:?}");
        }
        assert_eq!(noted("\t\"a\"\r\n"), Some(vec![1, 3]));
    }

    proptest! {
        #[test]
        fn strings_are_found_whole(texts in proptest::collection::vec(any::<String>(), 0..6)) {
            let tokens: Vec<String> = texts.iter().map(|text| serde_json::to_string(text).unwrap()).collect();
            let mut expected = Vec::new();
            let mut at = 0;
            for token in &tokens {
                expected.extend([at, at + token.len() - 1]);
                at += token.len() + 1;
            }
            prop_assert_eq!(noted(&tokens.join(",")), Some(expected));
        }
    }
}
