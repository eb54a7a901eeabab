//! Results of calls in a capture: a one-of whose name says how the call ended, and the reads and edits that it shows.

use engram_core::emit::{Emitter, Fault};
use engram_core::event::{CodeEdit, CodeRead, EditOp, Range, SideFile, Status, ToolResult};
use engram_core::hash::Hash;
use engram_core::text::Text;

use super::edits::{snippet, whole_file_edits};
use super::stream_called::Called;
use crate::shared::spans::{ChangedSpan, hash_and_anchors, line_count};
use crate::shared::value::{Field, Value, integer, is_true, non_empty_text, text};
use crate::shared::view::view;

/// How a call ended, by the name of the one-of's member (SDK 1.0.32 descriptors). The first that is there counts.
const CASES: &[(&str, Status)] = &[
    ("success", Status::Ok),
    ("failure", Status::Error),
    ("timeout", Status::Error),
    ("rejected", Status::Denied),
    ("permissionDenied", Status::Denied),
    ("error", Status::Error),
    ("spawnError", Status::Error),
    ("fileNotFound", Status::Error),
    ("notFile", Status::Error),
    ("fileBusy", Status::Error),
    ("invalidFile", Status::Error),
    ("readPermissionDenied", Status::Error),
    ("writePermissionDenied", Status::Error),
    ("toolNotFound", Status::Error),
    ("serverNotFound", Status::Error),
];

view! {
    /// The fields of all members that the tape has a place for.
    Ending {
        exit_code: "exitCode" Any,
        stdout: "stdout" Any,
        stderr: "stderr" Any,
        interleaved_output: "interleavedOutput" Any,
        output_head: "outputHead" Any,
        output_tail: "outputTail" Any,
        elided_chars: "elidedChars" Any,
        output_location: "outputLocation" Any,
        execution_time: "executionTime" Any,
        aborted: "aborted" Any,
        reason: "reason" Any,
        error: "error" Any,
        error_message: "errorMessage" Any,
        model_visible_error: "modelVisibleError" Any,
        message: "message" Any,
        path: "path" Any,
        content: "content" Any,
        is_error: "isError" Any,
        markdown: "markdown" Any,
        exceeded_limit: "exceededLimit" Any,
        total_lines: "totalLines" Any,
        read_range: "readRange" Any,
        lines_removed: "linesRemoved" Any,
        diff_string: "diffString" Any,
        before_full_file_content: "beforeFullFileContent" Any,
        after_full_file_content: "afterFullFileContent" Any,
        prev_content: "prevContent" Any,
    }
}

/// The text of a list of parts, as an MCP tool returns them, that holds one text and nothing else.
fn only_text(content: Field<'_>) -> Option<Text<'_>> {
    let mut parts = content?.elements();
    let text = parts.next()?.member("text")?.member("text");
    if parts.next().is_some() { None } else { non_empty_text(text) }
}

fn unsigned(field: Field<'_>) -> Option<u64> {
    field.and_then(Value::unsigned)
}

/// Writes the result of a call, and the read or edit that it shows.
pub(super) fn emit(called: &Called<'_>, numbered: bool, out: &mut Emitter) -> Result<(), Fault> {
    let tool = called.body.tool;
    let mut result = ToolResult {
        tool: called.name.or(Some(Text::Plain(tool)).filter(|tool| !tool.is_empty())),
        call_id: Some(called.call_id),
        duration_ms: called.body.duration(),
        ..ToolResult::default()
    };
    let Some(returned) = called.body.inner.result() else {
        result.stdout = called.told.filter(|_| !called.failed);
        result.stderr = called.told.filter(|_| called.failed);
        result.status = called.failed.then_some(Status::Error);
        out.emit(result, called.pointer)?;
        return Ok(());
    };
    if !returned.is_object() {
        return Err(Fault::malformed("/tool_call", "a result", returned.raw()));
    }
    let case = CASES.iter().find_map(|(name, status)| Some((Some(*status), returned.member(name)?)));
    let (status, value) = case.unwrap_or((None, returned));
    let ending = Ending::lenient(value);
    result.status = status;
    match (tool, status) {
        ("shellToolCall", _) => ending.shell(&mut result),
        (_, Some(Status::Ok)) => ending.output(tool, value, &mut result),
        (_, Some(_)) => {}
        (_, None) => result.stdout = Some(Text::Plain(returned.raw())),
    }
    if status.is_some_and(|status| status != Status::Ok) {
        result.stderr = result.stderr.or(ending.failure(value));
    }
    result.truncated |= is_true(ending.exceeded_limit());
    result.artifact = ending.artifact();
    if result.stdout.is_none() && result.stderr.is_none() {
        result.stdout = called.told;
    }
    out.emit(result, called.pointer)?;
    if status != Some(Status::Ok) {
        return Ok(());
    }
    match tool {
        "readToolCall" => ending.show_read(called, numbered, out),
        "editToolCall" => ending.show_edit(called, out),
        "writeToolCall" => ending.show_write(called, out),
        "deleteToolCall" => ending.show_delete(called, out),
        _ => Ok(()),
    }
}

impl<'a> Ending<'a> {
    fn shell(&self, result: &mut ToolResult<'a>) {
        result.exit = integer(self.exit_code());
        result.stdout = non_empty_text(self.stdout());
        result.stderr = non_empty_text(self.stderr());
        if result.stdout.is_none() && result.stderr.is_none() {
            result.stdout =
                non_empty_text(self.interleaved_output()).or(non_empty_text(self.output_head())).or(non_empty_text(self.output_tail()));
        }
        result.truncated = unsigned(self.elided_chars()).is_some_and(|elided| elided > 0);
        result.duration_ms = unsigned(self.execution_time()).or(result.duration_ms);
        if is_true(self.aborted()) {
            result.status = Some(Status::Cancelled);
        } else if result.status == Some(Status::Ok) && result.exit.is_some_and(|exit| exit != 0) {
            result.status = Some(Status::Error);
        }
    }

    /// What a successful call gave: the text, where the tool has one, else the value as JSON.
    fn output(&self, tool: &str, value: Value<'a>, result: &mut ToolResult<'a>) {
        result.stdout = match tool {
            "readToolCall" if self.content().is_some() => non_empty_text(self.content()),
            "editToolCall" | "writeToolCall" => non_empty_text(self.message()),
            "deleteToolCall" => None,
            "webFetchToolCall" if self.markdown().is_some() => non_empty_text(self.markdown()),
            "fetchToolCall" if self.content().is_some() => non_empty_text(self.content()),
            "mcpToolCall" => {
                if is_true(self.is_error()) {
                    result.status = Some(Status::Error);
                }
                only_text(self.content()).or(Some(Text::Plain(value.raw())))
            }
            _ => Some(Text::Plain(value.raw())).filter(|_| value.raw() != "{}"),
        };
    }

    /// Why a call failed. Several wordings stand together as the JSON that holds them.
    fn failure(&self, value: Value<'a>) -> Option<Text<'a>> {
        let wordings = [self.reason(), self.error(), self.error_message(), self.model_visible_error()];
        let mut filled = wordings.into_iter().filter_map(non_empty_text);
        let first = filled.next()?;
        Some(if filled.next().is_some() { Text::Plain(value.raw()) } else { first })
    }

    fn artifact(&self) -> Option<SideFile<'a>> {
        let path = non_empty_text(self.output_location()?.member("filePath"))?;
        Some(SideFile { path, hash: None, bytes: None })
    }

    /// `content` is the lines of `readRange`, joined. Cursor counts the nothing after a final line end as a line; the tape does not.
    fn show_read(&self, called: &Called<'_>, numbered: bool, out: &mut Emitter) -> Result<(), Fault> {
        let Some(file) = non_empty_text(self.path()) else { return Ok(()) };
        let mut read =
            CodeRead { call_id: Some(called.call_id), file, range: None, total_lines: None, hash: None, anchor_hashes: Vec::new() };
        let stated = self.read_range().and_then(|range| Some((unsigned(range.member("startLine"))?, unsigned(range.member("endLine"))?)));
        if let Some((first, last)) = stated
            && let Some(Ok(content)) = text(self.content()).map(|content| content.decode())
            && content.split('\n').count() as u64 == (last + 1).saturating_sub(first)
            && first > 0
            && !numbered
        {
            let whole_end = unsigned(self.total_lines()) == Some(last);
            let lines = if whole_end { line_count(&content) } else { last + 1 - first };
            read.range = Some(Range { first, last: first + lines - 1 });
            read.total_lines = whole_end.then_some(first + lines - 1);
            let span = if whole_end { content.strip_suffix('\n').unwrap_or(&content) } else { &content };
            (read.hash, read.anchor_hashes) = hash_and_anchors(span);
        }
        out.emit(read, called.pointer)?;
        Ok(())
    }

    /// The whole file before and after. Without the text before, the file is new, unless lines were removed.
    fn show_edit(&self, called: &Called<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let Some(file) = non_empty_text(self.path()) else { return Ok(()) };
        let before = text(self.before_full_file_content());
        let is_new = before.is_none() && unsigned(self.lines_removed()).unwrap_or_default() == 0;
        let op = if is_new { EditOp::Create } else { EditOp::Update };
        let edit = CodeEdit { call_id: Some(called.call_id), ..CodeEdit::new(op, file) };
        let edits = match text(self.after_full_file_content()) {
            Some(after) => whole_file_edits(edit, before, after, text(self.diff_string())),
            None => vec![edit],
        };
        for edit in edits {
            out.emit(edit, called.pointer)?;
        }
        Ok(())
    }

    /// The documented form of a write (2025): the new text is an argument.
    fn show_write(&self, called: &Called<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let Some(file) = non_empty_text(self.path()) else { return Ok(()) };
        let written = called.body.inner.args().and_then(|args| args.member("fileText"));
        let mut edit = CodeEdit { call_id: Some(called.call_id), ..CodeEdit::new(EditOp::Overwrite, file) };
        (edit.after_hash, edit.after_anchor_hashes) = snippet(text(written));
        edit.snippet = edit.after_hash.is_some();
        out.emit(edit, called.pointer)?;
        Ok(())
    }

    fn show_delete(&self, called: &Called<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let Some(file) = non_empty_text(self.path()) else { return Ok(()) };
        let mut edit = CodeEdit { call_id: Some(called.call_id), ..CodeEdit::new(EditOp::Delete, file) };
        if let Some(Ok(before)) = text(self.prev_content()).map(|text| text.decode()) {
            edit.file_before_hash = Hash::of_lossless_text(&before);
            ChangedSpan::whole(&before, "").describe(&mut edit);
        }
        out.emit(edit, called.pointer)?;
        Ok(())
    }
}
