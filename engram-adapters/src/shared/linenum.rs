//! Text whose lines a tool numbered for display: the lines themselves, and which they are.

use engram_core::event::Range;

/// Lines taken out of numbered text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedLines {
    /// Which lines of the file they are.
    pub range: Range,
    /// The lines joined with `\n`, without a final one.
    pub text: String,
    /// The bytes of the longest.
    pub longest: usize,
}

/// The lines of `shown`, up to the first that has no number. None where the first line has none, or numbers do not follow each other.
///
/// An empty last line is left out: tools show one after the final line end of a file, where there is no line.
pub fn strip_gutter(shown: &str) -> Option<NumberedLines> {
    let mut text = String::with_capacity(shown.len());
    let mut longest = 0;
    // The number of the first line and what separates it, and the number that must come next.
    let (mut first, mut next) = (None, 0);
    let (mut rest, mut ends_empty) = (Some(shown), false);
    while let Some(shown) = rest {
        let (line, behind) = first_line(shown);
        let Some((number, separator, line)) = numbered(line) else {
            // What follows the lines is set off by an empty one.
            if line.is_empty() && first.is_some() {
                break;
            }
            return None;
        };
        match first {
            None => first = Some((number, separator)),
            Some((_, of_first)) if number != next || separator != of_first => return None,
            Some(_) => text.push('\n'),
        }
        text.push_str(line);
        longest = longest.max(line.len());
        (next, ends_empty, rest) = (number.wrapping_add(1), line.is_empty(), behind);
    }
    if ends_empty {
        text.pop();
        next = next.wrapping_sub(1);
    }
    let (first, _) = first.filter(|(first, _)| *first > 0)?;
    Some(NumberedLines { range: Range { first, last: next.wrapping_sub(1) }, text, longest })
}

/// The first line of a text, and what stands behind its line end.
fn first_line(text: &str) -> (&str, Option<&str>) {
    memchr::memchr(b'\n', text.as_bytes()).map_or((text, None), |at| (&text[..at], Some(&text[at + 1..])))
}

/// The number of a line, what separates it, and the line. Between them stands a tab or an arrow; before the number stand spaces.
fn numbered(line: &str) -> Option<(u64, char, &str)> {
    let mut at = line.bytes().take_while(|byte| *byte == b' ').count();
    let mut number: Option<u64> = None;
    for digit in line.bytes().skip(at).take_while(u8::is_ascii_digit) {
        number = Some(number.unwrap_or(0).checked_mul(10)?.checked_add(u64::from(digit - b'0'))?);
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
    fn all_forms_are_stripped() {
        for shown in ["     3\ta\tb\n     4\t\n     5\tc", "     3→a\tb\n     4→\n     5→c", "3\ta\tb\n4\t\n5\tc"] {
            assert_eq!(lines(shown), Some((3, 5, "a\tb\n\nc".into())), "{shown}");
        }
    }

    #[test]
    fn the_longest_line_is_known() {
        assert_eq!(strip_gutter("1\ta\n2\tbbb\n3\tcc").map(|lines| lines.longest), Some(3));
    }

    #[test]
    fn what_follows_the_lines_is_left_out() {
        assert_eq!(lines("1\ta\n2\t\n\n<system-reminder>\n3\tno line\n</system-reminder>"), Some((1, 1, "a".into())));
    }

    #[test]
    fn the_line_after_the_final_line_end_is_none() {
        assert_eq!(lines("     9→x\n    10→"), Some((9, 9, "x".into())));
        assert_eq!(lines("1\t"), Some((1, 0, String::new())));
    }

    #[test]
    fn other_text_is_refused() {
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
