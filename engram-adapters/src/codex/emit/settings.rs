//! The session's header, the settings of its turns, and the state behind the harness's messages.

use engram_core::emit::Pointer;
use engram_core::event::{Author, Meta, SessionFacts};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::shared::value::{Field, Value, non_empty_text, raw_str, text};

use super::State;
use super::context::{emit_instructions, emit_system_prompt, emit_value};
use super::last_said::LastSaid;
use crate::codex::format::rule;
use crate::codex::readers::{BaseInstructions, Git, HistoryBase, Notice, SessionMeta, Settings};
use crate::codex::record::Record;
use crate::codex::schema::{is_of_agent, spawned};

/// How deep the state of instruction files is searched.
const MAX_STATE_DEPTH: usize = 8;

/// The header of the bare form: neither directory, model nor version.
pub fn bare_header(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    plain_header(state, record.value, "/instructions", out)
}

/// The header of the TypeScript document.
pub fn document_header(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let session = record
        .value
        .first_member("session")
        .unwrap_or(Value::MISSING);
    plain_header(state, session, "/session/instructions", out)
}

fn plain_header(
    state: &mut State,
    header: Value<'_>,
    instructions_at: &'static str,
    out: &mut Emitter<'_>,
) -> Outcome {
    let mut facts = SessionFacts::default();
    add_repository(
        &mut facts,
        header.first_member("git").filter(|git| git.is_object()),
    );
    state.thread.add_side_info(&mut facts);
    out.emit(Meta::Session(facts), Pointer::Root);
    emit_instructions(
        &mut state.last,
        header.first_member("instructions"),
        instructions_at,
        out,
    );
    Outcome::Mapped
}

/// The header of the envelope form. That of another thread belongs to the history that a fork or sub-agent copied.
pub fn session_meta(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let meta = SessionMeta::lenient(record.value);
    let is_own = state.plan.replay.is_own.get(state.note().at as usize) == Some(&true);
    let id = text(meta.id())
        .map(|id| id.decode_lossy())
        .unwrap_or_default();
    let is_changed = is_own && own_header_changed(&mut state.last, &meta);
    let is_other_session = is_own && state.thread.is_other_session(&id);
    if is_own && !is_changed && !is_other_session {
        return record.duplicate(rule::SETTINGS_HEADER);
    }
    let mut facts = header_facts(&meta);
    if is_own {
        let agent_path = agent_path(&meta).map(|path| path.decode_lossy().into_owned());
        state
            .thread
            .set_own(&id, sender(&meta), agent_path, is_of_agent(&meta));
        state.thread.set_source(None, out);
        state.thread.add_side_info(&mut facts);
    } else {
        state.thread.set_copied_sender(sender(&meta));
    }
    state.last.set_cwd(facts.cwd);
    out.emit(Meta::Session(facts), "/payload");
    if is_other_session {
        // One file is one session; who joined two has both ids on the tape, and this notice.
        out.emit(
            Meta::system("other_session", text(meta.id())),
            "/payload/id",
        );
    }
    if let Some(base) = meta.history_base() {
        emit_base(&meta, HistoryBase::lenient(base), out);
    }
    emit_instructions(
        &mut state.last,
        meta.instructions(),
        "/payload/instructions",
        out,
    );
    if let Some(prompt) = meta
        .base_instructions()
        .and_then(|base| text(BaseInstructions::lenient(base).text()))
    {
        emit_system_prompt(prompt, "/payload/base_instructions/text", out);
    }
    if let Some(tools) = meta.dynamic_tools().filter(|tools| !tools.is_empty_list()) {
        emit_value("tools", tools, "/payload/dynamic_tools", out);
    }
    Outcome::Mapped
}

/// The file that this one continues, up to the record with an ordinal, where the header's other facts do not name it: an earlier file of the
/// same thread, in which the user went back, or a later file of the thread that was forked, which has an id of its own.
fn emit_base(meta: &SessionMeta<'_>, base: HistoryBase<'_>, out: &mut Emitter<'_>) {
    let forked = raw_str(meta.forked_from_id());
    let name = if forked.is_empty() && sub_agent(meta).is_none() {
        "thread_reverted"
    } else if !forked.is_empty() && forked != raw_str(base.thread_id()) {
        "thread_base"
    } else {
        return;
    };
    let place = format!(
        "{} {}",
        raw_str(base.thread_id()),
        base.end_ordinal().map_or("", Value::raw)
    );
    let event = Meta::system(name, Some(Text::Plain(&place)));
    out.emit(event, "/payload/history_base");
}

/// Who writes the prompts of a thread. The prompts of a spawned agent are by the agent that spawned it; those of the harness's own agents
/// are by the harness.
fn sender(meta: &SessionMeta<'_>) -> Author {
    if spawned(meta.source()).is_some() {
        Author::Agent
    } else if sub_agent(meta).is_some()
        || meta
            .source()
            .and_then(|source| source.member("internal"))
            .is_some()
    {
        Author::Harness
    } else {
        Author::Person
    }
}

fn own_header_changed(last: &mut LastSaid, meta: &SessionMeta<'_>) -> bool {
    let (prompt, tools) = (meta.base_instructions(), meta.dynamic_tools());
    let stated = [
        meta.cwd(),
        meta.git(),
        meta.model_provider(),
        meta.instructions(),
        prompt,
        tools,
        meta.source(),
    ];
    last.header_changed(stated.map(|field| field.map(Value::raw)))
}

fn header_facts<'a>(meta: &SessionMeta<'a>) -> SessionFacts<'a> {
    let mut facts = SessionFacts {
        provider: text(meta.model_provider()),
        cwd: text(meta.cwd()),
        ..SessionFacts::default()
    };
    add_repository(&mut facts, meta.git());
    let spawn = spawned(meta.source());
    let nickname =
        non_empty_text(meta.agent_nickname()).or_else(|| non_empty_text(spawn?.agent_nickname()));
    // A sub-agent of the harness itself has only a name: `review`, or `{"other":"guardian"}`.
    let own_name = || text(sub_agent(meta)).or_else(|| text(sub_agent(meta)?.member("other")));
    facts.agent = agent_path(meta).or(nickname).or_else(own_name);
    facts.parent_session_id =
        text(meta.parent_thread_id()).or_else(|| text(spawn?.parent_thread_id()));
    if spawn.is_none() {
        facts.fork_of = text(meta.forked_from_id());
    }
    facts
}

/// The agent that started the session: a name, or an object.
fn sub_agent<'a>(meta: &SessionMeta<'a>) -> Field<'a> {
    meta.source().and_then(|source| source.member("subagent"))
}

/// The session's name in messages between agents.
fn agent_path<'a>(meta: &SessionMeta<'a>) -> Option<Text<'a>> {
    non_empty_text(meta.agent_path())
        .or_else(|| non_empty_text(spawned(meta.source())?.agent_path()))
}

fn add_repository<'a>(facts: &mut SessionFacts<'a>, git: Field<'a>) {
    let git = Git::lenient_opt(git);
    facts.repo_head = text(git.commit_hash());
    facts.repo_branch = text(git.branch());
    facts.repo_url = text(git.repository_url());
}

/// The settings of a request (up to 0.105) or of a turn. Gives events only if they changed.
pub fn turn_context(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let turn = Settings::lenient(record.value);
    emit_changed_settings(&mut state.last, &turn, out);
    let mode_at = "/payload/collaboration_mode/settings/developer_instructions";
    for (instructions, at) in [
        (turn.user_instructions(), "/payload/user_instructions"),
        (
            turn.developer_instructions(),
            "/payload/developer_instructions",
        ),
        (turn.mode_instructions(), mode_at),
    ] {
        emit_instructions(&mut state.last, instructions, at, out);
    }
    record.mapped_or(out.has_events(), rule::SETTINGS_SAME)
}

/// The settings of the thread, after a client changed them.
pub fn thread_settings_applied(
    state: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let settings = Settings::lenient(
        Notice::lenient(record.value)
            .thread_settings()
            .unwrap_or(Value::MISSING),
    );
    emit_changed_settings(&mut state.last, &settings, out);
    let at = "/payload/thread_settings/collaboration_mode/settings/developer_instructions";
    emit_instructions(&mut state.last, settings.mode_instructions(), at, out);
    record.mapped_or(out.has_events(), rule::SETTINGS_APPLIED)
}

/// Emits the settings that the tape has if one of them changed.
fn emit_changed_settings(last: &mut LastSaid, settings: &Settings<'_>, out: &mut Emitter<'_>) {
    last.set_model(settings.model().map(Value::raw));
    last.set_cwd(text(settings.cwd()));
    let effort = settings.effort().or(settings.reasoning_effort());
    let stated = [
        settings.model(),
        settings.cwd(),
        settings.approval_policy(),
        effort,
    ];
    if !last.settings_changed(stated.map(|field| field.map(Value::raw))) {
        return;
    }
    let facts = SessionFacts {
        model: text(settings.model()),
        cwd: text(settings.cwd()),
        provider: text(settings.model_provider_id()),
        permission_mode: settings.approval_policy().and_then(|policy| {
            policy
                .text()
                .or_else(|| policy.members().next().map(|(name, _)| Text::Plain(name)))
        }),
        effort: text(effort),
        ..SessionFacts::default()
    };
    out.emit(Meta::Session(facts), "/payload");
}

/// A new title of the thread.
pub fn thread_name_updated(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let event = Notice::lenient(record.value);
    let facts = SessionFacts {
        title: text(event.thread_name()),
        ..SessionFacts::default()
    };
    out.emit(Meta::Session(facts), "/payload/thread_name");
    Outcome::Mapped
}

/// The state behind the harness's own messages (0.150 and later), by hash. Instruction files keep their text.
pub fn world_state(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let world = record.value.member("state").unwrap_or(Value::MISSING);
    emit_value("world_state", world, "/payload/state", out);
    let mut instructions = Vec::new();
    collect_texts(world.member("agents_md"), 0, &mut instructions);
    for text in instructions {
        emit_instructions(&mut state.last, Some(text), "/payload/state/agents_md", out);
    }
    Outcome::Mapped
}

/// Adds the texts in a value, in their order. A string without white space is a path or a name.
fn collect_texts<'a>(field: Field<'a>, depth: usize, texts: &mut Vec<Value<'a>>) {
    let Some(value) = field.filter(|_| depth < MAX_STATE_DEPTH) else {
        return;
    };
    for element in value
        .elements()
        .chain(value.members().map(|(_, member)| member))
    {
        collect_texts(Some(element), depth + 1, texts);
    }
    if value.text().is_some() && value.raw().contains(char::is_whitespace) {
        texts.push(value);
    }
}
