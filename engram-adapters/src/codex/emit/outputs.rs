//! Outputs of calls for the model: a text or a list of parts, completed by the end that an item or event said before.

use std::borrow::Cow;

use engram_core::emit::Pointer;
use engram_core::event::{ImplicitInput, Meta, Seq, ToolResult};
use engram_core::ledger::Outcome;
use engram_core::steps::{Emitter, Lookup};
use engram_core::text::Text;

use crate::shared::media;
use crate::shared::value::{StructuralIndex, Value, elements, raw_str, text};

use super::State;
use super::ends::{EndFacts, Place, ScreenEnd};
use super::output_text::printed_by;
use super::patch_text::{Patch, emit_patch_text, patch_of_command, patch_of_input};
use super::tool_calls::object_or_list;
use crate::codex::blocks::{self, joined_lines};
use crate::codex::format::rule;
use crate::codex::plan::calls::CallFate;
use crate::codex::readers::{Call, Output, Part};
use crate::codex::record::Record;

/// The tool that runs a script of code mode.
const SCRIPT: &str = "exec";

/// `function_call_output` and `custom_tool_call_output`.
pub fn call_output(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let item = Output::lenient(record.value);
    let at = Pointer::At(record.pointer_to("/payload/output"));
    if is_told(&item) {
        // The harness gives it to the model in the place of an output.
        out.emit(
            Meta::system(text(item.name()).unwrap_or_default(), text(item.output())),
            at,
        );
        return Outcome::Mapped;
    }
    if is_notice(&item) {
        let call = text(item.call_id()).and_then(|id| out.seq_of_call(id));
        let notice = Meta::system("notify", text(item.output()));
        out.emit_child(call, notice, at);
        return Outcome::Mapped;
    }
    let (note, fate) = state.call();
    if let Some(note) = note {
        let mut parts = elements(item.output()).map(Part::lenient);
        let first = parts.find_map(|part| text(part.text()));
        let first = first.or(text(item.output()));
        state.scripts.output(note.id, first, record);
    }
    let is_cut = state.cut_outputs.remove(&(state.here as u32));
    if !is_cut {
        emit_result(state, &item, fate, record, out);
    }
    emit_patch(state, &item, fate, record, out);
    record.mapped_or(!is_cut, rule::OUTPUT_CUT)
}

/// Emits the one result of a call, and what its end says beside it.
fn emit_result(
    state: &State,
    item: &Output<'_>,
    fate: CallFate,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) {
    let at = record.pointer_to("/payload/output");
    let (Some(output), Some(note)) = (item.output(), state.call().0) else {
        return;
    };
    let facts = state
        .notes
        .exits
        .get(note.exit as usize)
        .copied()
        .unwrap_or_default();
    let list = output.elements().map(Part::lenient);
    let attachments = list
        .filter_map(|part| blocks::media(&part))
        .filter_map(media::data_url)
        .collect();
    let printed = if note.has_more || output.is_array() {
        printed_by(record.value)
    } else {
        Some(Cow::Borrowed(output.raw()))
    };
    let printed = printed.filter(|_| output.is_array() || output.text().is_some());
    let tool = state.tool_of(fate).map(Text::Plain);
    let mut result = ToolResult {
        tool,
        call_id: text(item.call_id()),
        stdout: printed.as_deref().map(Text::Token),
        attachments,
        ..facts.to_result()
    };
    if !output.is_array() && !note.has_more {
        result.stdout = output.text();
    }
    let end = fate
        .other
        .and_then(|end| state.notes.call_of(state.notes.notes.get(end as usize)?));
    if let Some(numbers) = end.and_then(|end| state.notes.exits.get(end.exit as usize)) {
        result.exit = numbers.exit.or(result.exit);
        result.status = numbers.status.or(result.status);
        result.duration_ms = numbers.duration_ms.or(result.duration_ms);
    }
    // An end with the same text and no other says nothing more.
    let has_more = end.filter(|end| end.has_more || (end.text != 0 && end.text != note.text));
    let mut again = has_more.and_then(|end| record.others.get(end.number as usize));
    let end_line = again.as_mut().and_then(|again| again.value());
    let Some((name, end_at, value)) = end_line.and_then(end_in) else {
        out.emit(result, at);
        emit_unknown_parts(output, at, out);
        return;
    };
    let screen = ScreenEnd::in_value(name, value);
    let end = screen.facts();
    if facts.status.is_none()
        && output.text().is_some()
        && screen.is_replaced_by(&end, output.raw())
    {
        let call = text(item.call_id()).and_then(|id| out.seq_of_call(id));
        emit_given(result, &end, (call, "hook", Pointer::At(at)), out);
        return;
    }
    if screen.is_mcp() && end.text().is_some() && end.plain_text.is_none() {
        emit_given(result, &end, (None, "tool_result", Pointer::At(at)), out);
        emit_unknown_parts(output, at, out);
        return;
    }
    end.complete(&mut result);
    out.emit(result, at);
    if let Some(call_id) = text(item.call_id()) {
        let (place, printed) = (
            Place {
                name,
                at: end_at,
                call_id,
            },
            printed.as_deref().unwrap_or_default(),
        );
        if !end.is_in_output(printed) {
            end.emit_text(&place, out);
        }
        end.emit_plain_text(printed, &place, out);
    }
    emit_unknown_parts(output, at, out);
}

/// Emits what a call gave, and as a context of this name what the model got in its place: the words of a hook alone, or the answer of an MCP server
/// with words of the harness.
fn emit_given(
    result: ToolResult<'_>,
    end: &EndFacts<'_>,
    (parent, name, at): (Option<Seq>, &str, Pointer<'_>),
    out: &mut Emitter<'_>,
) {
    let for_model = Meta::Context(ImplicitInput::of_text(name, result.stdout));
    out.emit(end.with_streams(result), at);
    out.emit_child(parent, for_model, at);
}

/// The end of a call in its line: the last part of its type, where it is, and its value.
fn end_in(line: Value<'_>) -> Option<(&str, &'static str, Value<'_>)> {
    let payload = line.first_member("payload")?;
    match payload
        .first_member("item")
        .filter(|_| raw_str(payload.first_member("type")) == "item_completed")
    {
        Some(item) => Some((raw_str(item.first_member("type")), "/payload/item", item)),
        None => Some((raw_str(payload.first_member("type")), "/payload", payload)),
    }
}

fn emit_unknown_parts(list: Value<'_>, at: &'static str, out: &mut Emitter<'_>) {
    for (index, value) in list.elements().enumerate() {
        let part = Part::lenient(value);
        if part.text().is_none() && blocks::media(&part).is_none() {
            out.unrecognized_block(raw_str(part.kind()), value.raw(), Pointer::Item(at, index));
        }
    }
}

/// Emits the edits of an applied patch whose changes no record lists.
fn emit_patch(
    state: &mut State,
    item: &Output<'_>,
    fate: CallFate,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) {
    let is_patched = state
        .call()
        .0
        .and_then(|note| state.notes.exits.get(note.exit as usize))
        .is_some_and(|facts| facts.patched);
    let (Some(call_id), true, false) = (text(item.call_id()), is_patched, fate.is_listed) else {
        return;
    };
    let Some(patch) = state.patch_of(fate, record.others) else {
        return;
    };
    if let Some(call) = fate.call {
        state.directories.remove(&u64::from(call));
    }
    let at = Pointer::At(record.pointer_to("/payload/output"));
    let joined = item
        .output()
        .filter(|output| output.is_array())
        .and_then(joined_lines);
    let printed = joined
        .as_deref()
        .map(Text::Token)
        .or(text(item.output()))
        .map(|output| output.comparable())
        .unwrap_or_default();
    emit_patch_text(&mut state.files, &patch, &printed, (call_id, at), out);
}

impl State {
    /// The patch that a call asks for, until its output is read.
    pub fn patch_of(&self, fate: CallFate, others: Lookup<'_>) -> Option<Patch> {
        let call = fate.call?;
        let directory = self.directories.get(&u64::from(call))?.clone();
        let note = self
            .notes
            .calls
            .get(call as usize)
            .filter(|call| call.is_patch)?;
        let mut again = others.get(note.number as usize)?;
        let line = again.value()?;
        let call = Call::lenient(
            line.first_member("payload")
                .filter(|payload| payload.is_object())
                .unwrap_or(line),
        );
        if let Some(input) = patch_of_input(text(call.input())) {
            return Some(Patch {
                token: input.to_owned(),
                directory,
            });
        }
        let arguments = text(call.arguments())?.decode().ok()?;
        let mut index = StructuralIndex::default();
        let token = patch_of_command(object_or_list(&arguments, &mut index)?)?.to_owned();
        Some(Patch { token, directory })
    }
}

/// True for a text that the harness gives to the model in the place of an output.
pub fn is_told(item: &Output<'_>) -> bool {
    text(item.call_id()).is_none() && text(item.name()).is_some() && text(item.output()).is_some()
}

/// True for a text that a script of code mode gives to the model while it runs (`notify`, 0.171.0). The result of the script is another output,
/// which has no name.
pub fn is_notice(item: &Output<'_>) -> bool {
    raw_str(item.name()) == SCRIPT
        && text(item.call_id()).is_some()
        && text(item.output()).is_some()
}
