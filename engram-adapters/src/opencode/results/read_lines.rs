//! The lines in the output of `read`.

use engram_core::event::Range;
use memchr::memchr;

use crate::opencode::dialect::Dialect;

/// The longest line that `read` does not cut, in UTF-16 code units (0.1.174 to 1.18.34).
const MAX_LINE_UTF16: usize = 2000;

/// The highest line number that is accepted. Adding a number of lines to it cannot overflow.
const LAST_LINE: u64 = 1 << 40;

/// What `read` puts at the end of a cut line; the second since 1.14.34.
const CUT_LINE_ENDS: [&str; 2] = ["...", "... (line truncated to 2000 chars)"];

/// The lines that a read returned.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lines {
    pub range: Range,
    /// The number of lines of the whole file, if the output says it and counts lines only.
    pub total: Option<u64>,
    pub text: String,
    /// No line is cut.
    pub is_exact: bool,
}

impl Lines {
    /// These lines of a file.
    pub fn new(range: Range, total: Option<u64>, text: String) -> Lines {
        let is_exact = !text.split('\n').any(is_cut);
        Lines {
            range,
            total,
            text,
            is_exact,
        }
    }

    /// The lines of an output, which has one of the forms
    /// `<file>\n00001| text\n...` (up to 1.0.98), `...<content>1: text\n...` (1.1.65 to 1.3.2), `...<content>\n1: text\n...`.
    pub fn of(output: &str, dialect: Dialect) -> Option<Lines> {
        // The last is whether `read` counts the empty text after a final line end as a line, if that is known.
        let (rest, separator, counts_final_end) =
            if let Some(rest) = output.strip_prefix("<file>\n") {
                (rest, "| ", Some(true))
            } else {
                let (_, rest) = output.split_once("<type>file</type>\n<content>")?;
                match rest.strip_prefix('\n') {
                    Some(rest) => (rest, ": ", Some(false)),
                    None => (rest, ": ", dialect.counts_only_lines.then_some(false)),
                }
            };
        let mut lines: Vec<&str> = Vec::new();
        let mut first = None;
        let mut rest_of_output = rest;
        while let Some((number, text, after)) = numbered(rest_of_output, separator) {
            if number != first.map_or(number, |first| first + lines.len() as u64) {
                break;
            }
            first.get_or_insert(number);
            lines.push(text);
            rest_of_output = after;
        }
        let stated_total = total(rest_of_output);
        let reaches_end = stated_total.is_some()
            && rest_of_output.trim_start().starts_with("(End of file")
            || rest_of_output.trim_start().starts_with("</file>");
        let mut total = stated_total;
        // If it is not known whether an empty last line is a line, the range without it is true in both cases.
        if reaches_end && counts_final_end != Some(false) && lines.last() == Some(&"") {
            lines.pop();
            total = total
                .filter(|_| counts_final_end.is_some())
                .and_then(|total| total.checked_sub(1));
        }
        if first.is_none() && !reaches_end {
            return None;
        }
        let first = first.unwrap_or(1);
        let is_exact = !lines.iter().any(|line| is_cut(line));
        let range = Range {
            first,
            last: (first + lines.len() as u64).saturating_sub(1),
        };
        Some(Lines {
            range,
            total,
            text: lines.join("\n"),
            is_exact,
        })
    }
}

/// The number and text of the first line of `output`, and the rest of it. A `\r` is part of the line end.
pub(super) fn numbered<'o>(output: &'o str, separator: &str) -> Option<(u64, &'o str, &'o str)> {
    let digits = output.bytes().take_while(u8::is_ascii_digit).count();
    let rest = output[digits..].strip_prefix(separator)?;
    let end = memchr(b'\n', rest.as_bytes())?;
    let number = output[..digits]
        .parse()
        .ok()
        .filter(|number| (1..=LAST_LINE).contains(number))?;
    let text = &rest[..end];
    Some((
        number,
        text.strip_suffix('\r').unwrap_or(text),
        &rest[end + 1..],
    ))
}

/// The number of lines that the notice after the lines says.
fn total(notice: &str) -> Option<u64> {
    let notice = notice.trim_start();
    let (_, rest) = match notice.strip_prefix("(End of file - total ") {
        Some(rest) => ("", rest),
        None => notice.strip_prefix("(Showing lines ")?.split_once(" of ")?,
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest[..digits].parse().ok()
}

fn is_cut(line: &str) -> bool {
    CUT_LINE_ENDS.iter().any(|end| {
        line.strip_suffix(end)
            .is_some_and(|line| line.encode_utf16().count() == MAX_LINE_UTF16)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLDER: Dialect = Dialect {
        counts_only_lines: false,
        moves_are_links: true,
        is_step: false,
    };
    const NEWER: Dialect = Dialect {
        counts_only_lines: true,
        moves_are_links: true,
        is_step: false,
    };

    fn lines(output: &str, dialect: Dialect) -> (u64, u64, Option<u64>, String, bool) {
        let lines = Lines::of(output, dialect).unwrap();
        (
            lines.range.first,
            lines.range.last,
            lines.total,
            lines.text,
            lines.is_exact,
        )
    }

    #[test]
    fn numbers_that_cannot_be_are_no_lines() {
        assert_eq!(
            Lines::of("<file>\n18446744073709551615| a\n0| b\n\n</file>", OLDER),
            None
        );
    }

    #[test]
    fn a_final_line_end_is_not_counted_as_a_line() {
        let old = "<file>\n00001| a\n00002| b\n00003| \n\n(End of file - total 3 lines)\n</file>";
        assert_eq!(lines(old, NEWER), (1, 2, Some(2), "a\nb".into(), true));
        assert_eq!(
            lines("<file>\n00001| a\n00002| \n</file>", NEWER),
            (1, 1, None, "a".into(), true)
        );
        let middle = "<path>/f</path>\n<type>file</type>\n<content>1: a\n2: \n\n(End of file - total 2 lines)\n</content>";
        assert_eq!(lines(middle, OLDER), (1, 1, None, "a".into(), true));
        assert_eq!(lines(middle, NEWER), (1, 2, Some(2), "a\n".into(), true));
        let new = "<path>/f</path>\n<type>file</type>\n<content>\n1: a\n2: \n\n(End of file - total 2 lines)\n</content>";
        assert_eq!(lines(new, OLDER), (1, 2, Some(2), "a\n".into(), true));
    }

    #[test]
    fn a_partial_read_keeps_its_line_numbers() {
        let partial = "<path>/f</path>\n<type>file</type>\n<content>\n5: \n6: x: y\n\n(Showing lines 5-6 of 60. Use offset=7 to continue.)\n</content>";
        assert_eq!(
            lines(partial, OLDER),
            (5, 6, Some(60), "\nx: y".into(), true)
        );
        let old = "<file>\n00006| a\n00007| \n\n(File has more lines. Use 'offset' parameter to read beyond line 7)\n</file>";
        assert_eq!(lines(old, OLDER), (6, 7, None, "a\n".into(), true));
    }

    #[test]
    fn carriage_returns_are_part_of_line_ends_and_cut_lines_are_not_exact() {
        assert_eq!(
            lines("<file>\n00001| a\r\n00002| b\r\n00003| \n</file>", OLDER).3,
            "a\nb"
        );
        let long = format!("<file>\n00001| {}...\n</file>", "x".repeat(2000));
        assert!(!lines(&long, OLDER).4);
        assert!(lines("<file>\n00001| and so on...\n</file>", OLDER).4);
    }

    #[test]
    fn an_empty_file_has_no_lines() {
        assert_eq!(
            lines("<file>\n00001| \n</file>", OLDER),
            (1, 0, None, String::new(), true)
        );
        let new = "<path>/f</path>\n<type>file</type>\n<content>\n\n(End of file - total 0 lines)\n</content>";
        assert_eq!(lines(new, OLDER), (1, 0, Some(0), String::new(), true));
        assert_eq!(Lines::of("Image read successfully", OLDER), None);
    }
}
