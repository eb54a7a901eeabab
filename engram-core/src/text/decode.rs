//! Decoding of the escapes in JSON strings, one by one or for a complete string.

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, mask8x64, u8x64};

use crate::text::block::{BLOCK, escaped, pad_block};

/// One decoded escape.
pub(crate) enum Unit {
    Char(char),
    /// A surrogate that is not part of a pair.
    Lone(u16),
}

/// Reads the escape that begins at `at`, and returns its length in bytes. A JSON parser must have accepted the token.
pub(crate) fn read_escape(bytes: &[u8], at: usize) -> (Unit, usize) {
    match bytes[at + 1] {
        b'u' => read_unicode_escape(bytes, at),
        letter => (Unit::Char(simple(letter).unwrap_or(letter).into()), 2),
    }
}

/// The byte that a letter after a backslash means. `None` for `u`, which needs four digits.
#[inline(always)]
fn simple(letter: u8) -> Option<u8> {
    SIMPLE
        .get(usize::from(letter))
        .copied()
        .filter(|byte| *byte != 0)
}

/// The table of [`simple`], with 0 for `None`.
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
    bytes[at..at + 4]
        .iter()
        .fold(0, |value, digit| value << 4 | u16::from(hex_digit(*digit)))
}

fn hex_digit(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => byte - b'0',
        b'a'..=b'f' => byte - b'a' + 10,
        _ => byte.wrapping_sub(b'A').wrapping_add(10) & 0xf,
    }
}

/// A reusable buffer for decoded text. For text that is decoded only to be looked at, such as JSON inside a string.
#[derive(Debug, Default)]
pub struct DecodeBuffer(Vec<u8>);

impl DecodeBuffer {
    /// Decodes the text between the quotes of a token. Lone surrogates become U+FFFD; the second value is true if there were any.
    pub(crate) fn decoded(&mut self, inner: &str) -> (&str, bool) {
        let has_lone = self.unescape(inner);
        (
            simdutf8::basic::from_utf8(&self.0).unwrap_or_default(),
            has_lone,
        )
    }

    /// Keeps a text that was decoded elsewhere.
    pub(crate) fn keep(&mut self, text: String) -> &str {
        self.0 = text.into_bytes();
        simdutf8::basic::from_utf8(&self.0).unwrap_or_default()
    }

    /// As `decoded`, into an owned string.
    pub(crate) fn unescaped(mut self, inner: &str) -> (String, bool) {
        let has_lone = self.unescape(inner);
        (String::from_utf8(self.0).unwrap_or_default(), has_lone)
    }

    /// Decodes into the buffer. True if there were lone surrogates.
    fn unescape(&mut self, inner: &str) -> bool {
        dispatch!(Level::new(), simd => self.unescape_with(simd, inner.as_bytes()))
    }

    #[inline(always)]
    fn unescape_with<S: Simd>(&mut self, simd: S, bytes: &[u8]) -> bool {
        let text = &mut self.0;
        text.clear();
        // Decoding never makes text longer.
        text.reserve(bytes.len() + BLOCK);
        let (mut rest, mut has_lone) = (bytes, false);
        loop {
            rest = &rest[unescape_letters(simd, rest, text)..];
            if rest.is_empty() {
                return has_lone;
            }
            let (unit, len) = read_unicode_escape(rest, 0);
            has_lone |= matches!(unit, Unit::Lone(_));
            let c = if let Unit::Char(c) = unit {
                c
            } else {
                char::REPLACEMENT_CHARACTER
            };
            text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            rest = &rest[len..];
        }
    }
}

/// Decodes up to the first `\u`. Returns the number of bytes read.
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

/// Decodes the first `len` bytes of a block, up to the first `\u`. A backslash at the end of the block is left to the next block. Returns
/// the number of bytes read, and whether a `\u` comes next.
///
/// Text has an escape every few words. So all letters after backslashes are decoded at once, and then the backslashes are removed.
#[inline(always)]
fn unescape_block<S: Simd>(
    simd: S,
    block: &[u8; BLOCK],
    len: usize,
    text: &mut Vec<u8>,
) -> (usize, bool) {
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
    let other = escaped & !(newlines.to_bitmask() | backslashes | bytes.simd_eq(b'"').to_bitmask());
    if other != 0 {
        let other = mask8x64::from_bitmask(simd, other);
        for (letter, byte) in LETTERS {
            decoded = (bytes.simd_eq(letter) & other).select(u8x64::splat(simd, byte), decoded);
        }
        let unicode = (bytes.simd_eq(b'u') & other).to_bitmask();
        if unicode != 0 {
            (len, stop) = (unicode.trailing_zeros() as usize - 1, true);
        }
    }
    // Nothing is kept if the block begins with `\u`.
    let kept = !(escaped >> 1)
        & u64::MAX
            .checked_shr((BLOCK - len) as u32)
            .unwrap_or_default();
    text.extend_from_slice(
        &decoded
            .compress(mask8x64::from_bitmask(simd, kept))
            .to_array(),
    );
    text.truncate(text.len() - (BLOCK - kept.count_ones() as usize));
    (len, stop)
}

/// The less frequent letters after a backslash, and the bytes that they mean.
const LETTERS: [(u8, u8); 4] = [(b't', b'\t'), (b'r', b'\r'), (b'b', 0x08), (b'f', 0x0c)];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FRAGMENTS: [&str; 13] = [
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

    fn texts(fragments: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
        let text = proptest::collection::vec(proptest::sample::select(fragments), 0..12)
            .prop_map(|fragments| fragments.concat());
        proptest::collection::vec(text, 1..4)
    }

    proptest! {
        #[test]
        fn text_is_decoded_as_serde_json_does(texts in texts(&FRAGMENTS)) {
            let mut buffer = DecodeBuffer::default();
            for inner in texts {
                let expected: String = serde_json::from_str(&format!("\"{inner}\"")).unwrap();
                prop_assert_eq!(buffer.decoded(&inner), (expected.as_str(), false));
                // The code for a processor without wide vectors.
                let has_lone = dispatch!(Level::baseline(), simd => buffer.unescape_with(simd, inner.as_bytes()));
                prop_assert_eq!((&*buffer.0, has_lone), (expected.as_bytes(), false));
                prop_assert_eq!(DecodeBuffer::default().unescaped(&inner), (expected, false));
            }
        }

        #[test]
        fn lone_surrogates_are_reported(texts in texts(&["a", "é", r"\n", r"\ud83d", r"\udc00 ", "sixteen plain bytes"])) {
            let mut buffer = DecodeBuffer::default();
            for inner in texts {
                // A high surrogate at the end of one fragment and a low one at the start of the next make a pair.
                let lossy = inner.replace(r"\ud83d\udc00", "\u{1f400}").replace(r"\ud83d", "\u{fffd}").replace(r"\udc00", "\u{fffd}");
                let has_lone = lossy.contains('\u{fffd}');
                let expected = lossy.replace(r"\n", "\n");
                prop_assert_eq!(buffer.decoded(&inner), (expected.as_str(), has_lone));
            }
        }
    }
}
