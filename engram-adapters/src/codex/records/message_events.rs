//! Messages and reasoning for the screen: events (up to 0.142) and completed items (0.150 and later).

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Attachment, Author, Meta, MsgIn, MsgOut, Role};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::shared::media;
use crate::shared::value::{Field, Value, raw_str, text};
use crate::shared::view::view;

use super::messages::{AnswerFacts, emit_answer, emit_reasoning};
use super::prompts::emit_from_event;
use crate::codex::blocks::{is_empty_token, part, unquote};
use crate::codex::omissions;
use crate::codex::record::Record;
use crate::codex::schema::{MessageItem, Notice, elements};
use crate::codex::state::mirror_dedup::{Fact, Side};
use crate::codex::state::session_state::SessionState;

view! {
    /// A memory that an answer cites.
    Citation {
        path: "path" String,
        line_start: "line_start" Number,
        line_end: "line_end" Number,
        note: "note" String,
    }
}

/// A message of the agent.
pub fn agent_message(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let event = Notice::strict(record.value, record.at)?;
    let answer = text_of(&event)?;
    let facts = AnswerFacts { id: None, phase: event.phase() };
    let is_new = emit_answer(state, Side::Screen, answer, facts, Pointer::At("/payload/message"), out)?;
    if let Some(citations) = event.memory_citation().filter(|_| is_new) {
        emit_citations(citations, out)?;
    }
    Ok(record.mapped_or(is_new, &omissions::MESSAGE_MIRROR))
}

/// A reasoning of the agent.
pub fn agent_reasoning(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let reasoning = text_of(&Notice::strict(record.value, record.at)?)?;
    let is_new = emit_reasoning(state, Side::Screen, reasoning, None, Pointer::At("/payload/text"), out)?;
    Ok(record.mapped_or(is_new, &omissions::REASONING_MIRROR))
}

fn text_of<'a>(event: &Notice<'a>) -> Result<Value<'a>, Fault> {
    event.message().or(event.text()).ok_or_else(|| Fault::malformed("/payload", "a text", "nothing"))
}

/// Emits the memories that an answer cites: the lines of each, and a note.
fn emit_citations(citations: Value<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    for (index, entry) in elements(citations.first_member("entries")).enumerate() {
        let entry = Citation::lenient(entry);
        let number = |field: Field<'_>| field.map_or(String::new(), |number| number.raw().to_owned());
        let lines = format!("{}:{}-{}", raw_str(entry.path()), number(entry.line_start()), number(entry.line_end()));
        let token = format!("\"{lines}: {}\"", raw_str(entry.note()));
        let event = Meta::System { name: Text::Plain("memory_citation"), text: Some(Text::Token(&token)) };
        out.emit(event, Pointer::Item("/payload/memory_citation/entries", index))?;
    }
    Ok(())
}

/// A prompt. Its text is empty if it is only an image.
pub fn user_message(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let event = Notice::strict(record.value, record.at)?;
    // 0.34 to 0.44 write events for the harness's own messages too.
    let by = if matches!(raw_str(event.prompt_kind()), "" | "plain") { None } else { Some(Author::Harness) };
    let new = elements(event.images()).filter(|image| state.mirrors.is_new(Side::Screen, Fact::Image, image.raw()));
    let mut attachments: Vec<Attachment<'_>> = new.filter_map(media::data_url).collect();
    let mut is_mapped = false;
    if let Some(prompt) = event.message().filter(|prompt| !is_empty_token(prompt.raw())) {
        let at = Pointer::At("/payload/message");
        is_mapped = emit_from_event(state, prompt, (by, record.replay), &mut attachments, at, out)?;
    }
    if !attachments.is_empty() {
        let by = by.unwrap_or_else(|| state.thread.sender(record.replay));
        out.emit(MsgIn { role: Role::User, by, text: None, attachments }, Pointer::At("/payload/images"))?;
        is_mapped = true;
    }
    Ok(record.mapped_or(is_mapped, &omissions::MESSAGE_MIRROR))
}

/// A message of the agent as an item.
pub fn agent_message_item(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let item = MessageItem::strict(record.value, record.at)?;
    let facts = AnswerFacts { id: item.id(), phase: item.phase() };
    convert_parts(record, &item, out, |text, pointer, out| emit_answer(state, Side::Screen, text, facts, pointer, out))
}

/// A prompt as an item.
pub fn user_message_item(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let item = MessageItem::strict(record.value, record.at)?;
    let (by, mut attachments) = (if record.is_foreign { Some(Author::Harness) } else { None }, Vec::new());
    convert_parts(record, &item, out, |text, pointer, out| {
        emit_from_event(state, text, (by, record.replay), &mut attachments, pointer, out)
    })
}

/// Emits each text of an item by `emit_text`. Other parts name files, skills and plugins whose content the response item has.
fn convert_parts<'s>(
    record: &Record<'_>,
    item: &MessageItem<'_>,
    out: &mut Emitter<'s>,
    mut emit_text: impl FnMut(Value<'_>, Pointer<'_>, &mut Emitter<'s>) -> Result<bool, Fault>,
) -> Result<Outcome, Fault> {
    let list = "/payload/item/content";
    let mut is_mapped = false;
    for (index, value) in elements(item.content()).enumerate() {
        let part = part(value, list, index)?;
        match (raw_str(part.kind()), part.text()) {
            ("text" | "Text", Some(text)) => is_mapped |= emit_text(text, Pointer::Field(list, index, "/text"), out)?,
            ("local_image" | "image" | "audio" | "local_audio" | "skill" | "mention", None) => {}
            (kind, _) => {
                out.unrecognized_block(kind, value.raw(), Pointer::Item(list, index))?;
                is_mapped = true;
            }
        }
    }
    Ok(record.mapped_or(is_mapped, &omissions::MESSAGE_MIRROR))
}

/// A reasoning as an item.
pub fn reasoning_item(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let item = MessageItem::strict(record.value, record.at)?;
    let mut is_mapped = false;
    for (list, parts) in [("/payload/item/summary_text", item.summary_text()), ("/payload/item/raw_content", item.raw_content())] {
        for (index, text) in elements(parts).enumerate() {
            if text.text().is_none() {
                return Err(Fault::malformed(format!("{list}/{index}"), "a text", text.raw()));
            }
            is_mapped |= emit_reasoning(state, Side::Screen, text, item.id(), Pointer::Item(list, index), out)?;
        }
    }
    Ok(record.mapped_or(is_mapped, &omissions::REASONING_MIRROR))
}

/// A plan that the agent proposes. The event of its answer lacks the plan, the response item has it between tags.
pub fn plan_item(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let item = MessageItem::strict(record.value, record.at)?;
    let Some(plan) = item.text().filter(|plan| state.texts.insert_plan(unquote(plan.raw()))) else {
        return Ok(record.omitted_by(&omissions::PLAN));
    };
    let plan = MsgOut { text: plan.text(), model: state.last.model(), message_id: text(item.id()), ..MsgOut::default() };
    out.emit(plan, Pointer::At("/payload/item/text"))?;
    Ok(Outcome::Mapped)
}

/// The texts of stop hooks, of which the message with the same id consists.
pub fn hook_prompt_item(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let item = MessageItem::strict(record.value, record.at)?;
    if state.held.is_released(item.id()) {
        return Ok(record.omitted_by(&omissions::HOOK_PROMPT));
    }
    let mut is_mapped = false;
    for (index, fragment) in elements(item.fragments()).enumerate() {
        let event = Meta::System { name: Text::Plain("hook_prompt"), text: text(fragment.member("text")) };
        out.emit(event, Pointer::Field("/payload/item/fragments", index, "/text"))?;
        is_mapped = true;
    }
    Ok(record.mapped_or(is_mapped, &omissions::HOOK_PROMPT))
}
