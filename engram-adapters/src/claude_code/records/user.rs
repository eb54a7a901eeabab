//! `user` lines: prompts, tool results, and text that the harness writes in the user's place.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Attachment, Author, Meta, MsgIn, Role};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::authors::{self, Place};
use crate::claude_code::blocks::{CONTENT, emit_empty_message, images, malformed_content, message_block, missing_in_block};
use crate::claude_code::context_events::emit_text;
use crate::claude_code::omission_rules::rule;
use crate::claude_code::record::Record;
use crate::claude_code::results::tool_result::tool_result;
use crate::claude_code::schema::{Block, Line};
use crate::claude_code::state::replay::COMPACTING_AGENT;
use crate::claude_code::state::session_state::SessionState;
use crate::shared::value::{Value, is_true, non_empty_text, raw_str, text};

/// What the blocks of a `user` line gave.
#[derive(Default)]
struct BlockSummary {
    /// An event was emitted.
    emitted: bool,
    /// A block repeated an earlier one.
    repeated: bool,
    has_text: bool,
    has_image: bool,
    has_result: bool,
}

/// Where a text is in its line.
#[derive(Clone, Copy)]
struct TextForm {
    /// It is a block of a list.
    is_block: bool,
    /// It comes after a result in the list.
    follows_result: bool,
}

/// `user`: a text, or a list of blocks.
#[inline(never)]
pub(super) fn user(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let line = &record.line;
    let content = record.message.content().ok_or_else(|| malformed_content("nothing"))?;
    if let Some(text) = content.text() {
        if state.lines.is_stated(0) || state.prompts.take_emitted(text) {
            return Ok(Outcome::Duplicate { record: "user", rule: rule::APPENDED_AGAIN });
        }
        if is_true(line.is_meta())
            && let Some(lead) = non_empty_text(line.object().member("hookTextLead"))
        {
            emit_text("hook_text_lead", Some(lead), Pointer::At("/hookTextLead"), out)?;
        }
        let form = TextForm { is_block: false, follows_result: false };
        emit_input(state, record, (text, form), Vec::new(), Pointer::At(CONTENT), out)?;
        return Ok(Outcome::Mapped);
    }
    if !content.is_array() {
        return Err(malformed_content(content.raw()));
    }
    let mut summary = BlockSummary::default();
    let unshared = (line.tool_use_result().is_some() && has_several_results(content)).then(|| without_structured(line));
    if unshared.is_some() {
        emit_shared_result(line, content, out)?;
    }
    let line = unshared.as_ref().unwrap_or(line);
    // A result waits for its call, but not a second time.
    let out_of_order = record.is_early;
    let is_result_stated = state.lines.is_stated(content.elements().count());
    for (index, value) in content.elements().enumerate() {
        let block = message_block(value, index)?;
        summary.has_image |= block.source().is_some();
        let is_result = raw_str(block.kind()) == "tool_result";
        summary.has_result |= is_result;
        if state.lines.is_stated(index) && (is_result_stated || !is_result) {
            summary.repeated = true;
        } else if is_result {
            if !out_of_order && state.early_results.keep(record, &state.lines, out) {
                return Ok(Outcome::Duplicate { record: "user", rule: rule::EARLY_RESULT });
            }
            state.commands.set_result(line);
            state.notes.set_result(line, *state.dialect);
            let emitted = tool_result(state, line, &block, index, out)?;
            summary.emitted |= emitted;
            summary.repeated |= !emitted;
        } else {
            other_block(state, record, &block, (index, value), &mut summary, out)?;
        }
    }
    let only_images = summary.has_image && !summary.has_text && emit_images(state, line, content, out)?;
    if only_images || summary.emitted {
        Ok(Outcome::Mapped)
    } else if summary.repeated {
        Ok(Outcome::Duplicate { record: "user", rule: rule::APPENDED_AGAIN })
    } else {
        emit_empty_message("user", out)
    }
}

/// True if a message has the results of several calls.
fn has_several_results(content: Value<'_>) -> bool {
    content.elements().filter(|block| raw_str(block.member("type")) == "tool_result").nth(1).is_some()
}

/// The line without its structured result.
#[cold]
fn without_structured<'a>(line: &Line<'a>) -> Line<'a> {
    let mut line = *line;
    line.set(const { Line::number("toolUseResult") }, None);
    line
}

/// Emits a structured result beside several results. It does not name its call, so its facts belong to none of them.
#[cold]
fn emit_shared_result(line: &Line<'_>, content: Value<'_>, out: &mut Emitter) -> Result<(), Fault> {
    let Some(structured) = line.tool_use_result() else { return Ok(()) };
    let repeats = |block: Value<'_>| block.member("content").is_some_and(|content| content.raw() == structured.raw());
    if content.elements().any(repeats) {
        return Ok(());
    }
    out.unrecognized_block("toolUseResult", structured.raw(), Pointer::At("/toolUseResult"))?;
    Ok(())
}

/// A block that is not a tool result.
#[inline(never)]
fn other_block(
    state: &mut SessionState,
    record: &Record<'_>,
    block: &Block<'_>,
    (index, value): (usize, Value<'_>),
    summary: &mut BlockSummary,
    out: &mut Emitter,
) -> Result<(), Fault> {
    let pointer = Pointer::Item(CONTENT, index);
    match raw_str(block.kind()) {
        "text" => {
            let text = text(block.text()).ok_or_else(|| missing_in_block(index, "text", "text", value.raw()))?;
            if state.prompts.take_emitted(text) {
                (summary.has_text, summary.repeated) = (true, true);
                return Ok(());
            }
            // The images of the whole message belong to its first text.
            let attachments = if std::mem::replace(&mut summary.has_text, true) { Vec::new() } else { images(record.message.content()) };
            let form = TextForm { is_block: true, follows_result: summary.has_result };
            emit_input(state, record, (text, form), attachments, pointer, out)?;
            summary.emitted = true;
        }
        "image" | "document" if block.source().is_some() => {}
        "image" | "document" => return Err(missing_in_block(index, "source", "an object", value.raw())),
        other => {
            out.unrecognized_block(other, value.raw(), pointer)?;
            summary.emitted = true;
        }
    }
    Ok(())
}

/// Emits one text in the user's place.
#[inline(never)]
fn emit_input<'a>(
    state: &mut SessionState,
    record: &Record<'a>,
    (text, form): (Text<'a>, TextForm),
    attachments: Vec<Attachment<'a>>,
    pointer: Pointer<'_>,
    out: &mut Emitter,
) -> Result<(), Fault> {
    let line = &record.line;
    state.prompts.remove(text);
    let follows_command = *state.follows_command;
    state.follows_command.set(authors::is_command(text) || (follows_command && authors::is_command_output(text)));
    let is_printed_summary = *state.summary_follows && record.agent.is_none();
    if is_printed_summary || authors::is_summary(line, text) {
        let trigger = state.compaction_trigger.take();
        let trigger = trigger.as_deref().map(Text::Token);
        out.emit(Meta::Compaction { text: Some(text), trigger }, pointer)?;
        return Ok(());
    }
    if authors::is_interrupt(line, (text, form.is_block)) {
        out.emit(Meta::Interrupt { text: Some(text) }, pointer)?;
        return Ok(());
    }
    // The copy of the session in the file of the agent that compacts it is not the agent's.
    let is_copy = record.replay && record.agent.as_deref().is_some_and(|agent| agent.starts_with(COMPACTING_AGENT));
    let is_agents = !is_copy && (record.agent.is_some() || is_true(line.is_sidechain()));
    let by = match state.notes.is_note(line, text) {
        true => Author::Harness,
        false => {
            // Beside a result is what a person said when approving the call, also to a sub-agent.
            let is_agents = is_agents && !form.follows_result;
            authors::of_text(line, text, Place { is_agents, is_block: form.is_block, follows_command })
        }
    };
    if by == Author::Harness && is_true(line.is_meta()) && text.starts_with("<local-command-caveat>") {
        state.follows_command.set(true);
    }
    if by != Author::Harness && authors::stated(line) != Some(Author::Person) && text.starts_with("<command-") {
        let by = if state.commands.is_launched(line) { Author::Agent } else { by };
        return emit_command(state, line, (text, by), pointer, out);
    }
    if by == Author::Person {
        state.commands.set_typed(line, text);
    }
    if by == Author::Person && !is_agents && !record.replay {
        state.rewinds.set_prompt(out.last_seq().unwrap_or_default());
    }
    let parent = if is_true(line.is_sidechain()) && line.parent_uuid().is_none() {
        state.calls.id_by_prompt(text).and_then(|id| out.seq_of_call(Text::Plain(id)))
    } else {
        line.parent_call().and_then(Value::text).and_then(|call| out.seq_of_call(call))
    };
    out.emit_child(parent, MsgIn { role: Role::User, by, text: Some(text), attachments }, pointer)?;
    Ok(())
}

/// Emits a slash command as it was typed, and then the form that the harness gives it.
pub(super) fn emit_command(
    state: &mut SessionState,
    line: &Line<'_>,
    (text, by): (Text<'_>, Author),
    pointer: Pointer<'_>,
    out: &mut Emitter,
) -> Result<(), Fault> {
    let message = |text| MsgIn { role: Role::User, by, text: Some(text), attachments: Vec::new() };
    let Some(mut typed) = authors::typed_command(text) else {
        state.prompts.remove(text);
        out.emit(message(text), pointer)?;
        return Ok(());
    };
    if state.prompts.has(&typed) {
        state.prompts.remove(Text::Plain(&typed));
    } else if let Some(sent) = state.prompts.take_alias(&typed) {
        sent.clone_into(&mut typed);
    }
    if !state.commands.is_typed_again(line, &typed) {
        out.emit(message(Text::Plain(&typed)), pointer)?;
    }
    emit_text("command", Some(text), pointer, out)
}

/// Emits images without a text. Returns whether there were any.
#[cold]
fn emit_images(state: &mut SessionState, line: &Line<'_>, content: Value<'_>, out: &mut Emitter) -> Result<bool, Fault> {
    state.prompts.remove_prompt(content);
    let attachments = images(Some(content));
    let is_any = !attachments.is_empty();
    if is_any {
        let by = authors::stated(line).unwrap_or(Author::Person);
        out.emit(MsgIn { role: Role::User, by, text: None, attachments }, Pointer::At(CONTENT))?;
    }
    Ok(is_any)
}
