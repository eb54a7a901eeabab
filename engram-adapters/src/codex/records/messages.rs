//! Messages and reasoning: the events that both sides give, and the response items of the model's side.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Attachment, Author, Channel, Meta, MsgIn, MsgOut, Role};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::shared::media;
use crate::shared::value::{Field, Value, raw_str, text};

use crate::codex::blocks::{part, unquote};
use crate::codex::omissions;
use crate::codex::record::Record;
use crate::codex::schema::{Message, Reasoning, elements};
use crate::codex::state::mirror_dedup::{Fact, MirrorDedup, Side};
use crate::codex::state::session_state::SessionState;

/// Beginnings of user messages that the harness writes.
const INJECTED: &[&str] = &[
    "<environment_context>",
    "# AGENTS.md instructions",
    "<user_instructions>",
    "<turn_aborted>",
    "<user_shell_command>",
    "<subagent_notification>",
    "<skill>",
    "<user_action>",
    "<recommended_plugins>",
    "<image>",
    "<image name=",
    "</image>",
    "Warning: apply_patch was requested via ",
];

/// Emits a message to the agent, unless the other side's record was emitted. True if it emitted one.
/// The first text that a person wrote takes the attachments.
pub fn emit_prompt(
    state: &mut SessionState,
    (side, role): (Side, Role),
    prompt: Value<'_>,
    attachments: &mut Vec<Attachment<'_>>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> Result<bool, Fault> {
    if role == Role::User && !state.mirrors.is_new(side, Fact::Prompt, prompt.raw()) {
        return Ok(false);
    }
    let by = if role != Role::User || is_injected(prompt.raw()) {
        Author::Harness
    } else if state.thread.is_spawned() {
        Author::Agent
    } else {
        Author::Person
    };
    let attachments = if by == Author::Person { std::mem::take(attachments) } else { Vec::new() };
    out.emit(MsgIn { role, by, text: prompt.text(), attachments }, pointer)?;
    Ok(true)
}

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
    if !state.mirrors.is_new(side, Fact::Answer, without_citations(answer.raw())) {
        return Ok(false);
    }
    let channel = match raw_str(facts.phase) {
        "commentary" => Some(Channel::Commentary),
        "final_answer" => Some(Channel::Final),
        _ => None,
    };
    out.emit(MsgOut { text: answer.text(), channel, message_id: text(facts.id), ..MsgOut::default() }, pointer)?;
    Ok(true)
}

/// Emits a reasoning or one part of its summary, unless the other side's record was emitted. True if it emitted one.
pub fn emit_reasoning(
    mirrors: &mut MirrorDedup,
    side: Side,
    reasoning: Value<'_>,
    id: Field<'_>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> Result<bool, Fault> {
    if !mirrors.is_new(side, Fact::Reasoning, reasoning.raw()) {
        return Ok(false);
    }
    let event = MsgOut { text: reasoning.text(), channel: Some(Channel::Reasoning), message_id: text(id), ..MsgOut::default() };
    out.emit(event, pointer)?;
    Ok(true)
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
    let mut attachments = new_images(&mut state.mirrors, message.content());
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
                is_mapped |= emit_prompt(state, (Side::Model, role), prompt, &mut attachments, pointer, out)?;
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

/// The images of a message that no other record had.
fn new_images<'a>(mirrors: &mut MirrorDedup, content: Field<'a>) -> Vec<Attachment<'a>> {
    let images = elements(content).filter_map(|part| part.first_member("image_url")).filter(|url| url.text().is_some());
    images.filter(|image| mirrors.is_new(Side::Model, Fact::Image, image.raw())).filter_map(media::data_url).collect()
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
                is_mapped |= emit_reasoning(&mut state.mirrors, Side::Model, text, item.id(), pointer, out)?;
            } else {
                out.unrecognized_block(raw_str(part.kind()), value.raw(), Pointer::Item(&list, index))?;
                is_mapped = true;
            }
        }
    }
    if !has_text && !is_mapped {
        // The model reasoned, and the log does not have the text.
        let hidden = MsgOut { channel: Some(Channel::Reasoning), message_id: text(item.id()), redacted: true, ..MsgOut::default() };
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

/// True for a user message (a JSON token) that the harness wrote.
fn is_injected(token: &str) -> bool {
    let prompt = token.strip_prefix('"').unwrap_or(token);
    INJECTED.iter().any(|beginning| prompt.starts_with(beginning))
}
