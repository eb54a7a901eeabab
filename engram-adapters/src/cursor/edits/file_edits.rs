//! Edits by their texts: snippets, and whole files before and after.

use std::borrow::Cow;

use engram_core::event::{CodeEdit, EditOp};
use engram_core::hash::Hash;
use engram_core::text::Text;

use crate::shared::patch::{ChangedRun, unified_runs};
use crate::shared::spans::{ChangedSpan, set_run, set_snippet, with_unix_line_ends};

/// Sets hashes and line counts of the old and new text of an edit whose lines are not known. Where both are the same (only a line end
/// changed, which the log does not have), nothing is known but the file.
pub(in crate::cursor) fn set_snippets(
    edit: &mut CodeEdit<'_>,
    before: Option<Text<'_>>,
    after: Option<Text<'_>>,
) {
    let before = before.and_then(|text| text.decode().ok());
    let after = after.and_then(|text| text.decode().ok());
    let (before, after) = (before.as_deref(), after.as_deref());
    let old = before.and_then(Hash::of_lossless_text);
    if old.is_none() || old != after.and_then(Hash::of_lossless_text) {
        set_snippet(edit, before, after);
    }
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
            let hunks = content(diff).and_then(|diff| hunks(&diff));
            let runs = hunks
                .as_deref()
                .and_then(|hunks| proven_runs(hunks, &before, &after));
            if let Some(runs) = runs {
                return run_edits(&edit, &runs);
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
    let hunks = diff.and_then(hunks);
    let runs = hunks.as_deref().and_then(unified_runs).unwrap_or_default();
    if runs.is_empty() || runs.iter().any(|run| run.before == run.after) {
        return vec![edit];
    }
    run_edits(&edit, &runs)
}

fn run_edits<'a>(edit: &CodeEdit<'a>, runs: &[ChangedRun<'_>]) -> Vec<CodeEdit<'a>> {
    let edit_of = |run: &ChangedRun<'_>| {
        let mut edit = edit.clone();
        set_run(&mut edit, run);
        edit
    };
    runs.iter().map(edit_of).collect()
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

/// The changed runs of hunks, if applying them to the text before gives the text after, line by line.
fn proven_runs<'h>(hunks: &'h str, before: &str, after: &str) -> Option<Vec<ChangedRun<'h>>> {
    let runs = unified_runs(hunks).filter(|runs| !runs.is_empty())?;
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
    (before.get(from..)? == after.get(to..)?).then_some(runs)
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
                (None, None, Hash::of_lossless_text(text.trim_end()))
            );
        }
    }

    #[test]
    fn a_diff_separates_spans_only_if_it_matches_the_texts() {
        let (before, after) = ("a\nb\nc\nd\n", "A\nb\nc\nd\ne");
        let diff = "--- a/x\n+++ b/x\n@@ -1,4 +1,5 @@\n-a\n+A\n b\n c\n d\n+e";
        let hunks = hunks(diff).unwrap();
        let runs = proven_runs(&hunks, before, after).unwrap();
        let lines: Vec<_> = runs
            .iter()
            .map(|run| {
                let (before, after) = (run.before.join("\n"), run.after.join("\n"));
                (run.before_first, before, run.after_first, after)
            })
            .collect();
        let expected = [(1, "a", 1, "A"), (5, "", 5, "e")];
        assert_eq!(
            lines,
            expected.map(|(from, old, to, new)| (from, old.to_owned(), to, new.to_owned()))
        );
        assert!(proven_runs(&hunks, "a\nb\nc\nx\n", after).is_none());
        assert!(super::hunks("no diff").is_none());
    }
}
