//! The files that successful calls read and changed.
//!
//! An edit is known from the file before and after, if the log has it (0.25.0 and later), else from the arguments of the call. `replace` also
//! finds text that differs from its arguments in white space, and may have a model correct them. So its arguments prove the text of the file
//! only together with the file.

use std::borrow::Cow;
use std::collections::HashMap;

use engram_core::emit::Pointer;
use engram_core::event::{CodeEdit, CodeRead, EditOp, Range};
use engram_core::hash::Hash;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::gemini::readers::{Call, FileArgs, FileChange};
use crate::gemini::schema::{
    MASKED_OUTPUT, may_have_context, parts, raw, split_context, without_hook,
};
use crate::shared::spans::{
    ChangedSpan, Rewrite, full_range, has_crlf, line_count, set_snippet, set_whole_file,
    span_facts, spans_between, with_unix_line_ends, without_final_line_end, without_half_line_end,
};
use crate::shared::value::{Field, is_true, non_empty_text, raw_str, text};

/// One call of a turn.
pub(super) struct CallRecord<'c> {
    pub call: Call<'c>,
    /// Its index in the list of calls.
    pub n: usize,
    /// The file before and after, as the call reports it.
    pub change: Option<FileChange<'c>>,
    /// Another call of the turn changed the same version of the same file, so one of the two changes is lost.
    ///
    /// From 0.35.3 to 0.47.0 the calls of a turn ran in parallel, and both report success.
    pub is_contested: bool,
}

impl CallRecord<'_> {
    /// The place of a field of the call.
    fn field(&self, field: &'static str) -> Pointer<'_> {
        Pointer::Field("/toolCalls", self.n, field)
    }
}

/// Sets the changes that the calls of a turn report. Only successful calls count: a cancelled call reports what it would have done.
pub(super) fn set_changes(calls: &mut [CallRecord<'_>]) {
    // The last change of each file.
    let mut last = HashMap::new();
    for n in 0..calls.len() {
        let call = &calls[n].call;
        let Some(file) = call.change().filter(|_| call.succeeded()) else {
            continue;
        };
        calls[n].change = Some(file);
        let Some(before) = last.insert(raw(file.file_path()), n) else {
            continue;
        };
        if calls[before]
            .change
            .is_some_and(|before| raw(before.original()) == raw(file.original()))
        {
            (calls[before].is_contested, calls[n].is_contested) = (true, true);
        }
    }
}

/// Emits what a successful call read or changed.
pub(super) fn events(record: &CallRecord<'_>, out: &mut Emitter<'_>) {
    let args = FileArgs::lenient_opt(record.call.args());
    match raw_str(record.call.name()) {
        "read_file" => read_file(record, &args, out),
        "read_many_files" => read_many_files(record, out),
        "replace" => edit(
            record,
            &Request {
                old: args.old_string(),
                new: args.new_string(),
                op: EditOp::Update,
                args,
            },
            out,
        ),
        "write_file" => edit(
            record,
            &Request {
                old: None,
                new: args.content(),
                op: EditOp::Overwrite,
                args,
            },
            out,
        ),
        // The tail call of a hook: the arguments are those of another tool.
        _ if record.change.is_some() => edit(
            record,
            &Request {
                args: FileArgs::lenient_opt(None),
                old: None,
                new: None,
                op: if raw_str(record.call.output()).starts_with("Successfully overwrote") {
                    EditOp::Overwrite
                } else {
                    EditOp::Update
                },
            },
            out,
        ),
        _ => {}
    }
}

/// The line between the notice and the lines of a partial read (0.10.0 to 0.61.0).
const CONTENT_HEADER: &str = "--- FILE CONTENT (truncated) ---\n";
/// What precedes the line numbers in the notice: `Status: Showing lines 3-7 of 11 total lines.`
const SHOWING: &str = "\nStatus: Showing lines ";
/// The end of a line that the harness cut.
const CUT_LINE_END: &str = "... [truncated]";
/// How the terminal shows a read of some lines, or of lines that the harness cut.
const SHOWN_LINES: [&str; 2] = ["Read lines ", "Read all "];

/// Lines of a file.
struct Lines<'t> {
    range: Range,
    total: Option<u64>,
    /// The joined lines, if the log has them exactly as in the file.
    text: Option<&'t str>,
}

/// Emits what a successful `read_file` returned.
#[inline(never)]
fn read_file(record: &CallRecord<'_>, args: &FileArgs<'_>, out: &mut Emitter<'_>) {
    let call = &record.call;
    let (Some(file), Some(shown)) = (
        text(args.file_path()).or_else(|| text(args.absolute_path())),
        text(call.display()),
    ) else {
        return;
    };
    let mut event = CodeRead {
        call_id: text(call.id()),
        ..CodeRead::new(file)
    };
    let shown = shown.comparable();
    let pointer = record.field("/result");
    let is_partial = SHOWN_LINES.iter().any(|begin| shown.starts_with(begin));
    if !shown.is_empty() && !is_partial {
        // `Read image file: ...` returns the file in another form, `Skipped binary file: ...` returns nothing.
        if shown.starts_with("Read ") {
            out.emit(event, pointer);
        }
        return;
    }
    let Some(Ok(output)) = text(call.output()).map(|output| output.decode()) else {
        out.emit(event, pointer);
        return;
    };
    let output = without_hook(&output);
    let output = split_context(output).map_or(output, |(output, _)| output);
    let lines = if is_partial {
        partial(output)
    } else if may_have_context(output) || output.starts_with(MASKED_OUTPUT) {
        None
    } else {
        whole_file(output, args)
    };
    if let Some(lines) = lines {
        event.range = Some(lines.range);
        event.total_lines = lines.total;
        if let Some(text) = lines.text.filter(|_| !may_have_context(output)) {
            (event.hash, event.anchor_hashes, event.text) = span_facts(text);
        }
    }
    out.emit(event, pointer);
}

/// Emits what a successful `read_many_files` returned. Each file is a text of its own next to the result: `--- /path ---`, a blank line,
/// the file, a blank line (up to 0.12.0).
#[inline(never)]
fn read_many_files(record: &CallRecord<'_>, out: &mut Emitter<'_>) {
    for part in parts(record.call.result()) {
        let Some(Ok(shown)) = text(part.text()).map(|text| text.decode()) else {
            continue;
        };
        let Some((file, content)) = shown
            .strip_prefix("--- ")
            .and_then(|rest| rest.split_once(" ---\n\n"))
        else {
            continue;
        };
        let Some(content) = content
            .strip_suffix("\n\n")
            .filter(|_| !file.contains('\n'))
        else {
            continue;
        };
        let is_whole = !content.starts_with("[WARNING: This file was truncated");
        let text = without_final_line_end(content);
        let (hash, anchor_hashes, text) = if is_whole {
            span_facts(text)
        } else {
            Default::default()
        };
        let event = CodeRead {
            call_id: self::text(record.call.id()),
            file: Text::Plain(file),
            range: is_whole.then(|| full_range(content)),
            total_lines: is_whole.then(|| line_count(content)),
            hash,
            anchor_hashes,
            text,
        };
        out.emit(event, record.field("/result"));
    }
}

/// The lines of a whole file. None if the arguments request a later part.
fn whole_file<'t>(output: &'t str, args: &FileArgs<'_>) -> Option<Lines<'t>> {
    let is_from = |first: Field<'_>, start: u64| {
        first.is_none_or(|first| first.unsigned().is_some_and(|first| first <= start))
    };
    if !is_from(args.offset(), 0) || !is_from(args.start_line(), 1) {
        return None;
    }
    let text = without_final_line_end(output);
    Some(Lines {
        range: full_range(output),
        total: Some(line_count(output)),
        text: Some(text),
    })
}

/// The lines of a partial read. The harness counts the empty text after a final line end as a line; this does not.
fn partial(output: &str) -> Option<Lines<'_>> {
    let (notice, content) = output.split_once(CONTENT_HEADER)?;
    let (_, showing) = notice.split_once(SHOWING)?;
    let (first, rest) = showing.split_once('-')?;
    let (last, rest) = rest.split_once(" of ")?;
    let (total, _) = rest.split_once(" total lines")?;
    let (first, last, total): (u64, u64, u64) =
        (first.parse().ok()?, last.parse().ok()?, total.parse().ok()?);
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
    Some(Lines {
        range: Range { first, last },
        total: ends_file.then_some(last),
        text: Some(text).filter(|_| !is_cut),
    })
}

/// What a call requests.
struct Request<'a> {
    args: FileArgs<'a>,
    old: Field<'a>,
    new: Field<'a>,
    /// The operation on a file that exists.
    op: EditOp,
}

impl Request<'_> {
    /// True if arguments and output show that the file did not exist.
    fn creates_file(&self, call: &Call<'_>) -> bool {
        match self.op {
            EditOp::Overwrite => raw_str(call.output()).starts_with("Successfully created"),
            _ => non_empty_text(self.old).is_none(),
        }
    }

    /// Sets what the arguments prove about the text of the file. `is_exact` if their texts are those in the file.
    fn set_spans(&self, edit: &mut CodeEdit<'_>, new: &str, is_exact: bool) {
        if edit.op == EditOp::Create && self.op == EditOp::Update {
            // The file that `replace` creates is exactly the new text.
            return set_whole_file(edit, new);
        }
        if !is_exact {
            return;
        }
        let old = text(self.old).and_then(|old| old.decode().ok());
        set_snippet(edit, old.as_deref(), Some(new));
        edit.snippet = true;
    }

    /// True if the arguments turn the file before into the file after.
    fn leads_from(&self, change: &FileChange<'_>) -> bool {
        let decoded = |field| text(field).and_then(|text| text.decode().ok());
        let (Some(before), Some(after)) =
            (decoded(change.original()), decoded(change.new_content()))
        else {
            return false;
        };
        self.op == EditOp::Overwrite || replacement(&before, &after, &self.args).is_some()
    }
}

#[inline(never)]
fn edit(record: &CallRecord<'_>, request: &Request<'_>, out: &mut Emitter<'_>) {
    let (is_unconfirmed, is_exact) = match &record.change {
        Some(change) if !record.is_contested => return file_versions(record, request, change, out),
        Some(change) => (true, request.leads_from(change)),
        None => (false, request.old.is_none()),
    };
    from_arguments(
        record,
        request,
        Source {
            is_unconfirmed,
            is_exact,
            place: record.field("/args"),
        },
        out,
    );
}

/// What the log says about an edit besides the arguments of its call.
struct Source<'s> {
    /// The change may have been lost.
    is_unconfirmed: bool,
    /// The texts in the arguments are those in the file.
    is_exact: bool,
    place: Pointer<'s>,
}

/// An edit of which the log has the whole file before and after.
fn file_versions(
    record: &CallRecord<'_>,
    request: &Request<'_>,
    change: &FileChange<'_>,
    out: &mut Emitter<'_>,
) {
    let place = record.field("/resultDisplay");
    let file = text(change.file_path()).or_else(|| text(request.args.file_path()));
    let (Some(file), Some(after)) = (file, text(change.new_content())) else {
        return;
    };
    let before = text(change.original()).unwrap_or(Text::Plain(""));
    let (Ok(before), Ok(after)) = (before.decode(), after.decode()) else {
        // A file cannot contain half a surrogate pair, so its real content is unknown.
        return from_arguments(
            record,
            request,
            Source {
                is_unconfirmed: false,
                is_exact: false,
                place,
            },
            out,
        );
    };
    let creates = is_true(change.is_new_file());
    let op = if creates { EditOp::Create } else { request.op };
    if before == after && op != EditOp::Create {
        return;
    }
    let mut edit = CodeEdit {
        call_id: text(record.call.id()),
        ..CodeEdit::new(op, file)
    };
    // `replace` writes `\n` for `\r\n` in the text of a file that it reads, so the file had more than a `\r\n` that is left. `write_file`
    // shows the file as it is (0.61.0).
    if op == EditOp::Update && (has_crlf(&before) || has_crlf(&after)) {
        out.emit(edit, place);
        return;
    }
    edit.file_before_hash = if creates {
        None
    } else {
        Hash::of_lossless_text(&before)
    };
    // A hook that ran behind the call may have changed the file again.
    edit.file_after_hash = Hash::of_lossless_text(&after).filter(|_| !record.call.has_hook());
    if op != EditOp::Update {
        ChangedSpan::of_files(&before, &after).set_in(&mut edit);
        out.emit(edit, place);
        return;
    }
    let rewrite = replacement(&before, &after, &request.args);
    let spans = spans_between(&before, &after, rewrite.as_ref());
    for span in spans {
        let mut edit = edit.clone();
        span.set_in(&mut edit);
        out.emit(edit, place);
    }
}

/// An edit of which only the arguments are known.
fn from_arguments(
    record: &CallRecord<'_>,
    request: &Request<'_>,
    source: Source<'_>,
    out: &mut Emitter<'_>,
) {
    let (Some(file), Some(new)) = (text(request.args.file_path()), text(request.new)) else {
        return;
    };
    let op = if request.creates_file(&record.call) {
        EditOp::Create
    } else {
        request.op
    };
    let mut edit = CodeEdit {
        call_id: text(record.call.id()),
        confirmed: !source.is_unconfirmed,
        ..CodeEdit::new(op, file)
    };
    if let Ok(new) = new.decode() {
        request.set_spans(&mut edit, &new, source.is_exact);
    }
    out.emit(edit, source.place);
}

/// The call's own replacement, if it leads to the text after.
fn replacement<'t>(before: &'t str, after: &str, args: &FileArgs<'_>) -> Option<Rewrite<'t>> {
    let (old, new) = (
        with_plain_ends(args.old_string())?,
        with_plain_ends(args.new_string())?,
    );
    let mut rewrite = Rewrite::new(before);
    rewrite.replace(&old, &new, true);
    (rewrite.after() == after).then_some(rewrite)
}

/// A text with `\n` for its line ends, as the tool searches for it.
fn with_plain_ends(field: Field<'_>) -> Option<Cow<'_, str>> {
    text(field)?.decode().ok().map(with_unix_line_ends)
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
        assert_eq!(
            (lines.range, lines.total, lines.text),
            (Range { first: 3, last: 4 }, None, Some("a\nb"))
        );
        let end = shown("10-11 of 11", "# end\n");
        let lines = partial(&end).expect("lines");
        assert_eq!(
            (lines.range, lines.total, lines.text),
            (
                Range {
                    first: 10,
                    last: 10
                },
                Some(10),
                Some("# end")
            )
        );
    }

    #[test]
    fn a_read_with_a_cut_line_has_no_text() {
        let cut = shown("1-1 of 9", "long... [truncated]");
        assert_eq!(partial(&cut).expect("lines").text, None);
        assert!(partial(&shown("1-3 of 9", "a")).is_none());
        assert!(partial("no notice").is_none());
    }
}
