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
        let len = match colour_sequence(rest).or_else(|| variant(&out, rest)) {
            Some((len, shown)) => {
                out.push_str(&rest[..shown]);
                len
            }
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
    text.split(['\n', '\t'])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Control characters, characters that reorder text, and characters without any shape, in which text can be hidden. The joiners that emoji
/// and some scripts need are safe.
fn is_unsafe(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{61c}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        // Letters and signs without a shape: hyphens, joiners, fillers, blanks, formats of other scripts and of music.
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{2800}'
        | '\u{3164}' | '\u{ffa0}' => true,
        '\u{13430}'..='\u{13440}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' => true,
        c => c.is_control(),
    }
}

/// The length of the selector of a variant that `text` begins with, if it selects one: of an emoji or a character of another script, and not
/// of a letter, where it would be hidden. All of it is shown.
fn variant(before: &str, text: &str) -> Option<(usize, usize)> {
    let selector = text
        .chars()
        .next()
        .filter(|c| matches!(c, '\u{fe00}'..='\u{fe0f}'))?;
    let base = before.chars().next_back()?;
    let is_key = matches!(base, '0'..='9' | '#' | '*')
        && text[selector.len_utf8()..].starts_with('\u{20e3}');
    let is_base = !base.is_ascii() && !base.is_whitespace() && !is_unsafe(base);
    (is_key || is_base).then_some((selector.len_utf8(), selector.len_utf8()))
}

/// The length of the colour sequence (`ESC [ digits m`) that `text` begins with, of which nothing is shown.
fn colour_sequence(text: &str) -> Option<(usize, usize)> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|c: char| !matches!(c, '0'..='9' | ';' | ':'))?;
    parameters[end..]
        .starts_with('m')
        .then_some((2 + end + 1, 0))
}

/// Appends the sign for the unsafe character that `text` begins with, and returns how many bytes it replaces.
fn push_sign(out: &mut String, text: &str) -> usize {
    let Some(c) = text.chars().next() else {
        return 0;
    };
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
        assert_eq!(
            visible("\u{1b}[1;32mok\u{1b}[0m \u{1b}[2J\u{1b}]0;title\u{7} \u{9b}31m"),
            "ok ␛[2J␛]0;title␇ \\u{9b}31m"
        );
        assert_eq!(visible("a\r\nb\rc\u{8}\u{7f}\0"), "a\nb␍c␈␡␀");
        assert_eq!(visible("\u{1b}[32"), "␛[32");
    }

    #[test]
    fn text_cannot_be_reordered_or_hidden() {
        let hidden = "a\u{202e}b\u{2066}c\u{200b}d\u{e0041}e\u{feff}";
        assert_eq!(
            visible(hidden),
            "a\\u{202e}b\\u{2066}c\\u{200b}d\\u{e0041}e\\u{feff}"
        );
    }

    #[test]
    fn no_character_without_a_shape_is_hidden() {
        let ranges = [
            '\u{fe00}'..='\u{fe0f}',
            '\u{180b}'..='\u{180f}',
            '\u{1d173}'..='\u{1d17a}',
            '\u{1bca0}'..='\u{1bca3}',
        ];
        let single = "\u{ad}\u{34f}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{2800}\u{3164}\u{ffa0}";
        for c in ranges.into_iter().flatten().chain(single.chars()) {
            assert_eq!(
                visible(&format!("a{c}b")),
                format!("a{}b", c.escape_unicode())
            );
        }
        // One variant, not a hidden text of them.
        assert_eq!(visible("❤\u{fe0f}\u{fe01}"), "❤\u{fe0f}\\u{fe01}");
    }

    #[test]
    fn other_text_stays() {
        for text in [
            "",
            "plain\n\ttext",
            "❤\u{fe0f} 1\u{fe0f}\u{20e3}",
            "é 日本語 👩‍👩‍👧 हिन्दी",
            "<script>",
        ] {
            assert_eq!(visible(text), text);
        }
    }

    #[test]
    fn one_line_has_no_line_ends() {
        assert_eq!(visible_line(" a \n\n\tb\r\nc\u{2028}"), "a b c\\u{2028}");
    }
}
