//! Messages and reasonings for the screen: events (up to 0.142) and completed items (0.150 and later).

use std::borrow::Cow;

use engram_core::emit::Pointer;
use engram_core::event::{Attachment, Meta, MsgIn};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::codex::readers::{Citation, MessageItem, Notice, Part};
use crate::shared::media;
use crate::shared::value::{Field, Value, elements, raw_str, text};

use super::State;
use super::messages::{AnswerFacts, Texts, author, emit_answer, emit_input, emit_reasoning};
use crate::codex::blocks::{is_empty_token, joined_lines};
use crate::codex::check::messages::is_named;
use crate::codex::format::rule;
use crate::codex::plan::prompts::PartFate;
use crate::codex::record::Record;

/// A message of the agent.
pub fn agent_message(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let event = Notice::lenient(record.value);
    if let Some(answer) = text_of(&event).filter(|_| Texts::of(state).is_new(state)) {
        emit_answer(
            state,
            answer,
            AnswerFacts {
                id: None,
                phase: event.phase(),
            },
            Pointer::At("/payload/message"),
            out,
        );
        if let Some(citations) = event.memory_citation() {
            emit_citations(citations, out);
        }
    }
    record.mapped_or(out.has_events(), rule::MESSAGE_TWIN)
}

/// A reasoning of the agent.
pub fn agent_reasoning(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    if let Some(reasoning) =
        text_of(&Notice::lenient(record.value)).filter(|_| Texts::of(state).is_new(state))
    {
        emit_reasoning(state, reasoning, None, Pointer::At("/payload/text"), out);
    }
    record.mapped_or(out.has_events(), rule::REASONING_TWIN)
}

fn text_of<'a>(event: &Notice<'a>) -> Field<'a> {
    event.message().or(event.text())
}

/// Emits the memories that an answer cites: the lines of each, and a note.
fn emit_citations(citations: Value<'_>, out: &mut Emitter<'_>) {
    for (index, entry) in elements(citations.first_member("entries")).enumerate() {
        let entry = Citation::lenient(entry);
        let number =
            |field: Field<'_>| field.map_or(String::new(), |number| number.raw().to_owned());
        let lines = format!(
            "{}:{}-{}",
            raw_str(entry.path()),
            number(entry.line_start()),
            number(entry.line_end())
        );
        let token = format!("\"{lines}: {}\"", raw_str(entry.note()));
        let event = Meta::system("memory_citation", Some(Text::Token(&token)));
        out.emit(
            event,
            Pointer::Item("/payload/memory_citation/entries", index),
        );
    }
}

/// The fates of the parts of a twin, one after the other.
struct Fates {
    next: usize,
}

impl Fates {
    fn of(state: &State) -> Fates {
        Fates {
            next: state
                .notes
                .twins
                .get(state.note().at as usize)
                .map_or(usize::MAX, |twin| twin.parts as usize),
        }
    }

    fn next(&mut self, state: &State) -> PartFate {
        self.next += 1;
        state
            .plan
            .prompts
            .parts
            .get(self.next - 1)
            .copied()
            .unwrap_or_default()
    }
}

/// A prompt. Its text is empty if it is only an image.
pub fn user_message(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let event = Notice::lenient(record.value);
    let (mut fates, sender) = (Fates::of(state), state.thread.sender(state.is_replay()));
    let prompt = event
        .message()
        .filter(|prompt| !is_empty_token(prompt.raw()))
        .map(|prompt| (prompt, fates.next(state)));
    let (mut attachments, mut images_by): (Vec<Attachment<'_>>, _) = (Vec::new(), sender);
    for image in elements(event.images()) {
        let fate = fates.next(state);
        images_by = author(fate, sender);
        attachments.extend(
            Some(image)
                .filter(|_| fate != PartFate::Dropped)
                .and_then(media::data_url),
        );
    }
    if let Some((prompt, fate)) = prompt.filter(|(_, fate)| *fate != PartFate::Dropped) {
        let (by, images) = (author(fate, sender), std::mem::take(&mut attachments));
        emit_input(prompt, by, images, Pointer::At("/payload/message"), out);
    }
    if !attachments.is_empty() {
        out.emit(
            MsgIn::user(images_by, None).with(attachments),
            "/payload/images",
        );
    }
    record.mapped_or(out.has_events(), rule::MESSAGE_TWIN)
}

/// A message of the agent as an item.
pub fn agent_message_item(
    state: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let item = MessageItem::lenient(record.value);
    let (facts, mut texts) = (
        AnswerFacts {
            id: item.id(),
            phase: item.phase(),
        },
        Texts::of(state),
    );
    convert_parts(record, &item, out, |text, pointer, out| {
        if texts.is_new(state) {
            emit_answer(state, text, facts, pointer, out);
        }
    })
}

/// A prompt as an item.
pub fn user_message_item(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let item = MessageItem::lenient(record.value);
    let (mut fates, sender) = (Fates::of(state), state.thread.sender(state.is_replay()));
    convert_parts(record, &item, out, |text, pointer, out| {
        let fate = fates.next(state);
        if fate != PartFate::Dropped {
            let fate = if state.is_foreign() {
                PartFate::Harness
            } else {
                fate
            };
            emit_input(text, author(fate, sender), Vec::new(), pointer, out);
        }
    })
}

/// Emits each text of an item by `emit_text`. Other parts name files, skills and plugins whose content the response item has.
fn convert_parts<'s>(
    record: &Record<'_>,
    item: &MessageItem<'_>,
    out: &mut Emitter<'s>,
    mut emit_text: impl FnMut(Value<'_>, Pointer<'_>, &mut Emitter<'s>),
) -> Outcome {
    let list = "/payload/item/content";
    for (index, value) in elements(item.content()).enumerate() {
        let part = Part::lenient(value);
        match (raw_str(part.kind()), part.text()) {
            ("text" | "Text", Some(text)) => {
                emit_text(text, Pointer::Field(list, index, "/text"), out)
            }
            _ if is_named(&part) => {}
            (kind, _) => out.unrecognized_block(kind, value.raw(), Pointer::Item(list, index)),
        }
    }
    record.mapped_or(out.has_events(), rule::MESSAGE_TWIN)
}

/// A reasoning as an item.
pub fn reasoning_item(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let item = MessageItem::lenient(record.value);
    let mut texts = Texts::of(state);
    for (list, parts) in [
        ("/payload/item/summary_text", item.summary_text()),
        ("/payload/item/raw_content", item.raw_content()),
    ] {
        for (index, text) in elements(parts).enumerate() {
            if texts.is_new(state) {
                emit_reasoning(state, text, item.id(), Pointer::Item(list, index), out);
            }
        }
    }
    record.mapped_or(out.has_events(), rule::REASONING_TWIN)
}

/// A plan that the agent proposes. The response item of its answer has it between tags; the plan alone is no answer.
pub fn plan_item(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    if state.is_told() {
        return record.duplicate(rule::PLAN_ANSWER);
    }
    out.emit(
        Meta::system("plan", text(MessageItem::lenient(record.value).text())),
        "/payload/item/text",
    );
    Outcome::Mapped
}

/// A text that the harness gives to the model in the place of an output.
pub fn told_output(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let item = MessageItem::lenient(record.value);
    let output = item.output().and_then(|output| {
        if output.is_array() {
            joined_lines(output)
        } else {
            Some(Cow::Borrowed(output.raw()))
        }
    });
    out.emit(
        Meta::system(
            text(item.name()).unwrap_or_default(),
            output.as_deref().map(Text::Token),
        ),
        "/payload/item/output",
    );
    Outcome::Mapped
}

/// The texts of stop hooks, of which the message with the same id consists.
pub fn hook_prompt_item(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    if state.plan.prompts.told.contains(&(state.here as u32)) {
        return record.duplicate(rule::HOOK_PROMPT);
    }
    for (index, fragment) in elements(MessageItem::lenient(record.value).fragments()).enumerate() {
        let event = Meta::system("hook_prompt", text(fragment.member("text")));
        out.emit(
            event,
            Pointer::Field("/payload/item/fragments", index, "/text"),
        );
    }
    record.mapped_or(out.has_events(), rule::HOOK_PROMPT)
}
