//! Reads: which lines `read_file` and `read_many_files` gave, and their text.

use std::sync::LazyLock;

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{CodeRead, Range};
use engram_core::text::Text;
use memchr::memmem::Finder;

use super::converter::Converter;
use super::results::MASKED;
use super::schema::{Call, FileArgs, parts};
use crate::shared::spans::{hash_and_anchors, line_count, whole_range};
use crate::shared::value::{Field, text};

/// What stands between the notice and the lines of a partial read (0.10.0 to 0.61.0).
const CONTENT: &str = "--- FILE CONTENT (truncated) ---\n";
/// How the notice gives the lines: `Status: Showing lines 3-7 of 11 total lines.`
const SHOWING: &str = "\nStatus: Showing lines ";
/// The end of a line that the harness cut.
const CUT_LINE: &str = "... [truncated]";
/// What newer versions may put behind a file: instructions that they found beside it.
static CONTEXT: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("--- Newly Discovered Project Context ---"));

/// Lines of a file.
struct Lines<'t> {
    range: Range,
    total: Option<u64>,
    /// The lines joined, where the log shows them as they are in the file.
    text: Option<&'t str>,
}

impl Converter {
    /// Converts what a call that succeeded read.
    pub fn read(&mut self, call: &Call<'_>, tool: Text<'_>, path: &str, n: usize, out: &mut Emitter) -> Result<(), Fault> {
        if !call.succeeded() {
            return Ok(());
        }
        if tool.eq_str("read_file") {
            self.read_file(call, path, n, out)
        } else if tool.eq_str("read_many_files") {
            self.read_many_files(call, path, n, out)
        } else {
            Ok(())
        }
    }

    #[inline(never)]
    fn read_file(&mut self, call: &Call<'_>, path: &str, n: usize, out: &mut Emitter) -> Result<(), Fault> {
        let args = FileArgs::lenient_opt(call.args());
        let (Some(file), Some(shown)) = (text(args.file_path()).or_else(|| text(args.absolute_path())), text(call.display())) else {
            return Ok(());
        };
        let mut event = CodeRead { call_id: text(call.id()), file, range: None, total_lines: None, hash: None, anchor_hashes: Vec::new() };
        let shown = shown.decode_lossy();
        let pointer = Pointer::Field(path, n, "/result");
        if !shown.is_empty() && !shown.starts_with("Read lines ") {
            // `Read image file: ...` gave the file in another form, `Skipped binary file: ...` gave nothing.
            return if shown.starts_with("Read ") { self.emit(event, pointer, out) } else { Ok(()) };
        }
        let Some(Ok(output)) = text(call.output()).map(|output| output.decode()) else { return self.emit(event, pointer, out) };
        let holds_context = CONTEXT.find(output.as_bytes()).is_some();
        let lines = if !shown.is_empty() {
            partial(&output)
        } else if holds_context || output.starts_with(MASKED) {
            None
        } else {
            whole_file(&output, &args)
        };
        if let Some(lines) = lines {
            event.range = Some(lines.range);
            event.total_lines = lines.total;
            if let Some(text) = lines.text.filter(|_| !holds_context) {
                (event.hash, event.anchor_hashes) = hash_and_anchors(text);
            }
        }
        self.emit(event, pointer, out)
    }

    /// Each file is a text of its own beside the result: `--- /path ---`, a blank line, the file, a blank line (up to 0.12.0).
    #[inline(never)]
    fn read_many_files(&mut self, call: &Call<'_>, path: &str, n: usize, out: &mut Emitter) -> Result<(), Fault> {
        for part in parts(call.result()) {
            let Some(Ok(shown)) = text(part.text()).map(|text| text.decode()) else { continue };
            let Some((file, content)) = shown.strip_prefix("--- ").and_then(|rest| rest.split_once(" ---\n\n")) else { continue };
            let Some(content) = content.strip_suffix("\n\n").filter(|_| !file.contains('\n')) else { continue };
            let whole = !content.starts_with("[WARNING: This file was truncated");
            let text = content.strip_suffix('\n').unwrap_or(content);
            let (hash, anchor_hashes) = if whole { hash_and_anchors(text) } else { Default::default() };
            let event = CodeRead {
                call_id: self::text(call.id()),
                file: Text::Plain(file),
                range: whole.then(|| whole_range(content)),
                total_lines: whole.then(|| line_count(content)),
                hash,
                anchor_hashes,
            };
            self.emit(event, Pointer::Field(path, n, "/result"), out)?;
        }
        Ok(())
    }
}

/// A read that gave the whole file as it is.
fn whole_file<'t>(output: &'t str, args: &FileArgs<'_>) -> Option<Lines<'t>> {
    let from_start = |first: Field<'_>, start: u64| first.is_none_or(|first| first.unsigned().is_some_and(|first| first <= start));
    if !from_start(args.offset(), 0) || !from_start(args.start_line(), 1) {
        return None;
    }
    let text = output.strip_suffix('\n').unwrap_or(output);
    Some(Lines { range: whole_range(output), total: Some(line_count(output)), text: Some(text) })
}

/// A read of some lines. The harness counts an empty line after a final line end, which is none here.
fn partial(output: &str) -> Option<Lines<'_>> {
    let (notice, content) = output.split_once(CONTENT)?;
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
    let beyond = ends_file && content.ends_with('\n');
    let text = if beyond { content.strip_suffix('\n').unwrap_or(content) } else { content };
    let last = last - u64::from(beyond);
    let is_cut = text.split('\n').any(|line| line.ends_with(CUT_LINE));
    Some(Lines { range: Range { first, last }, total: ends_file.then_some(last), text: Some(text).filter(|_| !is_cut) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(lines: &str, content: &str) -> String {
        format!(
            "\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines {lines} total lines.\nAction: ...\n\n{CONTENT}{content}"
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
    fn a_cut_line_is_no_text_of_the_file() {
        let cut = shown("1-1 of 9", "long... [truncated]");
        assert_eq!(partial(&cut).expect("lines").text, None);
        assert!(partial(&shown("1-3 of 9", "a")).is_none());
        assert!(partial("no notice").is_none());
    }
}
