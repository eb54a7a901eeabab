//! The canonical form of strings: which escapes it has, and writing it.

use std::borrow::Cow;

use super::decode::{Unit, read_escape};
use super::escapes::{backslash, escaped};

/// A target that text is appended to.
pub trait Push {
    /// Appends text.
    fn push_str(&mut self, text: &str);

    /// Appends a character.
    fn push(&mut self, c: char) {
        self.push_str(c.encode_utf8(&mut [0; 4]));
    }
}

impl Push for String {
    fn push_str(&mut self, text: &str) {
        String::push_str(self, text);
    }

    fn push(&mut self, c: char) {
        String::push(self, c);
    }
}

/// Appends plain text with its escapes in canonical form, without quotes.
pub(crate) fn push_plain(out: &mut impl Push, plain: &str) {
    let mut start = 0;
    while let Some(at) = escaped(plain.as_bytes(), start) {
        out.push_str(&plain[start..at]);
        push_char(out, char::from(plain.as_bytes()[at]));
        start = at + 1;
    }
    out.push_str(&plain[start..]);
}

/// Appends one character in canonical form.
fn push_char(out: &mut impl Push, c: char) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if c < ' ' => push_unicode(out, c as u16),
        c => out.push(c),
    }
}

/// Appends `\u` and four hex digits.
fn push_unicode(out: &mut impl Push, code: u16) {
    out.push_str("\\u");
    for shift in [12, 8, 4, 0] {
        out.push(char::from(
            b"0123456789abcdef"[usize::from(code >> shift & 0xf)],
        ));
    }
}

/// Appends a token of the source in canonical form. Only escapes that are not canonical are rewritten. What is no escape, in a text that no
/// parser has accepted, stays as it is.
pub(crate) fn push_token(out: &mut impl Push, token: &str) {
    let bytes = token.as_bytes();
    let (mut start, mut at) = (0, 0);
    while let Some(escape) = backslash(bytes, at) {
        if !is_other_escape(&bytes[escape + 1..]) {
            at = escape + 2;
            continue;
        }
        out.push_str(&token[start..escape]);
        let (unit, len) = read_escape(bytes, escape);
        push_unit(out, unit);
        at = escape + len;
        start = at;
    }
    out.push_str(&token[start..]);
}

fn push_unit(out: &mut impl Push, unit: Unit) {
    match unit {
        Unit::Char(c) => push_char(out, c),
        Unit::Lone(code) => push_unicode(out, code),
    }
}

/// JSON text with all escapes of its strings in canonical form.
pub(crate) fn with_canonical_escapes(json: &str) -> Cow<'_, str> {
    if !has_other_escapes(json.as_bytes()) {
        return Cow::Borrowed(json);
    }
    let mut canonical = String::with_capacity(json.len());
    push_token(&mut canonical, json);
    Cow::Owned(canonical)
}

/// True if a string of JSON text has an escape that is not canonical.
pub(crate) fn has_other_escapes(json: &[u8]) -> bool {
    let mut at = 0;
    while let Some(escape) = backslash(json, at) {
        if is_other_escape(&json[escape + 1..]) {
            return true;
        }
        at = escape + 2;
    }
    false
}

/// True if the bytes after a backslash make an escape that is not canonical.
fn is_other_escape(after_backslash: &[u8]) -> bool {
    if is_canonical_escape(after_backslash) {
        return false;
    }
    let has_digits = |from: usize| {
        after_backslash
            .get(from..from + 4)
            .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    match after_backslash {
        [b'/', ..] => true,
        [b'u', ..] => has_digits(1) && (after_backslash.get(5..7) != Some(b"\\u") || has_digits(7)),
        _ => false,
    }
}

/// True if the bytes after a backslash make a canonical escape.
pub fn is_canonical_escape(after_backslash: &[u8]) -> bool {
    match after_backslash {
        [b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't', ..] => true,
        // Control characters that have no letter, such as the escape character of terminal colours.
        [b'u', b'0', b'0', b'0', b'0'..=b'7' | b'b' | b'e' | b'f', ..] => true,
        [b'u', b'0', b'0', b'1', b'0'..=b'9' | b'a'..=b'f', ..] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_escape_stays() {
        for text in [
            r"C:\users\",
            r"\",
            r"\u",
            r"\u00",
            r"\u003",
            r"\ud83d\u",
            r"\ud83d\ude0",
            r"\x\u00g1 é",
        ] {
            let mut out = String::new();
            push_token(&mut out, text);
            assert_eq!(out, text);
        }
    }
}
