//! Removes the line numbers that a tool adds to file text for display.

use engram_core::event::Range;

/// Consecutive lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedLines {
    /// Their line numbers: 1-based and inclusive. `last` is `first - 1` if there are none.
    pub range: Range,
    /// The lines joined with `\n`, without a final one.
    pub text: String,
    /// The length of the longest line in bytes.
    pub longest_line_bytes: usize,
}

/// The lines of `shown` without the gutter of line numbers (`  12\t` or `  12→`), up to the first empty line without a number. None if
/// another line has no number, or if the numbers are not consecutive.
///
/// An empty last line is dropped: tools show one after the final line end of a file, where there is no line.
///
/// ```
/// use engram_adapters::shared::linenum::strip_gutter;
///
/// let lines = strip_gutter("     3\tfn main() {\n     4\t}").expect("numbered lines");
/// assert_eq!((lines.range.first, lines.range.last, lines.text.as_str()), (3, 4, "fn main() {\n}"));
/// ```
pub fn strip_gutter(shown: &str) -> Option<NumberedLines> {
    let mut text = String::with_capacity(shown.len());
    let mut longest_line_bytes = 0;
    // Number and separator of the first line, and the number that the next line must have.
    let (mut first, mut next) = (None, 0);
    let (mut rest, mut ends_empty) = (Some(shown), false);
    while let Some(shown) = rest {
        let (line, after) = first_line(shown);
        let Some((number, separator, line)) = numbered(line) else {
            // An empty line separates the lines of the file from other text.
            if line.is_empty() && first.is_some() {
                break;
            }
            return None;
        };
        match first {
            None => first = Some((number, separator)),
            Some((_, first_separator)) if number != next || separator != first_separator => {
                return None;
            }
            Some(_) => text.push('\n'),
        }
        text.push_str(line);
        longest_line_bytes = longest_line_bytes.max(line.len());
        (next, ends_empty, rest) = (number.wrapping_add(1), line.is_empty(), after);
    }
    if ends_empty {
        text.pop();
        next = next.wrapping_sub(1);
    }
    let (first, _) = first.filter(|(first, _)| *first > 0)?;
    Some(NumberedLines {
        range: Range {
            first,
            last: next.wrapping_sub(1),
        },
        text,
        longest_line_bytes,
    })
}

/// The first line of a text, and the text after its line end.
fn first_line(text: &str) -> (&str, Option<&str>) {
    memchr::memchr(b'\n', text.as_bytes())
        .map_or((text, None), |at| (&text[..at], Some(&text[at + 1..])))
}

/// The number of a line, the separator (a tab or an arrow), and the line itself. Spaces may precede the number.
fn numbered(line: &str) -> Option<(u64, char, &str)> {
    let mut at = line.bytes().take_while(|byte| *byte == b' ').count();
    let mut number: Option<u64> = None;
    for digit in line.bytes().skip(at).take_while(u8::is_ascii_digit) {
        number = Some(
            number
                .unwrap_or(0)
                .checked_mul(10)?
                .checked_add(u64::from(digit - b'0'))?,
        );
        at += 1;
    }
    let rest = &line[at..];
    let (separator, rest) = match rest.strip_prefix("\t") {
        Some(rest) => ('\t', rest),
        None => ('→', rest.strip_prefix("→")?),
    };
    Some((number?, separator, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(shown: &str) -> Option<(u64, u64, String)> {
        strip_gutter(shown).map(|lines| (lines.range.first, lines.range.last, lines.text))
    }

    #[test]
    fn tabs_and_arrows_are_separators() {
        for shown in [
            "     3\ta\tb\n     4\t\n     5\tc",
            "     3→a\tb\n     4→\n     5→c",
            "3\ta\tb\n4\t\n5\tc",
        ] {
            assert_eq!(lines(shown), Some((3, 5, "a\tb\n\nc".into())), "{shown}");
        }
    }

    #[test]
    fn longest_line_is_measured() {
        assert_eq!(
            strip_gutter("1\ta\n2\tbbb\n3\tcc").map(|lines| lines.longest_line_bytes),
            Some(3)
        );
    }

    #[test]
    fn text_after_an_empty_line_is_dropped() {
        assert_eq!(
            lines("1\ta\n2\t\n\n<system-reminder>\n3\tnot a line\n</system-reminder>"),
            Some((1, 1, "a".into()))
        );
    }

    #[test]
    fn empty_last_line_is_dropped() {
        assert_eq!(lines("     9→x\n    10→"), Some((9, 9, "x".into())));
        assert_eq!(lines("1\t"), Some((1, 0, String::new())));
    }

    #[test]
    fn text_without_consecutive_numbers_is_none() {
        for shown in [
            "",
            "plain",
            "1\ta\n3\tb",
            "1\ta\nplain",
            "1\ta\n2→b",
            "\n1\ta",
            "<system-reminder>empty</system-reminder>",
            "0\ta",
            "18446744073709551616\ta",
        ] {
            assert_eq!(lines(shown), None, "{shown}");
        }
    }
}
