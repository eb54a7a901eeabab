//! What the escapes of a JSON string stand for, one by one and for a whole text.

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x64};

use crate::escapes::backslash;

/// Bytes that are copied together.
const BLOCK: usize = 64;

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

/// Room for decoded text, to be used again and again: JSON that stands in a string is decoded only to be read.
#[derive(Debug, Default)]
pub struct Room(Vec<u8>);

impl Room {
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
            rest = &rest[copy_plain(simd, rest, text)..];
            let &[b'\\', escape, ref behind @ ..] = rest else { return has_lone };
            if let Some(byte) = simple(escape) {
                text.push(byte);
                rest = behind;
                continue;
            }
            let (unit, len) = read_escape(rest, 0);
            has_lone |= matches!(unit, Unit::Lone(_));
            let c = if let Unit::Char(c) = unit { c } else { char::REPLACEMENT_CHARACTER };
            text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            rest = &rest[len..];
        }
    }
}

/// Copies what stands before the first backslash, and says how much that is.
///
/// Text in JSON in a string has an escape every few words. So it is copied a block at a time, beyond the next escape even, and
/// what was too much is cut off again.
#[inline(always)]
fn copy_plain<S: Simd>(simd: S, bytes: &[u8], text: &mut Vec<u8>) -> usize {
    let mut at = 0;
    while let Some(block) = bytes[at..].first_chunk() {
        text.extend_from_slice(block);
        let backslashes = u8x64::load_array_ref(simd, block).simd_eq(b'\\').to_bitmask();
        if backslashes != 0 {
            let plain = backslashes.trailing_zeros() as usize;
            text.truncate(text.len() - (BLOCK - plain));
            return at + plain;
        }
        at += BLOCK;
    }
    let plain = backslash(bytes, at).unwrap_or(bytes.len());
    text.extend_from_slice(&bytes[at..plain]);
    plain
}

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
            let mut room = Room::default();
            for inner in texts {
                let expected: String = serde_json::from_str(&format!("\"{inner}\"")).unwrap();
                prop_assert_eq!(room.decoded(&inner), (expected.as_str(), false));
                // What a processor without wide vectors does.
                let has_lone = dispatch!(Level::baseline(), simd => room.unescape_with(simd, inner.as_bytes()));
                prop_assert_eq!((&*room.0, has_lone), (expected.as_bytes(), false));
                prop_assert_eq!(Room::default().unescaped(&inner), (expected, false));
            }
        }

        #[test]
        fn half_a_surrogate_pair_is_told(texts in texts(&["a", "é", r"\n", r"\ud83d", r"\udc00 ", "sixteen plain bytes"])) {
            let mut room = Room::default();
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
