//! Where the strings of a record begin and end, found 64 bytes at a time, so that no string is searched on its own.

use wide::u8x16;

use super::scan::Declined;

/// Bytes looked at together: as many as a word has bits.
const BLOCK: usize = 64;

/// The unescaped quotes of a text: each string has two.
#[derive(Debug, Default)]
pub(super) struct Quotes {
    blocks: Vec<Block>,
    has_odd_escapes: bool,
}

/// What 64 bytes hold, a bit a byte.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    /// Quotes that are not escaped.
    quotes: u64,
    backslashes: u64,
}

impl Quotes {
    /// Notes the quotes of `text`, and checks what strings may hold: sound escapes, no control characters. What the text's end
    /// cuts off is left to the scanner, which finds no closing quote.
    pub(super) fn note(&mut self, text: &str) -> Result<(), Declined> {
        let bytes = text.as_bytes();
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        let mut last = [b' '; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        let mut pass = Pass { text: bytes, at: 0, begins_escaped: false, escapes: 0, lowest: u8x16::splat(b' ') };
        self.blocks.clear();
        self.blocks.extend(blocks.iter().map(|block| pass.block(block)));
        self.blocks.push(pass.block(&last));
        self.has_odd_escapes = pass.escapes & ODD != 0;
        let has_controls = controls([pass.lowest; 4]) != 0;
        if pass.escapes & UNSOUND != 0 || (has_controls && self.hold_controls(blocks, &last)) { Err(Declined) } else { Ok(()) }
    }

    /// True when a string holds a control character. Most records have none at all.
    fn hold_controls(&self, blocks: &[[u8; BLOCK]], last: &[u8; BLOCK]) -> bool {
        let mut in_string = false;
        blocks.iter().chain([last]).zip(&self.blocks).any(|(block, found)| {
            let inside = parity(found.quotes) ^ if in_string { u64::MAX } else { 0 };
            in_string = inside >> (BLOCK - 1) == 1;
            inside & controls(parts(block)) != 0
        })
    }

    /// What each 64 bytes hold.
    pub(super) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// True when the text escapes what the tape spells otherwise.
    pub(super) fn has_odd_escapes(&self) -> bool {
        self.has_odd_escapes
    }
}

/// The place of the first quote at `from` or behind it, and whether there may be a backslash before it.
#[inline(always)]
pub(super) fn next_quote(blocks: &[Block], from: usize) -> Result<(usize, bool), Declined> {
    let mut number = from / BLOCK;
    let Block { quotes, mut backslashes } = *blocks.get(number).ok_or(Declined)?;
    let mut quotes = quotes & (u64::MAX << (from % BLOCK));
    while quotes == 0 {
        number += 1;
        let block = blocks.get(number).ok_or(Declined)?;
        quotes = block.quotes;
        backslashes |= block.backslashes;
    }
    Ok((number * BLOCK + quotes.trailing_zeros() as usize, backslashes != 0))
}

/// The pass over a text, block by block.
struct Pass<'t> {
    text: &'t [u8],
    /// Where the block at hand begins.
    at: usize,
    /// A backslash at the end of the block before escapes the first byte of this one.
    begins_escaped: bool,
    /// The kinds of escapes so far.
    escapes: u8,
    /// The lowest bytes so far.
    lowest: u8x16,
}

impl Pass<'_> {
    /// What the next block holds.
    #[inline(always)]
    fn block(&mut self, block: &[u8; BLOCK]) -> Block {
        let parts = parts(block);
        self.lowest = parts.iter().fold(self.lowest, |lowest, part| lowest.min(*part));
        let (mut quotes, backslashes) = (hits(parts, b'"'), hits(parts, b'\\'));
        if backslashes != 0 || self.begins_escaped {
            quotes &= !self.escaped(block, backslashes);
        }
        self.at += BLOCK;
        Block { quotes, backslashes }
    }

    /// The bytes of the block that are escaped.
    fn escaped(&mut self, block: &[u8; BLOCK], mut backslashes: u64) -> u64 {
        let (mut escaped, mut kinds) = (0, 0);
        let mut at = if self.begins_escaped { 0 } else { behind_first(backslashes) };
        while at < BLOCK {
            kinds |= ESCAPES[usize::from(block[at])];
            escaped |= 1 << at;
            // Neither the backslash before it nor this byte itself, if it is one, escapes another.
            backslashes &= u64::MAX << at << 1;
            at = behind_first(backslashes);
        }
        self.begins_escaped = at == BLOCK;
        if kinds & UNICODE != 0 {
            kinds |= self.check_unicode(escaped);
        }
        self.escapes |= kinds;
        escaped
    }

    /// `UNSOUND` if one of these escapes is a `\u` without its digits.
    #[cold]
    fn check_unicode(&self, mut escaped: u64) -> u8 {
        let mut kinds = 0;
        while escaped != 0 {
            let at = self.at + escaped.trailing_zeros() as usize;
            let has_digits = self.text.get(at + 1..at + 5).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
            if self.text.get(at) == Some(&b'u') && !has_digits {
                kinds = UNSOUND;
            }
            escaped &= escaped - 1;
        }
        kinds
    }
}

/// The place behind the first bit; behind the block by one where there is none.
#[inline(always)]
fn behind_first(bits: u64) -> usize {
    bits.trailing_zeros() as usize + 1
}

/// No escape.
const UNSOUND: u8 = 0b001;
/// The tape may spell it otherwise.
const ODD: u8 = 0b010;
/// A `\u`.
const UNICODE: u8 = 0b100;

/// The kind of escape that a byte behind a backslash makes.
const ESCAPES: [u8; 256] = {
    let mut kinds = [UNSOUND; 256];
    let mut canonical: &[u8] = b"\"\\bfnrt";
    while let [byte, others @ ..] = canonical {
        kinds[*byte as usize] = 0;
        canonical = others;
    }
    kinds[b'/' as usize] = ODD;
    kinds[b'u' as usize] = ODD | UNICODE;
    kinds
};

#[inline(always)]
fn parts(block: &[u8; BLOCK]) -> [u8x16; 4] {
    let (parts, _) = block.as_chunks::<16>();
    [0, 1, 2, 3].map(|part| u8x16::new(parts[part]))
}

/// A bit for each part's byte that `hit` says.
#[inline(always)]
fn bits(parts: [u8x16; 4], hit: impl Fn(u8x16) -> u8x16) -> u64 {
    let [first, second, third, fourth] = parts.map(|part| u64::from(hit(part).to_bitmask()));
    first | second << 16 | third << 32 | fourth << 48
}

#[inline(always)]
fn hits(parts: [u8x16; 4], byte: u8) -> u64 {
    bits(parts, |part| part.simd_eq(u8x16::splat(byte)))
}

/// Bytes below U+0020, which no string may hold.
#[inline(always)]
fn controls(parts: [u8x16; 4]) -> u64 {
    bits(parts, |part| part.min(u8x16::splat(0x1f)).simd_eq(part))
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
        let mut from = 0;
        Some(
            std::iter::from_fn(|| next_quote(quotes.blocks(), from).ok().map(|(place, _)| place).inspect(|place| from = place + 1))
                .collect(),
        )
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
        for text in ["\"\t\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\u{1f}"] {
            assert_eq!(noted(text), None, "{text:?}");
            assert_eq!(noted(&format!("{}{text}", " ".repeat(63))), None, "{text:?}");
        }
        assert_eq!(noted("\t\"a\"\r\n"), Some(vec![1, 3]));
    }

    #[test]
    fn an_open_string_has_no_end() {
        for text in ["\"", "\"\\", "\"\\\""] {
            assert!(noted(text).is_none_or(|places| places == [0]), "{text:?}");
        }
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
