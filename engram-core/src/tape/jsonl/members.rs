//! Members of JSON objects: each method writes a comma, a key and a value.
//!
//! An event has about twenty members. Values are written by functions that are not inlined, so that this code stays small enough for the
//! instruction cache.

use super::buffer::Buffer;
use crate::event::{Number, Range};
use crate::hash::Hash;
use crate::text::json::push_json;
use crate::text::{Push as _, Text, push_text};

/// A comma and a key: `,"name":`. The name needs no escapes.
macro_rules! key {
    ($name:literal) => {
        concat!(",\"", $name, "\":")
    };
    ($name:ident) => {
        concat!(",\"", stringify!($name), "\":")
    };
}
pub(crate) use key;

/// A member with a constant value: `,"name":"word"`.
macro_rules! word {
    ($name:literal, $word:literal) => {
        concat!(",\"", $name, "\":\"", $word, "\"")
    };
}
pub(crate) use word;

impl Buffer {
    /// Writes a key that is not constant. It needs no escapes.
    pub fn key(&mut self, name: &str) -> &mut Buffer {
        self.push_str(",\"");
        self.push_str(name);
        self.push_str("\":");
        self
    }

    #[inline(never)]
    pub fn text(&mut self, key: &str, text: &Text<'_>) {
        self.push_str(key);
        push_text(self, *text);
    }

    pub fn text_if(&mut self, key: &str, text: &Option<Text<'_>>) {
        if let Some(text) = text {
            self.text(key, text);
        }
    }

    pub fn span_text(&mut self, key: &str, text: Option<&str>) {
        self.text_if(key, &text.map(Text::Plain));
    }

    /// As [`Buffer::text_if`], for names and ids: an empty one is left out.
    #[inline(never)]
    pub fn name(&mut self, key: &str, name: &Option<Text<'_>>) {
        if let Some(name) = name
            && !name.is_empty()
        {
            self.text(key, name);
        }
    }

    /// Writes a string that needs no escapes.
    #[inline(never)]
    pub fn ascii_str(&mut self, key: &str, word: &str) {
        self.push_str(key);
        push_ascii_str(self, word);
    }

    pub fn number(&mut self, key: &str, number: Option<u64>) {
        if let Some(number) = number {
            self.push_str(key);
            push_number(self, number);
        }
    }

    /// Writes a number as written in the source.
    pub fn raw_number(&mut self, key: &str, number: Option<Number<'_>>) {
        if let Some(number) = number {
            self.push_str(key);
            self.push_str(number.as_str());
        }
    }

    #[inline(never)]
    pub fn hash(&mut self, key: &str, hash: &Option<Hash>) {
        if let Some(hash) = hash {
            self.push_str(key);
            self.ascii(b"\"blake3:");
            hash.bytes()
                .as_chunks()
                .0
                .iter()
                .for_each(|bytes| self.ascii(&hex_digits(*bytes)));
            self.ascii(b"\"");
        }
    }

    /// Writes a boolean, unless it equals `absent`: the value that a missing key means.
    #[inline(always)]
    pub fn bool_if(&mut self, key: &str, value: bool, absent: bool) {
        if value != absent {
            self.bool(key, value);
        }
    }

    #[inline(never)]
    pub fn bool(&mut self, key: &str, value: bool) {
        self.push_str(key);
        self.push_str(if value { "true" } else { "false" });
    }

    #[inline(never)]
    pub fn range(&mut self, key: &str, range: &Option<Range>) {
        if let Some(Range { first, last }) = *range {
            self.push_str(key);
            self.ascii(b"[");
            push_number(self, first);
            self.ascii(b",");
            push_number(self, last);
            self.ascii(b"]");
        }
    }

    #[inline(never)]
    pub fn anchors(&mut self, key: &str, anchors: &[u64]) {
        if anchors.is_empty() {
            return;
        }
        self.push_str(key);
        self.ascii(b"[");
        for anchor in anchors {
            let mut item = *b"\"................\",";
            item[1..17].copy_from_slice(&hex_digits(anchor.to_be_bytes()));
            self.ascii(&item);
        }
        // Removes the last comma.
        self.truncate(self.len() - 1);
        self.ascii(b"]");
    }

    /// Writes a JSON value of the source in canonical form.
    pub fn json(&mut self, key: &str, raw: Option<&str>) {
        if let Some(raw) = raw {
            self.push_str(key);
            // This cannot fail without a limit. The emitter has checked the nesting.
            let _ = push_json(self, raw, usize::MAX);
        }
    }

    /// Writes an object; `fill` writes its members.
    pub fn object(&mut self, key: &str, fill: impl FnOnce(&mut Buffer)) {
        self.push_str(key);
        let start = self.len();
        fill(self);
        self.wrap_object(start);
    }
}

pub(crate) fn push_ascii_str(out: &mut Buffer, word: &str) {
    out.ascii(b"\"");
    out.push_str(word);
    out.ascii(b"\"");
}

/// Appends a number.
#[inline(never)]
pub(crate) fn push_number(out: &mut Buffer, number: u64) {
    out.push_str(itoa::Buffer::new().format(number));
}

/// Two hex digits per byte.
fn hex_digits(bytes: [u8; 8]) -> [u8; 16] {
    let half = |at: usize| {
        if at.is_multiple_of(2) {
            bytes[at / 2] >> 4
        } else {
            bytes[at / 2] & 0xf
        }
    };
    std::array::from_fn(|at| b"0123456789abcdef"[usize::from(half(at))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_two_hex_digits() {
        for byte in 0..=u8::MAX {
            let expected = format!("{byte:02x}{:02x}", !byte).repeat(4);
            assert_eq!(
                hex_digits([byte, !byte, byte, !byte, byte, !byte, byte, !byte]),
                expected.as_bytes()
            );
        }
    }
}
