//! The chat itself, the root of its conversation, and summaries.

use engram_core::emit::{Fault, Pointer};
use engram_core::event::{Meta, SessionFacts};
use engram_core::ledger::Outcome;

use super::state::ChatState;
use crate::cursor::fields::{required, text_or_json};
use crate::cursor::format::{ChatKind, rule};
use crate::cursor::readers::{Agent, ChatLine, ChatMeta, ChatRoot, ChatSubagent, Run};
use crate::cursor::run_store::facts::{emit_agent, emit_whole_run, title};
use crate::cursor::steps::Out;
use crate::shared::value::{count, non_empty_text};

/// The chat: title, model, and the parent of a sub-agent.
pub(super) fn chat(
    _: &mut ChatState,
    line: &ChatLine<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let pointer = Pointer::At("/meta");
    let meta = ChatMeta::lenient(required(line.meta(), pointer, "an object")?);
    let parent = meta.subagent_info().map(ChatSubagent::lenient);
    let facts = SessionFacts {
        model: non_empty_text(meta.last_used_model()),
        title: title(meta.name()),
        parent_session_id: parent.and_then(|parent| non_empty_text(parent.parent_agent_id())),
        parent_call_id: parent.and_then(|parent| non_empty_text(parent.tool_call_id())),
        agent: parent
            .and_then(|parent| non_empty_text(parent.type_name()))
            .or(non_empty_text(meta.mode())),
        ..SessionFacts::default()
    };
    if facts.is_empty() && meta.created_at().is_none() {
        return Ok(Outcome::bookkeeping(
            ChatKind::Chat.name(),
            rule::STORE_ROOT,
        ));
    }
    out.emit(Meta::Session(facts), pointer)?;
    Ok(Outcome::Mapped)
}

/// The root of the conversation: branch and agent, and the workspaces that it had before.
pub(super) fn root(
    _: &mut ChatState,
    line: &ChatLine<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let pointer = Pointer::At("/root");
    let root = ChatRoot::lenient(required(line.root(), pointer, "an object")?);
    let (repo_branch, agent) = (
        non_empty_text(root.active_branch_name()),
        non_empty_text(root.agent_type()),
    );
    let context_tokens = root
        .token_details()
        .and_then(|details| count(details.member("usedTokens")));
    let facts = SessionFacts {
        repo_branch,
        agent,
        context_tokens,
        ..SessionFacts::default()
    };
    let has_facts = !facts.is_empty();
    if has_facts {
        out.emit(Meta::Session(facts), pointer)?;
    }
    let workspaces = text_or_json(root.previous_workspace_uris());
    if workspaces.is_some() {
        let notice = Meta::system("previousWorkspaceUris", workspaces);
        out.emit(notice, "/root/previousWorkspaceUris")?;
    }
    if has_facts || workspaces.is_some() {
        Ok(Outcome::Mapped)
    } else {
        Ok(Outcome::bookkeeping(
            ChatKind::Root.name(),
            rule::STORE_ROOT,
        ))
    }
}

/// The agent of the chat, from the run store beside it.
pub(super) fn agent(
    _: &mut ChatState,
    line: &ChatLine<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let agent = required(line.agent(), Pointer::At("/agent"), "an object")?;
    emit_agent(&Agent::strict(agent, "/agent")?, Pointer::At("/agent"), out)
}

/// The end of a run, from the run store beside the chat.
pub(super) fn run(
    _: &mut ChatState,
    line: &ChatLine<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let run = required(line.run(), Pointer::At("/run"), "an object")?;
    emit_whole_run(&Run::strict(run, "/run")?, Pointer::At("/run"), out)
}

/// The summary of a compaction.
pub(super) fn summary(
    _: &mut ChatState,
    line: &ChatLine<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let text = line
        .archive()
        .and_then(|archive| non_empty_text(archive.member("summary")));
    out.emit(
        Meta::Compaction {
            text,
            trigger: None,
        },
        "/archive/summary",
    )?;
    Ok(Outcome::Mapped)
}
