//! Messages in the user's place: who wrote each part, as the message and a record after it state it.
//!
//! A message that a person sent is followed by an event or item with the same text, its twin. A message without one is the harness's own.
//! From 0.150 on the message may itself state what its parts are.

use std::borrow::Cow;

use engram_core::emit::{Emitter, Fault, Pointer, RecordHeader};
use engram_core::event::{Attachment, Author, MsgIn, Role};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::shared::media;
use crate::shared::value::{Field, StructuralIndex, Value, parse, raw_str, text};

use crate::codex::blocks::part;
use crate::codex::omissions;
use crate::codex::record::Record;
use crate::codex::schema::{Message, Part, elements};
use crate::codex::state::held_message::HeldMessage;
use crate::codex::state::mirror_dedup::{Fact, Side};
use crate::codex::state::session_state::SessionState;

/// The type of the records that are kept until the next one.
const MESSAGE: &str = "response_item/message";
/// Where the parts of a message are.
const CONTENT: &str = "/payload/content";

/// The most bytes of a message that waits: it is compared with the record after it, decoded.
const MAX_HELD_BYTES: usize = 8 << 20;

/// Beginnings of messages that the harness writes. They decide only where the log states nothing: in the forms without events, in a message
/// that is the last record of its file, and in one that is too large to wait.
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
    "<codex_internal_context",
    "<hook_prompt",
    "<image>",
    "<image name=",
    "</image>",
    "Warning: apply_patch was requested via ",
];

/// What a record after a message states about it.
pub enum Twin<'t> {
    /// It is the event or item of a message that was sent, with this text.
    Sent(Cow<'t, str>),
    /// It is another record: nobody sent the message.
    Other,
    /// There is no record.
    Unknown,
    /// It may be the event or item of a message, but cannot be read. A later record decides.
    Unreadable,
    /// It was not waited for, because the message is too large. The harness writes no message of that size.
    NotAwaited,
}

/// Keeps a message until the next record, unless its own record already decides what becomes of it.
pub fn hold(state: &mut SessionState, message: &Message<'_>, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let mut is_known = true;
    let mut is_repeated = true;
    for (index, value) in elements(message.content()).enumerate() {
        let part = part(value, CONTENT, index)?;
        is_known &= is_text(&part) || is_image(&part);
        is_repeated &= part.text().is_none_or(|text| state.mirrors.is_ahead(Side::Screen, Fact::Prompt, text.raw()));
    }
    let has_text = elements(message.content()).any(|part| part.first_member("text").is_some());
    if is_known && !has_text && state.viewed_images.take_message() {
        let attachments = new_images(state, message.content());
        let is_mapped = emit_images(Author::Harness, attachments, out)?;
        return Ok(record.mapped_or(is_mapped, &omissions::MESSAGE_MIRROR));
    }
    if !is_known || (is_repeated && has_text) {
        let twin = if is_known { Twin::Other } else { Twin::Unknown };
        let is_mapped = emit_parts(state, message, record.replay, twin, out)?;
        return Ok(record.mapped_or(is_mapped, &omissions::MESSAGE_MIRROR));
    }
    let json = Some(record.value.raw()).filter(|json| json.len() <= MAX_HELD_BYTES);
    let Some(json) = json.and_then(|json| out.keep(json)) else {
        let is_mapped = emit_large(state, message, record.replay, out)?;
        return Ok(record.mapped_or(is_mapped, &omissions::MESSAGE_MIRROR));
    };
    state.held.hold(HeldMessage {
        json,
        location: out.location(),
        t: record.t.map(str::to_owned),
        id: message.id().map(|id| id.raw().to_owned()),
        replay: record.replay,
    });
    // It counts as a duplicate until it gives its events.
    Ok(record.omitted_by(&omissions::MESSAGE_MIRROR))
}

/// Emits a message that is too large to be kept. Its event or item is then a repeat.
#[cold]
fn emit_large(state: &mut SessionState, message: &Message<'_>, replay: bool, out: &mut Emitter<'_>) -> Result<bool, Fault> {
    for text in elements(message.content()).filter_map(|part| part.first_member("text")) {
        state.mirrors.is_new(Side::Model, Fact::Prompt, text.raw());
    }
    emit_parts(state, message, replay, Twin::NotAwaited, out)
}

/// Emits the message that is kept, if any.
pub fn release(state: &mut SessionState, twin: Twin<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let Some(held) = state.held.take() else { return Ok(()) };
    let (here, mut index) = (out.location(), StructuralIndex::default());
    let message = Message::lenient(parse(&held.json, &mut index)?);
    out.attribute_to(held.location, RecordHeader { t: held.t.as_deref(), id: held.id.as_deref().map(Text::Token), replay: held.replay });
    let before = out.last_seq();
    let is_mapped = emit_parts(state, &message, held.replay, twin, out)?;
    // What the message states stays, whatever becomes of the current record.
    state.mirrors.commit();
    if state.held.repeats_message() {
        state.turns.begin(before);
    }
    if is_mapped {
        out.duplicate_was_mapped(MESSAGE, omissions::MESSAGE_MIRROR.rule);
    }
    out.attribute_to(here, RecordHeader::default());
    Ok(())
}

/// True if a twin has the text of the message that is kept.
pub fn is_twin_of_held(state: &SessionState, twin: &str) -> Result<bool, Fault> {
    let Some(held) = state.held.message() else { return Ok(false) };
    let mut index = StructuralIndex::default();
    let message = Message::lenient(parse(&held.json, &mut index)?);
    let has_text = elements(message.content()).any(|part| part.first_member("text").is_some());
    // The text of a twin is empty if only images were sent.
    Ok(sent_parts(&message, twin).is_some_and(|sent| sent.contains(&true) || !has_text))
}

/// The twin in a record, if it is one.
pub fn twin_of<'t>(line_type: &str, payload: Value<'t>) -> Twin<'t> {
    let sent = match (line_type, raw_str(payload.first_member("type"))) {
        ("event_msg", "user_message") => text(payload.first_member("message")).map(|text| text.comparable()),
        ("event_msg", "item_completed") => match payload.first_member("item").filter(|item| item.is_object()) {
            Some(item) if raw_str(item.first_member("type")) != "UserMessage" => return Twin::Other,
            item => item.and_then(|item| item.first_member("content")).filter(|content| content.is_array()).and_then(texts_of),
        },
        _ => return Twin::Other,
    };
    sent.map_or(Twin::Unreadable, Twin::Sent)
}

/// The texts in the content of an item, together. None if a part cannot be read.
fn texts_of(content: Value<'_>) -> Option<Cow<'_, str>> {
    let mut texts = content.elements().map(text_of_part).collect::<Option<Vec<_>>>()?;
    if texts.len() == 1 { texts.pop() } else { Some(Cow::Owned(texts.concat())) }
}

fn text_of_part(part: Value<'_>) -> Option<Cow<'_, str>> {
    let text = if part.is_object() { part.first_member("text") } else { return None };
    text.map_or(Some(Cow::Borrowed("")), |text| text.text().map(|text| text.comparable()))
}

fn is_text(part: &Part<'_>) -> bool {
    matches!(raw_str(part.kind()), "input_text" | "output_text" | "text") && part.text().is_some()
}

fn is_image(part: &Part<'_>) -> bool {
    raw_str(part.kind()) == "input_image" && part.image_url().is_some()
}

/// Emits the parts of a message, each with its author. True if it emitted any.
fn emit_parts(state: &mut SessionState, message: &Message<'_>, replay: bool, twin: Twin<'_>, out: &mut Emitter<'_>) -> Result<bool, Fault> {
    let sender = state.thread.sender(replay);
    let mut attachments = new_images(state, message.content());
    let sent = if let Twin::Sent(text) = &twin { sent_parts(message, text) } else { None };
    let is_undecided = matches!(twin, Twin::NotAwaited) || (matches!(twin, Twin::Unknown) && !state.held.has_twins());
    let mut is_mapped = false;
    for (index, value) in elements(message.content()).enumerate() {
        let part = Part::lenient(value);
        let Some(prompt) = part.text().filter(|_| is_text(&part)) else {
            if !is_image(&part) {
                out.unrecognized_block(raw_str(part.kind()), value.raw(), Pointer::Item(CONTENT, index))?;
                is_mapped = true;
            }
            continue;
        };
        if matches!(twin, Twin::Other) && state.mirrors.is_ahead(Side::Screen, Fact::Prompt, prompt.raw()) {
            state.mirrors.is_new(Side::Model, Fact::Prompt, prompt.raw());
            continue;
        }
        let is_users = match &sent {
            Some(sent) => sent.get(index) == Some(&true),
            None => stated_kind(message, index).unwrap_or_else(|| is_undecided && !is_injected(prompt.raw())),
        };
        let by = if is_users { sender } else { Author::Harness };
        let attachments = if is_users { std::mem::take(&mut attachments) } else { Vec::new() };
        out.emit(MsgIn { role: Role::User, by, text: prompt.text(), attachments }, Pointer::Field(CONTENT, index, "/text"))?;
        is_mapped = true;
    }
    let by = if matches!(twin, Twin::Other) { Author::Harness } else { sender };
    is_mapped |= emit_images(by, attachments, out)?;
    state.held.set_repeats_message(sent.is_some());
    Ok(is_mapped)
}

/// Emits the images of a message that no text of it has. True if there are any.
fn emit_images(by: Author, attachments: Vec<Attachment<'_>>, out: &mut Emitter<'_>) -> Result<bool, Fault> {
    let has_images = !attachments.is_empty();
    if has_images {
        out.emit(MsgIn { role: Role::User, by, text: None, attachments }, Pointer::At(CONTENT))?;
    }
    Ok(has_images)
}

/// Which parts of a message were sent: together they are the text of the twin. None if the twin has another text.
fn sent_parts(message: &Message<'_>, twin: &str) -> Option<Vec<bool>> {
    let mut rest = twin.trim();
    let is_blank = rest.is_empty();
    let mut take = |part: Value<'_>| {
        let part = text(part.first_member("text")).map(|part| part.comparable()).unwrap_or_default();
        if is_blank {
            return part.trim().is_empty() && !part.is_empty();
        }
        let after = rest.strip_prefix(part.trim()).filter(|_| !part.trim().is_empty());
        rest = after.unwrap_or(rest).trim_start();
        after.is_some()
    };
    let sent = elements(message.content()).map(&mut take).collect();
    rest.is_empty().then_some(sent)
}

/// Whether a part is of the user, as the message states it (0.150 and later). None if it does not.
fn stated_kind(message: &Message<'_>, index: usize) -> Option<bool> {
    let notes = message.notes()?;
    let nth = |name: &str| elements(notes.first_member(name)).nth(index);
    let provenance = nth("content_item_metadata").and_then(|metadata| metadata.member("provenance"));
    match raw_str(provenance.and_then(|provenance| provenance.first_member("type"))) {
        "" => {}
        source => return Some(source == "user"),
    }
    match raw_str(nth("content_item_kinds")) {
        "" | "unknown" => None,
        kind => Some(kind.starts_with("user.")),
    }
}

/// The images of a message that no other record had.
fn new_images<'a>(state: &mut SessionState, content: Field<'a>) -> Vec<Attachment<'a>> {
    let images = elements(content).filter_map(|part| part.first_member("image_url")).filter(|url| url.text().is_some());
    images.filter(|image| state.mirrors.is_new(Side::Model, Fact::Image, image.raw())).filter_map(media::data_url).collect()
}

/// True for a user message (a JSON token) that begins as the harness's own do.
pub fn is_injected(token: &str) -> bool {
    let prompt = token.strip_prefix('"').unwrap_or(token);
    INJECTED.iter().any(|beginning| prompt.starts_with(beginning))
}

/// Emits a prompt that only its event states, unless the message before it has the same text. True if it emitted one.
pub fn emit_from_event(
    state: &mut SessionState,
    prompt: Value<'_>,
    (by, replay): (Option<Author>, bool),
    attachments: &mut Vec<Attachment<'_>>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> Result<bool, Fault> {
    if state.held.repeats_message() {
        return Ok(false);
    }
    let in_review = state.review.is_running();
    let is_new =
        if in_review { state.review.insert_prompt(prompt.raw()) } else { state.mirrors.is_new(Side::Screen, Fact::Prompt, prompt.raw()) };
    if !is_new {
        return Ok(false);
    }
    let by = by.unwrap_or_else(|| if in_review { Author::Harness } else { state.thread.sender(replay) });
    out.emit(MsgIn { role: Role::User, by, text: prompt.text(), attachments: std::mem::take(attachments) }, pointer)?;
    Ok(true)
}
