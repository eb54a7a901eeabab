//! What `edit` and `write` changed.

use std::borrow::Cow;

use engram_core::emit::Pointer;
use engram_core::event::{CodeEdit, EditOp};
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::state::FileCall;
use crate::shared::patch::{
    ChangedRun, FileChange, Snippet, begin_patch, quoted_name, unified_runs,
};
use crate::shared::spans::{set_after, set_run, set_run_ranges, set_snippet, set_whole_file};
use crate::shared::value::{Value, is_true, text};

const DETAILS: Pointer<'static> = Pointer::At("/message/details");

/// An edit, one event for each changed run of lines. Without a diff (an extension may leave it out) only the file is known, or what was asked for
/// where OpenClaw cut the details of the result.
pub fn edit(file: Text<'_>, call: &FileCall<'_>, out: &mut Emitter<'_>) {
    let decoded = |field| text(field).map(|text| text.decode_lossy());
    let (patch, shown) = (decoded(call.details.patch()), decoded(call.details.diff()));
    let runs = patch.as_deref().and_then(patch_runs);
    let runs = runs.or_else(|| shown.as_deref().and_then(shown_runs));
    // An extension may change the arguments of a call: what was written is what the patch names.
    let named = patch.as_deref().and_then(patched);
    let file = named.as_deref().map_or(file, Text::Plain);
    let event = || CodeEdit {
        call_id: call.call_id,
        ..CodeEdit::new(EditOp::Update, file)
    };
    let Some(runs) = runs else {
        let asked = call.args.edits().filter(|_| is_true(call.details.cut()));
        for edit in asked.into_iter().flat_map(Value::elements) {
            let text = |name| text(edit.member(name)).map(|text| text.decode_lossy());
            let (old, new) = (text("oldText"), text("newText"));
            let mut event = event();
            set_snippet(&mut event, old.as_deref(), new.as_deref());
            out.emit(event, DETAILS);
        }
        if asked.is_none() {
            out.emit(event(), DETAILS);
        }
        return;
    };
    for run in runs {
        let mut event = event();
        if call.is_exact && patch.is_some() {
            set_run(&mut event, &run);
        } else {
            // Before 0.79.10 the text before may be a simpler form of the file's. What was written is as it is.
            set_run_ranges(&mut event, &run);
            set_after(&mut event, &run.after.join("\n"));
        }
        out.emit(event, DETAILS);
    }
}

/// The file that a unified diff names.
fn patched(patch: &str) -> Option<Cow<'_, str>> {
    quoted_name(patch.lines().nth(1)?.strip_prefix("+++ ")?)
}

/// The runs of a unified diff with two lines of file names before it.
fn patch_runs(patch: &str) -> Option<Vec<ChangedRun<'_>>> {
    let hunks = patch.splitn(3, '\n').nth(2)?;
    unified_runs(hunks).filter(|runs| !runs.is_empty())
}

/// The runs of a diff for display (0.73.1): `-12 text`, `+12 text`, ` 12 text`, and ` ...` where lines are left out.
fn shown_runs(diff: &str) -> Option<Vec<ChangedRun<'_>>> {
    let mut runs: Vec<ChangedRun<'_>> = Vec::new();
    let (mut before, mut after, mut in_run) = (1, 1, false);
    for line in diff.split('\n') {
        let Some((sign, number, text)) = numbered(line)? else {
            in_run = false;
            continue;
        };
        if sign == ' ' {
            // The lines that were left out are the same on both sides.
            after = (number + 1 + after).checked_sub(before)?;
            before = number + 1;
            in_run = false;
            continue;
        }
        if !in_run {
            runs.push(ChangedRun {
                before_first: before,
                before: Vec::new(),
                after_first: after,
                after: Vec::new(),
            });
            in_run = true;
        }
        let run = runs.last_mut()?;
        let (next, lines) = match sign {
            '-' => (&mut before, &mut run.before),
            _ => (&mut after, &mut run.after),
        };
        if number != *next {
            return None;
        }
        *next += 1;
        lines.push(Cow::Borrowed(text));
    }
    Some(runs).filter(|runs| !runs.is_empty())
}

/// Sign, number and text of a line of a diff for display; no line where some are left out. No result for other texts.
fn numbered(line: &str) -> Option<Option<(char, u64, &str)>> {
    let sign = line
        .chars()
        .next()
        .filter(|sign| matches!(sign, ' ' | '-' | '+'))?;
    let rest = line[1..].trim_start_matches(' ');
    if sign == ' ' && rest == "..." {
        return Some(None);
    }
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let number = rest[..digits]
        .parse()
        .ok()
        .filter(|number| *number < 1 << 40)?;
    Some(Some((sign, number, rest[digits..].strip_prefix(' ')?)))
}

/// The files of a patch (`apply_patch` of OpenClaw), and where a moved one went. Its lines have no numbers, and those around a change stay as they
/// are in the file: a changed file has snippets of the changed lines alone. An added file was not there before.
pub fn patch(text: &str, mut emit: impl FnMut(CodeEdit<'_>, Option<&str>)) {
    for file in begin_patch(text).unwrap_or_default() {
        let edit = |op| CodeEdit::new(op, Text::Plain(file.path));
        match &file.change {
            FileChange::Add(lines) => {
                let text: String = lines.iter().flat_map(|line| [*line, "\n"]).collect();
                let mut event = edit(EditOp::Create);
                set_whole_file(&mut event, &text);
                emit(event, None);
            }
            FileChange::Delete => emit(edit(EditOp::Delete), None),
            FileChange::Update { move_to, hunks } => {
                if move_to.is_some() {
                    emit(edit(EditOp::Move), *move_to);
                }
                let path = Text::Plain(move_to.unwrap_or(file.path));
                for (before, after) in hunks.iter().flat_map(Snippet::changes) {
                    let mut event = CodeEdit::new(EditOp::Update, path);
                    set_snippet(&mut event, before.as_deref(), after.as_deref());
                    emit(event, None);
                }
            }
        }
    }
}

/// A file that was written as a whole. Pi's log does not say whether it was there before; if the session knows it, it was.
pub fn write(file: Text<'_>, call: &FileCall<'_>, out: &mut Emitter<'_>) {
    let is_new = call.details.created().map(|created| is_true(Some(created)));
    let op = match is_new.unwrap_or(!call.is_known) {
        true => EditOp::Create,
        false => EditOp::Overwrite,
    };
    let mut event = CodeEdit {
        call_id: call.call_id,
        ..CodeEdit::new(op, file)
    };
    if let Some(content) = text(call.args.content()) {
        set_whole_file(&mut event, &content.decode_lossy());
    }
    out.emit(event, Pointer::At("/message/content"));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of each run: the first line before, the lines before, the first line after, the lines after.
    fn runs(diff: &str) -> Option<Vec<(u64, String, u64, String)>> {
        let run = |run: ChangedRun<'_>| {
            (
                run.before_first,
                run.before.join("|"),
                run.after_first,
                run.after.join("|"),
            )
        };
        Some(shown_runs(diff)?.into_iter().map(run).collect())
    }

    #[test]
    fn a_diff_for_display_has_the_numbers_of_its_lines() {
        let diff = "  1 a\n- 2 b\n+ 2 B\n+ 3 C\n  3 d\n    ...\n 40 e\n-41 f\n 42 g";
        let found = [
            (2, "b".to_owned(), 2, "B|C".to_owned()),
            (41, "f".to_owned(), 42, String::new()),
        ];
        assert_eq!(runs(diff), Some(found.to_vec()));
        // An insertion before the first line, and an empty line.
        assert_eq!(
            runs("+1 \n 1 a"),
            Some(vec![(1, String::new(), 1, String::new())])
        );
        assert_eq!(runs("-7 a"), None);
        assert_eq!(runs("no diff"), None);
    }
}
