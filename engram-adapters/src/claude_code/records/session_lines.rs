//! Lines of session state: titles, names, directories, modes, costs, pull requests and the shape of requests.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Meta, SessionFacts};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::claude_code::context_events::emit_hash;
use crate::claude_code::omission_rules::rule;
use crate::claude_code::record::Record;
use crate::claude_code::state::rewinds::Undecided;
use crate::claude_code::state::session_state::SessionState;
use crate::shared::value::{Field, amount, is_true, text};

/// `summary` (up to 2.0.10): the title of the session with this last line, which is mostly that of another file.
pub(super) fn summary(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let title = record.line.summary();
    let (Some(stated), Some(leaf), Some(text)) = (title, text(record.line.leaf()), text(title)) else {
        return emit_title(title, "/summary", out);
    };
    let foreign = Outcome::Duplicate { record: "summary", rule: rule::FOREIGN_TITLE };
    if !state.lines.insert_title(leaf.raw(), text.raw()) {
        return Ok(Outcome::Duplicate { record: "summary", rule: rule::SAME_TITLE });
    }
    if state.lines.has(leaf) {
        state.last_stated.set_title(title);
        return emit_title(title, "/summary", out);
    }
    let deferred = state.titles.defer(leaf, stated, &record.line, out)?;
    Ok(if deferred { foreign } else { Outcome::Mapped })
}

/// `last-prompt`: shown in a list of sessions. An explicit one shows that the person went back to an earlier point.
pub(super) fn last_prompt(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let omitted = Outcome::Duplicate { record: "last-prompt", rule: rule::LAST_PROMPT };
    if !is_true(record.line.is_explicit()) {
        return Ok(omitted);
    }
    let leaf = || text(record.line.leaf()).and_then(|leaf| state.lines.last_event(leaf)).filter(|to| Some(*to) < out.last_seq());
    let target = match state.rewinds.undecided() {
        Undecided::None => leaf(),
        Undecided::Waits(to) => Some(to),
        Undecided::TooLarge => None,
    };
    state.rewinds.set_undecided(Undecided::None);
    match target {
        Some(to) => {
            out.emit(Meta::Rewind { to, files: false }, Pointer::Root)?;
            Ok(Outcome::Mapped)
        }
        None => Ok(omitted),
    }
}

/// `ai-title` (2.1.200 and later): a title that the model made.
pub(super) fn ai_title(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let title = record.line.ai_title();
    if title.is_some() && !state.last_stated.set_title(title) {
        return Ok(Outcome::Duplicate { record: "ai-title", rule: rule::UNCHANGED });
    }
    emit_title(title, "/aiTitle", out)
}

/// `custom-title`: a title that a person gave.
pub(super) fn custom_title(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let title = record.line.object().member("customTitle");
    if title.is_some() && !state.last_stated.set_title(title) {
        return Ok(Outcome::Duplicate { record: "custom-title", rule: rule::SAME_NAME });
    }
    emit_title(title, "/customTitle", out)
}

fn emit_title(title: Field<'_>, pointer: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
    if title.is_none() {
        return Err(Fault::malformed(pointer, "a title", "nothing"));
    }
    out.emit(Meta::Session(SessionFacts { title: text(title), ..SessionFacts::default() }), Pointer::At(pointer))?;
    Ok(Outcome::Mapped)
}

/// `agent-name`: the session's name among agents.
pub(super) fn agent_name(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let name = record.line.object().member("agentName");
    if !state.last_stated.set_agent_name(name) {
        return Ok(Outcome::Duplicate { record: "agent-name", rule: rule::SAME_NAME });
    }
    out.emit(Meta::Session(SessionFacts { agent: text(name), ..SessionFacts::default() }), Pointer::At("/agentName"))?;
    Ok(Outcome::Mapped)
}

/// `worktree-state` and `relocated`: the session moves to another directory.
pub(super) fn moved(_: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let line = record.line.object();
    let worktree = line.member("worktreeSession");
    let cwd = text(line.member("relocatedCwd").or_else(|| worktree?.member("worktreePath")));
    let repo_branch = text(worktree.and_then(|worktree| worktree.member("worktreeBranch")));
    out.emit(Meta::Session(SessionFacts { cwd, repo_branch, ..SessionFacts::default() }), Pointer::Root)?;
    Ok(Outcome::Mapped)
}

/// `permission-mode`: emitted when it changes.
pub(super) fn permission_mode(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let mode = record.line.permission_mode();
    if !state.last_stated.set_permission_mode(mode) {
        return Ok(Outcome::Bookkeeping { record: "permission-mode", rule: rule::UNCHANGED });
    }
    let facts = SessionFacts { permission_mode: text(mode), ..SessionFacts::default() };
    out.emit(Meta::Session(facts), Pointer::At("/permissionMode"))?;
    Ok(Outcome::Mapped)
}

/// `mode`: emitted when it changes.
pub(super) fn mode(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let mode = record.line.mode();
    if !state.last_stated.set_mode(mode) {
        return Ok(Outcome::Bookkeeping { record: "mode", rule: rule::UNCHANGED });
    }
    out.emit(Meta::System { name: Text::Plain("mode"), text: text(mode) }, Pointer::Root)?;
    Ok(Outcome::Mapped)
}

/// `cost-state` (2.1.277 and later): the cost of the session so far, emitted when it changes.
pub(super) fn cost(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let cost = record.line.total_cost_usd();
    if !state.last_stated.set_cost(cost) {
        return Ok(Outcome::Bookkeeping { record: "cost-state", rule: rule::UNCHANGED });
    }
    let facts = SessionFacts { cost_total_usd: amount(cost), ..SessionFacts::default() };
    out.emit(Meta::Session(facts), Pointer::At("/totalCostUSD"))?;
    Ok(Outcome::Mapped)
}

/// `pr-link` (2.1.29 and later): the pull request that the session opened.
pub(super) fn pull_request(_: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let url = text(record.line.object().member("prUrl")).ok_or_else(|| Fault::malformed("/prUrl", "a URL", "nothing"))?;
    out.emit(Meta::System { name: Text::Plain("pr-link"), text: Some(url) }, Pointer::At("/prUrl"))?;
    Ok(Outcome::Mapped)
}

/// `api-request-shape` (2.1.300 and later): the system prompt and the tools of the next requests.
pub(super) fn request_shape(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let shape = record.line.shape().ok_or_else(|| Fault::malformed("/shape", "the shape of a request", "nothing"))?;
    let buffer = &mut state.scratch.text;
    emit_hash("system_prompt", shape.member("system"), Pointer::At("/shape/system"), buffer, out)?;
    emit_hash("tools", shape.member("tools"), Pointer::At("/shape/tools"), buffer, out)?;
    Ok(Outcome::Mapped)
}
