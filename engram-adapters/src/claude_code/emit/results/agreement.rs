//! Whether an edit is what its patch shows. Where they differ, the patch shows what was written: the harness keeps the quotation
//! marks of the file, for example, whatever the new text has.

use std::ops::Range as Bytes;

use super::patch_lines::{Side, displayed, is_ambiguous, is_displayed_as, patch_lines};
use crate::shared::spans::Rewrite;
use crate::shared::value::Field;

/// True if the patch has no line of the file before the edit that is another one in this text.
pub(super) fn fits_before(before: &str, patch: Field<'_>) -> bool {
    let mut lines = LineCursor::new(before);
    patch_lines(patch)
        .filter(|line| line.is_before())
        .all(|line| {
            let number = line.before;
            line.text().is_some_and(|shown| {
                lines
                    .find(number)
                    .is_some_and(|at| is_displayed_as(&before[at], &shown))
            })
        })
}

/// Sets the lines that the patch shows to be written otherwise. False if what was written is not known exactly.
#[inline(never)]
pub(super) fn settle(rewrite: &mut Rewrite<'_>, patch: Field<'_>) -> bool {
    let mut written: Vec<(Bytes<usize>, String)> = Vec::new();
    let after = rewrite.after();
    let mut lines = LineCursor::new(after);
    for line in patch_lines(patch).filter(|line| line.is_after()) {
        let (Some(shown), Some(at)) = (line.text(), lines.find(line.after)) else {
            return false;
        };
        if is_displayed_as(&after[at.clone()], &shown) {
            continue;
        }
        match as_written(&after[at.clone()], &shown).filter(|_| line.side == Side::Added) {
            Some(text) => written.push((at, text)),
            None => return false,
        }
    }
    written.is_empty()
        || rewrite.replace_each(written.iter().map(|(at, text)| (at.clone(), text.as_str())))
}

/// The line of the file that is displayed so, if it begins with the same white space as the expected one, or has none there.
fn as_written(expected: &str, shown: &str) -> Option<String> {
    let indent = &expected[..expected.len() - expected.trim_start_matches(['\t', ' ']).len()];
    match shown.strip_prefix(&*displayed(indent)) {
        Some(rest) if !is_ambiguous(rest) => Some(format!("{indent}{rest}")),
        _ => (!is_ambiguous(shown)).then(|| shown.to_owned()),
    }
}

/// Finds lines of a text by ascending numbers.
struct LineCursor<'t> {
    text: &'t str,
    /// The number of the line at `start`.
    number: u64,
    start: usize,
}

impl<'t> LineCursor<'t> {
    fn new(text: &'t str) -> Self {
        LineCursor {
            text,
            number: 1,
            start: 0,
        }
    }

    /// The bytes of a line, without its line end. After a final line end there is one more, empty line.
    fn find(&mut self, number: u64) -> Option<Bytes<usize>> {
        let skipped = number.checked_sub(self.number)?;
        if let Some(last) = skipped.checked_sub(1) {
            let rest = &self.text.as_bytes()[self.start..];
            self.start += memchr::memchr_iter(b'\n', rest).nth(usize::try_from(last).ok()?)? + 1;
            self.number = number;
        }
        let rest = &self.text.as_bytes()[self.start..];
        Some(self.start..self.start + memchr::memchr(b'\n', rest).unwrap_or(rest.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_by_number() {
        let mut lines = LineCursor::new("a\nbc\n\nd\n");
        let found = [1, 2, 2, 4, 5, 6, 1].map(|number| lines.find(number));
        assert_eq!(
            found,
            [
                Some(0..1),
                Some(2..4),
                Some(2..4),
                Some(6..7),
                Some(8..8),
                None,
                None
            ]
        );
    }

    #[test]
    fn a_line_is_known_if_its_indentation_is() {
        assert_eq!(
            as_written("\tsay \"x\"", "  say “x”").as_deref(),
            Some("\tsay “x”")
        );
        assert_eq!(
            as_written("say \"x\"", "say “x”").as_deref(),
            Some("say “x”")
        );
        assert_eq!(as_written("x", "  “x”"), None);
    }
}
