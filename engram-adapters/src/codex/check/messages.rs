//! The check of messages, reasonings and plans: their parts, and what their twins have too.

use engram_core::emit::{Fault, Pointer};
use engram_core::event::Kind as EventKind;
use engram_core::keys::hash64;
use engram_core::steps::Check;

use crate::shared::value::{Field, Value, elements, raw_str};

use super::{Checker, Facts};
use crate::codex::blocks::{is_empty_token, media, part, unquote};
use crate::codex::notes::{AgentText, Ink, Kind, Part, PartKind, Side, Twin};
use crate::codex::readers::{
    AgentWords, Delivered, Message, MessageItem, Notice, Part as PartView, Reasoning, TurnEnd,
    TurnError,
};
use crate::codex::record::{Container, Record};
use crate::codex::wrappers::is_by_harness;

/// A message of any role.
pub fn message(
    checker: &mut Checker,
    record: &Record<'_>,
    check: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let message = Message::strict(record.value, record.at)?;
    let role = raw_str(message.role());
    if !["assistant", "user", "system", "developer"].contains(&role) {
        return Err(Fault::malformed(
            record.pointer_to("/payload/role"),
            "a role",
            role,
        ));
    }
    let is_answer = role == "assistant";
    let list = record.pointer_to("/payload/content");
    check.gives(
        if is_answer {
            EventKind::MsgOut
        } else {
            EventKind::MsgIn
        },
        Pointer::At(list),
    )?;
    for (index, value) in elements(message.content()).enumerate() {
        let part = part(value, list, index)?;
        if !is_text(&part) && (is_answer || !is_media(&part)) {
            check.unknown_block(raw_str(part.kind()))?;
        }
    }
    if elements(message.content()).next().is_none() {
        // The record has a meaning even without text.
        return Ok(Facts::default());
    }
    match role {
        "assistant" => Ok(checker.add_texts(
            Kind::Answer(Side::Model),
            elements(message.content())
                .map(PartView::lenient)
                .filter_map(text_of_part)
                .map(answer),
        )),
        "user" => {
            let kind = if record.container == Container::Envelope {
                Kind::Message
            } else {
                Kind::LoneMessage
            };
            let at = checker.notes.parts.len();
            let parts = elements(message.content()).enumerate();
            checker.notes.parts.extend(parts.map(|(index, value)| Part {
                is_users: said_author(&message, index),
                ..noted(&PartView::lenient(value))
            }));
            Ok(Facts {
                at: at as u32,
                count: (checker.notes.parts.len() - at) as u32,
                ..Facts::of(kind)
            })
        }
        _ => Ok(Facts::default()),
    }
}

/// True for a part that is text.
pub fn is_text(part: &PartView<'_>) -> bool {
    matches!(raw_str(part.kind()), "input_text" | "output_text" | "text") && part.text().is_some()
}

/// True for a part that is an image or a sound.
pub fn is_media(part: &PartView<'_>) -> bool {
    matches!(raw_str(part.kind()), "input_image" | "input_audio") && media(part).is_some()
}

fn text_of_part<'a>(part: PartView<'a>) -> Option<Value<'a>> {
    part.text().filter(|_| is_text(&part))
}

fn noted(part: &PartView<'_>) -> Part {
    match (
        part.text().filter(|_| is_text(part)),
        media(part).filter(|_| is_media(part)),
    ) {
        (Some(text), _) => text_part(text),
        (None, Some(image)) => image_part(image),
        (None, None) => Part::default(),
    }
}

fn text_part(text: Value<'_>) -> Part {
    let ink = text
        .text()
        .map(|text| Ink::of(&text.comparable()))
        .unwrap_or_default();
    let is_injected = is_by_harness(unquote(text.raw()));
    Part {
        kind: PartKind::Text,
        token: hash64(text.raw()),
        ink,
        is_injected,
        is_users: None,
    }
}

fn image_part(image: Value<'_>) -> Part {
    Part {
        kind: PartKind::Image,
        token: hash64(image.raw()),
        ..Part::default()
    }
}

/// Whether a part is of the user, as the message says it (0.150 and later).
fn said_author(message: &Message<'_>, index: usize) -> Option<bool> {
    let notes = message.notes()?;
    let nth = |name: &str| elements(notes.first_member(name)).nth(index);
    let provenance =
        nth("content_item_metadata").and_then(|metadata| metadata.member("provenance"));
    match raw_str(provenance.and_then(|provenance| provenance.first_member("type"))) {
        "" => {}
        source => return Some(source == "user"),
    }
    match raw_str(nth("content_item_kinds")) {
        "" | "unknown" => None,
        kind => Some(kind.starts_with("user.")),
    }
}

impl Checker {
    fn add_texts(&mut self, kind: Kind, texts: impl Iterator<Item = AgentText>) -> Facts {
        let at = self.notes.texts.len();
        self.notes.texts.extend(texts);
        Facts {
            at: at as u32,
            count: (self.notes.texts.len() - at) as u32,
            ..Facts::of(kind)
        }
    }

    fn add_twin<'v>(
        &mut self,
        texts: impl Iterator<Item = Value<'v>>,
        images: impl Iterator<Item = Value<'v>>,
        is_harness: bool,
    ) -> Facts {
        let parts = self.notes.parts.len();
        self.notes.parts.extend(texts.map(text_part));
        let ink = self.notes.parts[parts..]
            .iter()
            .fold(Ink::default(), |ink, part| ink.then(part.ink));
        self.notes.parts.extend(images.map(image_part));
        let count = (self.notes.parts.len() - parts) as u32;
        self.notes.twins.push(Twin {
            ink,
            parts: parts as u32,
            count,
            is_harness,
        });
        Facts {
            at: self.notes.twins.len() as u32 - 1,
            ..Facts::of(Kind::Twin)
        }
    }
}

/// What is noted of an answer (a JSON token).
fn answer(text: Value<'_>) -> AgentText {
    let whole = unquote(text.raw());
    let own = without_citations(whole);
    match plan_in(own) {
        None => AgentText {
            whole: hash64(whole),
            text: hash64(own),
            plan: 0,
            has_more: true,
        },
        Some((plan, around)) => AgentText {
            whole: hash64(whole),
            text: hash64(&*around),
            plan: hash64(plan),
            has_more: !around.is_empty(),
        },
    }
}

/// An answer without the list of memories at its end, which its event has in a field.
fn without_citations(answer: &str) -> &str {
    let citations = answer
        .ends_with("</oai-mem-citation>")
        .then(|| answer.rfind("<oai-mem-citation>"))
        .flatten();
    citations.map_or(answer, |at| &answer[..at])
}

/// The plan in an answer, and the text around it as its event has it.
fn plan_in(answer: &str) -> Option<(&str, String)> {
    let (before, rest) = answer.split_once("<proposed_plan>\\n")?;
    let (plan, after) = rest.split_once("</proposed_plan>")?;
    Some((
        plan,
        format!("{before}{}", after.strip_prefix("\\n").unwrap_or(after)),
    ))
}

/// The key of a text of the agent.
fn plain(text: Value<'_>) -> AgentText {
    AgentText {
        text: hash64(text.raw()),
        ..AgentText::default()
    }
}

/// A reasoning: a summary, its full text, or encrypted text alone.
pub fn reasoning(
    checker: &mut Checker,
    record: &Record<'_>,
    check: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let item = Reasoning::strict(record.value, record.at)?;
    check.gives(
        EventKind::MsgOut,
        Pointer::At(record.pointer_to("/payload/summary")),
    )?;
    for (path, parts) in [
        ("/payload/summary", item.summary()),
        ("/payload/content", item.content()),
    ] {
        for (index, value) in elements(parts).enumerate() {
            let part = part(value, record.pointer_to(path), index)?;
            if part.text().is_none() {
                check.unknown_block(raw_str(part.kind()))?;
            }
        }
    }
    let parts = elements(item.summary()).chain(elements(item.content()));
    Ok(checker.add_texts(
        Kind::Reasoning(Side::Model),
        parts
            .filter_map(|part| PartView::lenient(part).text())
            .map(plain),
    ))
}

/// A message of the agent as an event.
pub fn agent_message(
    checker: &mut Checker,
    record: &Record<'_>,
    check: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let text = text_of_notice(record, check)?;
    Ok(checker.add_texts(Kind::Answer(Side::Screen), std::iter::once(answer(text))))
}

/// A reasoning as an event.
pub fn agent_reasoning(
    checker: &mut Checker,
    record: &Record<'_>,
    check: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let text = text_of_notice(record, check)?;
    Ok(checker.add_texts(Kind::Reasoning(Side::Screen), std::iter::once(plain(text))))
}

fn text_of_notice<'a>(record: &Record<'a>, check: &mut Check<'_>) -> Result<Value<'a>, Fault> {
    let event = Notice::strict(record.value, record.at)?;
    check.gives(EventKind::MsgOut, Pointer::At(record.at))?;
    event
        .message()
        .or(event.text())
        .ok_or_else(|| Fault::malformed("/payload", "a text", "nothing"))
}

/// A prompt as an event. Its text is empty if it is only an image.
pub fn user_message(
    checker: &mut Checker,
    record: &Record<'_>,
    check: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let event = Notice::strict(record.value, record.at)?;
    check.gives(EventKind::MsgIn, Pointer::At(record.at))?;
    // 0.34 to 0.44 write events for the harness's own messages too.
    let is_harness = !matches!(raw_str(event.prompt_kind()), "" | "plain");
    let message = event
        .message()
        .filter(|prompt| !is_empty_token(prompt.raw()));
    Ok(checker.add_twin(message.into_iter(), elements(event.images()), is_harness))
}

/// A message of the agent as an item.
pub fn agent_message_item(
    checker: &mut Checker,
    record: &Record<'_>,
    check: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let item = MessageItem::strict(record.value, record.at)?;
    check.gives(EventKind::MsgOut, Pointer::At(record.at))?;
    check_parts(&item, check)?;
    Ok(checker.add_texts(Kind::Answer(Side::Screen), texts_of_item(&item).map(answer)))
}

/// A prompt as an item.
pub fn user_message_item(
    checker: &mut Checker,
    record: &Record<'_>,
    check: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let item = MessageItem::strict(record.value, record.at)?;
    check.gives(EventKind::MsgIn, Pointer::At(record.at))?;
    check_parts(&item, check)?;
    Ok(checker.add_twin(texts_of_item(&item), std::iter::empty(), false))
}

/// The texts of an item.
pub fn texts_of_item<'a>(item: &MessageItem<'a>) -> impl Iterator<Item = Value<'a>> {
    let text = |part: PartView<'a>| {
        part.text()
            .filter(|_| matches!(raw_str(part.kind()), "text" | "Text"))
    };
    elements(item.content())
        .map(PartView::lenient)
        .filter_map(text)
}

/// True for a part of an item that names a file, skill or plugin whose content the response item has.
pub fn is_named(part: &PartView<'_>) -> bool {
    part.text().is_none()
        && matches!(
            raw_str(part.kind()),
            "local_image" | "image" | "audio" | "local_audio" | "skill" | "mention"
        )
}

fn check_parts(item: &MessageItem<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
    for (index, value) in elements(item.content()).enumerate() {
        let part = part(value, "/payload/item/content", index)?;
        let is_text = part.text().is_some() && matches!(raw_str(part.kind()), "text" | "Text");
        if !is_text && !is_named(&part) {
            check.unknown_block(raw_str(part.kind()))?;
        }
    }
    Ok(())
}

/// A reasoning as an item.
pub fn reasoning_item(
    checker: &mut Checker,
    record: &Record<'_>,
    check: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let item = MessageItem::strict(record.value, record.at)?;
    check.gives(EventKind::MsgOut, Pointer::At(record.at))?;
    for (list, parts) in [
        ("/payload/item/summary_text", item.summary_text()),
        ("/payload/item/raw_content", item.raw_content()),
    ] {
        for (index, text) in elements(parts).enumerate() {
            if text.text().is_none() {
                return Err(Fault::malformed(
                    format!("{list}/{index}"),
                    "a text",
                    text.raw(),
                ));
            }
        }
    }
    let texts = elements(item.summary_text()).chain(elements(item.raw_content()));
    Ok(checker.add_texts(Kind::Reasoning(Side::Screen), texts.map(plain)))
}

/// A plan that the agent proposes.
pub fn plan_item(_: &mut Checker, record: &Record<'_>, _: &mut Check<'_>) -> Result<Facts, Fault> {
    let item = MessageItem::strict(record.value, record.at)?;
    Ok(item.text().map_or(Facts::default(), |plan| Facts {
        fact: hash64(unquote(plan.raw())),
        ..Facts::of(Kind::Plan)
    }))
}

/// An answer that a client got.
pub fn delivered(
    _: &mut Checker,
    record: &Record<'_>,
    check: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let delivered = Delivered::strict(record.value, record.at)?;
    check.gives(EventKind::MsgOut, Pointer::At(record.at))?;
    Ok(Facts {
        fact: delivered
            .text()
            .map_or(0, |answer| hash64(unquote(answer.raw()))),
        ..Facts::of(Kind::AnswerAgain)
    })
}

/// A text that the harness gives to the model in the place of an output.
pub fn told_output(
    _: &mut Checker,
    record: &Record<'_>,
    _: &mut Check<'_>,
) -> Result<Facts, Fault> {
    MessageItem::strict(record.value, record.at).map(|_| Facts::default())
}

/// The texts of stop hooks.
pub fn hook_prompt_item(
    _: &mut Checker,
    record: &Record<'_>,
    _: &mut Check<'_>,
) -> Result<Facts, Fault> {
    MessageItem::strict(record.value, record.at)?;
    Ok(Facts::of(Kind::HookPrompt))
}

/// The end of a turn, with its last answer or its error.
pub fn task_complete(
    _: &mut Checker,
    record: &Record<'_>,
    check: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let end = TurnEnd::strict(record.value, record.at)?;
    if let Some(error) = end.error() {
        TurnError::strict(error, "/payload/error")?;
    }
    let answer: Field<'_> = end.last_agent_message();
    if answer.is_some() {
        check.gives(
            EventKind::MsgOut,
            Pointer::At("/payload/last_agent_message"),
        )?;
    }
    Ok(Facts {
        fact: answer.map_or(0, |answer| hash64(unquote(answer.raw()))),
        ..Facts::of(Kind::AnswerAgain)
    })
}

/// Words between agents that are no item of the model's history.
pub fn words_of_agents(
    _: &mut Checker,
    record: &Record<'_>,
    check: &mut Check<'_>,
) -> Result<Facts, Fault> {
    AgentWords::strict(record.value, record.at)?;
    check.gives(EventKind::MsgIn, Pointer::At(record.at))?;
    Ok(Facts::default())
}

/// A message between agents (0.169).
pub fn of_agents(
    _: &mut Checker,
    record: &Record<'_>,
    check: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let message = Message::strict(record.value, record.at)?;
    check.gives(EventKind::MsgIn, Pointer::At(record.at))?;
    for (index, value) in elements(message.content()).enumerate() {
        let part = part(value, record.pointer_to("/payload/content"), index)?;
        if !is_text(&part) && raw_str(part.kind()) != "encrypted_content" {
            check.unknown_block(raw_str(part.kind()))?;
        }
    }
    Ok(Facts::default())
}
