//! Outputs of calls for the model: a text or a list of parts, completed by the end that an item or event stated before.

use std::borrow::Cow;

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Meta, Status, ToolResult};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::shared::media;
use crate::shared::value::{Value, parse, raw_str, text};

use super::end_result::{complete, emit_plain_text, emit_text, emit_without_output, output_has_text, output_is_truncated};
use super::output_text::{ExitFacts, Framing, may_be_wrapped, strip_framing, wrapped_of};
use super::patch_text::emit_patch_text;
use super::wrapped_output::{Author, check, check_framed, is_object_token};
use crate::codex::blocks::{part, unquote};
use crate::codex::omissions;
use crate::codex::record::Record;
use crate::codex::schema::{Output, Part};
use crate::codex::state::open_calls::{OpenCalls, OutputKey, Progress};
use crate::codex::state::pending_end::PendingEnd;
use crate::codex::state::session_state::SessionState;

/// The output of `view_image` up to 0.98, if a message with the image follows.
const ATTACHED: &str = "\"attached local image path\"";

/// An output and the call that it belongs to.
struct CallOutput<'r> {
    record: &'r Record<'r>,
    call_id: Option<Text<'r>>,
    /// The decoded call id; empty if there is none.
    key: &'r str,
    output: Value<'r>,
    /// The end of the call that an item or event stated before.
    end: Option<&'r PendingEnd<'static>>,
}

/// `function_call_output` and `custom_tool_call_output`.
pub fn call_output(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let item = Output::strict(record.value, record.at)?;
    let Some(output) = item.output() else {
        return Err(Fault::malformed(record.pointer_to("/payload/output"), "an output", "nothing"));
    };
    let call_id = text(item.call_id());
    if let (None, Some(name), Some(told)) = (call_id, text(item.name()), output.text()) {
        // The harness gives it to the model in the place of an output.
        out.emit(Meta::System { name, text: Some(told) }, Pointer::At(&record.pointer_to("/payload/output")))?;
        return Ok(Outcome::Mapped);
    }
    let key = call_id.map(|id| id.decode_lossy()).unwrap_or_default();
    state.calls.choose_open(&key);
    let end = state.pending_ends.take(&key);
    let call = CallOutput { record, call_id, key: &key, output, end: end.as_ref() };
    if output.is_array() { list_output(state, &call, out) } else { text_output(state, &call, out) }
}

/// An output that is a text, or a wrapped text (`{"output": ..., "metadata": ...}` in a string).
fn text_output(state: &mut SessionState, call: &CallOutput<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let (scratch, token) = (&mut state.scratch, call.output.raw());
    let author = Author::of(&state.calls, call.key);
    let may_be_json = may_be_wrapped(token) || (author != Author::Other && is_object_token(token));
    let decoded = call.output.text().filter(|_| may_be_json).and_then(|text| text.decode_into(&mut scratch.buffer).ok());
    let parsed = decoded.and_then(|text| Some((text, parse(text, &mut scratch.index).ok()?)));
    match parsed {
        Some((_, value)) => check(author, value, call.record, out)?,
        None => check_framed(author, token, call.record, out)?,
    }
    let framing = framing_of(&state.calls, call.key);
    let wrapped = parsed.filter(|_| framing.may_nest).and_then(|(text, value)| wrapped_of(text, value));
    let facts = wrapped.as_ref().map_or_else(|| ExitFacts::of_token(call.output.raw(), framing), ExitFacts::of_wrapped);
    let facts = facts.with_status_of_tool(state.calls.tool(call.key), call.output.raw());
    let printed = wrapped.and_then(|wrapped| wrapped.output()).unwrap_or(call.output);
    // An end follows the output only if the session states ends at all and none came before.
    let may_be_repeated = state.pending_ends.has_read_any() && call.end.is_none();
    let output_key = may_be_repeated.then(|| OutputKey::of(strip_framing(unquote(printed.raw()))));
    let has_end_text = call.end.is_none_or(|end| output_has_text(printed.raw(), end));
    let full_end = call.end.filter(|end| !has_end_text && output_is_truncated(printed.raw(), end));
    match full_end {
        Some(end) => emit_without_output(end, &state.calls, call.key, out)?,
        None => {
            let result = ToolResult { stdout: printed.text(), ..facts.to_result() };
            emit_result(&state.calls, call, result, has_end_text, out)?;
        }
    }
    close_call(state, call, facts, output_key, out)?;
    Ok(call.record.mapped_or(full_end.is_none(), &omissions::OUTPUT_CUT))
}

/// An output that is a list: the texts that a script printed, or images. The first text has the framing.
fn list_output(state: &mut SessionState, call: &CallOutput<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let parts = || call.output.elements().map(Part::lenient);
    let printed = joined_lines(call.output);
    let framing = framing_of(&state.calls, call.key);
    let facts_of = |token: &str| ExitFacts::of_token(token, framing);
    let mut facts = printed.as_deref().map(facts_of).unwrap_or_default();
    facts.truncated |= parts().filter_map(|part| part.text()).any(|text| facts_of(text.raw()).truncated);
    let has_image = parts().any(|part| part.image_url().is_some());
    if has_image && facts.status.is_none() && state.calls.tool(call.key) == Some("view_image") {
        facts.status = Some(Status::Ok);
    }
    let attachments = parts().filter_map(|part| part.image_url()).filter_map(media::data_url).collect();
    let result = ToolResult { stdout: printed.as_deref().map(Text::Token), attachments, ..facts.to_result() };
    let has_end_text = call.end.is_none_or(|end| output_has_text(printed.as_deref().unwrap_or_default(), end));
    emit_result(&state.calls, call, result, has_end_text, out)?;
    let list = call.record.pointer_to("/payload/output");
    for (index, value) in call.output.elements().enumerate() {
        let part = part(value, &list, index)?;
        if part.text().is_none() && part.image_url().is_none() {
            out.unrecognized_block(raw_str(part.kind()), value.raw(), Pointer::Item(&list, index))?;
        }
    }
    close_call(state, call, facts, None, out)?;
    Ok(Outcome::Mapped)
}

/// How the output of a call is framed. An unknown call may be any.
fn framing_of(calls: &OpenCalls, key: &str) -> Framing {
    let may_nest = calls.tool(key).is_none() || Author::of(calls, key) != Author::Other;
    Framing { command_breaks: calls.command_breaks(key), may_nest }
}

/// The texts of a list as one JSON token, each on lines of its own.
fn joined_lines(list: Value<'_>) -> Option<Cow<'_, str>> {
    let mut texts = list.elements().map(Part::lenient).filter_map(|part| part.text()).filter(|text| text.text().is_some());
    if let (Some(only), None) = (texts.next(), texts.next()) {
        return Some(Cow::Borrowed(only.raw()));
    }
    let mut joined = String::from("\"");
    let mut has_text = false;
    for text in list.elements().map(Part::lenient).filter_map(|part| part.text()).map(|text| unquote(text.raw())) {
        if has_text && !joined.ends_with("\\n") && !text.is_empty() {
            joined.push_str("\\n");
        }
        joined.push_str(text);
        has_text = true;
    }
    joined.push('"');
    has_text.then_some(Cow::Owned(joined))
}

/// Emits the one result of a call, and the text of its end unless the output has it.
fn emit_result<'r>(
    calls: &'r OpenCalls,
    call: &CallOutput<'r>,
    mut result: ToolResult<'r>,
    has_end_text: bool,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    result.tool = calls.tool(call.key).map(Text::Plain);
    result.call_id = call.call_id;
    if let Some(end) = call.end {
        complete(&mut result, end);
    }
    let printed = result.stdout.map(|output| output.raw()).unwrap_or_default();
    out.emit(result, Pointer::At(&call.record.pointer_to("/payload/output")))?;
    let Some((end, call_id)) = call.end.zip(call.call_id) else { return Ok(()) };
    if !has_end_text {
        emit_text(end, call_id, out)?;
    }
    emit_plain_text(end, printed, call_id, out)
}

/// Records the output of a call. An applied patch whose changes no record lists gives its edits now.
fn close_call(
    state: &mut SessionState,
    call: &CallOutput<'_>,
    facts: ExitFacts,
    output_key: Option<OutputKey>,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    let progress = if facts.running { Progress::Running } else { Progress::Ended };
    if let Some(session) = facts.session {
        state.calls.add_session(session, call.key);
    }
    let Some(returned) = state.calls.add_output(call.key, progress, output_key) else { return Ok(()) };
    if returned.tool == "view_image" && call.output.raw() == ATTACHED {
        state.viewed_images.add_view();
    }
    if let (Some(patch), true, Some(id)) = (returned.unlisted_patch, facts.patched, call.call_id) {
        let at = call.record.pointer_to("/payload/output");
        let joined = if call.output.is_array() { joined_lines(call.output) } else { None };
        let printed = joined.as_deref().map(Text::Token).or(call.output.text()).map(|output| output.comparable()).unwrap_or_default();
        emit_patch_text(&mut state.files, &patch, &printed, (id, Pointer::At(&at)), out)?;
    }
    Ok(())
}
