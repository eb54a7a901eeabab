//! Messages and reasoning: the events that both sides give, and the response items of the model's side.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Attachment, Author, Channel, Meta, MsgIn, MsgOut, Role};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::shared::media;
use crate::shared::value::{Field, Value, raw_str, text};

use super::prompts;
use crate::codex::blocks::{part, unquote};
use crate::codex::omissions;
use crate::codex::record::{Container, Record};
use crate::codex::schema::{Message, Reasoning, elements};
use crate::codex::state::mirror_dedup::{Fact, Side};
use crate::codex::state::session_state::SessionState;

/// What a record states of an answer besides its text.
#[derive(Clone, Copy, Default)]
pub struct AnswerFacts<'a> {
    pub id: Field<'a>,
    pub phase: Field<'a>,
}

/// Emits a message of the agent, unless the other side's record was emitted. True if it emitted one.
pub fn emit_answer(
    state: &mut SessionState,
    side: Side,
    answer: Value<'_>,
    facts: AnswerFacts<'_>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> Result<bool, Fault> {
    state.texts.insert_answer(answer.raw());
    let own_text = without_citations(answer.raw());
    let is_new = match plan_in(own_text) {
        None => state.mirrors.is_new(side, Fact::Answer, own_text),
        Some((plan, around)) => {
            let has_plan = !state.texts.insert_plan(plan);
            let is_new = state.mirrors.is_new(side, Fact::Answer, &around);
            !has_plan || (is_new && !around.is_empty())
        }
    };
    if !is_new {
        return Ok(false);
    }
    let channel = match raw_str(facts.phase) {
        "commentary" => Some(Channel::Commentary),
        "final_answer" => Some(Channel::Final),
        _ => None,
    };
    let model = state.last.model();
    out.emit(MsgOut { text: answer.text(), channel, model, message_id: text(facts.id), ..MsgOut::default() }, pointer)?;
    Ok(true)
}

/// Emits a reasoning or one part of its summary, unless the other side's record was emitted. True if it emitted one.
pub fn emit_reasoning(
    state: &mut SessionState,
    side: Side,
    reasoning: Value<'_>,
    id: Field<'_>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> Result<bool, Fault> {
    if !state.mirrors.is_new(side, Fact::Reasoning, reasoning.raw()) {
        return Ok(false);
    }
    let (channel, model) = (Some(Channel::Reasoning), state.last.model());
    let event = MsgOut { text: reasoning.text(), channel, model, message_id: text(id), ..MsgOut::default() };
    out.emit(event, pointer)?;
    Ok(true)
}

/// The plan in an answer (a JSON token without its quotes), and the text around it as its event has it.
fn plan_in(answer: &str) -> Option<(&str, String)> {
    let (before, rest) = answer.split_once("<proposed_plan>\\n")?;
    let (plan, after) = rest.split_once("</proposed_plan>")?;
    Some((plan, format!("{before}{}", after.strip_prefix("\\n").unwrap_or(after))))
}

/// A message of any role.
pub fn message(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let message = Message::strict(record.value, record.at)?;
    let role = match raw_str(message.role()) {
        "assistant" => None,
        "user" => Some(Role::User),
        "system" => Some(Role::System),
        "developer" => Some(Role::Developer),
        other => return Err(Fault::malformed(record.pointer_to("/payload/role"), "a role", other)),
    };
    if elements(message.content()).next().is_none() {
        // The record has a meaning even without text.
        out.emit(Meta::System { name: Text::Plain("empty_message"), text: text(message.role()) }, record.pointer())?;
        return Ok(Outcome::Mapped);
    }
    if role == Some(Role::User) && record.container == Container::Envelope {
        return prompts::hold(state, &message, record, out);
    }
    let mut attachments: Vec<Attachment<'_>> =
        elements(message.content()).filter_map(|part| part.first_member("image_url")).filter_map(media::data_url).collect();
    let mut is_mapped = false;
    let list = record.pointer_to("/payload/content");
    for (index, value) in elements(message.content()).enumerate() {
        let part = part(value, &list, index)?;
        let pointer = Pointer::Field(&list, index, "/text");
        match (raw_str(part.kind()), part.text(), role) {
            ("input_text" | "output_text" | "text", Some(answer), None) => {
                let facts = AnswerFacts { id: message.id(), phase: message.phase() };
                is_mapped |= emit_answer(state, Side::Model, answer, facts, pointer, out)?;
            }
            ("input_text" | "output_text" | "text", Some(prompt), Some(role)) => {
                emit_plain_prompt(role, prompt, &mut attachments, pointer, out)?;
                is_mapped = true;
            }
            ("input_image", _, _) if part.image_url().is_some() => {}
            (kind, _, _) => {
                out.unrecognized_block(kind, value.raw(), Pointer::Item(&list, index))?;
                is_mapped = true;
            }
        }
    }
    if !attachments.is_empty() {
        let by = if state.viewed_images.take_message() { Author::Harness } else { Author::Person };
        let images = MsgIn { role: role.unwrap_or(Role::User), by, text: None, attachments };
        out.emit(images, Pointer::At(&list))?;
        is_mapped = true;
    }
    Ok(record.mapped_or(is_mapped, &omissions::MESSAGE_MIRROR))
}

/// Emits a message to the agent. The log states only its text. Attachments of the prompt are added to the first message by a person.
fn emit_plain_prompt(
    role: Role,
    prompt: Value<'_>,
    attachments: &mut Vec<Attachment<'_>>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    let by = if role == Role::User && !prompts::is_injected(prompt.raw()) { Author::Person } else { Author::Harness };
    let attachments = if by == Author::Person { std::mem::take(attachments) } else { Vec::new() };
    out.emit(MsgIn { role, by, text: prompt.text(), attachments }, pointer)?;
    Ok(())
}

/// A reasoning: a summary, its full text, or encrypted text alone.
pub fn reasoning(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let item = Reasoning::strict(record.value, record.at)?;
    let (mut has_text, mut is_mapped) = (false, false);
    for (path, parts) in [("/payload/summary", item.summary()), ("/payload/content", item.content())] {
        let list = record.pointer_to(path);
        for (index, value) in elements(parts).enumerate() {
            let part = part(value, &list, index)?;
            if let Some(text) = part.text() {
                has_text = true;
                let pointer = Pointer::Field(&list, index, "/text");
                is_mapped |= emit_reasoning(state, Side::Model, text, item.id(), pointer, out)?;
            } else {
                out.unrecognized_block(raw_str(part.kind()), value.raw(), Pointer::Item(&list, index))?;
                is_mapped = true;
            }
        }
    }
    if !has_text && !is_mapped {
        // The model reasoned, and the log does not have the text.
        let (channel, model) = (Some(Channel::Reasoning), state.last.model());
        let hidden = MsgOut { channel, model, message_id: text(item.id()), redacted: true, ..MsgOut::default() };
        out.emit(hidden, Pointer::At(&record.pointer_to("/payload/encrypted_content")))?;
        is_mapped = true;
    }
    Ok(record.mapped_or(is_mapped, &omissions::REASONING_MIRROR))
}

/// An answer (a JSON token) without the list of memories at its end, which its event has in a field.
fn without_citations(token: &str) -> &str {
    let answer = unquote(token);
    let citations = answer.ends_with("</oai-mem-citation>").then(|| answer.rfind("<oai-mem-citation>")).flatten();
    citations.map_or(answer, |at| &answer[..at])
}

/// An answer to a question of the agent that outlives a compaction. The output of the call that asked has it too.
pub fn verified_answer(_: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let call_id = text(record.value.first_member("call_id"));
    let mut is_mapped = false;
    for (index, question) in elements(record.value.first_member("questions")).enumerate() {
        let name = Text::Plain("verified_answer");
        for (member, at) in [("question", "/question"), ("answer", "/answer")] {
            let event = Meta::System { name, text: text(question.member(member)) };
            let parent = call_id.and_then(|id| out.seq_of_call(id));
            out.emit_child(parent, event, Pointer::Field("/payload/questions", index, at))?;
            is_mapped = true;
        }
    }
    if !is_mapped {
        out.emit(Meta::System { name: Text::Plain("verified_answer"), text: None }, Pointer::At(record.at))?;
    }
    Ok(Outcome::Mapped)
}
