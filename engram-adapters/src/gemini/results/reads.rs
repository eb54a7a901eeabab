//! Reads: the lines that `read_file` and `read_many_files` returned, and their text.

use std::sync::LazyLock;

use engram_core::emit::{Emitter, Fault};
use engram_core::event::{CodeRead, Range};
use engram_core::text::Text;
use memchr::memmem::Finder;

use super::call_record::CallRecord;
use crate::gemini::schema::{FileArgs, MASKED_OUTPUT, parts};
use crate::gemini::state::tally::RecordTally;
use crate::shared::spans::{full_range, hash_and_anchors, line_count, without_final_line_end, without_half_line_end};
use crate::shared::value::{Field, text};

/// The line between the notice and the lines of a partial read (0.10.0 to 0.61.0).
const CONTENT_HEADER: &str = "--- FILE CONTENT (truncated) ---\n";
/// What precedes the line numbers in the notice: `Status: Showing lines 3-7 of 11 total lines.`
const SHOWING: &str = "\nStatus: Showing lines ";
/// The end of a line that the harness cut.
const CUT_LINE_END: &str = "... [truncated]";
/// What newer versions may append to a file: instructions that they found in its directory.
static DISCOVERED_CONTEXT: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("--- Newly Discovered Project Context ---"));

/// Lines of a file.
struct Lines<'t> {
    range: Range,
    total: Option<u64>,
    /// The joined lines, if the log has them exactly as in the file.
    text: Option<&'t str>,
}

/// Emits what a successful `read_file` returned.
#[inline(never)]
pub(super) fn read_file(tally: &mut RecordTally, record: &CallRecord<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let call = record.call;
    let args = FileArgs::lenient_opt(call.args());
    let (Some(file), Some(shown)) = (text(args.file_path()).or_else(|| text(args.absolute_path())), text(call.display())) else {
        return Ok(());
    };
    let mut event = CodeRead { call_id: text(call.id()), file, range: None, total_lines: None, hash: None, anchor_hashes: Vec::new() };
    let shown = shown.comparable();
    let pointer = record.field("/result");
    if !shown.is_empty() && !shown.starts_with("Read lines ") {
        // `Read image file: ...` returns the file in another form, `Skipped binary file: ...` returns nothing.
        return if shown.starts_with("Read ") { tally.emit(event, pointer, out) } else { Ok(()) };
    }
    let Some(Ok(output)) = text(call.output()).map(|output| output.decode()) else { return tally.emit(event, pointer, out) };
    let has_context = DISCOVERED_CONTEXT.find(output.as_bytes()).is_some();
    let lines = if !shown.is_empty() {
        partial(&output)
    } else if has_context || output.starts_with(MASKED_OUTPUT) {
        None
    } else {
        whole_file(&output, &args)
    };
    if let Some(lines) = lines {
        event.range = Some(lines.range);
        event.total_lines = lines.total;
        if let Some(text) = lines.text.filter(|_| !has_context) {
            (event.hash, event.anchor_hashes) = hash_and_anchors(text);
        }
    }
    tally.emit(event, pointer, out)
}

/// Emits what a successful `read_many_files` returned. Each file is a text of its own next to the result: `--- /path ---`, a blank line,
/// the file, a blank line (up to 0.12.0).
#[inline(never)]
pub(super) fn read_many_files(tally: &mut RecordTally, record: &CallRecord<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    for part in parts(record.call.result()) {
        let Some(Ok(shown)) = text(part.text()).map(|text| text.decode()) else { continue };
        let Some((file, content)) = shown.strip_prefix("--- ").and_then(|rest| rest.split_once(" ---\n\n")) else { continue };
        let Some(content) = content.strip_suffix("\n\n").filter(|_| !file.contains('\n')) else { continue };
        let is_whole = !content.starts_with("[WARNING: This file was truncated");
        let text = without_final_line_end(content);
        let (hash, anchor_hashes) = if is_whole { hash_and_anchors(text) } else { Default::default() };
        let event = CodeRead {
            call_id: self::text(record.call.id()),
            file: Text::Plain(file),
            range: is_whole.then(|| full_range(content)),
            total_lines: is_whole.then(|| line_count(content)),
            hash,
            anchor_hashes,
        };
        tally.emit(event, record.field("/result"), out)?;
    }
    Ok(())
}

/// The lines of a whole file. None if the arguments request a later part.
fn whole_file<'t>(output: &'t str, args: &FileArgs<'_>) -> Option<Lines<'t>> {
    let is_from = |first: Field<'_>, start: u64| first.is_none_or(|first| first.unsigned().is_some_and(|first| first <= start));
    if !is_from(args.offset(), 0) || !is_from(args.start_line(), 1) {
        return None;
    }
    let text = without_final_line_end(output);
    Some(Lines { range: full_range(output), total: Some(line_count(output)), text: Some(text) })
}

/// The lines of a partial read. The harness counts the empty text after a final line end as a line; this does not.
fn partial(output: &str) -> Option<Lines<'_>> {
    let (notice, content) = output.split_once(CONTENT_HEADER)?;
    let (_, showing) = notice.split_once(SHOWING)?;
    let (first, rest) = showing.split_once('-')?;
    let (last, rest) = rest.split_once(" of ")?;
    let (total, _) = rest.split_once(" total lines")?;
    let (first, last, total): (u64, u64, u64) = (first.parse().ok()?, last.parse().ok()?, total.parse().ok()?);
    let shown = content.split('\n').count() as u64;
    if first == 0 || last < first || shown != last - first + 1 {
        return None;
    }
    let ends_file = last == total;
    let counts_final_end = ends_file && content.ends_with('\n');
    let text = match ends_file {
        true => without_final_line_end(content),
        false => without_half_line_end(content),
    };
    let last = last - u64::from(counts_final_end);
    let is_cut = text.split('\n').any(|line| line.ends_with(CUT_LINE_END));
    Some(Lines { range: Range { first, last }, total: ends_file.then_some(last), text: Some(text).filter(|_| !is_cut) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(lines: &str, content: &str) -> String {
        format!(
            "\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines {lines} total lines.\nAction: ...\n\n{CONTENT_HEADER}{content}"
        )
    }

    #[test]
    fn a_partial_read_ends_where_the_file_ends() {
        let middle = shown("3-4 of 11", "a\nb");
        let lines = partial(&middle).expect("lines");
        assert_eq!((lines.range, lines.total, lines.text), (Range { first: 3, last: 4 }, None, Some("a\nb")));
        let end = shown("10-11 of 11", "# end\n");
        let lines = partial(&end).expect("lines");
        assert_eq!((lines.range, lines.total, lines.text), (Range { first: 10, last: 10 }, Some(10), Some("# end")));
    }

    #[test]
    fn a_read_with_a_cut_line_has_no_text() {
        let cut = shown("1-1 of 9", "long... [truncated]");
        assert_eq!(partial(&cut).expect("lines").text, None);
        assert!(partial(&shown("1-3 of 9", "a")).is_none());
        assert!(partial("no notice").is_none());
    }
}
