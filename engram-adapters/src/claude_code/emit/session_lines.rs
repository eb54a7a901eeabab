//! Lines of session state: titles, names, directories, modes, costs, pull requests and the shape of requests.

use engram_core::emit::Pointer;
use engram_core::event::{Meta, SessionFacts};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;

use super::{late, usage};
use crate::claude_code::context_events::{emit_hash, emit_text};
use crate::claude_code::emit::state::State;
use crate::claude_code::emit::state::last_stated::Said;
use crate::claude_code::format::{LineKind, rule};
use crate::claude_code::notes::Kind;
use crate::claude_code::record::Record;
use crate::shared::value::{Value, elements, text};

/// `summary` (up to 2.0.10): the title of the session with this last line, which is mostly that of another file.
pub(super) fn summary(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let title = record.line.summary();
    if state.plan.notes.all[record.at].kind != Kind::Title
        || state.plan.own_titles.contains(&record.at)
    {
        state.last_stated.set(Said::Title, title);
        out.emit(Meta::session(|facts| facts.title = text(title)), "/summary");
        return Outcome::Mapped;
    }
    out.emit(Meta::system("summary", text(title)), "/summary");
    Outcome::Mapped
}

/// `last-prompt`: shown in a list of sessions. It may state that the person went back to an earlier point.
pub(super) fn last_prompt(
    state: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let omitted = Outcome::duplicate(LineKind::LastPrompt.name(), rule::PROMPT_LAST);
    let rewinds = &state.plan.rewinds;
    let is_told = rewinds.values().any(|rewind| rewind.stated_by == record.at);
    let here = rewinds
        .get(&record.at)
        .and_then(|rewind| late::end_of(state, rewind.to));
    if let Some(to) = here {
        out.emit(Meta::Rewind { to, files: false }, Pointer::Root);
    }
    if is_told { Outcome::Mapped } else { omitted }
}

/// A line with one fact of the session, and no event if the fact is the same as before: titles, names among agents (that of 2.1.332 was chosen by a
/// person), the mode of permissions, and the cost so far (2.1.277 and later).
pub(super) fn changed_fact(
    state: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    use LineKind::{AgentName, AgentSetting, AiTitle, CostState, CustomTitle, Mode};
    let Some(kind) = LineKind::named(record.kind) else {
        return Outcome::Mapped;
    };
    let (said, pointer, again): (_, _, fn(_, _) -> Outcome) = match kind {
        AiTitle => (Said::Title, "/aiTitle", Outcome::duplicate),
        CustomTitle => (Said::Title, "/customTitle", Outcome::duplicate),
        AgentName => (Said::AgentName, "/agentName", Outcome::duplicate),
        AgentSetting => (Said::AgentName, "/agentSetting", Outcome::duplicate),
        CostState => (Said::Cost, "/totalCostUSD", Outcome::bookkeeping),
        Mode => (Said::Mode, "/mode", Outcome::bookkeeping),
        _ => (
            Said::PermissionMode,
            "/permissionMode",
            Outcome::bookkeeping,
        ),
    };
    let value = record.line.object().member(&pointer[1..]);
    if !state.last_stated.set(said, value) {
        let is_name = matches!(kind, CustomTitle | AgentName | AgentSetting);
        let rule = if is_name {
            rule::STATE_SAME_NAME
        } else {
            rule::STATE_UNCHANGED
        };
        return again(kind.name(), rule);
    }
    if said == Said::Mode {
        out.emit(Meta::system("mode", text(value)), Pointer::Root);
    } else if said == Said::Cost && !usage::is_of_session(record.line.object(), state.output) {
        let total = value.map(|value| value.json());
        out.emit(Meta::system(kind.name(), total), pointer);
    } else {
        out.emit(Meta::session(|facts| said.set_in(facts, value)), pointer);
    }
    Outcome::Mapped
}

/// A line with one fact that is a notice: a tag that a person gave the session, the id under which it goes on (2.1.332), and the pull request that it
/// opened (2.1.29 and later).
pub(super) fn notice(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let pointer = match LineKind::named(record.kind) {
        Some(LineKind::Tag) => "/tag",
        Some(LineKind::ContinuedIn) => "/continuedInSessionId",
        _ => "/prUrl",
    };
    let value = text(record.line.object().member(&pointer[1..]));
    out.emit(Meta::system(record.kind, value), pointer);
    Outcome::Mapped
}

/// `content-replacement`: what the model sees in place of earlier results from here on.
pub(super) fn content_replacement(
    _: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    const LIST: &str = "/replacements";
    let replacements = elements(record.line.object().member("replacements"));
    let mut is_any = false;
    for (index, replacement) in replacements.enumerate() {
        let shown = text(replacement.member("replacement"));
        emit_text(
            "content_replacement",
            shown,
            Pointer::Field(LIST, index, "/replacement"),
            out,
        );
        is_any = true;
    }
    if !is_any {
        emit_text("content_replacement", None, Pointer::At(LIST), out);
    }
    Outcome::Mapped
}

/// `worktree-state` and `relocated`: the session moves to another directory. 2.1.332 repeats the first at each prompt.
pub(super) fn moved(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let line = record.line.object();
    let worktree = line.member("worktreeSession");
    let cwd = line
        .member("relocatedCwd")
        .or_else(|| worktree?.member("worktreePath"));
    let branch = worktree.and_then(|worktree| worktree.member("worktreeBranch"));
    let has_moved = state.last_stated.set_place(cwd, branch);
    if worktree.is_some_and(Value::is_object) && !has_moved {
        return Outcome::bookkeeping(LineKind::WorktreeState.name(), rule::STATE_UNCHANGED);
    }
    out.emit(
        Meta::Session(SessionFacts {
            cwd: text(cwd),
            repo_branch: text(branch),
            ..SessionFacts::default()
        }),
        Pointer::Root,
    );
    Outcome::Mapped
}

/// `api-request-shape` (2.1.300 and later): the system prompt and the tools of the next requests.
pub(super) fn request_shape(
    state: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let member = |name| record.line.shape().and_then(|shape| shape.member(name));
    let buffer = &mut state.scratch.text;
    emit_hash(
        "system_prompt",
        member("system"),
        "/shape/system",
        buffer,
        out,
    );
    emit_hash("tools", member("tools"), "/shape/tools", buffer, out);
    Outcome::Mapped
}
