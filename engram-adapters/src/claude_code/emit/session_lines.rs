//! Lines of session state: titles, names, directories, modes, costs, pull requests and the shape of requests.

use engram_core::emit::Pointer;
use engram_core::event::{Meta, SessionFacts};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::late;
use crate::claude_code::context_events::{emit_hash, emit_text};
use crate::claude_code::emit::state::State;
use crate::claude_code::format::{LineKind, rule};
use crate::claude_code::notes::Kind;
use crate::claude_code::record::Record;
use crate::shared::value::{Field, Value, amount, text};

/// `summary` (up to 2.0.10): the title of the session with this last line, which is mostly that of another file.
pub(super) fn summary(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let title = record.line.summary();
    if state.plan.notes.all[record.at].kind != Kind::Title
        || state.plan.own_titles.contains(&record.at)
    {
        state.last_stated.set_title(title);
        return emit_title(title, "/summary", out);
    }
    out.emit(
        Meta::System {
            name: Text::Plain("summary"),
            text: text(title),
        },
        Pointer::At("/summary"),
    );
    Outcome::Mapped
}

/// `last-prompt`: shown in a list of sessions. It may state that the person went back to an earlier point.
pub(super) fn last_prompt(
    state: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let omitted = Outcome::Duplicate {
        record: LineKind::LastPrompt.name(),
        rule: rule::PROMPT_LAST,
    };
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

/// `ai-title` (2.1.200 and later): a title that the model made.
pub(super) fn ai_title(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let title = record.line.ai_title();
    if title.is_some() && !state.last_stated.set_title(title) {
        return Outcome::Duplicate {
            record: LineKind::AiTitle.name(),
            rule: rule::STATE_UNCHANGED,
        };
    }
    emit_title(title, "/aiTitle", out)
}

/// `custom-title`: a title that a person gave.
pub(super) fn custom_title(
    state: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let title = record.line.object().member("customTitle");
    if title.is_some() && !state.last_stated.set_title(title) {
        return Outcome::Duplicate {
            record: LineKind::CustomTitle.name(),
            rule: rule::STATE_SAME_NAME,
        };
    }
    emit_title(title, "/customTitle", out)
}

fn emit_title(title: Field<'_>, pointer: &str, out: &mut Emitter) -> Outcome {
    out.emit(
        Meta::Session(SessionFacts {
            title: text(title),
            ..SessionFacts::default()
        }),
        Pointer::At(pointer),
    );
    Outcome::Mapped
}

/// `agent-name`: the session's name among agents.
pub(super) fn agent_name(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let name = record.line.object().member("agentName");
    if !state.last_stated.set_agent_name(name) {
        return Outcome::Duplicate {
            record: LineKind::AgentName.name(),
            rule: rule::STATE_SAME_NAME,
        };
    }
    out.emit(
        Meta::Session(SessionFacts {
            agent: text(name),
            ..SessionFacts::default()
        }),
        Pointer::At("/agentName"),
    );
    Outcome::Mapped
}

/// `agent-setting`: the agent that a person chose for the session (2.1.332).
pub(super) fn agent_setting(
    state: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let name = record.line.object().member("agentSetting");
    if !state.last_stated.set_agent_name(name) {
        return Outcome::Duplicate {
            record: LineKind::AgentSetting.name(),
            rule: rule::STATE_SAME_NAME,
        };
    }
    out.emit(
        Meta::Session(SessionFacts {
            agent: text(name),
            ..SessionFacts::default()
        }),
        Pointer::At("/agentSetting"),
    );
    Outcome::Mapped
}

/// `tag`: a tag that a person gave the session.
pub(super) fn tag(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    out.emit(
        Meta::System {
            name: Text::Plain("tag"),
            text: text(record.line.object().member("tag")),
        },
        Pointer::At("/tag"),
    );
    Outcome::Mapped
}

/// `continued-in`: the session goes on under another id (2.1.332).
pub(super) fn continued_in(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    const POINTER: &str = "/continuedInSessionId";
    let session = text(record.line.object().member("continuedInSessionId"));
    out.emit(
        Meta::System {
            name: Text::Plain("continued-in"),
            text: session,
        },
        Pointer::At(POINTER),
    );
    Outcome::Mapped
}

/// `content-replacement`: what the model sees in place of earlier results from here on.
pub(super) fn content_replacement(
    _: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    const LIST: &str = "/replacements";
    let replacements = record
        .line
        .object()
        .member("replacements")
        .into_iter()
        .flat_map(Value::elements);
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
        return Outcome::Bookkeeping {
            record: LineKind::WorktreeState.name(),
            rule: rule::STATE_UNCHANGED,
        };
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

/// `permission-mode`: emitted when it changes.
pub(super) fn permission_mode(
    state: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let mode = record.line.permission_mode();
    if !state.last_stated.set_permission_mode(mode) {
        return Outcome::Bookkeeping {
            record: LineKind::PermissionMode.name(),
            rule: rule::STATE_UNCHANGED,
        };
    }
    let facts = SessionFacts {
        permission_mode: text(mode),
        ..SessionFacts::default()
    };
    out.emit(Meta::Session(facts), Pointer::At("/permissionMode"));
    Outcome::Mapped
}

/// `mode`: emitted when it changes.
pub(super) fn mode(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let mode = record.line.mode();
    if !state.last_stated.set_mode(mode) {
        return Outcome::Bookkeeping {
            record: LineKind::Mode.name(),
            rule: rule::STATE_UNCHANGED,
        };
    }
    out.emit(
        Meta::System {
            name: Text::Plain("mode"),
            text: text(mode),
        },
        Pointer::Root,
    );
    Outcome::Mapped
}

/// `cost-state` (2.1.277 and later): the cost of the session so far, emitted when it changes.
pub(super) fn cost(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let cost = record.line.total_cost_usd();
    if !state.last_stated.set_cost(cost) {
        return Outcome::Bookkeeping {
            record: LineKind::CostState.name(),
            rule: rule::STATE_UNCHANGED,
        };
    }
    let facts = SessionFacts {
        cost_total_usd: amount(cost),
        ..SessionFacts::default()
    };
    out.emit(Meta::Session(facts), Pointer::At("/totalCostUSD"));
    Outcome::Mapped
}

/// `pr-link` (2.1.29 and later): the pull request that the session opened.
pub(super) fn pull_request(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let url = text(record.line.object().member("prUrl"));
    out.emit(
        Meta::System {
            name: Text::Plain("pr-link"),
            text: url,
        },
        Pointer::At("/prUrl"),
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
        Pointer::At("/shape/system"),
        buffer,
        out,
    );
    emit_hash(
        "tools",
        member("tools"),
        Pointer::At("/shape/tools"),
        buffer,
        out,
    );
    Outcome::Mapped
}
