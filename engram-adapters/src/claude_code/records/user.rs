//! `user` lines: prompts, tool results, and text that the harness writes in the user's place.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Attachment, Meta, MsgIn, Role};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::claude_code::blocks::{
    CONTENT, author, emit_empty_message, images, is_harness_text, malformed_content, message_block, missing_in_block,
};
use crate::claude_code::omission_rules::rule;
use crate::claude_code::record::Record;
use crate::claude_code::results::tool_result::tool_result;
use crate::claude_code::schema::{Block, Line};
use crate::claude_code::state::session_state::SessionState;
use crate::shared::value::{Value, is_true, raw_str, text};

/// How the summary begins that replaces history after a compaction. Up to 1.0.60 nothing else marks it.
const COMPACTED: &str = "This session is being continued from a previous conversation that ran out of context.";

/// What the blocks of a `user` line gave.
#[derive(Default)]
struct BlockSummary {
    /// An event was emitted.
    emitted: bool,
    /// A block repeated an earlier one.
    repeated: bool,
    has_text: bool,
    has_image: bool,
}

/// `user`: a text, or a list of blocks.
#[inline(never)]
pub(super) fn user(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let line = &record.line;
    let content = record.message.content().ok_or_else(|| malformed_content("nothing"))?;
    if let Some(text) = content.text() {
        emit_input(state, line, text, Vec::new(), Pointer::At(CONTENT), out)?;
        return Ok(Outcome::Mapped);
    }
    if !content.is_array() {
        return Err(malformed_content(content.raw()));
    }
    let mut summary = BlockSummary::default();
    for (index, value) in content.elements().enumerate() {
        let block = message_block(value, index)?;
        summary.has_image |= block.source().is_some();
        if raw_str(block.kind()) == "tool_result" {
            let emitted = tool_result(state, line, &block, index, out)?;
            summary.emitted |= emitted;
            summary.repeated |= !emitted;
        } else {
            other_block(state, record, &block, (index, value), &mut summary, out)?;
        }
    }
    let only_images = summary.has_image && !summary.has_text && emit_images(line, content, out)?;
    if only_images || summary.emitted {
        Ok(Outcome::Mapped)
    } else if summary.repeated {
        Ok(Outcome::Duplicate { record: "user", rule: rule::APPENDED_AGAIN })
    } else {
        emit_empty_message("user", out)
    }
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
            // The images of the whole message belong to its first text.
            let attachments = if std::mem::replace(&mut summary.has_text, true) { Vec::new() } else { images(record.message.content()) };
            emit_input(state, &record.line, text, attachments, pointer, out)?;
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
    line: &Line<'a>,
    text: Text<'a>,
    attachments: Vec<Attachment<'a>>,
    pointer: Pointer<'_>,
    out: &mut Emitter,
) -> Result<(), Fault> {
    state.prompts.remove(text);
    if is_true(line.is_compact_summary()) || text.starts_with(COMPACTED) {
        let trigger = state.compaction_trigger.take();
        let trigger = trigger.as_deref().map(Text::Token);
        out.emit(Meta::Compaction { text: Some(text), trigger }, pointer)?;
        return Ok(());
    }
    if text.starts_with("[Request interrupted by user") {
        out.emit(Meta::Interrupt { text: Some(text) }, pointer)?;
        return Ok(());
    }
    if text.starts_with("<command-")
        && let Some(typed) = typed_command(&text.decode_lossy())
    {
        state.prompts.remove(Text::Plain(&typed));
    }
    let parent = if is_true(line.is_sidechain()) && line.parent_uuid().is_none() {
        state.calls.id_by_prompt(text).and_then(|id| out.seq_of_call(Text::Plain(id)))
    } else {
        line.parent_call().and_then(Value::text).and_then(|call| out.seq_of_call(call))
    };
    let by = author(is_true(line.is_meta()) || is_harness_text(text));
    out.emit_child(parent, MsgIn { role: Role::User, by, text: Some(text), attachments }, pointer)?;
    Ok(())
}

/// The slash command inside the harness's tags, as it was typed: `/name args`.
fn typed_command(text: &str) -> Option<String> {
    let inner = |open: &str, close: &str| text.split_once(open)?.1.split_once(close).map(|(inner, _)| inner);
    let name = inner("<command-name>", "</command-name>")?;
    let slash = if name.starts_with('/') { "" } else { "/" };
    let args = inner("<command-args>", "</command-args>").unwrap_or_default();
    let gap = if args.is_empty() { "" } else { " " };
    Some(format!("{slash}{name}{gap}{args}"))
}

/// Emits images without a text. Returns whether there were any.
#[cold]
fn emit_images(line: &Line<'_>, content: Value<'_>, out: &mut Emitter) -> Result<bool, Fault> {
    let attachments = images(Some(content));
    let is_any = !attachments.is_empty();
    if is_any {
        out.emit(MsgIn { role: Role::User, by: author(is_true(line.is_meta())), text: None, attachments }, Pointer::At(CONTENT))?;
    }
    Ok(is_any)
}
