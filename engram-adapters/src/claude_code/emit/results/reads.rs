//! `code.read`: which lines of a file a tool showed to the model. Reads and edits whose result is only text: in sub-agents from 2.1.14 on, and in
//! copied history up to 2.0.29.
//!
//! Such a call succeeded, so its arguments give the file and the text, but not the lines.

use engram_core::emit::Pointer;
use engram_core::event::{CodeEdit, CodeRead, EditOp, Range};
use engram_core::keys::hash64;
use engram_core::steps::Emitter;
use engram_core::text::{DecodeBuffer, Text};
use engram_core::tool_kind::ToolKind;

use super::edits::decoded;
use super::located::snippet;
use super::result_context::{EditTarget, ResultContext};
use crate::claude_code::blocks::CONTENT;
use crate::claude_code::emit::state::Scratch;
use crate::claude_code::emit::state::last_edit::{EmptyFiles, LastCell, MarkedFiles};
use crate::claude_code::emit::state::open_calls::KeptArguments;
use crate::claude_code::readers::{FileArguments, FileRead};
use crate::claude_code::record::Replacement;
use crate::shared::linenum;
use crate::shared::spans::{set_whole_file, span_facts, without_final_line_end};
use crate::shared::value::{Value, is_true, parse, raw_str, text};

/// The harness truncates lines of this length and more, in bytes, before the model sees them.
const MAX_SHOWN_LINE: usize = 2000;

/// A read whose structured result has what was read.
#[inline(never)]
pub(super) fn emit_read(
    result: &ResultContext<'_>,
    file: Value<'_>,
    (marked, empty): (&MarkedFiles, &mut EmptyFiles),
    buffer: &mut DecodeBuffer,
    out: &mut Emitter,
) {
    let file = FileRead::lenient(file);
    let argument = match result.call.as_ref().map(|call| &call.arguments) {
        Some(KeptArguments::ReadFile(path)) => Some(Text::Token(path)),
        _ => None,
    };
    let Some(path) = text(file.path()).or(argument) else {
        return;
    };
    let mut event = CodeRead {
        call_id: result.call_id,
        ..CodeRead::new(path)
    };
    let content = text(file.content()).and_then(|content| content.decode_into(buffer).ok());
    let numbers = (file.start_line(), file.line_count(), file.total_lines());
    if let (Some(content), (Some(start), Some(count), Some(total))) = (content, numbers)
        && let (Some(start), Some(count), Some(total)) =
            (start.unsigned(), count.unsigned(), total.unsigned())
        && let Some(span) = span(content, start, count, total)
    {
        event.range = Some(span.range);
        event.total_lines = span.total_lines;
        empty.note(path, span.total_lines == Some(0));
        // The first line lacks the mark that the file has.
        if span.range.first > 1 || !marked.has(path) {
            (event.hash, event.anchor_hashes, event.text) = span_facts(span.text);
        }
    }
    out.emit(event, "/toolUseResult/file");
}

/// A read of which the log has only the text for the model, each line with its number.
pub(super) fn emit_shown_read(
    result: &ResultContext<'_>,
    path: Text<'_>,
    pointer: Pointer<'_>,
    buffer: &mut DecodeBuffer,
    out: &mut Emitter,
) {
    let mut event = CodeRead {
        call_id: result.call_id,
        ..CodeRead::new(path)
    };
    let content = result
        .content
        .and_then(|content| content.decode_into(buffer).ok());
    if let Some(lines) = content.and_then(linenum::strip_gutter) {
        event.range = Some(lines.range);
        if lines.longest_line_bytes < MAX_SHOWN_LINE {
            (event.hash, event.anchor_hashes, event.text) = span_facts(&lines.text);
        }
    }
    out.emit(event, pointer);
}

/// The lines that were read.
struct Span<'t> {
    range: Range,
    text: &'t str,
    total_lines: Option<u64>,
}

/// The lines that were read. The harness splits at line ends, so it counts an empty line after a final line end. That line is left
/// out if the read includes it. Only then is the number of lines of the file known.
fn span(content: &str, start: u64, count: u64, total: u64) -> Option<Span<'_>> {
    let shown = memchr::memchr_iter(b'\n', content.as_bytes()).count() as u64 + 1;
    if shown != count || start == 0 {
        return None;
    }
    let last = start.checked_add(count)? - 1;
    let ends = last == total;
    let has_empty_last = ends && (content.is_empty() || content.ends_with('\n'));
    let last = last - u64::from(has_empty_last);
    let text = if has_empty_last {
        without_final_line_end(content)
    } else {
        content
    };
    Some(Span {
        range: Range { first: start, last },
        text,
        total_lines: ends.then_some(last),
    })
}

/// Emits what the call's arguments show. `may_be_changed`: somebody was asked before the call ran and
/// may have changed its texts.
#[inline(never)]
pub(super) fn emit_from_arguments(
    result: &ResultContext<'_>,
    index: usize,
    (scratch, last_cell): (&mut Scratch, &mut LastCell),
    may_be_changed: bool,
    out: &mut Emitter,
) {
    let Some(call) = &result.call else {
        return;
    };
    let pointer = Pointer::Item(CONTENT, index);
    let json = match &call.arguments {
        KeptArguments::Nothing
        | KeptArguments::ReplacedText { .. }
        | KeptArguments::WrittenText(_) => return,
        KeptArguments::ReadFile(path) => {
            emit_shown_read(result, Text::Token(path), pointer, &mut scratch.text, out);
            return;
        }
        KeptArguments::All(json) => json,
    };
    let arguments = FileArguments::lenient_opt(parse(json, &mut scratch.arguments).ok());
    let file = text(arguments.path().or(arguments.notebook_path()));
    let Some(file) = file else { return };
    let edit = result.edit_of(file);
    match call.kind {
        ToolKind::Write if may_be_changed => {
            out.emit(edit.event(write_op(result.content)), pointer);
        }
        ToolKind::Write => emit_write(
            &edit,
            &arguments,
            result.content,
            pointer,
            &mut scratch.text,
            out,
        ),
        ToolKind::Edit if arguments.notebook_path().is_some() => {
            let is_replacement = matches!(raw_str(arguments.edit_mode()), "" | "replace");
            if !last_cell.set(is_replacement.then(|| hash64(&**json))) {
                return;
            }
            out.emit(edit.event(EditOp::Update), pointer);
        }
        ToolKind::Edit if may_be_changed => drop(out.emit(edit.event(EditOp::Update), pointer)),
        ToolKind::Edit => emit_snippets(&edit, &arguments, pointer, out),
        _ => {}
    }
}

/// Write: the arguments have the whole file. Only the text of the result shows whether it is new.
fn emit_write(
    edit: &EditTarget<'_>,
    arguments: &FileArguments<'_>,
    content: Option<Text<'_>>,
    pointer: Pointer<'_>,
    buffer: &mut DecodeBuffer,
    out: &mut Emitter,
) {
    let op = write_op(content);
    let mut event = edit.event(op);
    // Over a file with `\r\n`, some versions write another `\r`.
    let is_kept = |content: &Text<'_>| op == EditOp::Create || !content.raw().contains("\\r");
    if let Some(after) = text(arguments.content())
        .filter(is_kept)
        .and_then(|content| content.decode_into(buffer).ok())
    {
        set_whole_file(&mut event, after);
    }
    out.emit(event, pointer);
}

/// Whether the file is new, as the text of the result says it.
fn write_op(content: Option<Text<'_>>) -> EditOp {
    let created = content.is_some_and(|content| content.starts_with("File created successfully"));
    if created {
        EditOp::Create
    } else {
        EditOp::Overwrite
    }
}

/// Edit and MultiEdit: one snippet for each replacement.
fn emit_snippets(
    edit: &EditTarget<'_>,
    arguments: &FileArguments<'_>,
    pointer: Pointer<'_>,
    out: &mut Emitter,
) {
    let single = Replacement {
        old: arguments.old_string(),
        new: arguments.new_string(),
        everywhere: is_true(arguments.replace_all()),
    };
    for replacement in Replacement::list_or(arguments.edits(), single) {
        let (old, new) = (
            decoded(text(replacement.old)),
            decoded(text(replacement.new)),
        );
        out.emit(
            certain_snippet(edit, old.as_deref(), new.as_deref()),
            pointer,
        );
    }
}

/// The old and the new text as far as they are certain.
fn certain_snippet<'a>(
    edit: &EditTarget<'a>,
    old: Option<&str>,
    new: Option<&str>,
) -> CodeEdit<'a> {
    if !old.is_some_and(has_quotation_mark) {
        return snippet(edit, old, new);
    }
    if new.is_some_and(has_quotation_mark) {
        return edit.event(EditOp::Update);
    }
    snippet(edit, None, new)
}

/// The text of an edit with these marks is found in a file that has typographic ones, which newer versions keep in the new text.
fn has_quotation_mark(text: &str) -> bool {
    text.contains(['\'', '"'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(
        content: &str,
        start: u64,
        count: u64,
        total: u64,
    ) -> Option<(u64, u64, &str, Option<u64>)> {
        span(content, start, count, total).map(|span| {
            (
                span.range.first,
                span.range.last,
                span.text,
                span.total_lines,
            )
        })
    }

    #[test]
    fn an_empty_line_after_the_last_line_end_is_not_counted() {
        assert_eq!(read("a\nb\n", 1, 3, 3), Some((1, 2, "a\nb", Some(2))));
        assert_eq!(read("a\nb", 1, 2, 2), Some((1, 2, "a\nb", Some(2))));
        assert_eq!(read("b\n", 2, 2, 9), Some((2, 3, "b\n", None)));
        assert_eq!(read("", 1, 1, 1), Some((1, 0, "", Some(0))));
        assert_eq!(read("", 5, 1, 9), Some((5, 5, "", None)));
    }

    #[test]
    fn line_numbers_that_do_not_fit_the_text_give_no_range() {
        assert_eq!(read("a\nb", 1, 3, 3), None);
        assert_eq!(read("a", 0, 1, 1), None);
        assert_eq!(read("a", u64::MAX, 1, 1), None);
    }
}
