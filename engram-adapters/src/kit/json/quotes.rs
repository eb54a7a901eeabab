//! Where the strings of a record begin and end, found 64 bytes at a time, so that no string is searched on its own.

use wide::u8x16;

use super::scan::Declined;

/// Bytes looked at together: as many as a word has bits.
const BLOCK: usize = 64;

/// The unescaped quotes of a text: each string has two.
#[derive(Debug, Default)]
pub(super) struct Quotes {
    blocks: Vec<Block>,
}

/// What 64 bytes hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    /// Quotes that are not escaped, a bit a byte.
    quotes: u64,
    escapes: Escapes,
}

impl Quotes {
    /// Notes the quotes of `text`, and checks what strings may hold: sound escapes, no control characters. What the text's end
    /// cuts off is left to the scanner, which finds no closing quote.
    pub(super) fn note(&mut self, text: &str) -> Result<(), Declined> {
        let bytes = text.as_bytes();
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        let mut last = [b' '; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        let mut pass = Pass { text: bytes, at: 0, begins_escaped: false, is_unsound: false, lowest: u8x16::splat(b' ') };
        self.blocks.clear();
        self.blocks.extend(blocks.iter().map(|block| pass.block(block)));
        self.blocks.push(pass.block(&last));
        let has_controls = controls([pass.lowest; 4]) != 0;
        if pass.is_unsound || (has_controls && self.hold_controls(blocks, &last)) { Err(Declined) } else { Ok(()) }
    }

    /// True when a string holds a control character. Most records have none at all.
    #[cold]
    fn hold_controls(&self, blocks: &[[u8; BLOCK]], last: &[u8; BLOCK]) -> bool {
        let mut in_string = false;
        blocks.iter().chain([last]).zip(&self.blocks).any(|(block, found)| {
            let inside = parity(found.quotes) ^ if in_string { u64::MAX } else { 0 };
            in_string = inside >> (BLOCK - 1) == 1;
            inside & controls(parts(block)) != 0
        })
    }

    /// The strings of the text.
    pub(super) fn strings(&self) -> Strings<'_> {
        let mut rest = self.blocks.iter();
        let block = rest.next().copied().unwrap_or(Block { quotes: 0, escapes: 0 });
        Strings { block, start: 0, rest }
    }
}

/// The way over a text's strings, from the first to the last.
#[derive(Debug)]
pub(super) struct Strings<'t> {
    /// The block at hand, without the quotes that were passed.
    block: Block,
    /// Where it begins.
    start: u32,
    /// The blocks behind it.
    rest: std::slice::Iter<'t, Block>,
}

impl Strings<'_> {
    /// The place of the quote that ends the next string, and the escapes that the string may hold.
    #[inline(always)]
    pub(super) fn next_end(&mut self) -> Result<(u32, Escapes), Declined> {
        while self.block.quotes == 0 {
            self.advance()?;
        }
        self.pass_quote();
        let mut escapes = self.block.escapes;
        while self.block.quotes == 0 {
            self.advance()?;
            escapes |= self.block.escapes;
        }
        let end = self.start + self.block.quotes.trailing_zeros();
        self.pass_quote();
        Ok((end, escapes))
    }

    #[inline(always)]
    fn pass_quote(&mut self) {
        self.block.quotes &= self.block.quotes.wrapping_sub(1);
    }

    /// Goes to the next block.
    #[inline(always)]
    fn advance(&mut self) -> Result<(), Declined> {
        self.block = *self.rest.next().ok_or(Declined)?;
        self.start += BLOCK as u32;
        Ok(())
    }
}

/// The pass over a text, block by block.
struct Pass<'t> {
    text: &'t [u8],
    /// Where the block at hand begins.
    at: usize,
    /// A backslash at the end of the block before escapes the first byte of this one.
    begins_escaped: bool,
    /// A backslash stands before what is no escape.
    is_unsound: bool,
    /// The lowest bytes so far.
    lowest: u8x16,
}

impl Pass<'_> {
    /// What the next block holds.
    #[inline(always)]
    fn block(&mut self, block: &[u8; BLOCK]) -> Block {
        let parts = parts(block);
        self.lowest = parts.iter().fold(self.lowest, |lowest, part| lowest.min(*part));
        let (quotes, backslashes) = (hits(parts, b'"'), hits(parts, b'\\'));
        let found = if backslashes != 0 || self.begins_escaped {
            let (escaped, escapes) = self.escaped(block, backslashes);
            Block { quotes: quotes & !escaped, escapes }
        } else {
            Block { quotes, escapes: 0 }
        };
        self.at += BLOCK;
        found
    }

    /// The bytes of the block that are escaped, and what they make.
    fn escaped(&mut self, block: &[u8; BLOCK], mut backslashes: u64) -> (u64, Escapes) {
        let (mut escaped, mut escapes) = (0, 0_u8);
        let mut at = if self.begins_escaped { 0 } else { behind_first(backslashes) };
        while at < BLOCK {
            escapes |= ESCAPES[usize::from(block[at])];
            escaped |= 1 << at;
            // Neither the backslash before it nor this byte itself, if it is one, escapes another.
            backslashes &= u64::MAX << at << 1;
            at = behind_first(backslashes);
        }
        self.begins_escaped = at == BLOCK;
        self.is_unsound |= escapes & UNSOUND != 0 || (escapes & UNICODE != 0 && !self.have_digits(escaped));
        (escaped, u32::from(escapes) << ESCAPES_AT)
    }

    /// True when each `\u` of these escapes has its digits.
    #[cold]
    fn have_digits(&self, mut escaped: u64) -> bool {
        while escaped != 0 {
            let rest = self.text.get(self.at + escaped.trailing_zeros() as usize..).unwrap_or_default();
            escaped &= escaped - 1;
            if rest.first() == Some(&b'u') && !rest.get(1..5).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                return false;
            }
        }
        true
    }
}

/// The place behind the first bit; more than a block where there is none.
#[inline(always)]
fn behind_first(bits: u64) -> usize {
    bits.trailing_zeros() as usize + 1
}

/// Kinds of escapes, a bit each in the highest byte: the others are a node's.
pub(super) type Escapes = u32;
/// Where they begin.
pub(super) const ESCAPES_AT: u32 = 24;
/// The tape spells it so.
const CANONICAL: u8 = 0b0001;
/// The tape may spell it otherwise.
pub(in crate::kit) const ODD: u8 = 0b0010;
/// A `\u`, which is one of those.
const UNICODE: u8 = 0b0100;
/// None at all.
const UNSOUND: u8 = 0b1000;

/// What a byte behind a backslash makes.
const ESCAPES: [u8; 256] = {
    let mut escapes = [UNSOUND; 256];
    let mut canonical: &[u8] = b"\"\\bfnrt";
    while let [byte, others @ ..] = canonical {
        escapes[*byte as usize] = CANONICAL;
        canonical = others;
    }
    escapes[b'/' as usize] = ODD;
    escapes[b'u' as usize] = ODD | UNICODE;
    escapes
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

    /// The ends of the strings of `text`.
    fn noted(text: &str) -> Option<Vec<u32>> {
        let mut quotes = Quotes::default();
        quotes.note(text).ok()?;
        let mut strings = quotes.strings();
        Some(std::iter::from_fn(|| strings.next_end().ok().map(|(end, _)| end)).collect())
    }

    #[test]
    fn escapes_reach_over_the_end_of_a_block() {
        for lead in 50..80 {
            let text = format!("{}\"\\\"\\\\\"", " ".repeat(lead));
            assert_eq!(noted(&text), Some(vec![lead as u32 + 5]), "{lead}");
        }
    }

    #[test]
    fn what_no_string_may_hold_is_declined() {
        for text in ["\"\t\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\u{1f}"] {
            assert_eq!(noted(text), None, "{text:?}");
            assert_eq!(noted(&format!("{}{text}", " ".repeat(63))), None, "{text:?}");
        }
        assert_eq!(noted("\t\"a\"\r\n"), Some(vec![3]));
    }

    #[test]
    fn an_open_string_has_no_end() {
        for text in ["\"", "\"\\", "\"\\\""] {
            assert!(noted(text).is_none_or(|places| places.is_empty()), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn strings_are_found_whole(texts in proptest::collection::vec(any::<String>(), 0..6)) {
            let tokens: Vec<String> = texts.iter().map(|text| serde_json::to_string(text).unwrap()).collect();
            let mut expected = Vec::new();
            let mut at = 0;
            for token in &tokens {
                expected.push((at + token.len() - 1) as u32);
                at += token.len() + 1;
            }
            prop_assert_eq!(noted(&tokens.join(",")), Some(expected));
        }
    }
}
