//! The lines of a `structuredPatch`, with the lines of the file that they show.
//!
//! A patch is made for display: each tab at the beginning of a line is two spaces. All else is as in the file.

use std::borrow::Cow;

use crate::claude_code::readers::Hunk;
use crate::shared::value::{Field, Value};

/// What a line of a patch says about the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Unchanged,
    Removed,
    Added,
}

/// A line of a patch. A line that is only before the edit, or only after it, has on the other side the number of the next line.
#[derive(Clone, Copy)]
pub(super) struct PatchLine<'a> {
    pub side: Side,
    /// The 1-based number of the line before the edit.
    pub before: u64,
    /// The same after the edit.
    pub after: u64,
    line: Value<'a>,
}

impl<'a> PatchLine<'a> {
    /// The text, as displayed; none if it has half a surrogate pair.
    pub fn text(&self) -> Option<Cow<'a, str>> {
        match self.line.text()?.decode().ok()? {
            Cow::Borrowed(text) => text.get(1..).map(Cow::Borrowed),
            Cow::Owned(text) => text.get(1..).map(|text| Cow::Owned(text.to_owned())),
        }
    }

    pub fn is_before(&self) -> bool {
        self.side != Side::Added
    }

    pub fn is_after(&self) -> bool {
        self.side != Side::Removed
    }
}

/// The highest line number that is taken for one. Sums of it and the lines of a record cannot overflow.
pub(in crate::claude_code) const LAST_LINE: u64 = 1 << 40;

/// The lines of a hunk. Numbers that cannot be line numbers begin at 0.
pub(super) fn hunk_lines<'a>(hunk: &Hunk<'a>) -> impl Iterator<Item = PatchLine<'a>> + use<'a> {
    let start = |field: Field<'_>| {
        field
            .and_then(Value::unsigned)
            .filter(|start| *start <= LAST_LINE)
            .unwrap_or(0)
    };
    let (mut before, mut after) = (start(hunk.old_start()), start(hunk.new_start()));
    hunk.lines()
        .into_iter()
        .flat_map(Value::elements)
        .filter_map(move |line| {
            let side = match line.raw().as_bytes().get(1) {
                Some(b'-') => Side::Removed,
                Some(b'+') => Side::Added,
                // "\ No newline at end of file" is not a line of the file.
                _ if line.raw().starts_with("\"\\\\") => return None,
                _ => Side::Unchanged,
            };
            let at = PatchLine {
                side,
                before,
                after,
                line,
            };
            (before, after) = (
                before + u64::from(at.is_before()),
                after + u64::from(at.is_after()),
            );
            Some(at)
        })
}

/// The lines of all hunks of a patch.
pub(super) fn patch_lines<'a>(patch: Field<'a>) -> impl Iterator<Item = PatchLine<'a>> {
    patch
        .into_iter()
        .flat_map(Value::elements)
        .flat_map(|hunk| hunk_lines(&Hunk::lenient(hunk)))
}

/// How many lines the patch adds to the file, or removes if negative. None without a patch.
pub(super) fn growth(patch: Field<'_>) -> Option<i64> {
    let mut grown: Option<i64> = None;
    for hunk in patch?.elements().map(Hunk::lenient) {
        let count = |field: Field<'_>| {
            field
                .and_then(Value::unsigned)
                .and_then(|count| i64::try_from(count).ok())
        };
        let more = count(hunk.new_lines())? - count(hunk.old_lines())?;
        grown = Some(grown.unwrap_or_default().checked_add(more)?);
    }
    grown
}

/// True for a patch without hunks, which changes nothing.
pub(super) fn is_empty(patch: Field<'_>) -> bool {
    patch.is_some_and(|patch| patch.is_array() && patch.elements().next().is_none())
}

/// A line of a file as a patch displays it.
pub(super) fn displayed(line: &str) -> Cow<'_, str> {
    let rest = line.trim_start_matches('\t');
    let tabs = line.len() - rest.len();
    if tabs == 0 {
        Cow::Borrowed(line)
    } else {
        Cow::Owned(format!("{}{rest}", "  ".repeat(tabs)))
    }
}

/// True if a patch displays this line of a file so. A `\r` at its end may be that of a line end.
pub(super) fn is_displayed_as(line: &str, shown: &str) -> bool {
    line == shown || {
        let line = displayed(line);
        line == shown || shown.strip_suffix('\r').is_some_and(|shown| line == shown)
    }
}

/// True if several lines are displayed as this one: its beginning may be a tab, or spaces.
pub(super) fn is_ambiguous(shown: &str) -> bool {
    shown.starts_with("  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::value::{StructuralIndex, parse};

    #[test]
    fn counts_that_cannot_be_give_no_growth() {
        let hunk = format!(r#"{{"oldLines":0,"newLines":{}}}"#, i64::MAX);
        let mut index = StructuralIndex::default();
        let mut grown = |patch: &str| growth(Some(parse(patch, &mut index).unwrap()));
        assert_eq!(
            (
                grown(&format!("[{hunk}]")),
                grown(&format!("[{hunk},{hunk}]"))
            ),
            (Some(i64::MAX), None)
        );
    }

    #[test]
    fn tabs_at_the_beginning_are_displayed_as_spaces() {
        assert_eq!(displayed("\t\ta\tb"), "    a\tb");
        assert_eq!(displayed(" \ta"), " \ta");
        assert!(
            is_displayed_as("\ta", "  a")
                && is_displayed_as("a", "a\r")
                && is_displayed_as("a\r", "a\r")
        );
        assert!(!is_displayed_as("\ta", " a") && !is_displayed_as("a\r", "a"));
    }
}
