//! Where the strings of a record begin and end, found 64 bytes at a time, so that no string is searched on its own.

use engram_core::text::block::{BLOCK, escaped, pad_block, prefix_xor};
use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x64};

/// The text is not JSON, or not the kind of JSON that the fast path takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OffFastPath;

/// Bytes that are near each other: where one is a control character, they are looked at again while all of them are in the cache.
const PART: usize = 64 * BLOCK;

/// What a part of a text holds, 64 bytes each.
#[derive(Debug, Default)]
pub(super) struct Quotes {
    blocks: Vec<Block>,
}

/// What 64 bytes hold.
#[derive(Debug, Clone, Copy)]
struct Block {
    /// Quotes that are not escaped, a bit a byte: each string has two.
    quotes: u64,
    escapes: Escapes,
}

impl Block {
    const NONE: Block = Block { quotes: 0, escapes: 0 };
}

impl Quotes {
    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.blocks.clear();
    }

    /// Forgets the blocks before `at`, and gives the place where the others begin, as it is given where these begin.
    pub(super) fn forget(&mut self, from: u32, at: u32) -> u32 {
        let passed = ((at - from) as usize / BLOCK).min(self.blocks.len());
        self.blocks.drain(..passed);
        from + (passed * BLOCK) as u32
    }

    /// Notes the quotes of the next `bytes` of a text, or of what is left of it, and checks what strings may hold: sound escapes, no
    /// control characters. What the text's end cuts off is left to the scanner, which finds no closing quote.
    pub(super) fn note(&mut self, pass: &mut Pass<'_>, bytes: usize) -> Result<(), OffFastPath> {
        self.note_by(Level::new(), pass, bytes)
    }

    /// As `note`, by the vectors of a level.
    #[inline(always)]
    fn note_by(&mut self, level: Level, pass: &mut Pass<'_>, bytes: usize) -> Result<(), OffFastPath> {
        let rest = pass.text.get(pass.at..).unwrap_or_default();
        let rest = &rest[..rest.len().min(bytes.next_multiple_of(BLOCK))];
        dispatch!(level, simd => {
            for part in rest.chunks(PART) {
                self.note_part(simd, pass, part);
            }
        });
        if pass.is_unsound { Err(OffFastPath) } else { Ok(()) }
    }

    #[inline(always)]
    fn note_part<S: Simd>(&mut self, simd: S, pass: &mut Pass<'_>, part: &[u8]) {
        let (whole, last) = part.as_chunks::<BLOCK>();
        let first = self.blocks.len();
        self.blocks.resize(first + part.len().div_ceil(BLOCK), Block::NONE);
        let noted = &mut self.blocks[first..];
        // A pass of its own stays in registers.
        let (mut passing, mut lowest, mut parity) = (*pass, u8x64::splat(simd, b' '), 0);
        for (block, bytes) in noted.iter_mut().zip(whole) {
            let bytes = u8x64::load_array_ref(simd, bytes);
            lowest = lowest.min(bytes);
            *block = passing.block(Window { bytes, before: 0 });
            parity ^= block.quotes;
        }
        if let Some(block) = noted.get_mut(whole.len()) {
            let window = Window::ending(simd, pass.text.get(..passing.at + last.len()).unwrap_or_default(), last.len());
            lowest = lowest.min(window.bytes);
            *block = passing.block(window);
            parity ^= block.quotes;
        }
        if controls(lowest) != 0 {
            passing.is_unsound |= any_in_strings(simd, noted, part, passing.begins_in_string);
        }
        passing.begins_in_string ^= parity.count_ones() % 2 == 1;
        *pass = passing;
    }

    /// The strings from `at` on, which lies in none. What is noted begins at `from`.
    #[inline(always)]
    pub(super) fn strings(&self, from: u32, at: u32) -> Strings<'_> {
        let number = (at - from) as usize / BLOCK;
        let mut rest = self.blocks.get(number..).unwrap_or_default().iter();
        let mut block = rest.next().copied().unwrap_or(Block::NONE);
        block.quotes &= u64::MAX << (at as usize % BLOCK);
        Strings { block, start: at - at % BLOCK as u32, rest }
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
    pub(super) fn next_end(&mut self) -> Result<(u32, Escapes), OffFastPath> {
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
    fn advance(&mut self) -> Result<(), OffFastPath> {
        self.block = *self.rest.next().ok_or(OffFastPath)?;
        self.start += BLOCK as u32;
        Ok(())
    }
}

/// The pass over a text, block by block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pass<'t> {
    text: &'t [u8],
    /// Where the block at hand begins.
    at: usize,
    /// A backslash at the end of the block before escapes the first byte of this one.
    begins_escaped: bool,
    /// The part at hand begins in a string.
    begins_in_string: bool,
    /// A backslash stands before what is no escape, or a string holds a control character.
    is_unsound: bool,
}

impl<'t> Pass<'t> {
    /// A pass over `text`, whose places must fit 32 bits.
    pub(super) fn new(text: &'t str) -> Result<Self, OffFastPath> {
        u32::try_from(text.len() + BLOCK).map_err(|_| OffFastPath)?;
        let text = text.as_bytes();
        Ok(Pass { text, at: 0, begins_escaped: false, begins_in_string: false, is_unsound: false })
    }

    /// True when the whole text has been passed.
    pub(super) fn is_done(&self) -> bool {
        self.at >= self.text.len()
    }

    /// What the next block holds.
    #[inline(always)]
    fn block<S: Simd>(&mut self, bytes: Window<S>) -> Block {
        let (quotes, backslashes) = (bytes.hits(b'"'), bytes.hits(b'\\'));
        let mut block = Block { quotes, escapes: 0 };
        if backslashes != 0 || self.begins_escaped {
            let (escaped, begins_escaped) = escaped(backslashes, self.begins_escaped);
            self.begins_escaped = begins_escaped;
            let usual = quotes | backslashes | bytes.hits(b'n') | bytes.hits(b't');
            block = Block { quotes: quotes & !escaped, escapes: self.escapes(escaped, escaped & !usual) };
        }
        self.at += BLOCK;
        block
    }

    /// What the escaped bytes of the block make. `others` are those that are no usual ones.
    #[inline(always)]
    fn escapes(&mut self, escaped: u64, others: u64) -> Escapes {
        let mut escapes = if escaped == 0 { 0 } else { CANONICAL };
        if others != 0 {
            escapes |= rarer(self.text.get(self.at..).unwrap_or_default(), others);
            self.is_unsound |= escapes & UNSOUND != 0;
        }
        u32::from(escapes & !UNSOUND) << ESCAPES_AT
    }
}

/// 64 bytes, the first of which may lie before what is looked for.
#[derive(Clone, Copy)]
struct Window<S: Simd> {
    bytes: u8x64<S>,
    before: usize,
}

impl<S: Simd> Window<S> {
    /// The last `len` bytes of `text`, of which there are less than 64, and what is before them.
    #[inline(always)]
    fn ending(simd: S, text: &[u8], len: usize) -> Self {
        match text.last_chunk() {
            Some(bytes) => Window { bytes: u8x64::load_array_ref(simd, bytes), before: BLOCK - len },
            None => Window { bytes: u8x64::load_array_ref(simd, &pad_block(text)), before: text.len() - len },
        }
    }

    /// A bit for each byte that is `byte`.
    #[inline(always)]
    fn hits(self, byte: u8) -> u64 {
        self.bytes.simd_eq(byte).to_bitmask() >> self.before
    }
}

/// What these bytes of a block, which are escaped, make. The block begins `text`.
#[inline(never)]
fn rarer(text: &[u8], mut escaped: u64) -> u8 {
    let mut escapes = 0;
    while escaped != 0 {
        // One that the text's end cuts off is left to the scanner.
        let [byte, behind @ ..] = text.get(escaped.trailing_zeros() as usize..).unwrap_or_default() else { break };
        let has_digits = || behind.get(..4).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        escapes |= if *byte == b'u' && !has_digits() { UNSOUND } else { ESCAPES[usize::from(*byte)] };
        escaped &= escaped - 1;
    }
    escapes
}

/// Kinds of escapes, a bit each in the highest byte: the others are a node's.
pub(super) type Escapes = u32;
/// Where they begin.
pub(super) const ESCAPES_AT: u32 = 24;
/// The tape spells it so.
const CANONICAL: u8 = 0b001;
/// The tape may spell it otherwise.
pub(in crate::shared) const NONCANONICAL: u8 = 0b010;
/// None at all.
const UNSOUND: u8 = 0b100;

/// What a byte behind a backslash makes.
const ESCAPES: [u8; 256] = {
    let mut escapes = [UNSOUND; 256];
    let mut canonical: &[u8] = b"\"\\bfnrt";
    while let [byte, others @ ..] = canonical {
        escapes[*byte as usize] = CANONICAL;
        canonical = others;
    }
    (escapes[b'/' as usize], escapes[b'u' as usize]) = (NONCANONICAL, NONCANONICAL);
    escapes
};

/// True when a control character of this part of a text lies in a string.
#[inline(always)]
fn any_in_strings<S: Simd>(simd: S, blocks: &[Block], part: &[u8], begins_in_string: bool) -> bool {
    let (mut before, mut any) = (if begins_in_string { u64::MAX } else { 0 }, 0);
    let (whole, last) = part.as_chunks::<BLOCK>();
    let last = (!last.is_empty()).then(|| pad_block(last));
    for (block, bytes) in blocks.iter().zip(whole.iter().chain(&last)) {
        let in_strings = before ^ prefix_xor(block.quotes);
        any |= in_strings & controls(u8x64::load_array_ref(simd, bytes));
        before = if in_strings >> 63 == 1 { u64::MAX } else { 0 };
    }
    any != 0
}

/// A bit for each byte below U+0020, which no string may hold.
#[inline(always)]
fn controls<S: Simd>(bytes: u8x64<S>) -> u64 {
    bytes.simd_lt(b' ').to_bitmask()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The ends of the strings of `text`.
    fn noted(text: &str) -> Option<Vec<u32>> {
        let noted = |level: Level| {
            let (mut quotes, mut pass) = (Quotes::default(), Pass::new(text).ok()?);
            quotes.note_by(level, &mut pass, text.len()).ok()?;
            let mut strings = quotes.strings(0, 0);
            Some(std::iter::from_fn(|| strings.next_end().ok()).collect::<Vec<_>>())
        };
        let widest = noted(Level::new());
        assert_eq!(widest, noted(Level::baseline()));
        widest.map(|ends| ends.into_iter().map(|(end, _)| end).collect())
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
        for text in ["\"\\x\"", "\"\\u12\"", "\"\\u12g4\""] {
            assert_eq!(noted(text), None, "{text:?}");
            assert_eq!(noted(&format!("{}{text}", " ".repeat(63))), None, "{text:?}");
        }
    }

    #[test]
    fn control_characters_stand_between_strings_only() {
        for lead in (0..200).chain(PART - 70..PART + 70) {
            let (blank, word) = (" ".repeat(lead), "x".repeat(lead));
            assert!(noted(&format!("{blank}\n\"{word}\"\n\"\"\t")).is_some(), "{lead}");
            assert_eq!(noted(&format!("{blank}\"{word}\n\"")), None, "{lead}");
            assert_eq!(noted(&format!("\"\"{blank}\"\\\"{word}\\\\\t{word}\"")), None, "{lead}");
        }
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
