//! `code.read`: which lines of a file a tool showed to the model.

use engram_core::emit::Pointer;
use engram_core::event::{CodeRead, Range};
use engram_core::steps::Emitter;
use engram_core::text::{DecodeBuffer, Text};

use super::result_context::ResultContext;
use crate::claude_code::emit::state::marked_files::MarkedFiles;
use crate::claude_code::emit::state::open_calls::KeptArguments;
use crate::claude_code::readers::FileRead;
use crate::shared::linenum;
use crate::shared::spans::{span_facts, without_final_line_end};
use crate::shared::value::{Value, text};

/// The harness truncates lines of this length and more, in bytes, before the model sees them.
const MAX_SHOWN_LINE: usize = 2000;

/// A read whose structured result has what was read.
#[inline(never)]
pub(super) fn emit_read(
    result: &ResultContext<'_>,
    file: Value<'_>,
    marked: &MarkedFiles,
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
        // The first line lacks the mark that the file has.
        if span.range.first > 1 || !marked.has(path) {
            (event.hash, event.anchor_hashes, event.text) = span_facts(span.text);
        }
    }
    out.emit(event, Pointer::At("/toolUseResult/file"));
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
