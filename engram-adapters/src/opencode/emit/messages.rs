//! A message's own record: role, model, agent, system prompts, errors, tokens.

use engram_core::emit::Pointer;
use engram_core::event::{ImplicitInput, Meta, SessionFacts};
use engram_core::hash::Hash;
use engram_core::keys::{KeyMap, hash64};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::last_stated::LastStated;
use super::message_context::MessageContext;
use super::session_state::SessionState;
use super::system_events::emit_error;
use super::usage::usage;
use crate::opencode::format::{MessageKind, rule};
use crate::opencode::notes::Speaker;
use crate::opencode::readers::{Envelope, Model, Summary, Tokens};
use crate::opencode::record_facts::{ERROR, TOKENS};
use crate::opencode::revisions::Dialect;
use crate::shared::value::{Field, Value, non_empty_text};

/// Converts a message's own record. Most repeat what earlier messages state.
pub(super) fn message(
    state: &mut SessionState,
    envelope: &Envelope<'_>,
    context: &MessageContext<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let pointer = Pointer::Root;
    session_facts(&mut state.last_stated, envelope, pointer, out);
    if let Some(system) = envelope.system() {
        system_prompts(&mut state.system_prompts, system, pointer, out);
    }
    if let Some(value) = envelope.summary().filter(|summary| summary.is_object()) {
        summary(value, pointer, out);
    }
    let record = match context.speaker {
        Speaker::User => MessageKind::User,
        Speaker::Assistant | Speaker::Unknown => MessageKind::Assistant,
    };
    if out.has_events() || has_end(envelope, context, state.decision.stated) {
        Outcome::Mapped
    } else {
        Outcome::bookkeeping(record.name(), rule::MESSAGE_ENVELOPE)
    }
}

/// Emits model, agent and directory, if they changed.
fn session_facts(
    last_stated: &mut LastStated,
    envelope: &Envelope<'_>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    let requested = Model::lenient_opt(envelope.model());
    let cwd = envelope.path().and_then(|path| path.member("cwd"));
    let model = last_stated.changed_model(envelope.model_id().or(requested.model_id()));
    let provider = last_stated.changed_provider(envelope.provider_id().or(requested.provider_id()));
    let cwd = last_stated.changed_cwd(cwd);
    let agent = last_stated.changed_agent(envelope.agent().or(envelope.mode()));
    let effort = match envelope.variant().or(requested.variant()) {
        // A prompt that names a model and no effort asks for the model's own.
        None if requested.model_id().is_some() => last_stated.default_effort(),
        variant => last_stated.changed_effort(variant),
    };
    let is_new = [model, provider, cwd, agent, effort]
        .iter()
        .any(Option::is_some);
    if is_new {
        out.emit(
            Meta::Session(SessionFacts {
                model,
                provider,
                cwd,
                agent,
                effort,
                ..SessionFacts::default()
            }),
            pointer,
        );
    }
}

/// Emits the system prompts, each once: the harness's own as a hash, instruction files as text.
fn system_prompts(
    seen: &mut KeyMap<()>,
    system: Value<'_>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    for prompt in system.elements().filter_map(Value::text) {
        if seen.insert(hash64(("list", prompt.raw())), ()).is_none() {
            let decoded = prompt.decode().ok();
            out.emit(Meta::Context(implicit_input(decoded.as_deref())), pointer);
        }
    }
    if let Some(prompt) = non_empty_text(Some(system))
        && seen.insert(hash64(system.raw()), ()).is_none()
    {
        // On a user message it is the caller's own prompt, not the harness's.
        let input = ImplicitInput::of_text("system_prompt", Some(prompt));
        out.emit(Meta::Context(input), pointer);
    }
}

/// A system prompt. Its kind follows from its first words (0.1.174 and 0.5.29).
fn implicit_input(decoded: Option<&str>) -> ImplicitInput<'_> {
    let prompt = decoded.unwrap_or_default();
    let (name, file) = match prompt.strip_prefix("Instructions from: ") {
        Some(rest) => ("instructions", rest.lines().next()),
        None if prompt.starts_with("Here is some useful information about the environment") => {
            ("environment", None)
        }
        None => ("system_prompt", None),
    };
    let is_instructions = file.is_some();
    ImplicitInput {
        name: Text::Plain(name),
        file: file.map(Text::Plain),
        hash: decoded.map(Hash::of_text),
        bytes: decoded.map(|prompt| prompt.len() as u64),
        text: is_instructions.then_some(Text::Plain(prompt)),
    }
}

/// Emits the title and text that a model wrote about the turn (user messages, 1.0.0 to 1.2.27).
fn summary(summary: Value<'_>, pointer: Pointer<'_>, out: &mut Emitter<'_>) {
    let summary = Summary::lenient(summary);
    for (name, value) in [
        ("summary.title", summary.title()),
        ("summary.body", summary.body()),
    ] {
        if let Some(value) = non_empty_text(value) {
            out.emit(Meta::system(name, Some(value)), pointer);
        }
    }
}

/// True if [`message_end`] emits something.
fn has_end(envelope: &Envelope<'_>, context: &MessageContext<'_>, stated: [bool; 3]) -> bool {
    tokens(envelope, context, stated).is_some() || new_error(envelope, stated).is_some()
}

/// What is known only at the end of a message: tokens, unless its parts say them, and how it ended.
pub(super) fn message_end(
    envelope: &Envelope<'_>,
    context: &MessageContext<'_>,
    stated: [bool; 3],
    dialect: Dialect,
    out: &mut Emitter<'_>,
) {
    if let Some(tokens) = tokens(envelope, context, stated) {
        // Of several requests in one message, the tokens are those of the last one, and the cost is that of all. 0.1.174.
        let has_calls = envelope
            .tool()
            .is_some_and(|by_call| by_call.members().next().is_some());
        let cost = envelope.cost().filter(|_| !has_calls);
        out.emit(
            usage(&tokens, cost, envelope.finish(), context, dialect),
            Pointer::Root,
        );
    }
    if let Some(error) = new_error(envelope, stated) {
        emit_error(error, Pointer::Root, out);
    }
}

/// The error of a message that no earlier record of the message has.
fn new_error<'a>(envelope: &Envelope<'a>, stated: [bool; 3]) -> Field<'a> {
    envelope.error().filter(|_| !stated[ERROR])
}

/// The tokens of a message whose parts do not say them, nor an earlier record of the message.
fn tokens<'a>(
    envelope: &Envelope<'a>,
    context: &MessageContext<'_>,
    stated: [bool; 3],
) -> Option<Tokens<'a>> {
    let tokens = envelope
        .tokens()
        .filter(|_| !context.has_step_finish && !stated[TOKENS])?;
    Some(Tokens::lenient(tokens)).filter(Tokens::is_spent)
}
