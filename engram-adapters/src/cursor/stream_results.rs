//! Results of calls in a capture: a one-of whose name says how the call ended, and the reads and edits that it shows.

use engram_core::anchor::anchors;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{Artifact, CodeEdit, CodeRead, EditOp, Range, Status, ToolResult};
use engram_core::hash::{Hash, is_pinned};
use engram_core::text::Text;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::edits::{snippet, whole_file_edits};
use super::members::Members;
use super::stream_calls::Called;
use crate::kit::json::{self, Raw, boolean, filled_text, integer, text, unsigned};
use crate::kit::spans::{ChangedSpan, line_count};

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

/// The fields of all members that the tape has a place for.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ending<'a> {
    #[serde(borrow)]
    exit_code: Raw<'a>,
    #[serde(borrow)]
    stdout: Raw<'a>,
    #[serde(borrow)]
    stderr: Raw<'a>,
    #[serde(borrow)]
    interleaved_output: Raw<'a>,
    #[serde(borrow)]
    output_head: Raw<'a>,
    #[serde(borrow)]
    output_tail: Raw<'a>,
    #[serde(borrow)]
    elided_chars: Raw<'a>,
    #[serde(borrow)]
    output_location: Option<OutputLocation<'a>>,
    #[serde(borrow)]
    execution_time: Raw<'a>,
    #[serde(borrow)]
    aborted: Raw<'a>,
    #[serde(borrow)]
    reason: Raw<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
    #[serde(borrow)]
    error_message: Raw<'a>,
    #[serde(borrow)]
    model_visible_error: Raw<'a>,
    #[serde(borrow)]
    message: Raw<'a>,
    #[serde(borrow)]
    path: Raw<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    is_error: Raw<'a>,
    #[serde(borrow)]
    markdown: Raw<'a>,
    #[serde(borrow)]
    exceeded_limit: Raw<'a>,
    #[serde(borrow)]
    total_lines: Raw<'a>,
    #[serde(borrow)]
    read_range: Option<ReadRange<'a>>,
    #[serde(borrow)]
    lines_removed: Raw<'a>,
    #[serde(borrow)]
    diff_string: Raw<'a>,
    #[serde(borrow)]
    before_full_file_content: Raw<'a>,
    #[serde(borrow)]
    after_full_file_content: Raw<'a>,
    #[serde(borrow)]
    prev_content: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OutputLocation<'a> {
    #[serde(borrow)]
    file_path: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadRange<'a> {
    #[serde(borrow)]
    start_line: Raw<'a>,
    #[serde(borrow)]
    end_line: Raw<'a>,
}

/// One part of what an MCP tool returned.
#[derive(Deserialize)]
struct McpPart<'a> {
    #[serde(borrow)]
    text: Option<McpText<'a>>,
}

#[derive(Deserialize)]
struct McpText<'a> {
    #[serde(borrow)]
    text: Raw<'a>,
}

/// The text of a list of parts that holds one text and nothing else.
fn only_text(content: Raw<'_>) -> Option<Text<'_>> {
    match serde_json::from_str::<Vec<McpPart<'_>>>(content?.get()).ok()?.as_slice() {
        [McpPart { text: Some(part) }] => filled_text(part.text),
        _ => None,
    }
}

/// The arguments that the outcome does not repeat.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Args<'a> {
    #[serde(borrow)]
    file_text: Raw<'a>,
}

/// Writes the result of a call, and the read or edit that it shows.
pub(super) fn emit(called: &Called<'_>, numbered: bool, out: &mut Emitter) -> Result<(), Fault> {
    let tool = called.body.tool.as_deref().unwrap_or_default();
    let mut result = ToolResult {
        tool: called.name.or(Some(Text::Plain(tool)).filter(|tool| !tool.is_empty())),
        call_id: Some(called.call_id),
        duration_ms: called.body.duration(),
        ..ToolResult::default()
    };
    let Some(raw) = called.body.inner.result else {
        result.stdout = called.told.filter(|_| !called.failed);
        result.stderr = called.told.filter(|_| called.failed);
        result.status = called.failed.then_some(Status::Error);
        out.emit(result, called.pointer)?;
        return Ok(());
    };
    let members: Members<'_> = json::read(raw, "/tool_call", "a result")?;
    let case = CASES.iter().find_map(|(name, status)| Some((Some(*status), members.get(name)?)));
    let (status, value) = case.unwrap_or((None, raw));
    let ending: Ending<'_> = serde_json::from_str(value.get()).unwrap_or_default();
    result.status = status;
    match (tool, status) {
        ("shellToolCall", _) => ending.shell(&mut result),
        (_, Some(Status::Ok)) => ending.output(tool, value, &mut result),
        (_, Some(_)) => {}
        (_, None) => result.stdout = Some(Text::Plain(raw.get())),
    }
    if status.is_some_and(|status| status != Status::Ok) {
        result.stderr = result.stderr.or(ending.failure(value));
    }
    result.truncated |= boolean(ending.exceeded_limit) == Some(true);
    result.artifact = ending.artifact();
    if result.stdout.is_none() && result.stderr.is_none() {
        result.stdout = called.told;
    }
    out.emit(result, called.pointer)?;
    if status != Some(Status::Ok) {
        return Ok(());
    }
    match tool {
        "readToolCall" => ending.read(called, numbered, out),
        "editToolCall" => ending.edit(called, out),
        "writeToolCall" => ending.write(called, out),
        "deleteToolCall" => ending.delete(called, out),
        _ => Ok(()),
    }
}

impl<'a> Ending<'a> {
    fn shell(&self, result: &mut ToolResult<'a>) {
        result.exit = integer(self.exit_code);
        result.stdout = filled_text(self.stdout);
        result.stderr = filled_text(self.stderr);
        if result.stdout.is_none() && result.stderr.is_none() {
            result.stdout = filled_text(self.interleaved_output).or(filled_text(self.output_head)).or(filled_text(self.output_tail));
        }
        result.truncated = unsigned(self.elided_chars).is_some_and(|elided| elided > 0);
        result.duration_ms = unsigned(self.execution_time).or(result.duration_ms);
        if boolean(self.aborted) == Some(true) {
            result.status = Some(Status::Cancelled);
        } else if result.status == Some(Status::Ok) && result.exit.is_some_and(|exit| exit != 0) {
            result.status = Some(Status::Error);
        }
    }

    /// What a successful call gave: the text, where the tool has one, else the value as JSON.
    fn output(&self, tool: &str, value: &'a RawValue, result: &mut ToolResult<'a>) {
        result.stdout = match tool {
            "readToolCall" if self.content.is_some() => filled_text(self.content),
            "editToolCall" | "writeToolCall" => filled_text(self.message),
            "deleteToolCall" => None,
            "webFetchToolCall" if self.markdown.is_some() => filled_text(self.markdown),
            "fetchToolCall" if self.content.is_some() => filled_text(self.content),
            "mcpToolCall" => {
                if boolean(self.is_error) == Some(true) {
                    result.status = Some(Status::Error);
                }
                only_text(self.content).or(Some(Text::Plain(value.get())))
            }
            _ => Some(Text::Plain(value.get())).filter(|_| value.get() != "{}"),
        };
    }

    /// Why a call failed. Several wordings stand together as the JSON that holds them.
    fn failure(&self, value: &'a RawValue) -> Option<Text<'a>> {
        let wordings = [self.reason, self.error, self.error_message, self.model_visible_error];
        let mut filled = wordings.into_iter().filter_map(filled_text);
        let first = filled.next()?;
        Some(if filled.next().is_some() { Text::Plain(value.get()) } else { first })
    }

    fn artifact(&self) -> Option<Artifact<'a>> {
        let path = filled_text(self.output_location.as_ref()?.file_path)?;
        Some(Artifact { path, hash: None, bytes: None })
    }

    /// `content` is the lines of `readRange`, joined. Cursor counts the nothing after a final line end as a line; the tape does not.
    fn read(&self, called: &Called<'_>, numbered: bool, out: &mut Emitter) -> Result<(), Fault> {
        let Some(file) = filled_text(self.path) else { return Ok(()) };
        let mut read =
            CodeRead { call_id: Some(called.call_id), file, range: None, total_lines: None, hash: None, anchor_hashes: Vec::new() };
        let stated = self.read_range.as_ref().and_then(|range| Some((unsigned(range.start_line)?, unsigned(range.end_line)?)));
        if let Some((first, last)) = stated
            && let Some(Ok(content)) = text(self.content).map(|content| content.decode())
            && content.split('\n').count() as u64 == (last + 1).saturating_sub(first)
            && first > 0
            && !numbered
        {
            let whole_end = unsigned(self.total_lines) == Some(last);
            let lines = if whole_end { line_count(&content) } else { last + 1 - first };
            read.range = Some(Range { first, last: first + lines - 1 });
            read.total_lines = whole_end.then_some(first + lines - 1);
            if is_pinned(&content) {
                let span = if whole_end { content.strip_suffix('\n').unwrap_or(&content) } else { &content };
                read.hash = Some(Hash::of_text(span));
                read.anchor_hashes = anchors(span);
            }
        }
        out.emit(read, called.pointer)?;
        Ok(())
    }

    /// The whole file before and after. Without the text before, the file is new, unless lines were removed.
    fn edit(&self, called: &Called<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let Some(file) = filled_text(self.path) else { return Ok(()) };
        let before = text(self.before_full_file_content);
        let is_new = before.is_none() && unsigned(self.lines_removed).unwrap_or_default() == 0;
        let op = if is_new { EditOp::Create } else { EditOp::Update };
        let edit = CodeEdit { call_id: Some(called.call_id), ..CodeEdit::new(op, file) };
        let edits = match text(self.after_full_file_content) {
            Some(after) => whole_file_edits(edit, before, after, text(self.diff_string)),
            None => vec![edit],
        };
        for edit in edits {
            out.emit(edit, called.pointer)?;
        }
        Ok(())
    }

    /// The documented form of a write (2025): the new text is an argument.
    fn write(&self, called: &Called<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let Some(file) = filled_text(self.path) else { return Ok(()) };
        let args = called.body.inner.args.and_then(|args| serde_json::from_str::<Args<'_>>(args.get()).ok()).unwrap_or_default();
        let mut edit = CodeEdit { call_id: Some(called.call_id), ..CodeEdit::new(EditOp::Overwrite, file) };
        (edit.after_hash, edit.after_anchor_hashes) = snippet(text(args.file_text));
        edit.snippet = edit.after_hash.is_some();
        out.emit(edit, called.pointer)?;
        Ok(())
    }

    fn delete(&self, called: &Called<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let Some(file) = filled_text(self.path) else { return Ok(()) };
        let mut edit = CodeEdit { call_id: Some(called.call_id), ..CodeEdit::new(EditOp::Delete, file) };
        if let Some(Ok(before)) = text(self.prev_content).map(|text| text.decode()) {
            edit.file_before_hash = Hash::of_pinned_text(&before);
            ChangedSpan::whole(&before, "").describe(&mut edit);
        }
        out.emit(edit, called.pointer)?;
        Ok(())
    }
}
