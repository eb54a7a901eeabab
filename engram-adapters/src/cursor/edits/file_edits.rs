//! Edits by their texts: snippets, and whole files before and after.

use std::borrow::Cow;

use engram_core::event::{CodeEdit, EditOp, Range};
use engram_core::hash::Hash;
use engram_core::text::Text;

use crate::shared::patch::{ChangedRun, unified_runs};
use crate::shared::spans::{ChangedSpan, SpanFacts, line_count, span_facts, with_unix_line_ends};

/// What is known of a text: nothing if it is not valid Unicode.
fn snippet(text: Option<Text<'_>>) -> SpanFacts {
    text.and_then(|text| text.decode().ok())
        .map(|text| span_facts(&text))
        .unwrap_or_default()
}

/// Sets hashes and line counts of the old and new text of an edit whose lines are not known. Where both are the same (only a line end
/// changed, which the log does not have), nothing is known but the file.
pub(in crate::cursor) fn set_snippets(
    edit: &mut CodeEdit<'_>,
    before: Option<Text<'_>>,
    after: Option<Text<'_>>,
) {
    let (old, new) = (snippet(before), snippet(after));
    if old.0.is_some() && old.0 == new.0 {
        return;
    }
    edit.before_lines = old.0.and(before).map(lines);
    edit.after_lines = new.0.and(after).map(lines);
    (
        edit.before_hash,
        edit.before_anchor_hashes,
        edit.before_text,
    ) = old;
    (edit.after_hash, edit.after_anchor_hashes, edit.after_text) = new;
    edit.snippet = edit.before_hash.is_some() || edit.after_hash.is_some();
}

/// The number of lines of a text.
fn lines(text: Text<'_>) -> u64 {
    line_count(&text.decode_lossy())
}

/// The edits of one call by the whole file before and after it: one per changed span if a diff separates them. None if nothing changed.
/// Without the text before, the file is new.
pub(in crate::cursor) fn whole_file_edits<'a>(
    mut edit: CodeEdit<'a>,
    before: Option<Text<'_>>,
    after: Text<'_>,
    diff: Option<Text<'_>>,
) -> Vec<CodeEdit<'a>> {
    let content = |text: Option<Text<'_>>| {
        text.and_then(|text| {
            text.decode()
                .ok()
                .map(with_unix_line_ends)
                .map(Cow::into_owned)
        })
    };
    let had_before = before.is_some();
    match (content(before), content(Some(after))) {
        (Some(before), Some(after)) if before == after => return Vec::new(),
        (Some(before), Some(after)) => {
            edit.file_before_hash = Hash::of_lossless_text(&before);
            edit.file_after_hash = Hash::of_lossless_text(&after);
            if let Some(runs) = content(diff).and_then(|diff| proven_runs(&diff, &before, &after)) {
                return runs.iter().map(|run| run.edit(&edit)).collect();
            }
            ChangedSpan::trimmed(1, &before, 1, &after).set_in(&mut edit);
        }
        (None, Some(after)) => {
            edit.file_after_hash = Hash::of_lossless_text(&after);
            if !had_before && edit.op == EditOp::Create {
                ChangedSpan::of_files("", &after).set_in(&mut edit);
            }
        }
        _ => {}
    }
    vec![edit]
}

/// The edits that a rendered diff shows, one per changed run of lines. Without a diff that is one, or where the lines are the same on both
/// sides (a final line end was added or removed), only the file is known.
pub(in crate::cursor) fn diff_edits<'a>(
    edit: CodeEdit<'a>,
    diff: Option<&str>,
) -> Vec<CodeEdit<'a>> {
    let runs = diff.and_then(|diff| {
        unified_runs(&hunks(diff)?).map(|runs| runs.iter().map(OwnedRun::of).collect::<Vec<_>>())
    });
    let runs =
        runs.filter(|runs| !runs.is_empty() && runs.iter().all(|run| run.before.1 != run.after.1));
    runs.map_or_else(
        || vec![edit.clone()],
        |runs| runs.iter().map(|run| run.edit(&edit)).collect(),
    )
}

/// The hunks of a rendered diff, without the names of the files.
fn hunks(diff: &str) -> Option<String> {
    let at = if diff.starts_with("@@ ") {
        0
    } else {
        diff.find("\n@@ ")? + 1
    };
    let hunks = diff.get(at..)?;
    Some(if hunks.ends_with('\n') {
        hunks.to_owned()
    } else {
        format!("{hunks}\n")
    })
}

/// A changed run of lines: its range and its text, on each side.
struct OwnedRun {
    before: (Range, String),
    after: (Range, String),
}

impl OwnedRun {
    fn of(run: &ChangedRun<'_>) -> OwnedRun {
        let side = |first: u64, lines: &[&str]| {
            (
                Range {
                    first,
                    last: (first + lines.len() as u64).saturating_sub(1),
                },
                lines.join("\n"),
            )
        };
        OwnedRun {
            before: side(run.before_first, &run.before),
            after: side(run.after_first, &run.after),
        }
    }

    fn edit<'a>(&self, template: &CodeEdit<'a>) -> CodeEdit<'a> {
        let (before, after) = (&self.before, &self.after);
        let mut edit = template.clone();
        ChangedSpan {
            before: before.0,
            before_text: &before.1,
            after: after.0,
            after_text: &after.1,
        }
        .set_in(&mut edit);
        edit
    }
}

/// The changed runs of a rendered diff, if applying it to the text before gives the text after, line by line.
fn proven_runs(diff: &str, before: &str, after: &str) -> Option<Vec<OwnedRun>> {
    let closed = hunks(diff)?;
    let runs = unified_runs(&closed).filter(|runs| !runs.is_empty())?;
    let (before, after): (Vec<&str>, Vec<&str>) =
        (before.lines().collect(), after.lines().collect());
    let (mut from, mut to) = (0, 0);
    for run in &runs {
        let (from_run, to_run) = (
            usize::try_from(run.before_first).ok()?.checked_sub(1)?,
            usize::try_from(run.after_first).ok()?.checked_sub(1)?,
        );
        let is_unchanged = before.get(from..from_run)? == after.get(to..to_run)?;
        let (from_end, to_end) = (from_run + run.before.len(), to_run + run.after.len());
        if !is_unchanged
            || before.get(from_run..from_end)? != run.before
            || after.get(to_run..to_end)? != run.after
        {
            return None;
        }
        (from, to) = (from_end, to_end);
    }
    (before.get(from..)? == after.get(to..)?).then(|| runs.iter().map(OwnedRun::of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_has_no_side_before() {
        for text in ["a\nb\n", ""] {
            let edits = whole_file_edits(
                CodeEdit::new(EditOp::Create, Text::Plain("f")),
                None,
                Text::Plain(text),
                None,
            );
            let [edit] = edits.as_slice() else {
                panic!("{edits:?}")
            };
            assert_eq!(
                (edit.before_range, edit.before_hash, edit.after_hash),
                (None, None, span_facts(text.trim_end()).0)
            );
        }
    }

    #[test]
    fn a_diff_separates_spans_only_if_it_matches_the_texts() {
        let (before, after) = ("a\nb\nc\nd\n", "A\nb\nc\nd\ne");
        let diff = "--- a/x\n+++ b/x\n@@ -1,4 +1,5 @@\n-a\n+A\n b\n c\n d\n+e";
        let runs = proven_runs(diff, before, after).unwrap();
        let ranges: Vec<[u64; 4]> = runs
            .iter()
            .map(|run| {
                [
                    run.before.0.first,
                    run.before.0.last,
                    run.after.0.first,
                    run.after.0.last,
                ]
            })
            .collect();
        assert_eq!(ranges, [[1, 1, 1, 1], [5, 4, 5, 5]]);
        assert!(proven_runs(diff, "a\nb\nc\nx\n", after).is_none());
        assert!(proven_runs("no diff", before, after).is_none());
    }
}
