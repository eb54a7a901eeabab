//! The messages of OpenCode 2, one record each: prompts, notices, commands of the user, answers, compactions, switches.

use engram_core::emit::Pointer;
use engram_core::event::{
    Attachment, Author, Meta, MsgIn, Role, SessionFacts, Status, ToolCall, ToolResult,
};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::message_context::MessageContext;
use super::parts::prompt_author;
use super::session_state::SessionState;
use super::system_events::{emit_step_error, notice};
use super::usage::step_usage;
use crate::opencode::format::{StepKind, rule};
use crate::opencode::readers::{Model, StepFile, StepMessage, StepTime, Tokens};
use crate::opencode::record_facts::{CALL, ERROR, TOKENS};
use crate::opencode::tools::TOOLS;
use crate::shared::media::base64_hash;
use crate::shared::value::{
    Field, Value, elements, integer, is_true, non_empty_text, raw_str, text,
};

/// A message as the handlers get it.
#[derive(Clone, Copy)]
pub(super) struct StepRecord<'r> {
    pub message: &'r StepMessage<'r>,
    pub context: &'r MessageContext<'r>,
    pub pointer: Pointer<'r>,
}

/// Emits a message by its type.
pub(super) fn step(
    state: &mut SessionState,
    record: &StepRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let Some(kind) = StepKind::named(raw_str(record.message.kind())) else {
        return Outcome::Mapped;
    };
    match kind {
        StepKind::Assistant => answer(state, record, out),
        StepKind::User => user(state, record, out),
        StepKind::Synthetic | StepKind::Skill => synthetic(record, out),
        StepKind::Idle => idle(record, out),
        StepKind::Shell => shell(state, record, out),
        StepKind::System => system(record, out),
        StepKind::Compaction => compaction(record, out),
        StepKind::AgentSwitched | StepKind::ModelSwitched | StepKind::LocationSwitched => {
            switched(state, record, out)
        }
    }
}

/// A prompt, with its files.
fn user(state: &mut SessionState, record: &StepRecord<'_>, out: &mut Emitter<'_>) -> Outcome {
    let message = record.message;
    let by = match non_empty_text(message.text()) {
        Some(text) => prompt_author(state, record.context.key, text, record.pointer, out),
        None => state.prompt_author,
    };
    let attachments = elements(message.files()).map(attached).collect();
    let prompt = MsgIn::user(by, non_empty_text(message.text())).with(attachments);
    out.emit(prompt, record.pointer);
    for agent in elements(message.agents()) {
        notice(
            "agent",
            non_empty_text(agent.member("name")),
            record.pointer,
            out,
        );
    }
    Outcome::Mapped
}

/// A file of a prompt. Its content is base64 without the beginning of a URL.
fn attached(file: Value<'_>) -> Attachment<'_> {
    let file = StepFile::lenient(file);
    let uri = file
        .source()
        .and_then(|source| non_empty_text(source.member("uri")));
    let (hash, bytes) = file
        .data()
        .and_then(Value::text)
        .and_then(base64_hash)
        .unzip();
    Attachment {
        media_type: non_empty_text(file.mime()),
        hash,
        bytes,
        name: uri.or(non_empty_text(file.name())),
    }
}

/// A text that the harness wrote for the model: results of background work, instruction files that a read found, skills.
fn synthetic(record: &StepRecord<'_>, out: &mut Emitter<'_>) -> Outcome {
    let text = non_empty_text(record.message.text());
    out.emit(MsgIn::user(Author::Harness, text), record.pointer);
    if let Some(skill) = non_empty_text(record.message.skill()) {
        notice("skill", Some(skill), record.pointer, out);
    }
    Outcome::Mapped
}

/// Instructions that changed.
fn system(record: &StepRecord<'_>, out: &mut Emitter<'_>) -> Outcome {
    let text = non_empty_text(record.message.text());
    out.emit(
        MsgIn {
            role: Role::System,
            by: Author::Harness,
            text,
            attachments: Vec::new(),
        },
        record.pointer,
    );
    Outcome::Mapped
}

/// A command that the user ran.
fn shell(state: &mut SessionState, record: &StepRecord<'_>, out: &mut Emitter<'_>) -> Outcome {
    const TOOL: &str = "shell";
    let message = record.message;
    let call_id = non_empty_text(message.shell_id()).or(non_empty_text(message.call_id()));
    let (begun, ended) = times(message);
    let call = ToolCall {
        call_id,
        args: message.command().map(Value::raw),
        ..ToolCall::new(Text::Plain(TOOL), TOOLS.kind(TOOL))
    };
    if !state.decision.stated[CALL] {
        out.emit(call, record.pointer);
    }
    let exit = integer(message.exit());
    let status = match (raw_str(message.status()), exit) {
        ("running", _) => return Outcome::Mapped,
        // Betas write a command when it has ended.
        ("", None) if ended.is_none() => return Outcome::Mapped,
        ("killed", _) => Some(Status::Cancelled),
        (_, Some(0)) => Some(Status::Ok),
        (_, Some(_)) | ("timeout", _) => Some(Status::Error),
        _ => None,
    };
    record
        .context
        .set_header(ended.or(begun), message.id(), &mut state.clock, out);
    let output = message.output();
    let result = ToolResult {
        tool: Some(Text::Plain(TOOL)),
        call_id,
        status,
        exit,
        stdout: output.and_then(|output| output.text().or_else(|| text(output.member("output")))),
        truncated: is_true(output.and_then(|output| output.member("truncated"))),
        duration_ms: begun
            .zip(ended)
            .and_then(|(begun, ended)| u64::try_from(ended.checked_sub(begun)?).ok()),
        ..ToolResult::default()
    };
    out.emit(result, record.pointer);
    Outcome::Mapped
}

fn times(message: &StepMessage<'_>) -> (Option<i64>, Option<i64>) {
    let time = StepTime::lenient_opt(message.time());
    (integer(time.created()), integer(time.completed()))
}

/// The beginning of an answer: model and agent, if they changed. Its cost and its end follow its parts ([`answer_end`]).
fn answer(state: &mut SessionState, record: &StepRecord<'_>, out: &mut Emitter<'_>) -> Outcome {
    let message = record.message;
    let model = Model::lenient_opt(message.model());
    let stated = &mut state.last_stated;
    let facts = SessionFacts {
        model: stated.changed_model(model.id()),
        provider: stated.changed_provider(model.provider_id()),
        agent: stated.changed_agent(message.agent()),
        effort: stated.changed_effort(model.variant()),
        ..SessionFacts::default()
    };
    if facts.model.is_some()
        || facts.provider.is_some()
        || facts.agent.is_some()
        || facts.effort.is_some()
    {
        out.emit(Meta::Session(facts), record.pointer);
    }
    Outcome::Mapped
}

/// What is known only at the end of an answer: the files that changed meanwhile, tokens, and how it ended. An answer without any of them
/// never ended.
pub(super) fn answer_end(record: &StepRecord<'_>, stated: [bool; 3], out: &mut Emitter<'_>) {
    let (message, pointer) = (record.message, record.pointer);
    if let Some(tokens) = message.tokens().filter(|_| !stated[TOKENS]) {
        let tokens = Tokens::lenient(tokens);
        out.emit(
            step_usage(&tokens, message.cost(), message.finish(), record.context),
            pointer,
        );
    }
    let files = message
        .snapshot()
        .and_then(|snapshot| snapshot.member("files"));
    let names: Vec<_> = elements(files)
        .filter_map(Value::text)
        .map(|file| file.decode_lossy())
        .collect();
    if !names.is_empty() {
        notice(
            "files_changed",
            Some(Text::Plain(&names.join("\n"))),
            pointer,
            out,
        );
    }
    if let Some(error) = message.retry().and_then(|retry| retry.member("error")) {
        emit_step_error(error, pointer, out);
    }
    if let Some(error) = message.error() {
        if !stated[ERROR] {
            emit_step_error(error, pointer, out);
        }
    } else if message.tokens().is_none() {
        notice("answer.unfinished", None, pointer, out);
    }
}

/// A summary that replaced earlier messages.
fn compaction(record: &StepRecord<'_>, out: &mut Emitter<'_>) -> Outcome {
    let message = record.message;
    let trigger = non_empty_text(message.reason());
    match non_empty_text(message.summary()) {
        Some(summary) => {
            out.emit(
                Meta::Compaction {
                    text: Some(summary),
                    trigger,
                },
                record.pointer,
            );
        }
        None => notice("compaction", trigger, record.pointer, out),
    }
    if let Some(tokens) = message.tokens() {
        let tokens = Tokens::lenient(tokens);
        out.emit(
            step_usage(&tokens, message.cost(), None, record.context),
            record.pointer,
        );
    }
    if let Some(error) = message.error() {
        emit_step_error(error, record.pointer, out);
    }
    Outcome::Mapped
}

/// The user switched to another agent, model or directory.
fn switched(state: &mut SessionState, record: &StepRecord<'_>, out: &mut Emitter<'_>) -> Outcome {
    let (message, stated) = (record.message, &mut state.last_stated);
    let model = Model::lenient_opt(message.model());
    let directory = directory(message.location());
    stated.changed_model(model.id());
    stated.changed_provider(model.provider_id());
    stated.changed_agent(message.agent());
    stated.changed_effort(model.variant());
    stated.changed_cwd(directory);
    let facts = SessionFacts {
        model: non_empty_text(model.id()),
        provider: non_empty_text(model.provider_id()),
        agent: non_empty_text(message.agent()),
        effort: non_empty_text(model.variant()),
        cwd: non_empty_text(directory),
        ..SessionFacts::default()
    };
    out.emit(Meta::Session(facts), record.pointer);
    Outcome::Mapped
}

/// The directory of a location.
pub(super) fn directory(location: Field<'_>) -> Field<'_> {
    location.and_then(|location| location.member("directory"))
}

/// The end of a turn. Its outcome follows from the last answer, unless an error came between.
fn idle(record: &StepRecord<'_>, out: &mut Emitter<'_>) -> Outcome {
    match record.message.error() {
        Some(error) => {
            emit_step_error(error, record.pointer, out);
            Outcome::Mapped
        }
        None => Outcome::bookkeeping(StepKind::Idle.name(), rule::TURN_IDLE),
    }
}
