//! What `edit`, `write_file` and `notebook_edit` changed.
//!
//! The result has the file before and after, but for the lines of sub-agents. `edit` writes `\n` for `\r\n` in both, which hashes do not
//! notice. Texts of more than 16,000 characters are cut in the log (`sanitizeFileDiffForRecording`).

use std::borrow::Cow;

use engram_core::event::{CodeEdit, EditOp};
use engram_core::hash::Hash;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::state::{OUTPUT, Returned, SHOWN};
use crate::qwen::readers::{Display, FileArgs};
use crate::shared::patch::unified_runs;
use crate::shared::spans::{
    ChangedSpan, Rewrite, has_crlf, set_run, set_snippet, set_whole_file, spans_between,
    with_unix_line_ends,
};
use crate::shared::value::{Field, is_true, text};

/// How the outputs begin of calls that made a file.
const CREATED: [&str; 2] = ["Created new file: ", "Successfully created "];
/// What is before the lines of the edited file that the model gets.
const SNIPPET: &str = " from the edited file:\n\n---\n\n";

/// A change of a part of a file, or a new file.
pub fn edit(file: Text<'_>, returned: &Returned<'_>, args: &FileArgs<'_>, out: &mut Emitter<'_>) {
    let op = match is_new(returned) {
        true => EditOp::Create,
        false => EditOp::Update,
    };
    let event = event(op, file, returned);
    if returned.display.diff().is_some() {
        return of_display(event, &returned.display, args, out);
    }
    let mut event = event;
    if let Some(new) = decoded(args.new_text()) {
        if op == EditOp::Create {
            set_whole_file(&mut event, &new);
        } else if is_in_snippet(returned, &new) {
            // The tool also finds text that differs from its arguments, so nothing is known of the text before.
            set_snippet(&mut event, None, Some(&new));
        }
    }
    out.emit(event, OUTPUT);
}

/// A file that was written as a whole.
pub fn write(file: Text<'_>, returned: &Returned<'_>, args: &FileArgs<'_>, out: &mut Emitter<'_>) {
    let op = match is_new(returned) {
        true => EditOp::Create,
        false => EditOp::Overwrite,
    };
    let mut event = event(op, file, returned);
    if returned.display.diff().is_some() {
        return of_display(event, &returned.display, args, out);
    }
    if let Some(content) = decoded(args.content()) {
        set_whole_file(&mut event, &content);
    }
    out.emit(event, OUTPUT);
}

fn event<'a>(op: EditOp, file: Text<'a>, returned: &Returned<'a>) -> CodeEdit<'a> {
    CodeEdit {
        call_id: returned.call_id,
        ..CodeEdit::new(op, text(returned.display.file()).unwrap_or(file))
    }
}

fn is_new(returned: &Returned<'_>) -> bool {
    let output = returned.output.map(|output| output.decode_lossy());
    output.is_some_and(|output| CREATED.iter().any(|begin| output.starts_with(begin)))
}

/// True if the lines after the edit, which the model gets, have this text.
fn is_in_snippet(returned: &Returned<'_>, new: &str) -> bool {
    let output = returned.output.map(|output| output.decode_lossy());
    output
        .as_deref()
        .and_then(|output| output.split_once(SNIPPET))
        .is_some_and(|(_, lines)| !new.is_empty() && lines.contains(new))
}

fn decoded(field: Field<'_>) -> Option<Cow<'_, str>> {
    text(field)?.decode().ok()
}

/// An edit by the file before and after, as far as the log has them.
fn of_display(
    mut event: CodeEdit<'_>,
    display: &Display<'_>,
    args: &FileArgs<'_>,
    out: &mut Emitter<'_>,
) {
    let whole = |field, is_cut| decoded(field).filter(|_| !is_true(is_cut));
    let after = whole(display.after(), display.is_after_cut());
    let before = match event.op {
        EditOp::Create => Some(Cow::Borrowed("")),
        _ => whole(display.before(), display.is_before_cut()),
    };
    // `edit` writes `\n` for `\r\n`, so the file had more than a `\r\n` that is left.
    let is_altered = |text: &Option<Cow<'_, str>>| text.as_deref().is_some_and(has_crlf);
    if event.op == EditOp::Update && (is_altered(&before) || is_altered(&after)) {
        out.emit(event, SHOWN);
        return;
    }
    if event.op != EditOp::Create {
        event.file_before_hash = before.as_deref().and_then(Hash::of_lossless_text);
    }
    event.file_after_hash = after.as_deref().and_then(Hash::of_lossless_text);
    let (Some(before), Some(after)) = (before, after) else {
        return of_diff(event, display, out);
    };
    if event.op != EditOp::Update {
        ChangedSpan::of_files(&before, &after).set_in(&mut event);
        out.emit(event, SHOWN);
        return;
    }
    let rewrite = replacement(&before, &after, args);
    for span in spans_between(&before, &after, rewrite.as_ref()) {
        let mut event = event.clone();
        span.set_in(&mut event);
        out.emit(event, SHOWN);
    }
}

/// The call's own replacement, if it leads to the text after.
fn replacement<'t>(before: &'t str, after: &str, args: &FileArgs<'_>) -> Option<Rewrite<'t>> {
    let plain = |field| decoded(field).map(with_unix_line_ends);
    let (old, new) = (plain(args.old_text())?, plain(args.new_text())?);
    let mut rewrite = Rewrite::new(before);
    rewrite.replace(&old, &new, is_true(args.replace_all()));
    (rewrite.after() == after).then_some(rewrite)
}

/// An edit of a file that is too large for the log: its diff has the changed lines, if it is not cut too.
fn of_diff(event: CodeEdit<'_>, display: &Display<'_>, out: &mut Emitter<'_>) {
    let diff = decoded(display.diff()).filter(|_| !is_true(display.is_diff_cut()));
    let hunks = diff
        .as_deref()
        .and_then(|diff| diff.find("\n@@ ").map(|at| &diff[at + 1..]));
    let runs = hunks
        .and_then(unified_runs)
        .filter(|_| event.op == EditOp::Update);
    let Some(runs) = runs.filter(|runs| !runs.is_empty()) else {
        out.emit(event, SHOWN);
        return;
    };
    for run in runs {
        let mut event = event.clone();
        set_run(&mut event, &run);
        out.emit(event, SHOWN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::value::{StructuralIndex, parse};

    fn args(json: &str, then: impl FnOnce(&FileArgs<'_>)) {
        let mut index = StructuralIndex::default();
        then(&FileArgs::lenient(parse(json, &mut index).unwrap()));
    }

    #[test]
    fn the_arguments_count_if_they_lead_to_the_text_after() {
        args(r#"{"old_string":"a\r\n","new_string":"b\n"}"#, |args| {
            assert!(replacement("a\na\n", "b\na\n", args).is_some());
            assert!(replacement("a\na\n", "b\nb\n", args).is_none());
        });
        args(
            r#"{"old_string":"a","new_string":"b","replace_all":true}"#,
            |args| {
                assert!(replacement("a\na\n", "b\nb\n", args).is_some());
            },
        );
    }
}
