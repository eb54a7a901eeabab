//! Content hashes: BLAKE3 over text with `\r\n` counted as `\n`.

use std::fmt;

use memchr::{memchr, memchr_iter, memchr2};

/// A BLAKE3 hash. Its text form is `blake3:` and 64 hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hash(blake3::Hash);

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "blake3:{}", self.0)
    }
}

impl Hash {
    /// The 32 bytes of the hash.
    pub fn bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// Parses a JSON string such as `"blake3:.."`.
    pub(crate) fn of_json(raw: &str) -> Option<Hash> {
        Hash::parse(raw.strip_prefix('"')?.strip_suffix('"')?)
    }

    /// The hash with this text form; `None` if the text is not a hash.
    pub fn parse(text: &str) -> Option<Hash> {
        blake3::Hash::from_hex(text.strip_prefix("blake3:")?)
            .ok()
            .map(Hash)
    }

    /// The hash of bytes without any normalisation: for attachments, side files and the input.
    pub fn of_bytes(bytes: &[u8]) -> Hash {
        Hash(blake3::hash(bytes))
    }

    /// The hash of a text, with `\r\n` counted as `\n`.
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

    /// As [`Hash::of_text`], but `None` if the text is not [lossless](is_lossless).
    pub fn of_lossless_text(text: &str) -> Option<Hash> {
        // One search is enough for nearly all texts.
        if memchr2(b'\r', REPLACEMENT[0], text.as_bytes()).is_none() {
            return Some(Hash::of_bytes(text.as_bytes()));
        }
        is_lossless(text).then(|| Hash::of_text(text))
    }
}

/// U+FFFD, which replaces bytes that are not UTF-8. Its first byte is rare in text.
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// True if `text` contains no U+FFFD, so that its bytes are those of the file.
pub fn is_lossless(text: &str) -> bool {
    !memchr_iter(REPLACEMENT[0], text.as_bytes())
        .any(|at| text.as_bytes()[at..].starts_with(REPLACEMENT))
}

/// A hash of input that arrives in chunks.
#[derive(Debug, Clone, Default)]
pub struct StreamHasher {
    hasher: blake3::Hasher,
    bytes: u64,
}

impl StreamHasher {
    /// Adds the next chunk.
    pub fn update(&mut self, chunk: &[u8]) {
        self.hasher.update(chunk);
        self.bytes += chunk.len() as u64;
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
    fn crlf_counts_as_lf_but_a_lone_cr_does_not() {
        assert_eq!(Hash::of_text("a\r\nb\r\n"), Hash::of_text("a\nb\n"));
        assert_ne!(Hash::of_text("a\rb"), Hash::of_text("a\nb"));
        assert_eq!(Hash::of_text("a\r"), Hash::of_bytes(b"a\r"));
    }

    #[test]
    fn text_with_replacement_characters_has_no_hash() {
        assert_eq!(Hash::of_lossless_text("caf\u{fffd}"), None);
        assert!(Hash::of_lossless_text("café").is_some());
    }
}
