//! Lines of a text: counting, ranges, and the first and last one. A final `\n` ends the last line and begins none.

use std::borrow::Cow;
use std::ops::Range as Bytes;

use engram_core::event::Range;

/// The number of line ends in a part of a text.
pub(super) fn line_ends(text: &str, part: &Bytes<usize>) -> u64 {
    memchr::memchr_iter(b'\n', &text.as_bytes()[part.clone()]).count() as u64
}

/// The first line of a text, with its line end.
pub(super) fn first_line(text: &str) -> &str {
    &text[..memchr::memchr(b'\n', text.as_bytes()).map_or(text.len(), |at| at + 1)]
}

/// The last line of a text, with its line end.
pub(super) fn last_line(text: &str) -> &str {
    let without_end = text.strip_suffix('\n').unwrap_or(text);
    &text[memchr::memrchr(b'\n', without_end.as_bytes()).map_or(0, |at| at + 1)..]
}

/// Lines without the line end of the last one, `\n` or `\r\n`: the text of a span, which is hashed.
pub fn without_final_line_end(lines: &str) -> &str {
    lines
        .strip_suffix('\n')
        .map_or(lines, without_half_line_end)
}

/// Lines that were cut before the `\n` of the last one: without the `\r` that is left of its line end. Only where more lines follow; at
/// the end of a file a `\r` is no line end.
pub fn without_half_line_end(lines: &str) -> &str {
    lines.strip_suffix('\r').unwrap_or(lines)
}

/// True if the last line has no line end.
pub(super) fn has_open_line(text: &str) -> bool {
    !text.is_empty() && !text.ends_with('\n')
}

/// The number of lines of a text.
pub fn line_count(text: &str) -> u64 {
    line_ends(text, &(0..text.len())) + u64::from(has_open_line(text))
}

/// The range of all lines of a text: 1-based and inclusive.
pub fn full_range(text: &str) -> Range {
    Range {
        first: 1,
        last: line_count(text),
    }
}

/// The text with `\n` for each `\r\n`. A `\r` alone is no line end, and stays.
pub fn with_unix_line_ends(text: Cow<'_, str>) -> Cow<'_, str> {
    if memchr::memchr(b'\r', text.as_bytes()).is_some() {
        text.replace("\r\n", "\n").into()
    } else {
        text
    }
}

/// True if a text with `\n` for its line ends had a CR before one of them.
pub fn has_crlf(text: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), b"\r\n").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_line_ends_are_changed() {
        assert_eq!(
            with_unix_line_ends("a\r\nb\r\r\n\rc\n".into()),
            "a\nb\r\n\rc\n"
        );
        assert!(matches!(
            with_unix_line_ends("a\nb".into()),
            Cow::Borrowed("a\nb")
        ));
    }

    #[test]
    fn the_line_end_of_the_last_line_is_no_part_of_a_span() {
        assert_eq!(
            ["a\r\nb\r\n", "a\n", "a\r\r\n", "a\r", ""].map(without_final_line_end),
            ["a\r\nb", "a", "a\r", "a\r", ""]
        );
    }

    #[test]
    fn final_line_end_begins_no_line() {
        assert_eq!(
            [
                line_count(""),
                line_count("a"),
                line_count("a\n"),
                line_count("a\n\n")
            ],
            [0, 1, 1, 2]
        );
    }
}
