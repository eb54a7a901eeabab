//! `code.read`: which lines of which file a tool gave to the model.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{CodeRead, Range};
use engram_core::text::{DecodeBuffer, Text};

use super::calls::Kept;
use super::returned::Returned;
use super::schema::FileRead;
use crate::shared::linenum;
use crate::shared::spans::hash_and_anchors;
use crate::shared::value::{Value, text};

/// The tools cut lines that are longer than this before they show them.
const SHOWN_LINE: usize = 2000;

/// A read whose result says what was read, in its own fields.
#[inline(never)]
pub(super) fn structured(returned: &Returned<'_>, file: Value<'_>, room: &mut DecodeBuffer, out: &mut Emitter) -> Result<bool, Fault> {
    let file = FileRead::lenient(file);
    let argument = match returned.call.as_ref().map(|call| &call.kept) {
        Some(Kept::File(path)) => Some(Text::Token(path)),
        _ => None,
    };
    let Some(path) = text(file.path()).or(argument) else { return Ok(false) };
    let mut event =
        CodeRead { call_id: returned.call_id, file: path, range: None, total_lines: None, hash: None, anchor_hashes: Vec::new() };
    let content = text(file.content()).and_then(|content| content.decode_into(room).ok());
    let numbers = (file.start_line(), file.line_count(), file.total_lines());
    if let (Some(content), (Some(start), Some(count), Some(total))) = (content, numbers)
        && let (Some(start), Some(count), Some(total)) = (start.unsigned(), count.unsigned(), total.unsigned())
        && let Some(span) = span(content, start, count, total)
    {
        event.range = Some(span.range);
        event.total_lines = span.total_lines;
        (event.hash, event.anchor_hashes) = hash_and_anchors(span.text);
    }
    out.emit(event, Pointer::At("/toolUseResult/file"))?;
    Ok(true)
}

/// A read of which only the text for the model is logged, each line with its number.
pub(super) fn shown(
    returned: &Returned<'_>,
    path: Text<'_>,
    pointer: Pointer<'_>,
    room: &mut DecodeBuffer,
    out: &mut Emitter,
) -> Result<(), Fault> {
    let mut event =
        CodeRead { call_id: returned.call_id, file: path, range: None, total_lines: None, hash: None, anchor_hashes: Vec::new() };
    let content = returned.content.and_then(|content| content.decode_into(room).ok());
    if let Some(lines) = content.and_then(linenum::strip_gutter) {
        event.range = Some(lines.range);
        if lines.longest_line_bytes < SHOWN_LINE {
            (event.hash, event.anchor_hashes) = hash_and_anchors(&lines.text);
        }
    }
    out.emit(event, pointer)?;
    Ok(())
}

/// The lines that were read.
struct Span<'t> {
    range: Range,
    text: &'t str,
    total_lines: Option<u64>,
}

/// The harness splits at line ends, so it counts an empty line after the final one. It is left out exactly where the read
/// reaches it; how many lines the file has is known only then.
fn span(content: &str, start: u64, count: u64, total: u64) -> Option<Span<'_>> {
    let shown = memchr::memchr_iter(b'\n', content.as_bytes()).count() as u64 + 1;
    if shown != count || start == 0 {
        return None;
    }
    let last = start.checked_add(count)? - 1;
    let ends = last == total;
    let virtual_line = ends && (content.is_empty() || content.ends_with('\n'));
    let last = last - u64::from(virtual_line);
    let text = if virtual_line { content.strip_suffix('\n').unwrap_or(content) } else { content };
    Some(Span { range: Range { first: start, last }, text, total_lines: ends.then_some(last) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str, start: u64, count: u64, total: u64) -> Option<(u64, u64, &str, Option<u64>)> {
        span(content, start, count, total).map(|span| (span.range.first, span.range.last, span.text, span.total_lines))
    }

    #[test]
    fn the_line_after_the_final_line_end_is_left_out_where_the_read_reaches_it() {
        assert_eq!(read("a\nb\n", 1, 3, 3), Some((1, 2, "a\nb", Some(2))));
        assert_eq!(read("a\nb", 1, 2, 2), Some((1, 2, "a\nb", Some(2))));
        assert_eq!(read("b\n", 2, 2, 9), Some((2, 3, "b\n", None)));
        assert_eq!(read("", 1, 1, 1), Some((1, 0, "", Some(0))));
        assert_eq!(read("", 5, 1, 9), Some((5, 5, "", None)));
    }

    #[test]
    fn numbers_that_do_not_fit_the_text_say_nothing() {
        assert_eq!(read("a\nb", 1, 3, 3), None);
        assert_eq!(read("a", 0, 1, 1), None);
        assert_eq!(read("a", u64::MAX, 1, 1), None);
    }
}
