//! Messages and reasonings of the model's side: response items.

use std::collections::BTreeMap;

use engram_core::emit::Pointer;
use engram_core::event::{Attachment, Author, Channel, ImplicitInput, Meta, MsgIn, MsgOut, Role};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::shared::media;
use crate::shared::phase::channel_of;
use crate::shared::value::{Field, Value, elements, raw_str, text};

use super::State;
use crate::codex::blocks::{self, unquote};
use crate::codex::check::messages::{is_media, is_text};
use crate::codex::format::rule;
use crate::codex::plan::prompts::PartFate;
use crate::codex::readers::{Delivered, Message, Part, Reasoning};
use crate::codex::record::Record;
use crate::codex::wrappers::{
    AROUND_COMMAND, BEFORE_WORDS, MEDIA_TAG, is_media_tag, may_be_command, may_have_context,
    path_in_tag,
};
use crate::shared::wrappers::{Part as Wrapped, split};

/// What a record says of an answer besides its text.
#[derive(Clone, Copy, Default)]
pub struct AnswerFacts<'a> {
    pub id: Field<'a>,
    pub phase: Field<'a>,
}

/// The texts of the agent in the current record, with the decision about each.
pub struct Texts {
    next: usize,
}

impl Texts {
    /// Those of the current record.
    pub fn of(state: &State) -> Texts {
        Texts {
            next: state.note().at as usize,
        }
    }

    /// True if the next text stands in this record alone, or here first.
    pub fn is_new(&mut self, state: &State) -> bool {
        self.next += 1;
        state.plan.twins.is_new.get(self.next - 1) == Some(&true)
    }
}

/// Emits a message of the agent.
pub fn emit_answer(
    state: &State,
    answer: Value<'_>,
    facts: AnswerFacts<'_>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    let channel = channel_of(facts.phase);
    let model = state.last.model();
    out.emit(
        MsgOut {
            text: answer.text(),
            channel,
            model,
            message_id: text(facts.id),
            ..MsgOut::default()
        },
        pointer,
    );
}

/// Emits a reasoning or one part of its summary.
pub fn emit_reasoning(
    state: &State,
    reasoning: Value<'_>,
    id: Field<'_>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    let (channel, model) = (Some(Channel::Reasoning), state.last.model());
    out.emit(
        MsgOut {
            text: reasoning.text(),
            channel,
            model,
            message_id: text(id),
            ..MsgOut::default()
        },
        pointer,
    );
}

/// A message of any role.
pub fn message(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let message = Message::lenient(record.value);
    if elements(message.content()).next().is_none() {
        // The record has a meaning even without text.
        out.emit(
            Meta::system("empty_message", text(message.role())),
            Pointer::Root,
        );
        return Outcome::Mapped;
    }
    match raw_str(message.role()) {
        "assistant" => answer(state, &message, record, out),
        "user" => prompt(state, &message, record, out),
        role => instructions(
            &message,
            if role == "system" {
                Role::System
            } else {
                Role::Developer
            },
            record,
            out,
        ),
    }
    record.mapped_or(out.has_events(), rule::MESSAGE_TWIN)
}

fn answer(state: &State, message: &Message<'_>, record: &Record<'_>, out: &mut Emitter<'_>) {
    let (list, mut texts) = (record.pointer_to("/payload/content"), Texts::of(state));
    for (index, value) in elements(message.content()).enumerate() {
        let part = Part::lenient(value);
        match part.text().filter(|_| is_text(&part)) {
            Some(answer) if texts.is_new(state) => {
                let facts = AnswerFacts {
                    id: message.id(),
                    phase: message.phase(),
                };
                emit_answer(
                    state,
                    answer,
                    facts,
                    Pointer::Field(list, index, "/text"),
                    out,
                );
            }
            Some(_) => {}
            None => out.unrecognized_block(
                raw_str(part.kind()),
                value.raw(),
                Pointer::Item(list, index),
            ),
        }
    }
}

/// A message of the harness itself to the model.
fn instructions(message: &Message<'_>, role: Role, record: &Record<'_>, out: &mut Emitter<'_>) {
    let (list, by) = (record.pointer_to("/payload/content"), Author::Harness);
    for (index, value) in elements(message.content()).enumerate() {
        let part = Part::lenient(value);
        match part.text().filter(|_| is_text(&part)) {
            Some(text) => {
                out.emit(
                    MsgIn {
                        role,
                        by,
                        text: text.text(),
                        attachments: Vec::new(),
                    },
                    Pointer::Field(list, index, "/text"),
                );
            }
            None if is_media(&part) => {}
            None => out.unrecognized_block(
                raw_str(part.kind()),
                value.raw(),
                Pointer::Item(list, index),
            ),
        }
    }
    let attachments: Vec<Attachment<'_>> = elements(message.content())
        .filter_map(|part| blocks::media(&Part::lenient(part)))
        .filter_map(media::data_url)
        .collect();
    if !attachments.is_empty() {
        out.emit(
            MsgIn {
                role,
                by,
                text: None,
                attachments,
            },
            Pointer::At(list),
        );
    }
}

/// A message in the user's place: each part with its author. Images are added to the first text of who sent them.
fn prompt(state: &State, message: &Message<'_>, record: &Record<'_>, out: &mut Emitter<'_>) {
    let (list, sender, first) = (
        record.pointer_to("/payload/content"),
        state.thread.sender(state.is_replay()),
        state.note().at as usize,
    );
    let fate = |index: usize| {
        state
            .plan
            .prompts
            .parts
            .get(first + index)
            .copied()
            .unwrap_or_default()
    };
    let parts: Vec<Part<'_>> = elements(message.content()).map(Part::lenient).collect();
    let tags = media_tags(&parts, |index| fate(index) == PartFate::Harness);
    let mut attachments: Vec<Attachment<'_>> = Vec::new();
    let mut images_by = sender;
    for (index, part) in parts.iter().enumerate() {
        let image = blocks::media(part)
            .filter(|_| fate(index) != PartFate::Dropped)
            .and_then(media::data_url);
        if let Some(image) = image {
            let tag = index.checked_sub(1).and_then(|before| tags.get(&before));
            let path = tag.and_then(|tag| path_in_tag(tag)).map(Text::Plain);
            attachments.push(Attachment {
                name: path.or(image.name),
                ..image
            });
            images_by = author(fate(index), sender);
        }
    }
    for (index, value) in elements(message.content()).enumerate() {
        let part = Part::lenient(value);
        if let Some(tag) = tags.get(&index) {
            emit_wrapper(MEDIA_TAG, tag, Pointer::Field(list, index, "/text"), out);
            continue;
        }
        match part.text().filter(|_| is_text(&part)) {
            Some(_) if fate(index) == PartFate::Dropped => {}
            Some(prompt) => {
                let is_users = fate(index) == PartFate::Users;
                let attachments = if is_users {
                    std::mem::take(&mut attachments)
                } else {
                    Vec::new()
                };
                let at = Pointer::Field(list, index, "/text");
                if is_users || !emit_command(prompt, sender, at, out) {
                    emit_input(prompt, author(fate(index), sender), attachments, at, out);
                }
            }
            None if is_media(&part) => {}
            None => out.unrecognized_block(
                raw_str(part.kind()),
                value.raw(),
                Pointer::Item(list, index),
            ),
        }
    }
    if !attachments.is_empty() {
        out.emit(
            MsgIn::user(images_by, None).with(attachments),
            Pointer::At(list),
        );
    }
}

/// The texts of the harness that are directly before or behind an image or a sound, by their place.
fn media_tags(parts: &[Part<'_>], is_harness: impl Fn(usize) -> bool) -> BTreeMap<usize, String> {
    let is_media_at = |at: Option<usize>| at.and_then(|at| parts.get(at)).is_some_and(is_media);
    let tag = |(index, part): (usize, &Part<'_>)| {
        let text = part.text().filter(|_| is_text(part) && is_harness(index))?;
        let token = unquote(text.raw());
        let neighbour = if token.starts_with("</") {
            index.checked_sub(1)
        } else {
            index.checked_add(1)
        };
        let is_tag = is_media_tag(token) && is_media_at(neighbour);
        let decoded = is_tag.then(|| text.text()?.decode().ok()).flatten()?;
        Some((index, decoded.into_owned()))
    };
    parts.iter().enumerate().filter_map(tag).collect()
}

/// Emits a text in the user's place. What a client put before the words of a person is context.
pub fn emit_input<'a>(
    text: Value<'a>,
    by: Author,
    attachments: Vec<Attachment<'a>>,
    at: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    let decoded = Some(text)
        .filter(|text| by == Author::Person && may_have_context(unquote(text.raw())))
        .and_then(|text| text.text()?.decode().ok());
    let mut words = text.text();
    if let Some(decoded) = &decoded {
        words = None;
        for part in split(decoded, BEFORE_WORDS) {
            match part {
                Wrapped::Words(text) => words = Some(Text::Plain(text)),
                Wrapped::Wrapped { name, text } => emit_wrapper(name, text, at, out),
            }
        }
    }
    if words.is_some() || !attachments.is_empty() {
        let message = MsgIn::user(by, words).with(attachments);
        out.emit(message, at);
    }
}

/// Emits a command that a person ran, and what the harness put around it. False for any other text.
fn emit_command(text: Value<'_>, by: Author, at: Pointer<'_>, out: &mut Emitter<'_>) -> bool {
    let decoded = Some(text)
        .filter(|text| may_be_command(unquote(text.raw())))
        .and_then(|text| text.text()?.decode().ok());
    let parts = decoded.as_deref().map(|text| split(text, AROUND_COMMAND));
    let Some(parts) = parts.filter(|parts| parts.len() > 1) else {
        return false;
    };
    for part in parts {
        match part {
            Wrapped::Wrapped { name, text } => emit_wrapper(name, text, at, out),
            Wrapped::Words(command) => {
                let typed = MsgIn::user(by, Some(Text::Plain(command)));
                out.emit(typed, at);
            }
        }
    }
    true
}

fn emit_wrapper(name: &str, text: &str, at: Pointer<'_>, out: &mut Emitter<'_>) {
    let context = ImplicitInput::of_text(name, Some(Text::Plain(text)));
    out.emit(Meta::Context(context), at);
}

/// Who wrote a part in the user's place.
pub fn author(fate: PartFate, sender: Author) -> Author {
    if fate == PartFate::Harness {
        Author::Harness
    } else {
        sender
    }
}

/// A message in the user's place. A turn begins if someone sent it.
pub fn message_item(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let before = out.last_seq();
    if state.plan.prompts.sent.contains(&(state.here as u32)) {
        state.turns.push(before);
    }
    message(state, record, out)
}

/// A reasoning: a summary, its full text, or encrypted text alone.
pub fn reasoning(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let item = Reasoning::lenient(record.value);
    let (mut texts, mut has_text) = (Texts::of(state), false);
    for (path, parts) in [
        ("/payload/summary", item.summary()),
        ("/payload/content", item.content()),
    ] {
        let list = record.pointer_to(path);
        for (index, value) in elements(parts).enumerate() {
            let part = Part::lenient(value);
            match part.text() {
                Some(text) => {
                    has_text = true;
                    if texts.is_new(state) {
                        emit_reasoning(
                            state,
                            text,
                            item.id(),
                            Pointer::Field(list, index, "/text"),
                            out,
                        );
                    }
                }
                None => out.unrecognized_block(
                    raw_str(part.kind()),
                    value.raw(),
                    Pointer::Item(list, index),
                ),
            }
        }
    }
    if !has_text && !out.has_events() {
        // The model reasoned, and the log does not have the text.
        let (channel, model) = (Some(Channel::Reasoning), state.last.model());
        let hidden = MsgOut {
            channel,
            model,
            message_id: text(item.id()),
            redacted: true,
            ..MsgOut::default()
        };
        out.emit(
            hidden,
            Pointer::At(record.pointer_to("/payload/encrypted_content")),
        );
    }
    record.mapped_or(out.has_events(), rule::REASONING_TWIN)
}

/// An answer that a client got, and that outlives a compaction. It mostly has a record of its own.
pub fn delivered(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let delivered = Delivered::lenient(record.value);
    let Some(answer) = delivered.text().filter(|_| !state.is_told()) else {
        return record.duplicate(rule::MESSAGE_DELIVERED);
    };
    let facts = AnswerFacts {
        id: delivered.message_id(),
        phase: delivered.phase(),
    };
    emit_answer(state, answer, facts, Pointer::At("/payload/text"), out);
    Outcome::Mapped
}

/// An answer to a question of the agent that outlives a compaction. The output of the call that asked has it too.
pub fn verified_answer(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let call_id = text(record.value.first_member("call_id"));
    let parent = call_id.and_then(|id| out.seq_of_call(id));
    for (index, question) in elements(record.value.first_member("questions")).enumerate() {
        for (member, at) in [("question", "/question"), ("answer", "/answer")] {
            let event = Meta::system("verified_answer", text(question.member(member)));
            out.emit_child(
                parent,
                event,
                Pointer::Field("/payload/questions", index, at),
            );
        }
    }
    if !out.has_events() {
        out.emit(Meta::system("verified_answer", None), record.at);
    }
    Outcome::Mapped
}
