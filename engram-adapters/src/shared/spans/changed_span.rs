//! One changed span of lines, and the hashes and anchors of its text.

use engram_core::event::{CodeEdit, EditOp, Range};

use super::edit_sides::{set_after, set_before};
use super::lines::{first_line, full_range, last_line, line_count, without_final_line_end};

/// One changed span: its lines before and after. Texts are lines joined with `\n`, without a final one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedSpan<'t> {
    /// The lines before: 1-based and inclusive. `last` is `first - 1` if there are none.
    pub before: Range,
    /// Their text.
    pub before_text: &'t str,
    /// The lines after, in the same form.
    pub after: Range,
    /// Their text.
    pub after_text: &'t str,
}

impl<'t> ChangedSpan<'t> {
    /// The span between two blocks of complete lines, without the lines that both begin or end with. The blocks begin at the lines
    /// `before_first` and `after_first`.
    pub fn trimmed(before_first: u64, before: &'t str, after_first: u64, after: &'t str) -> Self {
        let (mut old, mut new, mut skipped) = (before, after, 0);
        while !old.is_empty() && first_line(old) == first_line(new) {
            let line = first_line(old).len();
            (old, new, skipped) = (&old[line..], &new[line..], skipped + 1);
        }
        while !old.is_empty() && last_line(old) == last_line(new) {
            let line = last_line(old).len();
            (old, new) = (&old[..old.len() - line], &new[..new.len() - line]);
        }
        let side = |first: u64, lines: &'t str| {
            let first = first + skipped;
            (
                Range {
                    first,
                    last: first + line_count(lines) - 1,
                },
                without_final_line_end(lines),
            )
        };
        let ((before, before_text), (after, after_text)) =
            (side(before_first, old), side(after_first, new));
        ChangedSpan {
            before,
            before_text,
            after,
            after_text,
        }
    }

    /// The span of all lines of a file, before and after.
    pub fn of_files(before: &'t str, after: &'t str) -> Self {
        let side = |text: &'t str| (full_range(text), without_final_line_end(text));
        let ((before, before_text), (after, after_text)) = (side(before), side(after));
        ChangedSpan {
            before,
            before_text,
            after,
            after_text,
        }
    }

    /// Sets the ranges, hashes and anchors of an edit. A side whose text may differ from the file's bytes gets its range only. There is no
    /// file before it is created, and none after it is deleted, so that side gets nothing.
    pub fn set_in(&self, edit: &mut CodeEdit<'_>) {
        if edit.op != EditOp::Create {
            edit.before_range = Some(self.before);
            set_before(edit, self.before_text);
        }
        if edit.op != EditOp::Delete {
            edit.after_range = Some(self.after);
            set_after(edit, self.after_text);
        }
    }
}

#[cfg(test)]
mod tests {
    use engram_core::text::Text;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn line_ends_of_windows_are_no_part_of_a_hash() {
        let unix = ChangedSpan::trimmed(1, "a\nb\n", 1, "a\nc\n");
        let windows = ChangedSpan::trimmed(1, "a\r\nb\r\n", 1, "a\r\nc\r\n");
        assert_eq!(
            (windows.before_text, windows.after_text),
            (unix.before_text, unix.after_text)
        );
        assert_eq!(ChangedSpan::of_files("", "a\r\n").after_text, "a");
    }

    #[test]
    fn a_side_without_a_file_gets_nothing() {
        let sides = |op| {
            let mut edit = CodeEdit::new(op, Text::Plain("f"));
            ChangedSpan::of_files("", "").set_in(&mut edit);
            [
                edit.before_range.is_some(),
                edit.before_hash.is_some(),
                edit.after_range.is_some(),
                edit.after_hash.is_some(),
            ]
        };
        assert_eq!(sides(EditOp::Create), [false, false, true, true]);
        assert_eq!(sides(EditOp::Delete), [true, true, false, false]);
        assert_eq!(sides(EditOp::Update), [true; 4]);
    }

    proptest! {
        #[test]
        fn a_trimmed_span_contains_the_whole_change(before in "[ab\n]{0,30}", after in "[ab\n]{0,30}") {
            let span = ChangedSpan::trimmed(1, &before, 1, &after);
            let lines: Vec<&str> = before.lines().collect();
            let mut rebuilt = lines[..span.before.first as usize - 1].to_vec();
            prop_assert_eq!(span.before_text, lines[span.before.first as usize - 1..span.before.last as usize].join("\n"));
            let count = (span.after.last + 1 - span.after.first) as usize;
            rebuilt.extend(span.after_text.split('\n').take(count));
            rebuilt.extend_from_slice(&lines[span.before.last as usize..]);
            prop_assert_eq!(rebuilt, after.lines().collect::<Vec<_>>());
        }
    }
}
