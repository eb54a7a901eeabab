//! Text of logs as a person may see it: no character that moves a cursor, hides or reorders text, or changes colours.

use std::borrow::Cow;

/// The text with line ends as `\n`, without colour sequences, and with every other unsafe character replaced by a visible sign. Line ends
/// and tabs stay. What a renderer adds (colours, HTML) comes after this.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_unsafe) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let len = match colour_sequence(rest) {
            Some(len) => len,
            None => push_sign(&mut out, rest),
        };
        rest = &rest[len..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// As [`visible`], on one line.
pub fn visible_line(text: &str) -> String {
    let text = visible(text);
    text.split(['\n', '\t']).map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Control characters, characters that reorder text, and characters without any shape, in which text can be hidden. The joiners that emoji
/// and some scripts need are safe.
fn is_unsafe(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}' => true,
        c => c.is_control(),
    }
}

/// The length of the colour sequence (`ESC [ digits m`) that `text` begins with.
fn colour_sequence(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|c: char| !matches!(c, '0'..='9' | ';' | ':'))?;
    parameters[end..].starts_with('m').then_some(2 + end + 1)
}

/// Appends the sign for the unsafe character that `text` begins with, and returns how many bytes it replaces.
fn push_sign(out: &mut String, text: &str) -> usize {
    let Some(c) = text.chars().next() else { return 0 };
    match c {
        '\r' if text[1..].starts_with('\n') => {}
        '\0'..='\u{1f}' => out.extend(char::from_u32(0x2400 + u32::from(c))),
        '\u{7f}' => out.push('\u{2421}'),
        c => out.extend(c.escape_unicode()),
    }
    c.len_utf8()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_become_signs_and_colours_disappear() {
        assert_eq!(visible("\u{1b}[1;32mok\u{1b}[0m \u{1b}[2J\u{1b}]0;title\u{7} \u{9b}31m"), "ok ␛[2J␛]0;title␇ \\u{9b}31m");
        assert_eq!(visible("a\r\nb\rc\u{8}\u{7f}\0"), "a\nb␍c␈␡␀");
        assert_eq!(visible("\u{1b}[32"), "␛[32");
    }

    #[test]
    fn text_cannot_be_reordered_or_hidden() {
        let hidden = "a\u{202e}b\u{2066}c\u{200b}d\u{e0041}e\u{feff}";
        assert_eq!(visible(hidden), "a\\u{202e}b\\u{2066}c\\u{200b}d\\u{e0041}e\\u{feff}");
    }

    #[test]
    fn other_text_stays() {
        for text in ["", "plain\n\ttext", "é 日本語 👩‍👩‍👧 हिन्दी", "<script>"] {
            assert_eq!(visible(text), text);
        }
    }

    #[test]
    fn one_line_has_no_line_ends() {
        assert_eq!(visible_line(" a \n\n\tb\r\nc\u{2028}"), "a b c\\u{2028}");
    }
}
