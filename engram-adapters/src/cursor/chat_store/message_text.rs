//! The texts of a chat's messages: prompts, answers, summaries, and context that the harness adds.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{ImplicitInput, Meta, MsgOut};
use engram_core::hash::Hash;
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::cursor::messages::emit_prompt;
use crate::shared::value::{is_true, non_empty_text};
use crate::shared::view::view;

view! {
    /// The harness's own options of a message.
    CursorOptions {
        model_name: "modelName" Any,
        is_summary: "isSummary" Any,
    }
}

/// Sections that the harness adds with the role of the user, by their first tag (SDK 1.0.32).
const CONTEXT_SECTIONS: &[&str] = &[
    "user_info",
    "project_layout",
    "rules",
    "always_applied_workspace_rules",
    "agent_requestable_workspace_rules",
    "user_rules",
    "agent_skills",
    "available_skills",
    "cloud_instructions",
    "open_and_recently_viewed_files",
    "system_reminder",
    "system-reminder",
    "instructions_update",
    "mcp_instructions",
    "mcp_file_system",
    "git_status",
    "agent_transcripts",
    "cursor_rules_context",
    "attached_files",
    "system_notification",
    "task_notification",
    "agent_notification",
    "dynamic_tool_catalog",
];

/// Emits a text with the role of the user: a prompt, a summary, or context of the harness. Returns the number of events.
pub(super) fn emit_user_text(
    text: Text<'_>,
    id: Option<Text<'_>>,
    options: &CursorOptions<'_>,
    pointer: Pointer<'_>,
    out: &mut Emitter,
) -> Result<usize, Fault> {
    if is_true(options.is_summary()) {
        out.emit(Meta::Compaction { text: Some(text), trigger: None }, pointer)?;
        return Ok(1);
    }
    let decoded = text.decode_lossy();
    let tag = decoded.strip_prefix('<').and_then(|rest| rest.split_once('>')).map(|(tag, _)| tag);
    let section = tag.filter(|tag| CONTEXT_SECTIONS.contains(tag)).filter(|_| !decoded.contains("<user_query>"));
    let Some(section) = section else { return emit_prompt(Some(text), id, pointer, out) };
    let context = ImplicitInput { name: Text::Plain(section), file: None, hash: None, bytes: None, text: Some(text) };
    out.emit(Meta::Context(context), pointer)?;
    Ok(1)
}

/// Emits a text of the agent: a message or a summary. Returns the number of events.
pub(super) fn emit_agent_text(
    text: Text<'_>,
    options: &CursorOptions<'_>,
    pointer: Pointer<'_>,
    out: &mut Emitter,
) -> Result<usize, Fault> {
    if is_true(options.is_summary()) {
        out.emit(Meta::Compaction { text: Some(text), trigger: None }, pointer)?;
        return Ok(1);
    }
    let model = non_empty_text(options.model_name());
    out.emit(MsgOut { text: Some(text), model, ..MsgOut::default() }, pointer)?;
    Ok(1)
}

/// Emits the hash of the system prompt, which is the harness's boilerplate.
pub(super) fn emit_system_prompt(content: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
    let (hash, bytes) = (Some(Hash::of_bytes(content.as_bytes())), Some(content.len() as u64));
    let context = ImplicitInput { name: Text::Plain("system_prompt"), file: None, hash, bytes, text: None };
    out.emit(Meta::Context(context), Pointer::At("/message/content"))?;
    Ok(Outcome::Mapped)
}
