//! Notices of the harness about the session.

use engram_core::emit::Pointer;
use engram_core::event::{Author, Meta, MsgIn, SessionFacts};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;

use super::state::State;
use crate::qwen::format::{LineKind, rule};
use crate::qwen::readers::{Compression, Line, Message, Part, Payload};
use crate::shared::stated::emit_facts;
use crate::shared::value::{Value, elements, is_true, non_empty_text, text};

/// The title of the session. The harness writes it again, so that it is near the end of the file.
pub fn title(state: &mut State, line: &Line<'_>, out: &mut Emitter<'_>) -> Outcome {
    let title = Payload::lenient_opt(line.payload()).title();
    let facts = SessionFacts {
        title: state.stated.changed("title", title),
        ..SessionFacts::default()
    };
    if facts.is_empty() {
        return Outcome::duplicate(LineKind::SystemCustomTitle.name(), rule::TITLE_REPEATED);
    }
    emit_facts(facts, Pointer::Root, out);
    Outcome::Mapped
}

/// A summary in the place of the history: the first message of the history from here on.
pub fn compression(line: &Line<'_>, out: &mut Emitter<'_>) {
    let payload = Payload::lenient_opt(line.payload());
    let first = elements(payload.history()).next().map(Message::lenient);
    let parts = first.and_then(|message| message.parts());
    let summary = elements(parts).find_map(|part| text(Part::lenient(part).text()));
    let event = Meta::Compaction {
        text: summary,
        trigger: non_empty_text(Compression::lenient_opt(payload.info()).trigger()),
    };
    out.emit(event, "/systemPayload/compressedHistory");
}

/// A command that the person gave the harness. The model may get other words in its place, which are the next prompt (0.24.4: recorded).
pub fn command(state: &mut State, line: &Line<'_>, out: &mut Emitter<'_>) {
    let payload = Payload::lenient_opt(line.payload());
    let (command, at) = (text(payload.command()), "/systemPayload/rawCommand");
    state.is_command_sent |= is_true(payload.is_sent());
    match is_true(payload.is_sent()) {
        true => out.emit(MsgIn::user(Author::Person, command), at),
        false => out.emit(Meta::system("slash_command", command), at),
    };
}

/// Files that the next prompt names, and how reading them ended.
pub fn files(line: &Line<'_>, out: &mut Emitter<'_>) {
    let payload = Payload::lenient_opt(line.payload());
    let mut system = |name: &'static str, value: Option<Value<'_>>, at: &'static str| {
        if let Some(value) = value {
            let text = value.text_or_json();
            out.emit(
                Meta::system(name, Some(text)),
                Pointer::Member("/systemPayload", at),
            );
        }
    };
    system("at_command", payload.status(), "status");
    for file in elements(payload.files()) {
        system("at_command_file", Some(file), "filesRead");
    }
    system("at_command_message", payload.message(), "message");
}
