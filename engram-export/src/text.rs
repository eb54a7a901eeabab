//! Texts and JSON values of events as UTF-8. Half surrogate pairs become U+FFFD, and are noticed.

use std::borrow::Cow;
use std::sync::LazyLock;

use engram_core::text::{DecodeBuffer, Text, canonical_json, replace_lone_surrogates};
use memchr::memmem::Finder;

/// Finds what every half surrogate pair begins with. Few texts have it at all.
static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\\u"));

/// Decodes texts, and remembers whether anything was replaced.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: DecodeBuffer,
    is_lossy: bool,
}

impl Decoder {
    /// The text. It is valid until the next call.
    pub fn text<'r>(&'r mut self, text: Text<'r>) -> &'r str {
        self.is_lossy |= has_surrogate(text);
        text.decode_lossy_into(&mut self.buffer)
    }

    /// A JSON value of the source in canonical form.
    pub fn json<'r>(&mut self, json: &'r str) -> Cow<'r, str> {
        let canonical = canonical_json(json);
        if ESCAPE.find(canonical.as_bytes()).is_none() {
            return canonical;
        }
        match replace_lone_surrogates(&canonical) {
            Cow::Borrowed(_) => canonical,
            Cow::Owned(replaced) => {
                self.is_lossy = true;
                Cow::Owned(canonical_json(&replaced).into_owned())
            }
        }
    }

    /// True if a half surrogate pair was replaced since the last call.
    pub fn take_lossy(&mut self) -> bool {
        std::mem::take(&mut self.is_lossy)
    }
}

/// True if a text has half a surrogate pair.
fn has_surrogate(text: Text<'_>) -> bool {
    let (Text::Token(token) | Text::Canonical(token)) = text else {
        return false;
    };
    ESCAPE.find(token.as_bytes()).is_some()
        && matches!(replace_lone_surrogates(token), Cow::Owned(_))
}

/// The text with half surrogate pairs as U+FFFD.
pub fn owned(text: Text<'_>) -> String {
    text.decode_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_surrogate_pair_is_replaced_and_noticed_and_a_whole_pair_is_not() {
        let mut decoder = Decoder::default();
        for (token, text, lossy) in [
            (r#""a\ud800b""#, "a\u{fffd}b", true),
            (r#""\\ud800""#, "\\ud800", false),
            (r#""\uD83D\uDE00""#, "😀", false),
            (r#""\uDC00""#, "\u{fffd}", true),
            (r#""plain""#, "plain", false),
        ] {
            assert_eq!(decoder.text(Text::Token(token)), text);
            assert_eq!(decoder.take_lossy(), lossy, "{token}");
        }
        assert_eq!(
            decoder.json(r#"{ "a": "\ud800", "b": "\\ud800" }"#),
            r#"{"a":"�","b":"\\ud800"}"#
        );
        assert!(decoder.take_lossy());
        assert_eq!(decoder.json(r#"["\\ud800",1.0]"#), r#"["\\ud800",1.0]"#);
        assert!(!decoder.take_lossy());
    }
}
