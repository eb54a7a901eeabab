//! The quotes and escapes of a record, found 64 bytes at a time with SIMD, so that no string is scanned byte by byte.

use crate::text::block::{BLOCK, escaped, pad_block, prefix_xor};
use crate::text::is_canonical_escape;
use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x64};

use super::node::{CANONICAL, Escapes, NONCANONICAL};

/// The text is not JSON, or not in the form that the fast path expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OffFastPath;

/// Bytes of a chunk. A chunk with a control character is examined again, so it must fit the first-level cache.
const CHUNK_BYTES: usize = 64 * BLOCK;

/// A larger mask is not kept for the next text: it takes a quarter of the size of its text.
const KEPT_BLOCKS: usize = 64 << 10;

/// The string mask of a part of a text.
#[derive(Debug, Clone, Default)]
pub(super) struct StringMask {
    blocks: Vec<Block>,
}

/// The mask of 64 bytes.
#[derive(Debug, Clone, Copy)]
struct Block {
    /// A bit for each unescaped quote. Each string has two.
    quotes: u64,
    escapes: Escapes,
}

impl Block {
    const EMPTY: Block = Block {
        quotes: 0,
        escapes: Escapes::NONE,
    };
}

impl StringMask {
    /// Gives back the memory of a large mask whose text is indexed.
    pub(super) fn release(&mut self) {
        if self.blocks.capacity() > KEPT_BLOCKS {
            self.blocks = Vec::new();
        }
    }

    /// Makes the mask of `text`. Checks that strings have valid escapes and no control characters. A string or escape that the end of the text
    /// cuts off is left to the scanner, which finds no closing quote.
    pub(super) fn fill(&mut self, text: &str) -> Result<(), OffFastPath> {
        self.fill_at_level(Level::new(), text)
    }

    /// As `fill`, with the vectors of one SIMD level.
    #[inline(always)]
    fn fill_at_level(&mut self, level: Level, text: &str) -> Result<(), OffFastPath> {
        let mut progress = MaskProgress::new(text)?;
        self.blocks.clear();
        dispatch!(level, simd => {
            for chunk in text.as_bytes().chunks(CHUNK_BYTES) {
                self.extend_by_chunk(simd, &mut progress, chunk);
            }
        });
        if progress.is_invalid {
            Err(OffFastPath)
        } else {
            Ok(())
        }
    }

    #[inline(always)]
    fn extend_by_chunk<S: Simd>(&mut self, simd: S, progress: &mut MaskProgress<'_>, chunk: &[u8]) {
        let (full, last) = chunk.as_chunks::<BLOCK>();
        let first = self.blocks.len();
        self.blocks
            .resize(first + chunk.len().div_ceil(BLOCK), Block::EMPTY);
        let blocks = &mut self.blocks[first..];
        // A local copy stays in registers.
        let (mut local, mut lowest, mut parity) = (*progress, u8x64::splat(simd, b' '), 0);
        for (block, bytes) in blocks.iter_mut().zip(full) {
            let bytes = u8x64::load_array_ref(simd, bytes);
            lowest = lowest.min(bytes);
            *block = local.next_block(Window { bytes, skipped: 0 });
            parity ^= block.quotes;
        }
        if let Some(block) = blocks.get_mut(full.len()) {
            let window = Window::ending(
                simd,
                progress
                    .text
                    .get(..local.at + last.len())
                    .unwrap_or_default(),
                last.len(),
            );
            lowest = lowest.min(window.bytes);
            *block = local.next_block(window);
            parity ^= block.quotes;
        }
        if control_characters(lowest) != 0 {
            local.is_invalid |=
                has_control_character_in_string(simd, blocks, chunk, local.begins_in_string);
        }
        local.begins_in_string ^= parity.count_ones() % 2 == 1;
        *progress = local;
    }

    /// The strings of the text.
    #[inline(always)]
    pub(super) fn strings(&self) -> Strings<'_> {
        let mut rest = self.blocks.iter();
        let block = rest.next().copied().unwrap_or(Block::EMPTY);
        Strings {
            block,
            start: 0,
            rest,
        }
    }
}

/// Iterates over the strings of a text.
#[derive(Debug)]
pub(super) struct Strings<'t> {
    /// The current block, without the quotes that were consumed.
    block: Block,
    /// The position of the current block.
    start: u32,
    /// The blocks after it.
    rest: std::slice::Iter<'t, Block>,
}

impl Strings<'_> {
    /// The position of the next string's closing quote, and the escapes that the string may contain.
    #[inline(always)]
    pub(super) fn next_end(&mut self) -> Result<(u32, Escapes), OffFastPath> {
        while self.block.quotes == 0 {
            self.advance()?;
        }
        self.consume_quote();
        let mut escapes = self.block.escapes;
        while self.block.quotes == 0 {
            self.advance()?;
            escapes = escapes.or(self.block.escapes);
        }
        let end = self.start + self.block.quotes.trailing_zeros();
        self.consume_quote();
        Ok((end, escapes))
    }

    #[inline(always)]
    fn consume_quote(&mut self) {
        self.block.quotes &= self.block.quotes.wrapping_sub(1);
    }

    /// Moves to the next block.
    #[inline(always)]
    fn advance(&mut self) -> Result<(), OffFastPath> {
        self.block = *self.rest.next().ok_or(OffFastPath)?;
        self.start += BLOCK as u32;
        Ok(())
    }
}

/// How far the mask of a text has been computed, and the state that carries over to the next block.
#[derive(Debug, Clone, Copy)]
struct MaskProgress<'t> {
    text: &'t [u8],
    /// The position of the next block.
    at: usize,
    /// A backslash at the end of the previous block escapes the first byte of the next one.
    begins_escaped: bool,
    /// The next chunk begins in a string.
    begins_in_string: bool,
    /// There is an invalid escape, or a control character in a string.
    is_invalid: bool,
}

impl<'t> MaskProgress<'t> {
    /// The start of `text`, whose positions must fit 32 bits.
    fn new(text: &'t str) -> Result<Self, OffFastPath> {
        u32::try_from(text.len() + BLOCK).map_err(|_| OffFastPath)?;
        let text = text.as_bytes();
        Ok(MaskProgress {
            text,
            at: 0,
            begins_escaped: false,
            begins_in_string: false,
            is_invalid: false,
        })
    }

    /// The mask of the next block.
    #[inline(always)]
    fn next_block<S: Simd>(&mut self, bytes: Window<S>) -> Block {
        let (quotes, backslashes) = (bytes.matches(b'"'), bytes.matches(b'\\'));
        let mut block = Block {
            quotes,
            escapes: Escapes::NONE,
        };
        if backslashes != 0 || self.begins_escaped {
            let (escaped, begins_escaped) = escaped(backslashes, self.begins_escaped);
            self.begins_escaped = begins_escaped;
            let common = quotes | backslashes | bytes.matches(b'n') | bytes.matches(b't');
            block = Block {
                quotes: quotes & !escaped,
                escapes: self.escapes(escaped, escaped & !common),
            };
        }
        self.at += BLOCK;
        block
    }

    /// The kinds of escapes in the block, by the mask of escaped bytes. `uncommon` is the mask of those other than `"`, `\`, `n`, `t`.
    #[inline(always)]
    fn escapes(&mut self, escaped: u64, uncommon: u64) -> Escapes {
        let mut kinds = if escaped == 0 { 0 } else { CANONICAL };
        if uncommon != 0 {
            kinds |= uncommon_kinds(self.text.get(self.at..).unwrap_or_default(), uncommon);
            self.is_invalid |= kinds & INVALID != 0;
        }
        Escapes::of_kinds(kinds)
    }
}

/// 64 bytes, of which the first `skipped` precede the block.
#[derive(Clone, Copy)]
struct Window<S: Simd> {
    bytes: u8x64<S>,
    skipped: usize,
}

impl<S: Simd> Window<S> {
    /// The last `len` bytes of `text` (less than 64), and the bytes before them.
    #[inline(always)]
    fn ending(simd: S, text: &[u8], len: usize) -> Self {
        match text.last_chunk() {
            Some(bytes) => Window {
                bytes: u8x64::load_array_ref(simd, bytes),
                skipped: BLOCK - len,
            },
            None => Window {
                bytes: u8x64::load_array_ref(simd, &pad_block(text)),
                skipped: text.len() - len,
            },
        }
    }

    /// A bit for each byte of the block that equals `byte`.
    #[inline(always)]
    fn matches(self, byte: u8) -> u64 {
        self.bytes.simd_eq(byte).to_bitmask() >> self.skipped
    }
}

/// The kinds of the escapes whose bytes after the backslash are in the mask `escaped`. `text` begins with the block.
#[inline(never)]
fn uncommon_kinds(text: &[u8], mut escaped: u64) -> u8 {
    let mut kinds = 0;
    while escaped != 0 {
        // An escape that the end of the text cuts off is left to the scanner.
        let letters = text
            .get(escaped.trailing_zeros() as usize..)
            .unwrap_or_default();
        let [byte, rest @ ..] = letters else { break };
        let has_digits = || {
            rest.get(..4)
                .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
        };
        kinds |= match byte {
            b'u' if !has_digits() => INVALID,
            b'u' if is_canonical_escape(letters) => CANONICAL,
            _ => KINDS[usize::from(*byte)],
        };
        escaped &= escaped - 1;
    }
    kinds
}

/// A backslash before a byte that JSON does not allow there.
const INVALID: u8 = 0b100;

/// The kind of an escape, by the byte after the backslash.
const KINDS: [u8; 256] = {
    let mut kinds = [INVALID; 256];
    let mut canonical: &[u8] = b"\"\\bfnrt";
    while let [byte, others @ ..] = canonical {
        kinds[*byte as usize] = CANONICAL;
        canonical = others;
    }
    (kinds[b'/' as usize], kinds[b'u' as usize]) = (NONCANONICAL, NONCANONICAL);
    kinds
};

/// True if a string of this chunk contains a control character.
#[inline(always)]
fn has_control_character_in_string<S: Simd>(
    simd: S,
    blocks: &[Block],
    chunk: &[u8],
    begins_in_string: bool,
) -> bool {
    let (mut carry, mut found) = (if begins_in_string { u64::MAX } else { 0 }, 0);
    let (full, last) = chunk.as_chunks::<BLOCK>();
    let last = (!last.is_empty()).then(|| pad_block(last));
    for (block, bytes) in blocks.iter().zip(full.iter().chain(&last)) {
        let in_strings = carry ^ prefix_xor(block.quotes);
        found |= in_strings & control_characters(u8x64::load_array_ref(simd, bytes));
        carry = if in_strings >> 63 == 1 { u64::MAX } else { 0 };
    }
    found != 0
}

/// A bit for each byte below U+0020. Strings may not contain these.
#[inline(always)]
fn control_characters<S: Simd>(bytes: u8x64<S>) -> u64 {
    bytes.simd_lt(b' ').to_bitmask()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The positions of the closing quotes. All SIMD levels must agree.
    fn ends(text: &str) -> Option<Vec<u32>> {
        let at_level = |level: Level| {
            let mut mask = StringMask::default();
            mask.fill_at_level(level, text).ok()?;
            let mut strings = mask.strings();
            Some(std::iter::from_fn(|| strings.next_end().ok()).collect::<Vec<_>>())
        };
        let widest = at_level(Level::new());
        assert_eq!(widest, at_level(Level::baseline()));
        widest.map(|ends| ends.into_iter().map(|(end, _)| end).collect())
    }

    #[test]
    fn escapes_may_cross_block_boundaries() {
        for lead in 50..80 {
            let text = format!("{}\"\\\"\\\\\"", " ".repeat(lead));
            assert_eq!(ends(&text), Some(vec![lead as u32 + 5]), "{lead}");
        }
    }

    #[test]
    fn invalid_escapes_are_rejected() {
        for text in ["\"\\x\"", "\"\\u12\"", "\"\\u12g4\""] {
            assert_eq!(ends(text), None, "{text:?}");
            assert_eq!(ends(&format!("{}{text}", " ".repeat(63))), None, "{text:?}");
        }
    }

    #[test]
    fn control_characters_are_allowed_only_between_strings() {
        for lead in (0..200).chain(CHUNK_BYTES - 70..CHUNK_BYTES + 70) {
            let (blank, word) = (" ".repeat(lead), "x".repeat(lead));
            assert!(
                ends(&format!("{blank}\n\"{word}\"\n\"\"\t")).is_some(),
                "{lead}"
            );
            assert_eq!(ends(&format!("{blank}\"{word}\n\"")), None, "{lead}");
            assert_eq!(
                ends(&format!("\"\"{blank}\"\\\"{word}\\\\\t{word}\"")),
                None,
                "{lead}"
            );
        }
    }

    #[test]
    fn unterminated_string_has_no_end() {
        for text in ["\"", "\"\\", "\"\\\""] {
            assert!(ends(text).is_none_or(|ends| ends.is_empty()), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn all_strings_are_found(texts in proptest::collection::vec(any::<String>(), 0..6)) {
            let tokens: Vec<String> = texts.iter().map(|text| serde_json::to_string(text).unwrap()).collect();
            let mut expected = Vec::new();
            let mut at = 0;
            for token in &tokens {
                expected.push((at + token.len() - 1) as u32);
                at += token.len() + 1;
            }
            prop_assert_eq!(ends(&tokens.join(",")), Some(expected));
        }
    }
}
