//! Prompts, answers and reasoning.

use engram_core::emit::Pointer;
use engram_core::event::{Attachment, Author, Channel, Meta, MsgIn, MsgOut};
use engram_core::hash::Hash;
use engram_core::keys::hash64;
use engram_core::ledger::Outcome;
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;

use super::state::State;
use super::usage::usage;
use crate::acp::format::MessageKind;
use crate::acp::message::at;
use crate::acp::notes::{is_notice, is_reminder};
use crate::acp::plan::Piece;
use crate::acp::readers::Block;
use crate::shared::joined::Joined;
use crate::shared::media::base64_hash;
use crate::shared::value::{Value, non_empty_text, raw_str, text};

const PROMPT: Pointer<'static> = Pointer::At("/m/params/prompt");
const UPDATE: &str = "/m/params/update";

/// A prompt: its texts as one, and what came with it.
pub fn prompt(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) {
    let blocks = || {
        let blocks = at(record.value, "m/params/prompt");
        blocks.into_iter().flat_map(Value::elements)
    };
    let texts = || blocks().filter_map(|block| text(Block::lenient(block).text()));
    let joined: Joined = texts().collect();
    let attachments = blocks().filter_map(|block| attachment(&Block::lenient(block)));
    let words = texts().next().map(|_| joined.text());
    let prompt = MsgIn::user(Author::Person, words).with(attachments.collect());
    out.emit(prompt, PROMPT);
    for (n, value) in blocks().enumerate() {
        let kind = raw_str(Block::lenient(value).kind());
        if !is_known(kind) {
            out.unrecognized_block(kind, value.raw(), Pointer::Item("/m/params/prompt", n));
        }
    }
    state.prompt = hash64(joined.text().comparable());
    state.is_counted = false;
}

fn is_known(kind: &str) -> bool {
    matches!(
        kind,
        "text" | "image" | "audio" | "resource_link" | "resource"
    )
}

/// What came with a prompt: an image or a sound, a link, or a file.
fn attachment<'a>(block: &Block<'a>) -> Option<Attachment<'a>> {
    let of = |media_type, name, (hash, bytes): (Option<Hash>, Option<u64>)| Attachment {
        media_type,
        hash,
        bytes,
        name,
    };
    let media_type = text(block.media_type());
    let uri = non_empty_text(block.uri());
    match raw_str(block.kind()) {
        "image" | "audio" => {
            let hash = text(block.data()).and_then(base64_hash).unzip();
            Some(of(media_type, uri, hash))
        }
        "resource_link" => Some(of(media_type, uri, (None, None))),
        "resource" => {
            let resource = block.resource()?;
            let words = text(resource.member("text")).map(|text| text.decode_lossy());
            let hash = match words {
                Some(words) => (
                    Some(Hash::of_bytes(words.as_bytes())),
                    Some(words.len() as u64),
                ),
                None => text(resource.member("blob")).and_then(base64_hash).unzip(),
            };
            let uri = non_empty_text(resource.member("uri"));
            Some(of(text(resource.member("mimeType")), uri, hash))
        }
        _ => None,
    }
}

/// A piece of a message. The first one gives the message.
pub fn piece(
    state: &mut State,
    record: &Record<'_>,
    (kind, piece): (MessageKind, Option<&Piece>),
    out: &mut Emitter<'_>,
) -> Outcome {
    if let Some(Piece::First(others)) = piece {
        first(state, record, (kind, others), out);
    }
    if let Some(counts) = at(record.value, "m/params/update/_meta/usage") {
        out.emit(
            Meta::Usage(usage(counts)),
            Pointer::At("/m/params/update/_meta/usage"),
        );
        state.is_counted = true;
    }
    match out.has_events() {
        true => Outcome::Mapped,
        false => Outcome::duplicate(kind.name(), "message.piece"),
    }
}

fn first(
    state: &mut State,
    record: &Record<'_>,
    (kind, others): (MessageKind, &[usize]),
    out: &mut Emitter<'_>,
) {
    let update = at(record.value, "m/params/update");
    let content = update.and_then(|update| update.member("content"));
    let block = Block::lenient_opt(content);
    let mut words: Joined = text(block.text()).into_iter().collect();
    for number in others {
        let mut other = record.others.get(*number);
        let value = other.as_mut().and_then(|other| other.value());
        let more = value.and_then(|value| text(at(value, "m/params/update/content/text")));
        if let Some(more) = more {
            words.push(more);
        }
    }
    let said = Some(words.text()).filter(|words| !words.is_empty());
    let pointer = Pointer::Member(UPDATE, "content");
    let message_id = update.and_then(|update| non_empty_text(update.member("messageId")));
    let attachments: Vec<_> = attachment(&block).into_iter().collect();
    if let Some(value) = content
        && !is_known(raw_str(block.kind()))
    {
        out.unrecognized_block(raw_str(block.kind()), value.raw(), pointer);
    }
    match kind {
        MessageKind::UpdateUserMessageChunk => {
            let is_echo = said.is_some_and(|words| hash64(words.comparable()) == state.prompt);
            let by = match is_reminder(&block) {
                true => Author::Harness,
                false => Author::Person,
            };
            if !is_echo && (said.is_some() || !attachments.is_empty()) {
                out.emit(MsgIn::user(by, said).with(attachments), pointer);
            }
        }
        _ if said.is_some() && is_notice(record.value) => {
            out.emit(Meta::system("notice", said), pointer);
        }
        _ if said.is_some() => {
            let is_thought = kind == MessageKind::UpdateAgentThoughtChunk;
            let message = MsgOut {
                text: said,
                channel: is_thought.then_some(Channel::Reasoning),
                message_id,
                ..MsgOut::default()
            };
            out.emit(message, pointer);
        }
        _ => {
            for attachment in attachments {
                let json = described(&attachment);
                out.emit(Meta::system("content", Some(Text::Plain(&json))), pointer);
            }
        }
    }
}

/// An image of an answer as JSON, without its bytes.
fn described(attachment: &Attachment<'_>) -> String {
    let of = |text: Option<Text<'_>>| text.map(|text| text.decode_lossy().into_owned());
    let hash = attachment.hash.map(|hash| hash.to_string());
    serde_json::json!({
        "mimeType": of(attachment.media_type), "uri": of(attachment.name), "hash": hash, "bytes": attachment.bytes,
    })
    .to_string()
}
