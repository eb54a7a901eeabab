//! Borrowed text, either a string token of the source's JSON or plain text, and its canonical form.

pub mod block;
mod decode;
mod escapes;
pub(crate) mod json;

pub use json::canonical_json;
use std::borrow::Cow;

pub use self::decode::DecodeBuffer;
use self::decode::{Unit, read_escape};
use self::escapes::{backslash, escaped};

/// The text of an event.
///
/// A token is a JSON string of the source with its quotes, so that canonical text is copied without decoding. A JSON parser must have
/// accepted it; `serde_json::value::RawValue` gives such slices. If the parser knows which escapes the token has, they need not be searched
/// again.
///
/// ```
/// use engram_core::text::Text;
///
/// let text = Text::Token(r#""two\nlines""#);
/// assert_eq!(text.decode().as_deref(), Ok("two\nlines"));
/// assert!(text.eq_str("two\nlines"));
/// ```
#[derive(Debug, Clone, Copy)]
pub enum Text<'a> {
    /// A token with any escapes.
    Token(&'a str),
    /// A token that has only canonical escapes. See [`push_text`].
    Canonical(&'a str),
    /// A token without escapes.
    Unescaped(&'a str),
    /// Decoded text.
    Plain(&'a str),
}

impl Default for Text<'_> {
    fn default() -> Self {
        Text::Plain("")
    }
}

/// The token contains a lone surrogate. JavaScript allows that in strings, UTF-8 does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoneSurrogate;

impl<'a> Text<'a> {
    /// The text of a raw JSON value, if it is a string.
    pub fn of(raw: &'a serde_json::value::RawValue) -> Option<Text<'a>> {
        Text::of_str(raw.get())
    }

    /// As [`Text::of`], for a raw slice that a JSON parser has accepted.
    pub fn of_str(raw: &'a str) -> Option<Text<'a>> {
        raw.starts_with('"').then_some(Text::Token(raw))
    }

    /// True if the text has no characters.
    pub fn is_empty(&self) -> bool {
        self.token().map_or_else(|| self.raw().is_empty(), |token| token.len() <= 2)
    }

    /// The token, unless the text is plain.
    pub fn token(&self) -> Option<&'a str> {
        match *self {
            Text::Token(token) | Text::Canonical(token) | Text::Unescaped(token) => Some(token),
            Text::Plain(_) => None,
        }
    }

    /// The token with its quotes, or the plain text. Equal texts may have different tokens, unless these are canonical.
    pub fn raw(&self) -> &'a str {
        let (Text::Token(raw) | Text::Canonical(raw) | Text::Unescaped(raw) | Text::Plain(raw)) = *self;
        raw
    }

    /// True if the text begins with `prefix`, which must not be empty and must not contain characters that JSON escapes.
    pub fn starts_with(&self, prefix: &str) -> bool {
        let (inner, prefix) = (&self.raw().as_bytes()[usize::from(self.token().is_some())..], prefix.as_bytes());
        // Most texts differ in the first byte.
        if inner.first() == prefix.first() && inner.starts_with(prefix) {
            return true;
        }
        matches!(self, Text::Token(_)) && inner.iter().take(prefix.len()).any(|byte| *byte == b'\\') && begins_decoded(inner, prefix)
    }

    /// The text as UTF-8. Borrowed if the token has no escapes.
    ///
    /// # Errors
    /// [`LoneSurrogate`] if the token contains a lone surrogate.
    pub fn decode(&self) -> Result<Cow<'a, str>, LoneSurrogate> {
        match *self {
            Text::Plain(plain) => Ok(Cow::Borrowed(plain)),
            Text::Unescaped(token) => Ok(Cow::Borrowed(inside(token))),
            Text::Token(token) | Text::Canonical(token) => {
                let inner = inside(token);
                if backslash(inner.as_bytes(), 0).is_none() {
                    return Ok(Cow::Borrowed(inner));
                }
                match DecodeBuffer::default().unescaped(inner) {
                    (text, false) => Ok(Cow::Owned(text)),
                    _ => Err(LoneSurrogate),
                }
            }
        }
    }

    /// As [`Text::decode`], with a buffer that can be reused.
    ///
    /// # Errors
    /// As [`Text::decode`].
    pub fn decode_into<'r>(&self, buffer: &'r mut DecodeBuffer) -> Result<&'r str, LoneSurrogate>
    where
        'a: 'r,
    {
        match self.decoded_in(buffer) {
            (text, false) => Ok(text),
            _ => Err(LoneSurrogate),
        }
    }

    /// As [`Text::decode_lossy`], with a buffer that can be reused.
    pub fn decode_lossy_into<'r>(&self, buffer: &'r mut DecodeBuffer) -> &'r str
    where
        'a: 'r,
    {
        self.decoded_in(buffer).0
    }

    /// The text with lone surrogates as U+FFFD, and whether it has any.
    #[inline]
    fn decoded_in<'r>(&self, buffer: &'r mut DecodeBuffer) -> (&'r str, bool)
    where
        'a: 'r,
    {
        match *self {
            Text::Plain(plain) => (plain, false),
            Text::Unescaped(token) => (inside(token), false),
            Text::Token(token) | Text::Canonical(token) => {
                let inner = inside(token);
                if backslash(inner.as_bytes(), 0).is_none() { (inner, false) } else { buffer.decoded(inner) }
            }
        }
    }

    /// The text as UTF-8, lone surrogates as U+FFFD. For keys and comparisons, never for hashes.
    pub fn decode_lossy(&self) -> Cow<'a, str> {
        self.decode().unwrap_or_else(|LoneSurrogate| Cow::Owned(DecodeBuffer::default().unescaped(inside(self.raw())).0))
    }

    /// True if the text equals `other`.
    pub fn eq_str(&self, other: &str) -> bool {
        self.decode().is_ok_and(|text| text == other)
    }
}

/// True if a text begins with `prefix`. `inner` is its token after the first quote.
#[cold]
fn begins_decoded(inner: &[u8], mut prefix: &[u8]) -> bool {
    let mut at = 0;
    while let Some(first) = prefix.first() {
        let mut encoded = [0; 4];
        let (part, len) = match inner.get(at) {
            Some(b'\\') => match read_escape(inner, at) {
                (Unit::Char(c), len) => (c.encode_utf8(&mut encoded).as_bytes(), len),
                (Unit::Lone(_), _) => return false,
            },
            Some(byte) if byte == first => (&prefix[..1], 1),
            _ => return false,
        };
        let Some(rest) = prefix.strip_prefix(part) else { return false };
        (prefix, at) = (rest, at + len);
    }
    true
}

/// The text between the quotes of a token.
fn inside(token: &str) -> &str {
    &token[1..token.len() - 1]
}

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

/// Appends `text` as a canonical JSON string with its quotes.
///
/// The canonical form escapes only what JSON requires: `\"`, `\\`, control characters (with a letter where there is one, else `\u00xx` in
/// lower case) and lone surrogates (`\udxxx`).
#[inline(always)]
pub fn push_text(out: &mut impl Push, text: Text<'_>) {
    match text {
        Text::Token(token) => push_token(out, token),
        Text::Canonical(token) | Text::Unescaped(token) => out.push_str(token),
        Text::Plain(plain) => {
            out.push('"');
            push_plain(out, plain);
            out.push('"');
        }
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
        out.push(char::from(b"0123456789abcdef"[usize::from(code >> shift & 0xf)]));
    }
}

/// Appends a token of the source in canonical form. Only escapes that are not canonical are rewritten. What is no escape, in a text that no
/// parser has accepted, stays as it is.
pub(crate) fn push_token(out: &mut impl Push, token: &str) {
    let bytes = token.as_bytes();
    let (mut start, mut at) = (0, 0);
    while let Some(escape) = backslash(bytes, at) {
        if is_canonical_escape(&bytes[escape + 1..]) || !is_other_escape(&bytes[escape + 1..]) {
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

/// True if the bytes after a backslash make an escape that is not canonical.
fn is_other_escape(after_backslash: &[u8]) -> bool {
    let has_digits = |from: usize| after_backslash.get(from..from + 4).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
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
    use proptest::prelude::*;

    use super::*;

    fn canonical(token: &str) -> String {
        let mut out = String::new();
        push_text(&mut out, Text::Token(token));
        out
    }

    #[test]
    fn canonical_tokens_are_not_changed() {
        for token in
            [r#""""#, r#""a\n\t\"\\ ü 😀""#, "\"\u{2028}\"", r#""\u0000\u001f\u000b\u0007\u001b[0m""#, r#""\ud800""#, r#""\udc00x""#]
        {
            assert_eq!(canonical(token), token);
        }
    }

    #[test]
    fn other_escapes_are_rewritten() {
        assert_eq!(canonical(r#""\/\u00E9\u0041""#), "\"/éA\"");
        assert_eq!(canonical(r#""\u000A\u001F\u0022""#), r#""\n\u001f\"""#);
        assert_eq!(canonical(r#""\u0008\u0009\u000a\u000c\u000d\u000B\u001B\u0020\u007f""#), "\"\\b\\t\\n\\f\\r\\u000b\\u001b \u{7f}\"");
        assert_eq!(canonical(r#""\uD83D\uDE00\uD83D""#), "\"😀\\ud83d\"");
        assert_eq!(canonical(r#""\uD83D\uD83D\uDE00""#), "\"\\ud83d😀\"");
    }

    #[test]
    fn what_is_no_escape_stays() {
        for text in [r"C:\users\", r"\", r"\u", r"\u00", r"\u003", r"\ud83d\u", r"\ud83d\ude0", r"\x\u00g1 é"] {
            let mut out = String::new();
            push_token(&mut out, text);
            assert_eq!(out, text);
        }
    }

    #[test]
    fn beginning_of_a_text_is_found_in_any_spelling() {
        for token in [r#""<a/b>é😀x""#, r#""\u003Ca\/b\u003e\u00e9\ud83d\ude00x""#, r#""<\u0061/b\u003eé\uD83D\uDE00x""#] {
            let text = Text::Token(token);
            assert!(["<", "<a", "<a/b>", "<a/b>é", "<a/b>é😀x"].into_iter().all(|prefix| text.starts_with(prefix)), "{token}");
            assert!(!["a", "<b", "<a/b>e", "<a/b>é😀xx"].into_iter().any(|prefix| text.starts_with(prefix)), "{token}");
        }
        assert!(!Text::Token(r#""\ud83d<""#).starts_with("\u{fffd}") && !Text::Token(r#""\n""#).starts_with("n"));
        assert!(!Text::Plain(r"\u003c").starts_with("<"));
    }

    proptest! {
        #[test]
        fn plain_text_is_written_as_by_serde_json(text in any::<String>()) {
            let mut out = String::new();
            push_text(&mut out, Text::Plain(&text));
            prop_assert_eq!(&out, &serde_json::to_string(&text).unwrap());
            prop_assert_eq!(canonical(&out), out.clone());
            let decoded = Text::Token(&out).decode().unwrap();
            prop_assert_eq!(decoded.as_ref(), text.as_str());
        }

        #[test]
        fn escaped_text_decodes_to_itself(text in any::<String>()) {
            let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
            let token = format!("\"{escaped}\"");
            prop_assert_eq!(canonical(&token), serde_json::to_string(&text).unwrap());
        }
    }
}
