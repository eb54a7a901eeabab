//! The reads and edits that results of successful calls show.

use std::slice;

use engram_core::emit::Fault;
use engram_core::event::{CodeEdit, CodeRead, EditOp, Range};
use engram_core::hash::Hash;

use super::payload::CallRecord;
use crate::cursor::edits::file_edits::{set_snippets, whole_file_edits};
use crate::cursor::edits::written_files::WrittenFiles;
use crate::cursor::fields::unsigned;
use crate::cursor::readers::ResultFields;
use crate::cursor::steps::Out;
use crate::shared::spans::{
    ChangedSpan, line_count, span_facts, without_final_line_end, without_half_line_end,
};
use crate::shared::value::{non_empty_text, text};

/// Nothing, for tools that neither read nor edit a file.
pub(super) fn emit_nothing(
    _: &ResultFields<'_>,
    _: &CallRecord<'_>,
    _: bool,
    _: &mut WrittenFiles,
    _: &mut Out<'_, '_>,
) -> Result<(), Fault> {
    Ok(())
}

/// A read. `content` is the lines of `readRange`, joined. Cursor counts the empty text after a final line end as a line; the tape does not.
pub(super) fn emit_read(
    fields: &ResultFields<'_>,
    call: &CallRecord<'_>,
    numbered: bool,
    _: &mut WrittenFiles,
    out: &mut Out<'_, '_>,
) -> Result<(), Fault> {
    let Some(file) = non_empty_text(fields.path()) else {
        return Ok(());
    };
    let mut read = CodeRead {
        call_id: Some(call.call_id),
        ..CodeRead::new(file)
    };
    let stated = fields.read_range().and_then(|range| {
        Some((
            unsigned(range.member("startLine"))?,
            unsigned(range.member("endLine"))?,
        ))
    });
    if let Some((first, last)) = stated
        && let Some(Ok(content)) = text(fields.content()).map(|content| content.decode())
        && let shown = content.split('\n').count() as u64
        && last.checked_sub(first) == Some(shown - 1)
        && first > 0
        && !numbered
    {
        let to_end = unsigned(fields.total_lines()) == Some(last);
        let lines = if to_end { line_count(&content) } else { shown };
        read.range = Some(Range {
            first,
            last: first - 1 + lines,
        });
        read.total_lines = to_end.then_some(first - 1 + lines);
        let span = if to_end {
            without_final_line_end(&content)
        } else {
            without_half_line_end(&content)
        };
        (read.hash, read.anchor_hashes, read.text) = span_facts(span);
    }
    out.emit(read, call.pointer)?;
    Ok(())
}

/// An edit by the whole file before and after it. Without the text before, the file is new, unless lines were removed.
pub(super) fn emit_edit(
    fields: &ResultFields<'_>,
    call: &CallRecord<'_>,
    _: bool,
    files: &mut WrittenFiles,
    out: &mut Out<'_, '_>,
) -> Result<(), Fault> {
    let Some(file) = non_empty_text(fields.path()) else {
        return Ok(());
    };
    let before = text(fields.before_full_file_content());
    let is_new = before.is_none() && unsigned(fields.lines_removed()).unwrap_or_default() == 0;
    let op = if is_new {
        EditOp::Create
    } else {
        EditOp::Update
    };
    let edit = CodeEdit {
        call_id: Some(call.call_id),
        ..CodeEdit::new(op, file)
    };
    let mut edits = match text(fields.after_full_file_content()) {
        Some(after) => whole_file_edits(edit, before, after, text(fields.diff_string())),
        None => vec![edit],
    };
    files.keep_certain(&mut edits);
    for edit in edits {
        out.emit(edit, call.pointer)?;
    }
    Ok(())
}

/// A write in its documented form of 2025: the new text is an argument.
pub(super) fn emit_write(
    fields: &ResultFields<'_>,
    call: &CallRecord<'_>,
    _: bool,
    _: &mut WrittenFiles,
    out: &mut Out<'_, '_>,
) -> Result<(), Fault> {
    let Some(file) = non_empty_text(fields.path()) else {
        return Ok(());
    };
    let written = call.payload.args().and_then(|args| args.member("fileText"));
    let mut edit = CodeEdit {
        call_id: Some(call.call_id),
        ..CodeEdit::new(EditOp::Overwrite, file)
    };
    set_snippets(&mut edit, None, text(written));
    out.emit(edit, call.pointer)?;
    Ok(())
}

/// A deletion, with the text of the deleted file where the result has it.
pub(super) fn emit_delete(
    fields: &ResultFields<'_>,
    call: &CallRecord<'_>,
    _: bool,
    files: &mut WrittenFiles,
    out: &mut Out<'_, '_>,
) -> Result<(), Fault> {
    let Some(file) = non_empty_text(fields.path()) else {
        return Ok(());
    };
    let mut edit = CodeEdit {
        call_id: Some(call.call_id),
        ..CodeEdit::new(EditOp::Delete, file)
    };
    if let Some(Ok(before)) = text(fields.prev_content()).map(|text| text.decode()) {
        edit.file_before_hash = Hash::of_lossless_text(&before);
        ChangedSpan::of_files(&before, "").set_in(&mut edit);
    }
    files.keep_certain(slice::from_mut(&mut edit));
    out.emit(edit, call.pointer)?;
    Ok(())
}
