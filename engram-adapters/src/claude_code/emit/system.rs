//! `system` lines: compaction, output of local commands, hooks, API errors and refusals, notices.

use engram_core::emit::Pointer;
use engram_core::event::{Author, Meta, MsgIn};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::user::emit_command;
use crate::claude_code::authors::{self, Place};
use crate::claude_code::context_events::emit_text;
use crate::claude_code::emit::state::State;
use crate::claude_code::record::Record;
use crate::shared::value::{Value, elements, non_empty_text, raw_str, text};

const CONTENT: Pointer<'static> = Pointer::At("/content");

/// `system/informational`: a notice. That a hook has blocked a prompt has the prompt in it.
pub(super) fn informational(
    state: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let content = text(record.line.content()).map(|content| content.decode_lossy());
    if let Some(prompt) = content.as_deref().and_then(blocked_prompt) {
        let prompt = Some(Text::Plain(prompt));
        out.emit(MsgIn::user(Author::Person, prompt), CONTENT);
    }
    notice(state, record, out)
}

/// The prompt in the notice that a hook has blocked it.
pub fn blocked_prompt(notice: &str) -> Option<&str> {
    const BLOCKED: &str = "UserPromptSubmit operation blocked by hook";
    let (_, prompt) = notice
        .strip_prefix(BLOCKED)?
        .split_once("\n\nOriginal prompt: ")?;
    Some(prompt)
}

/// A notice, named by its subtype.
pub(super) fn notice(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let name = Text::Plain(raw_str(record.line.subtype()));
    out.emit(Meta::system(name, text(record.line.content())), CONTENT);
    Outcome::Mapped
}

/// `system/compact_boundary`: a compaction, whose summary follows as a `user` line.
pub(super) fn compact_boundary(
    state: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let trigger = record
        .line
        .compact_metadata()
        .and_then(|facts| facts.member("trigger"));
    state.compaction_trigger = text(trigger)
        .and(trigger)
        .map(|trigger| trigger.raw().to_owned());
    let outcome = notice(state, record, out);
    let facts = record.line.compact_metadata();
    for (member, pointer) in [
        ("userContext", "/compactMetadata/userContext"),
        ("user_context", "/compact_metadata/user_context"),
    ] {
        if let Some(wish) = non_empty_text(facts.and_then(|facts| facts.member(member))) {
            emit_text("compaction_wish", Some(wish), Pointer::At(pointer), out);
        }
    }
    outcome
}

/// `system/local_command` (1.0.128 and later): a command that the harness runs itself, or its output.
pub(super) fn local_command(
    state: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let Some(command) = text(record.line.content()) else {
        return notice(state, record, out);
    };
    let place = Place {
        is_agents: record.agent.is_some(),
        is_block: true,
        follows_command: true,
    };
    let by = authors::of_text(&record.line, command, place);
    if by == Author::Harness {
        return notice(state, record, out);
    }
    emit_command(state, record, (command, by), CONTENT, out);
    Outcome::Mapped
}

/// `system/model_fallback`: another model goes on.
pub(super) fn model_fallback(
    state: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let name = Text::Plain("model_fallback");
    for (member, pointer) in [
        ("originalModel", "/originalModel"),
        ("fallbackModel", "/fallbackModel"),
    ] {
        if let Some(model) = text(record.line.object().member(member)) {
            out.emit(Meta::system(name, Some(model)), pointer);
        }
    }
    notice(state, record, out)
}

/// `system/stop_hook_summary` (2.0.64 to 2.1.42): the hooks that ran when the model stopped, and their errors.
pub(super) fn stop_hook_summary(
    _: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let name = Text::Plain("stop_hook_summary");
    let line = record.line.object();
    let items = |name| elements(line.member(name)).enumerate();
    out.emit(
        Meta::system(name, non_empty_text(line.member("stopReason"))),
        "/stopReason",
    );
    for (index, hook) in items("hookInfos") {
        out.emit(
            Meta::system(name, text(hook.member("command"))),
            Pointer::Field("/hookInfos", index, "/command"),
        );
    }
    for (index, error) in items("hookErrors") {
        out.emit(
            Meta::error(None, error.text()),
            Pointer::Item("/hookErrors", index),
        );
    }
    for (index, told) in items("hookAdditionalContext") {
        let message = MsgIn::user(Author::Harness, told.text());
        out.emit(message, Pointer::Item("/hookAdditionalContext", index));
    }
    Outcome::Mapped
}

/// `system/api_refusal` and `system/model_refusal_fallback`: the model refused, and the reason.
pub(super) fn refusal(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let line = record.line.object();
    let explanation = non_empty_text(line.member("apiRefusalExplanation"));
    let reason = explanation.or(text(record.line.content()));
    out.emit(
        Meta::error(text(line.member("apiRefusalCategory")), reason),
        Pointer::Root,
    );
    if explanation.is_some() {
        notice(state, record, out)
    } else {
        Outcome::Mapped
    }
}

/// `system/api_error` and `system/error` (2.1.300 and later): one failed request, which is retried.
pub(super) fn api_error(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let error = record.line.error();
    let member = |name| error.and_then(|error| error.member(name));
    let code = member("status").map(Value::json);
    let message = text(member("message"))
        .or_else(|| text(member("formatted")))
        .or_else(|| error.map(Value::json));
    out.emit(Meta::error(code, message), "/error");
    let connection =
        non_empty_text(member("connection").and_then(|connection| connection.member("message")));
    if let Some(text) =
        connection.filter(|text| message.is_none_or(|message| message.raw() != text.raw()))
    {
        let name = Text::Plain("error_details");
        out.emit(Meta::system(name, Some(text)), "/error/connection/message");
    }
    Outcome::Mapped
}
