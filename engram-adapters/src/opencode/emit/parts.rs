//! The parts of a message, tool calls excepted: text, reasoning, files, usage, notices.

use std::borrow::Cow;

use engram_core::emit::Pointer;
use engram_core::event::{
    Attachment, Author, Channel, ImplicitInput, Meta, MsgIn, MsgOut, SessionFacts,
};
use engram_core::ledger::Outcome;
use engram_core::steps::{Emitter, Lookup};
use engram_core::text::Text;

use super::call_events::{CallPlace, emit_call};
use super::later_calls::Giver;
use super::message_context::MessageContext;
use super::session_state::SessionState;
use super::system_events::{emit_error, emit_system, notice};
use super::typed::{Typed, emit_typed};
use super::usage::{step_usage, usage};
use crate::opencode::format::{PartKind, rule};
use crate::opencode::notes::Speaker;
use crate::opencode::readers::{Invocation, Part, Time, Tokens};
use crate::opencode::record_facts::CALL;
use crate::opencode::results::attachment::attachment;
use crate::opencode::results::call::Call;
use crate::opencode::results::tool_result::refusal_words;
use crate::opencode::schema::bool_opt;
use crate::opencode::wrappers::is_of_plugin;
use crate::shared::time::MillisFormatter;
use crate::shared::value::{
    self, StructuralIndex, Value, elements, integer, is_true, non_empty_text, parse, raw_str,
};

/// One part of a message.
#[derive(Clone, Copy)]
pub(super) struct PartRecord<'r> {
    /// The number of the record.
    pub number: usize,
    pub part: &'r Part<'r>,
    /// The message that the part belongs to.
    pub message: &'r MessageContext<'r>,
    /// The place of the part in its record.
    pub pointer: Pointer<'r>,
    /// The other records.
    pub others: Lookup<'r>,
}

impl PartRecord<'_> {
    /// Sets the header of the part's events.
    pub(super) fn set_header(&self, clock: &mut MillisFormatter, out: &mut Emitter<'_>) {
        let time = Time::lenient_opt(self.part.time());
        // What a request cost is known at its end. Kilo states both.
        let end = match PartKind::named(raw_str(self.part.kind())) {
            Some(PartKind::StepFinish) => time.end(),
            _ => None,
        };
        self.message.set_header(
            integer(end.or(time.start()).or(time.created())),
            self.part.id(),
            clock,
            out,
        );
    }
}

/// Emits a part by its type.
pub(super) fn part(
    state: &mut SessionState,
    record: &PartRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let Some(kind) = PartKind::named(raw_str(record.part.kind())) else {
        return Outcome::Mapped;
    };
    match kind {
        PartKind::Tool | PartKind::ToolInvocation => tool(state, record, out),
        PartKind::Text => text(state, record, out),
        PartKind::StepFinish => step_finish(state, record, out),
        PartKind::Reasoning => reasoning(record, out),
        PartKind::Patch => patch(record, out),
        PartKind::Snapshot => emit_system(
            "snapshot",
            non_empty_text(record.part.snapshot()),
            record.pointer,
            out,
        ),
        PartKind::File => file(state, record, out),
        PartKind::Compaction => compaction(state, record, out),
        PartKind::Retry => retry(record, out),
        PartKind::Agent => emit_system(
            "agent",
            non_empty_text(record.part.name()),
            record.pointer,
            out,
        ),
        PartKind::Subtask => subtask(record, out),
        PartKind::SourceUrl => emit_system(
            "source",
            non_empty_text(record.part.url()),
            record.pointer,
            out,
        ),
        PartKind::Omitted(outcome) => outcome,
    }
}

/// A tool call. 0.1.174 has it under `toolInvocation`, later versions under `state`.
fn tool(state: &mut SessionState, record: &PartRecord<'_>, out: &mut Emitter<'_>) -> Outcome {
    let PartRecord {
        number,
        part,
        message,
        pointer,
        others,
    } = *record;
    let mut of_message = message.tool_metadata.and_then(|number| others.get(number));
    let metadata = of_message
        .as_mut()
        .and_then(|message| message.value()?.member("metadata")?.member("tool"));
    let call = match part.invocation() {
        None => Call::of_state(part),
        Some(invocation) => Call::of_invocation(&Invocation::lenient(invocation), metadata),
    };
    let Ok(mut call) = call else {
        return Outcome::Mapped;
    };
    call.directory = state.last_stated.cwd();
    message.set_header(call.started, part.id(), &mut state.clock, out);
    let place = CallPlace {
        message,
        id: part.id(),
        pointer,
        dialect: state.dialect,
        is_stated: state.decision.stated[CALL],
    };
    let outcome = emit_call(&call, &place, &mut state.clock, out);
    if let Some(words) = refusal_words(&call) {
        let header = message.header(call.ended, part.id(), &mut state.clock);
        state
            .typed
            .push(Typed::new(number, &header, pointer, words));
    }
    outcome
}

/// True for what Kilo shows until an answer comes. It is left in the log if the program ends meanwhile (7.7.9: recorded).
fn is_transient(record: &PartRecord<'_>) -> bool {
    let metadata = record.part.metadata();
    let lifecycle = metadata.and_then(|metadata| metadata.member("kilocode.lifecycle"));
    raw_str(lifecycle) == "transient"
}

/// A prompt, an answer, or the summary of a compaction.
fn text(state: &mut SessionState, record: &PartRecord<'_>, out: &mut Emitter<'_>) -> Outcome {
    let Some(text) = value::text(record.part.text()) else {
        return Outcome::Mapped;
    };
    if text.is_empty() {
        return emit_system("empty_text", None, record.pointer, out);
    }
    match record.message.speaker {
        Speaker::User if state.decision.is_written_again => {
            let input = ImplicitInput::of_text("prompt_again", Some(text));
            out.emit(Meta::Context(input), record.pointer);
        }
        Speaker::User
            if is_true(record.part.synthetic()) && emit_attached(state, record, text, out) => {}
        Speaker::User => {
            let by = match author(state, record) {
                _ if is_true(record.part.synthetic()) => Author::Harness,
                Author::Harness => Author::Harness,
                _ => match prompt_author(state, record.message.key, text, record.pointer, out) {
                    Author::Person if is_of_plugin(text) => Author::Harness,
                    by => by,
                },
            };
            emit_prompt(state, record, (by, Some(text)), out);
        }
        Speaker::Assistant if record.message.is_summary => {
            let trigger = state.compaction.take().map(Text::Plain);
            out.emit(
                Meta::Compaction {
                    text: Some(text),
                    trigger,
                },
                record.pointer,
            );
        }
        Speaker::Assistant if is_transient(record) => {
            return emit_system("transient", Some(text), record.pointer, out);
        }
        // With such words the harness goes on by itself after a compaction: it prints them like an answer.
        Speaker::Assistant if is_true(record.part.synthetic()) => {
            let input = ImplicitInput::of_text("synthetic", Some(text));
            out.emit(Meta::Context(input), record.pointer);
        }
        Speaker::Assistant => {
            let message = MsgOut {
                text: Some(text),
                channel: None,
                model: record.message.model,
                message_id: record.message.message_id,
                redacted: false,
            };
            out.emit(message, record.pointer);
        }
        Speaker::Unknown => {}
    }
    Outcome::Mapped
}

/// How the harness tells the model that it has read a file that a prompt names, and the arguments behind it. A text with what the tool returned
/// follows (1.3.0, 1.18.33: recorded).
const READ_FOR_PROMPT: &str = "Called the Read tool with the following input: ";

/// Emits a text about an attached file as context, with the file. False for any other text.
fn emit_attached(
    state: &mut SessionState,
    record: &PartRecord<'_>,
    text: Text<'_>,
    out: &mut Emitter<'_>,
) -> bool {
    let key = record.message.key;
    let decoded = text.decode_lossy();
    let last = state.attached.take().filter(|(message, _)| *message == key);
    let named = decoded.strip_prefix(READ_FOR_PROMPT).and_then(file_read);
    if let Some(file) = &named {
        state.attached = Some((key, file.clone()));
    }
    let Some(file) = named.or(last.map(|(_, file)| file)) else {
        return false;
    };
    let input = ImplicitInput {
        file: Some(Text::Plain(&file)),
        ..ImplicitInput::of_text("referenced_files", Some(text))
    };
    out.emit(Meta::Context(input), record.pointer);
    true
}

/// The file in the arguments of a read.
fn file_read(arguments: &str) -> Option<String> {
    let mut index = StructuralIndex::default();
    let arguments = parse(arguments.trim_end(), &mut index).ok()?;
    let file = non_empty_text(arguments.member("filePath"))?;
    file.decode().ok().map(Cow::into_owned)
}

/// Who gave a message: the harness, an agent or a person.
fn author(state: &SessionState, record: &PartRecord<'_>) -> Author {
    match state.decision.is_of_notice {
        true => Author::Harness,
        false if state.later_calls.is_of_person(record.message.key) => Author::Person,
        false => state.prompt_author,
    }
}

/// Who wrote a prompt. In the session of a sub-agent, an agent wrote the prompt if a call of that agent contains its words. The call that
/// started the session is known already; any other call is emitted as the parent call. If no call contains the words, a person wrote them.
pub(super) fn prompt_author(
    state: &mut SessionState,
    message: u64,
    prompt: Text<'_>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> Author {
    if state.prompt_author != Author::Agent {
        return state.prompt_author;
    }
    match state.later_calls.giver_of(message, prompt) {
        Giver::Start => Author::Agent,
        Giver::Call(call) => {
            let facts = SessionFacts {
                parent_call_id: Some(Text::Plain(&call)),
                ..SessionFacts::default()
            };
            out.emit(Meta::Session(facts), pointer);
            Author::Agent
        }
        Giver::Person => Author::Person,
    }
}

/// Reasoning. If only the provider can read it, it has no text.
fn reasoning(record: &PartRecord<'_>, out: &mut Emitter<'_>) -> Outcome {
    let text = non_empty_text(record.part.text());
    if text.is_none() && record.part.metadata().is_none() {
        return emit_system("empty_reasoning", None, record.pointer, out);
    }
    let message = MsgOut {
        text,
        channel: Some(Channel::Reasoning),
        model: record.message.model,
        message_id: record.message.message_id,
        redacted: text.is_none(),
    };
    out.emit(message, record.pointer);
    Outcome::Mapped
}

/// The end of a model request, with its tokens.
fn step_finish(
    state: &mut SessionState,
    record: &PartRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let tokens = Tokens::lenient_opt(record.part.tokens());
    let (cost, reason) = (record.part.cost(), record.part.reason());
    let mut message = *record.message;
    if state.decision.is_one_of_several {
        message.message_id = None;
    }
    let usage = match state.dialect {
        dialect if dialect.is_step => step_usage(&tokens, cost, reason, &message),
        dialect => usage(&tokens, cost, reason, &message, dialect),
    };
    out.emit(usage, record.pointer);
    emit_typed(&mut state.typed, out);
    Outcome::Mapped
}

/// The files that a step changed, by any tool. For a file that a command changed this is the only trace.
fn patch(record: &PartRecord<'_>, out: &mut Emitter<'_>) -> Outcome {
    let files = elements(record.part.files());
    let files: Vec<_> = files
        .filter_map(Value::text)
        .map(|file| file.decode_lossy())
        .collect();
    let list = files.join("\n");
    emit_system(
        "files_changed",
        (!list.is_empty()).then_some(Text::Plain(&list)),
        record.pointer,
        out,
    )
}

/// An attached file.
fn file(state: &mut SessionState, record: &PartRecord<'_>, out: &mut Emitter<'_>) -> Outcome {
    match record.message.speaker {
        Speaker::User if state.decision.is_attached => {
            return Outcome::duplicate(PartKind::File.name(), rule::PROMPT_FILE);
        }
        Speaker::User if !state.decision.is_written_again => {
            let by = author(state, record);
            emit_prompt(state, record, (by, None), out);
        }
        Speaker::User | Speaker::Assistant => {
            let file = file_of(record.part);
            let input = ImplicitInput {
                name: Text::Plain("file"),
                file: file.name,
                hash: file.hash,
                bytes: file.bytes,
                text: None,
            };
            out.emit(Meta::Context(input), record.pointer);
        }
        Speaker::Unknown => {}
    }
    Outcome::Mapped
}

/// Emits a prompt with its files: that of the part, and those of other parts of the message.
fn emit_prompt(
    state: &mut SessionState,
    record: &PartRecord<'_>,
    (by, text): (Author, Option<Text<'_>>),
    out: &mut Emitter<'_>,
) {
    let numbers = std::mem::take(&mut state.files);
    let mut others: Vec<_> = numbers
        .into_iter()
        .filter_map(|number| record.others.get(number))
        .collect();
    let others: Vec<Part<'_>> = others
        .iter_mut()
        .filter_map(|other| other.value().map(Part::lenient))
        .collect();
    let own = text.is_none().then(|| file_of(record.part));
    let attachments = own.into_iter().chain(others.iter().map(file_of)).collect();
    out.emit(MsgIn::user(by, text).with(attachments), record.pointer);
}

/// The file of a part.
fn file_of<'a>(part: &Part<'a>) -> Attachment<'a> {
    attachment(
        part.mime().or(part.media_type()),
        part.url(),
        part.filename(),
    )
}

/// The beginning of a compaction.
fn compaction(state: &mut SessionState, record: &PartRecord<'_>, out: &mut Emitter<'_>) -> Outcome {
    // 1.0.98 does not record whether it was automatic.
    state.compaction = bool_opt(record.part.auto())
        .map(|is_automatic| if is_automatic { "auto" } else { "manual" });
    emit_system(
        "compaction",
        state.compaction.map(Text::Plain),
        record.pointer,
        out,
    )
}

/// An error after which the request was sent again.
fn retry(record: &PartRecord<'_>, out: &mut Emitter<'_>) -> Outcome {
    if let Some(error) = record.part.error() {
        emit_error(error, record.pointer, out);
    }
    Outcome::Mapped
}

/// A task that the user gives to an agent with a command.
fn subtask(record: &PartRecord<'_>, out: &mut Emitter<'_>) -> Outcome {
    if let Some(prompt) = non_empty_text(record.part.prompt()) {
        // It is the template of the command.
        out.emit(MsgIn::user(Author::Harness, Some(prompt)), record.pointer);
    }
    if let Some(command) = non_empty_text(record.part.command()) {
        notice("command", Some(command), record.pointer, out);
    }
    emit_system(
        "subtask",
        non_empty_text(record.part.description()),
        record.pointer,
        out,
    )
}
