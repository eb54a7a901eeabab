//! Borrowed text, either a string token of the source's JSON or plain text, and its canonical form.

pub mod block;
pub(crate) mod canonical;
mod decode;
mod escapes;
pub(crate) mod json;

use std::borrow::Cow;

pub use self::canonical::{Push, is_canonical_escape};
use self::canonical::{push_plain, push_token};
pub use self::decode::DecodeBuffer;
use self::decode::{Unit, read_escape};
use self::escapes::backslash;
pub use self::json::{canonical_json, replace_lone_surrogates};

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
    /// A JSON value of the source. Its canonical form is the text.
    Json(&'a str),
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(plain: &'a str) -> Self {
        Text::Plain(plain)
    }
}

impl Default for Text<'_> {
    fn default() -> Self {
        Text::Plain("")
    }
}

/// The token contains a lone surrogate, which JavaScript allows in strings and UTF-8 does not; or it is longer than [`MAX_DECODED_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotDecoded;

/// The longest token with escapes that [`Text::decode`] decodes. The decoded text is in memory beside the record.
pub const MAX_DECODED_BYTES: usize = 16 << 20;

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
        self.token()
            .map_or_else(|| self.raw().is_empty(), |token| token.len() <= 2)
    }

    /// The token, unless the text is plain or the canonical form of a JSON value.
    pub fn token(&self) -> Option<&'a str> {
        match *self {
            Text::Token(token) | Text::Canonical(token) | Text::Unescaped(token) => Some(token),
            Text::Plain(_) | Text::Json(_) => None,
        }
    }

    /// The token with its quotes, the plain text, or the JSON value. Equal texts may differ in it, unless both are canonical tokens.
    pub fn raw(&self) -> &'a str {
        let (Text::Token(raw)
        | Text::Canonical(raw)
        | Text::Unescaped(raw)
        | Text::Plain(raw)
        | Text::Json(raw)) = *self;
        raw
    }

    /// True if the text begins with `prefix`, which must not be empty and must not contain characters that JSON escapes.
    pub fn starts_with(&self, prefix: &str) -> bool {
        let (inner, prefix) = (
            &self.raw().as_bytes()[usize::from(self.token().is_some())..],
            prefix.as_bytes(),
        );
        // Most texts differ in the first byte.
        if inner.first() == prefix.first() && inner.starts_with(prefix) {
            return true;
        }
        match self {
            Text::Token(_) => {
                inner.iter().take(prefix.len()).any(|byte| *byte == b'\\')
                    && begins_decoded(inner, prefix)
            }
            Text::Json(json) => canonical_json(json).as_bytes().starts_with(prefix),
            _ => false,
        }
    }

    /// The text as UTF-8. Borrowed if the token has no escapes.
    ///
    /// # Errors
    /// [`NotDecoded`] if the token contains a lone surrogate, or is too long.
    pub fn decode(&self) -> Result<Cow<'a, str>, NotDecoded> {
        match *self {
            Text::Plain(plain) => Ok(Cow::Borrowed(plain)),
            Text::Json(json) => Ok(canonical_json(json)),
            Text::Unescaped(token) => Ok(Cow::Borrowed(inside(token))),
            Text::Token(token) | Text::Canonical(token) => {
                let inner = inside(token);
                if backslash(inner.as_bytes(), 0).is_none() {
                    return Ok(Cow::Borrowed(inner));
                }
                if inner.len() > MAX_DECODED_BYTES {
                    return Err(NotDecoded);
                }
                match DecodeBuffer::default().unescaped(inner) {
                    (text, false) => Ok(Cow::Owned(text)),
                    _ => Err(NotDecoded),
                }
            }
        }
    }

    /// As [`Text::decode`], with a buffer that can be reused.
    ///
    /// # Errors
    /// As [`Text::decode`].
    pub fn decode_into<'r>(&self, buffer: &'r mut DecodeBuffer) -> Result<&'r str, NotDecoded>
    where
        'a: 'r,
    {
        if self.raw().len() > MAX_DECODED_BYTES
            && matches!(self, Text::Token(_) | Text::Canonical(_))
        {
            return self.decode().and_then(|text| {
                if let Cow::Borrowed(text) = text {
                    Ok(text)
                } else {
                    Err(NotDecoded)
                }
            });
        }
        match self.decoded_in(buffer) {
            (text, false) => Ok(text),
            _ => Err(NotDecoded),
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
            Text::Json(json) => match canonical_json(json) {
                Cow::Borrowed(json) => (json, false),
                Cow::Owned(json) => (buffer.keep(json), false),
            },
            Text::Unescaped(token) => (inside(token), false),
            Text::Token(token) | Text::Canonical(token) => {
                let inner = inside(token);
                if backslash(inner.as_bytes(), 0).is_none() {
                    (inner, false)
                } else {
                    buffer.decoded(inner)
                }
            }
        }
    }

    /// The text as UTF-8, lone surrogates as U+FFFD. For keys and comparisons, never for hashes.
    pub fn decode_lossy(&self) -> Cow<'a, str> {
        self.decode().unwrap_or_else(|NotDecoded| {
            Cow::Owned(DecodeBuffer::default().unescaped(inside(self.raw())).0)
        })
    }

    /// The text for comparisons and searches: as [`Text::decode_lossy`] gives it, but with its escapes as they are written if it has any and
    /// is longer than [`MAX_DECODED_BYTES`]. So it never needs more memory than that. Not for hashes, and not for what a tape shows.
    pub fn comparable(&self) -> Cow<'a, str> {
        match self.decode() {
            Ok(text) => text,
            Err(NotDecoded) if self.raw().len() > MAX_DECODED_BYTES => {
                Cow::Borrowed(inside(self.raw()))
            }
            Err(NotDecoded) => self.decode_lossy(),
        }
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
        let Some(rest) = prefix.strip_prefix(part) else {
            return false;
        };
        (prefix, at) = (rest, at + len);
    }
    true
}

/// The text between the quotes of a token.
fn inside(token: &str) -> &str {
    &token[1..token.len() - 1]
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
        Text::Plain(plain) => push_quoted(out, plain),
        Text::Json(json) => push_quoted(out, &canonical_json(json)),
    }
}

fn push_quoted(out: &mut impl Push, plain: &str) {
    out.push('"');
    push_plain(out, plain);
    out.push('"');
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
        for token in [
            r#""""#,
            r#""a\n\t\"\\ ü 😀""#,
            "\"\u{2028}\"",
            r#""\u0000\u001f\u000b\u0007\u001b[0m""#,
            r#""\ud800""#,
            r#""\udc00x""#,
        ] {
            assert_eq!(canonical(token), token);
        }
    }

    #[test]
    fn other_escapes_are_rewritten() {
        assert_eq!(canonical(r#""\/\u00E9\u0041""#), "\"/éA\"");
        assert_eq!(canonical(r#""\u000A\u001F\u0022""#), r#""\n\u001f\"""#);
        assert_eq!(
            canonical(r#""\u0008\u0009\u000a\u000c\u000d\u000B\u001B\u0020\u007f""#),
            "\"\\b\\t\\n\\f\\r\\u000b\\u001b \u{7f}\""
        );
        assert_eq!(canonical(r#""\uD83D\uDE00\uD83D""#), "\"😀\\ud83d\"");
        assert_eq!(canonical(r#""\uD83D\uD83D\uDE00""#), "\"\\ud83d😀\"");
    }

    #[test]
    fn long_tokens_are_decoded_only_if_nothing_has_to_be_copied() {
        let mut buffer = DecodeBuffer::default();
        let [long, escaped] =
            ["x", "\\n"].map(|end| format!("\"{}{end}\"", "x".repeat(MAX_DECODED_BYTES)));
        for (token, is_decoded) in [(&long, true), (&escaped, false)] {
            assert_eq!(Text::Token(token).decode().is_ok(), is_decoded);
            assert_eq!(
                Text::Token(token).decode_into(&mut buffer).is_ok(),
                is_decoded
            );
            assert!(Text::Token(token).decode_lossy().len() > MAX_DECODED_BYTES);
            assert!(
                matches!(Text::Token(token).comparable(), Cow::Borrowed(text) if text == &token[1..token.len() - 1])
            );
        }
    }

    #[test]
    fn short_texts_are_compared_decoded() {
        assert_eq!(Text::Token(r#""a\n\ud800""#).comparable(), "a\n\u{fffd}");
        assert_eq!(Text::Plain(r"a\n").comparable(), r"a\n");
    }

    #[test]
    fn text_of_a_json_value_is_its_canonical_form() {
        for json in [
            "{ \"a\" : [ \"\\u003cb\\/\", 1.0 ] }",
            r#"{"a":["<b/",1.0]}"#,
        ] {
            let (text, canonical) = (Text::Json(json), r#"{"a":["<b/",1.0]}"#);
            assert!(text.starts_with(r#"{"a":["#) && text.eq_str(canonical) && !text.is_empty());
            assert_eq!(
                text.decode_lossy_into(&mut DecodeBuffer::default()),
                canonical
            );
            let (mut of_json, mut of_plain) = (String::new(), String::new());
            push_text(&mut of_json, text);
            push_text(&mut of_plain, Text::Plain(canonical));
            assert_eq!(of_json, of_plain);
        }
    }

    #[test]
    fn beginning_of_a_text_is_found_in_any_spelling() {
        for token in [
            r#""<a/b>é😀x""#,
            r#""\u003Ca\/b\u003e\u00e9\ud83d\ude00x""#,
            r#""<\u0061/b\u003eé\uD83D\uDE00x""#,
        ] {
            let text = Text::Token(token);
            assert!(
                ["<", "<a", "<a/b>", "<a/b>é", "<a/b>é😀x"]
                    .into_iter()
                    .all(|prefix| text.starts_with(prefix)),
                "{token}"
            );
            assert!(
                !["a", "<b", "<a/b>e", "<a/b>é😀xx"]
                    .into_iter()
                    .any(|prefix| text.starts_with(prefix)),
                "{token}"
            );
        }
        assert!(
            !Text::Token(r#""\ud83d<""#).starts_with("\u{fffd}")
                && !Text::Token(r#""\n""#).starts_with("n")
        );
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
