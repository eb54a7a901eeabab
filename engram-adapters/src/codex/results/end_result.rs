//! The result of a call from its end for the screen, alone or together with the output for the model.

use engram_core::emit::{Emitter, Fault, Pointer, RecordHeader};
use engram_core::event::{Meta, ToolResult};
use engram_core::text::Text;
use memchr::memmem;

use crate::shared::search::contains;

use super::output_text::{is_truncated_copy, strip_framing, strip_line_count};
use crate::codex::blocks::{is_empty_token, unquote};
use crate::codex::state::open_calls::OpenCalls;
use crate::codex::state::pending_end::PendingEnd;

/// The mark in the middle of an output of which the log has 65,536 characters, and fewer characters than such an output has (0.166.0).
const CUT_MARK: &str = "\\n... command output truncated for persistence ...\\n";
const MIN_CUT_BYTES: usize = 60_000;

/// True for an output (a token) from which the harness has removed the middle.
fn is_cut(token: &str) -> bool {
    token.len() >= MIN_CUT_BYTES && memmem::find(token.as_bytes(), CUT_MARK.as_bytes()).is_some()
}

/// The text that the end states (a token): what the command printed, or why it did not run.
pub fn text_of<'h>(end: &'h PendingEnd<'_>) -> Option<&'h str> {
    let is_filled = |token: &&str| !is_empty_token(token);
    end.stdout.as_deref().filter(is_filled).or(end.stderr.as_deref()).filter(is_filled)
}

/// The error text (a token) of an end that states an output, too.
pub fn further_text_of<'h>(end: &'h PendingEnd<'_>) -> Option<&'h str> {
    let is_filled = |token: &&str| !is_empty_token(token);
    end.stdout.as_deref().filter(is_filled).and(end.stderr.as_deref()).filter(is_filled)
}

/// The result of a call that has no output for the model.
pub fn result_of<'h>(end: &'h PendingEnd<'_>, tool: Option<&'h str>, call_id: Text<'h>) -> ToolResult<'h> {
    let stderr = end.stderr.as_deref().filter(|token| !is_empty_token(token));
    ToolResult {
        tool: tool.map(Text::Plain),
        call_id: Some(call_id),
        status: end.status,
        exit: end.exit,
        stdout: end.stdout.as_deref().filter(|token| stderr.is_none() || !is_empty_token(token)).map(Text::Token),
        stderr: stderr.map(Text::Token),
        truncated: end.stdout.as_deref().is_some_and(is_cut),
        duration_ms: end.duration_ms,
        ..ToolResult::default()
    }
}

/// Adds to the result of an output the facts that only the end states.
pub fn complete<'r>(result: &mut ToolResult<'r>, end: &'r PendingEnd<'_>) {
    let output = result.stdout.map(|output| output.raw()).unwrap_or_default();
    let further = further_text_of(end).filter(|text| !contains(unquote(output), unquote(text)));
    result.stderr = result.stderr.or(further.map(Text::Token));
    result.exit = end.exit.or(result.exit);
    result.status = end.status.or(result.status);
    result.duration_ms = end.duration_ms.or(result.duration_ms);
}

/// True when the output (a token) contains the text of the end. Either may be truncated, and an event is truncated at fewer characters.
pub fn output_has_text(output: &str, end: &PendingEnd<'_>) -> bool {
    let (output, text) = (unquote(output), text_of(end).map(unquote));
    text.is_none_or(|text| contains(output, text) || is_truncated_copy(text, strip_line_count(strip_framing(output))))
}

/// True when the output (a token) is a truncated copy of the text of the end.
pub fn output_is_truncated(output: &str, end: &PendingEnd<'_>) -> bool {
    text_of(end).is_some_and(|text| is_truncated_copy(strip_framing(unquote(output)), unquote(text)))
}

/// Emits the result of a call that has no output, at the record of the end.
pub fn emit_without_output(end: &PendingEnd<'_>, calls: &OpenCalls, call_id: &str, out: &mut Emitter<'_>) -> Result<(), Fault> {
    out.attribute_to(end.location, RecordHeader { t: end.t.as_deref(), id: None, replay: end.replay });
    out.emit(result_of(end, calls.tool(call_id), Text::Plain(call_id)), Pointer::At(end.at))?;
    emit_plain_text(end, "", Text::Plain(call_id), out)?;
    if !end.is_mapped {
        out.duplicate_was_mapped(end.record, end.rule);
    }
    Ok(())
}

/// Emits the error text of an end that states an output, too: the result of its call lacks it.
pub fn emit_further_text(end: &PendingEnd<'_>, call_id: Text<'_>, out: &mut Emitter<'_>) -> Result<bool, Fault> {
    let further = further_text_of(end);
    if further.is_some() {
        emit_system_event(end, further, call_id, out)?;
    }
    Ok(further.is_some())
}

/// Emits the text of the end, which the result of its call lacks.
pub fn emit_text(end: &PendingEnd<'_>, call_id: Text<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    emit_system_event(end, text_of(end), call_id, out)
}

/// Emits the plain text of a structured answer, unless the output (a token) contains it.
pub fn emit_plain_text(end: &PendingEnd<'_>, output: &str, call_id: Text<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    match end.plain_text.as_deref() {
        Some(text) if !contains(unquote(output), unquote(text)) => emit_system_event(end, Some(text), call_id, out),
        _ => Ok(()),
    }
}

fn emit_system_event(end: &PendingEnd<'_>, text: Option<&str>, call_id: Text<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let name = end.record.rsplit('/').next().unwrap_or_default();
    out.emit_child(out.seq_of_call(call_id), Meta::System { name: Text::Plain(name), text: text.map(Text::Token) }, Pointer::At(end.at))?;
    Ok(())
}
