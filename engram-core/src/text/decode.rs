//! What the escapes of a JSON string stand for, one by one and for a whole text.

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, mask8x64, u8x64};

use crate::text::block::{BLOCK, escaped, pad_block};

/// One decoded escape: a character, or a surrogate without its other half.
pub(crate) enum Unit {
    Char(char),
    Lone(u16),
}

/// Reads the escape that begins at `at` and gives its length in bytes. The token has passed a JSON parser.
pub(crate) fn read_escape(bytes: &[u8], at: usize) -> (Unit, usize) {
    match bytes[at + 1] {
        b'u' => read_unicode_escape(bytes, at),
        letter => (Unit::Char(simple(letter).unwrap_or(letter).into()), 2),
    }
}

/// What the letter behind a backslash stands for; none for `u`, which does not say it alone.
#[inline(always)]
fn simple(letter: u8) -> Option<u8> {
    SIMPLE.get(usize::from(letter)).copied().filter(|byte| *byte != 0)
}

/// As [`simple`]; 0 for none.
const SIMPLE: [u8; 128] = {
    let mut simple = [0; 128];
    let pairs = *b"\"\"\\\\//b\x08f\x0cn\nr\rt\t";
    let mut at = 0;
    while at < pairs.len() {
        simple[pairs[at] as usize] = pairs[at + 1];
        at += 2;
    }
    simple
};

fn read_unicode_escape(bytes: &[u8], at: usize) -> (Unit, usize) {
    let high = hex4(bytes, at + 2);
    if let Some(c) = char::from_u32(u32::from(high)) {
        return (Unit::Char(c), 6);
    }
    if high < 0xdc00 && bytes.get(at + 6) == Some(&b'\\') && bytes.get(at + 7) == Some(&b'u') {
        let low = hex4(bytes, at + 8);
        if let Some(Ok(c)) = char::decode_utf16([high, low]).next() {
            return (Unit::Char(c), 12);
        }
    }
    (Unit::Lone(high), 6)
}

fn hex4(bytes: &[u8], at: usize) -> u16 {
    bytes[at..at + 4].iter().fold(0, |value, digit| value << 4 | u16::from(hex_digit(*digit)))
}

fn hex_digit(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => byte - b'0',
        b'a'..=b'f' => byte - b'a' + 10,
        _ => byte.wrapping_sub(b'A').wrapping_add(10) & 0xf,
    }
}

/// DecodeBuffer for decoded text, to be used again and again: JSON that stands in a string is decoded only to be read.
#[derive(Debug, Default)]
pub struct DecodeBuffer(Vec<u8>);

impl DecodeBuffer {
    /// The text that a token spells between its quotes, U+FFFD for a lone surrogate, and whether it has any of those.
    pub(crate) fn decoded(&mut self, inner: &str) -> (&str, bool) {
        let has_lone = self.unescape(inner);
        (simdutf8::basic::from_utf8(&self.0).unwrap_or_default(), has_lone)
    }

    /// As `decoded`, in a text of its own.
    pub(crate) fn unescaped(mut self, inner: &str) -> (String, bool) {
        let has_lone = self.unescape(inner);
        (String::from_utf8(self.0).unwrap_or_default(), has_lone)
    }

    /// Writes the text, and says whether it has lone surrogates.
    fn unescape(&mut self, inner: &str) -> bool {
        dispatch!(Level::new(), simd => self.unescape_with(simd, inner.as_bytes()))
    }

    #[inline(always)]
    fn unescape_with<S: Simd>(&mut self, simd: S, bytes: &[u8]) -> bool {
        let text = &mut self.0;
        text.clear();
        // Nothing gets longer by being decoded.
        text.reserve(bytes.len() + BLOCK);
        let (mut rest, mut has_lone) = (bytes, false);
        loop {
            rest = &rest[unescape_letters(simd, rest, text)..];
            if rest.is_empty() {
                return has_lone;
            }
            let (unit, len) = read_unicode_escape(rest, 0);
            has_lone |= matches!(unit, Unit::Lone(_));
            let c = if let Unit::Char(c) = unit { c } else { char::REPLACEMENT_CHARACTER };
            text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            rest = &rest[len..];
        }
    }
}

/// Decodes what stands before the first `\u`, and says how much that is.
#[inline(always)]
fn unescape_letters<S: Simd>(simd: S, bytes: &[u8], text: &mut Vec<u8>) -> usize {
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let (decoded, stop) = match rest.first_chunk() {
            Some(block) => unescape_block(simd, block, BLOCK, text),
            None => unescape_block(simd, &pad_block(rest), rest.len(), text),
        };
        at += decoded;
        if stop {
            break;
        }
    }
    at
}

/// Decodes the first `len` bytes of a block up to the first `\u`, and without a backslash at the block's end, which is the next block's.
/// Says how much that is, and whether a `\u` comes next.
///
/// Text has an escape every few words. So the letters behind all backslashes are decoded at once, and then the backslashes are left out.
#[inline(always)]
fn unescape_block<S: Simd>(simd: S, block: &[u8; BLOCK], len: usize, text: &mut Vec<u8>) -> (usize, bool) {
    let bytes = u8x64::load_array_ref(simd, block);
    let backslashes = bytes.simd_eq(b'\\').to_bitmask();
    if backslashes == 0 {
        text.extend_from_slice(block);
        text.truncate(text.len() - (BLOCK - len));
        return (len, false);
    }
    let (escaped, is_cut) = escaped(backslashes, false);
    let newlines = bytes.simd_eq(b'n') & mask8x64::from_bitmask(simd, escaped);
    let mut decoded = newlines.select(u8x64::splat(simd, b'\n'), bytes);
    let mut len = len - usize::from(is_cut);
    let mut stop = false;
    let rarer = escaped & !(newlines.to_bitmask() | backslashes | bytes.simd_eq(b'"').to_bitmask());
    if rarer != 0 {
        let rarer = mask8x64::from_bitmask(simd, rarer);
        for (letter, byte) in LETTERS {
            decoded = (bytes.simd_eq(letter) & rarer).select(u8x64::splat(simd, byte), decoded);
        }
        let numbered = (bytes.simd_eq(b'u') & rarer).to_bitmask();
        if numbered != 0 {
            (len, stop) = (numbered.trailing_zeros() as usize - 1, true);
        }
    }
    // No bytes are left where the block begins with what stops.
    let kept = !(escaped >> 1) & u64::MAX.checked_shr((BLOCK - len) as u32).unwrap_or_default();
    text.extend_from_slice(&decoded.compress(mask8x64::from_bitmask(simd, kept)).to_array());
    text.truncate(text.len() - (BLOCK - kept.count_ones() as usize));
    (len, stop)
}

/// What the rarer letters behind a backslash stand for.
const LETTERS: [(u8, u8); 4] = [(b't', b'\t'), (b'r', b'\r'), (b'b', 0x08), (b'f', 0x0c)];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PIECES: [&str; 13] = [
        r"\n",
        r"\/",
        r"\b\f\r\t",
        r"\u0041",
        r"\uD83D\ude00",
        r"\u00e9",
        r"\\",
        r#"\""#,
        "a",
        "é",
        "😀",
        "twenty plain bytes..",
        "sixteen and more\\u000a",
    ];

    fn texts(pieces: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
        let text = proptest::collection::vec(proptest::sample::select(pieces), 0..12).prop_map(|pieces| pieces.concat());
        proptest::collection::vec(text, 1..4)
    }

    proptest! {
        #[test]
        fn text_is_decoded_as_serde_json_does(texts in texts(&PIECES)) {
            let mut room = DecodeBuffer::default();
            for inner in texts {
                let expected: String = serde_json::from_str(&format!("\"{inner}\"")).unwrap();
                prop_assert_eq!(room.decoded(&inner), (expected.as_str(), false));
                // What a processor without wide vectors does.
                let has_lone = dispatch!(Level::baseline(), simd => room.unescape_with(simd, inner.as_bytes()));
                prop_assert_eq!((&*room.0, has_lone), (expected.as_bytes(), false));
                prop_assert_eq!(DecodeBuffer::default().unescaped(&inner), (expected, false));
            }
        }

        #[test]
        fn half_a_surrogate_pair_is_told(texts in texts(&["a", "é", r"\n", r"\ud83d", r"\udc00 ", "sixteen plain bytes"])) {
            let mut room = DecodeBuffer::default();
            for inner in texts {
                // A high half at the end of one piece and a low one at the start of the next make a pair.
                let spelled = inner.replace(r"\ud83d\udc00", "\u{1f400}").replace(r"\ud83d", "\u{fffd}").replace(r"\udc00", "\u{fffd}");
                let has_lone = spelled.contains('\u{fffd}');
                let expected = spelled.replace(r"\n", "\n");
                prop_assert_eq!(room.decoded(&inner), (expected.as_str(), has_lone));
            }
        }
    }
}
