//! The reads and edits that successful calls of the editor show.

use engram_core::emit::Fault;
use engram_core::event::{CodeEdit, CodeRead, EditOp, Range};
use engram_core::text::Text;

use super::call::{Call, PARAMS, POINTER, check};
use crate::cursor::edits::file_edits::whole_file_edits;
use crate::cursor::readers::{EditorLine, EditorParams, EditorResult};
use crate::cursor::steps::Out;
use crate::shared::spans::{span_facts, without_final_line_end, without_half_line_end};
use crate::shared::value::{count, integer, is_true, non_empty_text, raw_str, text};

/// Emits the read or the edits of a call that succeeded.
///
/// # Errors
/// Those of [`Out::emit`].
pub(super) fn emit(
    call: Call<'_>,
    params: &EditorParams<'_>,
    fields: &EditorResult<'_>,
    line: &EditorLine<'_>,
    out: &mut Out<'_, '_>,
) -> Result<(), Fault> {
    let file =
        non_empty_text(params.relative_workspace_path()).or(non_empty_text(params.target_file()));
    let changes = || {
        after(fields, line).is_some()
            || non_empty_text(fields.after_content_id()).is_some()
            || is_true(fields.is_applied())
            || fields.diff().is_some()
    };
    match (call.route, file) {
        ("read_file" | "read_file_v2", Some(file)) => emit_read(call, file, params, fields, out),
        ("delete_file", Some(_)) if is_true(fields.file_non_existent()) => Ok(()),
        ("delete_file", Some(file)) => {
            emit_edits(call, vec![CodeEdit::new(EditOp::Delete, file)], out)
        }
        (_, Some(file)) if changes() => emit_edits(call, changed(file, fields, line), out),
        (_, None) if changes() => {
            check("bubble#params", params.object(), PARAMS, call.route, out);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The whole file after an edit: a value of the store that the result names, or the result has it.
fn after<'r>(fields: &EditorResult<'r>, line: &EditorLine<'r>) -> Option<Text<'r>> {
    text(line.after().or(fields.contents_after_edit()))
}

/// The edits by the whole file before and after. A file whose text before is empty is taken as new: the editor names the empty text for a
/// file that is not there. A text that the store has lost is not known: then the edit has what is left.
fn changed<'r>(
    file: Text<'r>,
    fields: &EditorResult<'_>,
    line: &EditorLine<'_>,
) -> Vec<CodeEdit<'r>> {
    let stored = text(line.before().or(fields.contents_before_edit()));
    let before = stored.filter(|before| !before.is_empty());
    let named = raw_str(fields.before_content_id());
    let names_text = !named.is_empty() && !named.ends_with(EMPTY_TEXT);
    let is_old = before.is_some() || (stored.is_none() && names_text) || is_in_place(fields);
    let op = if is_old && !is_true(fields.file_was_created()) {
        EditOp::Update
    } else {
        EditOp::Create
    };
    let edit = CodeEdit::new(op, file);
    match after(fields, line) {
        Some(after) => whole_file_edits(edit, before, after, None),
        None => vec![edit],
    }
}

/// True for an older tool whose result has a diff for display and names no text: it does not say whether the file is new.
fn is_in_place(fields: &EditorResult<'_>) -> bool {
    fields.after_content_id().is_none() && fields.contents_after_edit().is_none()
}

/// SHA-256 of the empty text, which the editor names for a file that is not there.
const EMPTY_TEXT: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn emit_edits(
    call: Call<'_>,
    edits: Vec<CodeEdit<'_>>,
    out: &mut Out<'_, '_>,
) -> Result<(), Fault> {
    for edit in edits {
        let edit = CodeEdit {
            call_id: call.call_id,
            ..edit
        };
        out.emit_child(Some(call.seq), edit, POINTER)?;
    }
    Ok(())
}

/// A read. A result without content is a stub, which shows the file alone.
fn emit_read(
    call: Call<'_>,
    file: Text<'_>,
    params: &EditorParams<'_>,
    fields: &EditorResult<'_>,
    out: &mut Out<'_, '_>,
) -> Result<(), Fault> {
    let mut read = CodeRead {
        call_id: call.call_id,
        ..CodeRead::new(file)
    };
    let content = non_empty_text(fields.contents()).map(|content| content.decode());
    let stated = count(fields.first_line()).zip(count(fields.last_line()));
    if let Some(Ok(content)) = &content
        && let Some(shown) = match (stated, count(fields.total_lines())) {
            (Some((first, last)), _) => Shown::stated(content, first, last),
            (None, Some(total)) => {
                let (offset, limit) = (integer(params.offset()), count(params.limit()));
                Shown::of(content, offset, limit, total)
            }
            (None, None) => None,
        }
    {
        read.range = Some(shown.lines);
        read.total_lines = shown.is_to_end.then_some(shown.lines.last);
        let span = if shown.ends_line {
            without_final_line_end(content)
        } else {
            without_half_line_end(content)
        };
        (read.hash, read.anchor_hashes, read.text) = span_facts(span);
    }
    out.emit_child(Some(call.seq), read, POINTER)?;
    Ok(())
}

/// The lines that a read shows.
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    lines: Range,
    /// The last of them is the last one of the file.
    is_to_end: bool,
    /// The content has the line end of its last line.
    ends_line: bool,
}

impl Shown {
    /// By the first and the last line that the result of the older tool names.
    fn stated(content: &str, first: u64, last: u64) -> Option<Shown> {
        let shown = content.split('\n').count() as u64;
        let lines = last.checked_sub(first.checked_sub(1)?)?;
        let ends_line = shown.checked_sub(lines)? == 1 && content.ends_with('\n');
        (ends_line || shown == lines).then_some(Shown {
            lines: Range { first, last },
            is_to_end: false,
            ends_line,
        })
    }

    /// By the requested lines and the number of lines of the file. `None` where the content has another number of lines.
    ///
    /// The editor divides a file at each `\n`, counts the empty text after the last one as a line, and shows lines without the `\n` after
    /// the last of them (1,073 reads of an editor of July 2026). An offset counts from 1, a negative one from the end of the file.
    fn of(content: &str, offset: Option<i64>, limit: Option<u64>, total: u64) -> Option<Shown> {
        let first = match offset.unwrap_or(1) {
            0 => return None,
            offset if offset > 0 => offset.unsigned_abs(),
            offset => total.saturating_sub(offset.unsigned_abs()) + 1,
        };
        let requested = total.checked_sub(first - 1)?.min(limit.unwrap_or(u64::MAX));
        let shown = content.split('\n').count() as u64;
        let (is_whole, ends_with_line_end) =
            (first - 1 + requested == total, content.ends_with('\n'));
        let (lines, ends_line) = match shown.checked_sub(requested)? {
            // The empty text after the last line end of the file is no line.
            0 if is_whole && ends_with_line_end => (shown - 1, true),
            0 => (shown, false),
            1 if ends_with_line_end => (shown - 1, true),
            _ => return None,
        };
        Some(Shown {
            lines: Range {
                first,
                last: first - 1 + lines,
            },
            is_to_end: is_whole,
            ends_line,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(
        content: &str,
        offset: Option<i64>,
        limit: Option<u64>,
        total: u64,
    ) -> Option<[u64; 3]> {
        let shown = Shown::of(content, offset, limit, total)?;
        let total = if shown.is_to_end { shown.lines.last } else { 0 };
        Some([shown.lines.first, shown.lines.last, total])
    }

    #[test]
    fn lines_are_those_that_the_editor_counts_without_the_empty_text_at_the_end() {
        // A file `a\nb\n` has 3 lines for the editor, `a\nb` has 2.
        assert_eq!(shown("a\nb\n", None, None, 3), Some([1, 2, 2]));
        assert_eq!(shown("a\nb", None, None, 2), Some([1, 2, 2]));
        assert_eq!(shown("a\nb", None, Some(2), 9), Some([1, 2, 0]));
        assert_eq!(shown("b\nc\n", Some(2), None, 4), Some([2, 3, 3]));
        // The last of the lines is empty.
        assert_eq!(shown("a\n", Some(4), Some(2), 9), Some([4, 5, 0]));
        assert_eq!(shown("y\nz\n", Some(-3), Some(3), 60), Some([58, 59, 59]));
        assert_eq!(shown("a\nb\n", Some(-30), None, 3), Some([1, 2, 2]));
        // More text than lines were requested: the line end of the last one.
        assert_eq!(shown("a\nb\n", None, Some(2), 9), Some([1, 2, 0]));
        assert_eq!(shown("a\nb\n", None, None, 2), Some([1, 2, 2]));
    }

    #[test]
    fn lines_that_are_stated_are_compared_with_the_content() {
        let last = |content, first, last| Some(Shown::stated(content, first, last)?.lines.last);
        assert_eq!(last("a\nb", 3, 4), Some(4));
        assert_eq!(last("a\nb\n", 3, 4), Some(4));
        assert_eq!(last("a\nb\nc", 3, 4), None);
        assert_eq!(last("a", 0, 1), None);
        assert_eq!(last("a", 7, 2), None);
    }

    #[test]
    fn content_that_is_not_the_requested_lines_has_none() {
        assert_eq!(
            shown("a\nb", None, None, 9),
            None,
            "cut by the number of letters"
        );
        assert_eq!(shown("a\nb\nc", None, Some(2), 9), None);
        assert_eq!(shown("a", Some(7), None, 5), None, "after the end");
        assert_eq!(shown("Error: File not found", None, None, 0), None);
        assert_eq!(shown("a", Some(0), None, 5), None);
        assert_eq!(shown("a", Some(i64::MIN), Some(u64::MAX), u64::MAX), None);
    }
}
