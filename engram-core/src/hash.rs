//! Content hashes of the tape: BLAKE3 over text with line ends normalised (spec section 3, Hashes).

use std::fmt;

use memchr::{memchr, memchr_iter, memchr2};

/// A BLAKE3 hash, shown as `blake3:` and 64 hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hash(blake3::Hash);

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "blake3:{}", self.0)
    }
}

impl Hash {
    /// The 32 bytes of the hash.
    pub(crate) fn bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// The hash in a JSON string such as `"blake3:.."`, as a tape holds it.
    pub(crate) fn of_json(raw: &str) -> Option<Hash> {
        let hex = raw.strip_prefix("\"blake3:")?.strip_suffix('"')?;
        blake3::Hash::from_hex(hex).ok().map(Hash)
    }

    /// The hash of bytes as they are: attachments, side files, the input.
    pub fn of_bytes(bytes: &[u8]) -> Hash {
        Hash(blake3::hash(bytes))
    }

    /// The hash of text, `\r\n` counted as `\n`.
    pub fn of_text(text: &str) -> Hash {
        if memchr(b'\r', text.as_bytes()).is_none() {
            return Hash::of_bytes(text.as_bytes());
        }
        let mut hasher = blake3::Hasher::new();
        let mut start = 0;
        for at in memchr_iter(b'\r', text.as_bytes()) {
            if text.as_bytes().get(at + 1) == Some(&b'\n') {
                hasher.update(&text.as_bytes()[start..at]);
                start = at + 1;
            }
        }
        hasher.update(&text.as_bytes()[start..]);
        Hash(hasher.finalize())
    }

    /// The hash of text, or none when U+FFFD shows that the real bytes are gone.
    pub fn of_pinned_text(text: &str) -> Option<Hash> {
        // Nearly all text is told with one search.
        if memchr2(b'\r', REPLACEMENT[0], text.as_bytes()).is_none() {
            return Some(Hash::of_bytes(text.as_bytes()));
        }
        is_pinned(text).then(|| Hash::of_text(text))
    }
}

/// What stands where bytes were no text. Its first byte is rare in nearly all text.
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// True when `text` can stand for real file content: it holds no U+FFFD.
pub fn is_pinned(text: &str) -> bool {
    !memchr_iter(REPLACEMENT[0], text.as_bytes()).any(|at| text.as_bytes()[at..].starts_with(REPLACEMENT))
}

/// A hash of input that arrives in pieces.
#[derive(Debug, Clone, Default)]
pub struct StreamHasher {
    hasher: blake3::Hasher,
    bytes: u64,
}

impl StreamHasher {
    /// Takes the next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.hasher.update(piece);
        self.bytes += piece.len() as u64;
    }

    /// The number of bytes so far.
    pub(crate) fn len(&self) -> u64 {
        self.bytes
    }

    /// The hash and the number of bytes so far.
    pub fn finish(&self) -> (Hash, u64) {
        (Hash(self.hasher.finalize()), self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_do_not_matter_but_lone_returns_do() {
        assert_eq!(Hash::of_text("a\r\nb\r\n"), Hash::of_text("a\nb\n"));
        assert_ne!(Hash::of_text("a\rb"), Hash::of_text("a\nb"));
        assert_eq!(Hash::of_text("a\r"), Hash::of_bytes(b"a\r"));
    }

    #[test]
    fn replacement_characters_pin_nothing() {
        assert_eq!(Hash::of_pinned_text("caf\u{fffd}"), None);
        assert!(Hash::of_pinned_text("café").is_some());
    }
}
