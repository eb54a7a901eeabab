//! What the model is told: prompts, messages of extensions, the system prompt.

use engram_core::emit::Pointer;
use engram_core::event::{Attachment, Author, ImplicitInput, Meta, MsgIn};
use engram_core::hash::Hash;
use engram_core::steps::Emitter;
use engram_core::text::{Text, canonical_json};

use crate::pi::notes::CONTENT;
use crate::pi::readers::{Block, Entry, Message};
use crate::shared::media::base64_hash;
use crate::shared::value::{Value, non_empty_text, one_or_many, raw_str, text};
use crate::shared::wrappers::{End, Part, Place, Wrapper, split};

/// What the harness puts before the words of a prompt.
const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        name: "skill",
        place: Place::Start,
        begin: "<skill name=\"",
        end: End::First("\n</skill>"),
        source: "`/skill:name`: `parseSkillBlock` of 0.73.1 to 1.6.0",
    },
    Wrapper {
        name: "file",
        place: Place::Start,
        begin: "<file name=\"",
        end: End::First("</file>"),
        source: "`pi @file`: `processFileArguments` of 0.73.1 to 1.6.0",
    },
    Wrapper {
        name: "subagent",
        place: Place::Start,
        begin: "[Subagent Context] ",
        end: End::First("[Subagent Task]\n"),
        source: "OpenClaw, the task of a sub-agent: 2026.9.6, recorded",
    },
    Wrapper {
        name: "subagent",
        place: Place::Lines,
        begin: "Begin. Execute the assigned task to completion.",
        end: End::OfText,
        source: "OpenClaw, behind the task of a sub-agent: 2026.9.6, recorded",
    },
];

/// The part of the system prompt with the texts of instruction files (`AGENTS.md`).
const INSTRUCTIONS: &str = "project_context";

/// The source of the message that all sub-agents of a session have ended, with their results.
const SETTLED: &str = "subagent_settle";

/// A prompt: by a person, or by the session that started this one. OpenClaw also says whose words it is: another session's, or its own.
pub fn user(is_sub_agent: bool, message: &Message<'_>, out: &mut Emitter<'_>) {
    let provenance = |name| message.provenance().and_then(|from| from.member(name));
    let by = match raw_str(provenance("kind")) {
        // OpenClaw tells what became of sub-agents (2026.9.6: recorded).
        "inter_session" if raw_str(provenance("sourceTool")) == SETTLED => Author::Harness,
        "inter_session" => Author::Agent,
        "internal_system" => Author::Harness,
        _ if is_sub_agent => Author::Agent,
        _ => Author::Person,
    };
    if let Some(content) = message.content() {
        words(content, by, CONTENT, out);
    }
}

/// A message of an extension to the model.
pub fn custom_message(entry: &Entry<'_>, out: &mut Emitter<'_>) {
    if let Some(content) = entry.content() {
        words(content, Author::Harness, "/content", out);
    }
}

/// Images that wait for the text that they belong to.
type Images<'a> = Vec<Attachment<'a>>;

/// The texts of a content, the first with its images.
fn words(content: Value<'_>, by: Author, at: &'static str, out: &mut Emitter<'_>) {
    let mut attachments = images(content);
    if content.text().is_some() {
        say(content.text(), by, &mut attachments, Pointer::At(at), out);
    }
    for (n, value) in content.elements().enumerate() {
        let (block, pointer) = (Block::lenient(value), Pointer::Item(at, n));
        match raw_str(block.kind()) {
            "text" => say(text(block.text()), by, &mut attachments, pointer, out),
            "image" => {}
            other => out.unrecognized_block(other, value.raw(), pointer),
        }
    }
    if !attachments.is_empty() {
        emit_words(None, by, &mut attachments, Pointer::At(at), out);
    }
}

/// A text: that of a person without what the harness put before it.
fn say<'a>(
    words: Option<Text<'a>>,
    by: Author,
    images: &mut Images<'a>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    let Some(words) = words.filter(|words| !words.is_empty()) else {
        return;
    };
    let is_wrapped = WRAPPERS
        .iter()
        .any(|row| words.decode_lossy().starts_with(row.begin));
    if by == Author::Harness || !is_wrapped {
        return emit_words(Some(words), by, images, pointer, out);
    }
    let decoded = words.decode_lossy();
    for part in split(&decoded, WRAPPERS) {
        match part {
            Part::Words(words) => emit_words(Some(Text::Plain(words)), by, images, pointer, out),
            Part::Wrapped { name, text } => {
                let input = ImplicitInput::of_text(name, Some(Text::Plain(text)));
                out.emit(Meta::Context(input), pointer);
            }
        }
    }
}

fn emit_words(
    text: Option<Text<'_>>,
    by: Author,
    images: &mut Images<'_>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    out.emit(MsgIn::user(by, text).with(std::mem::take(images)), pointer);
}

/// The images of a content, hashed.
pub fn images(content: Value<'_>) -> Vec<Attachment<'_>> {
    let image = |value| {
        let block = Block::lenient(value);
        let data = text(block.data()).filter(|_| raw_str(block.kind()) == "image")?;
        let (hash, bytes) = base64_hash(data).unzip();
        Some(Attachment {
            media_type: text(block.media_type()),
            hash,
            bytes,
            name: None,
        })
    };
    content.elements().filter_map(image).collect()
}

/// The system prompt and the tools, as hashes; the texts of instruction files as they are.
pub fn system(message: &Message<'_>, out: &mut Emitter<'_>) {
    for prompt in one_or_many(message.content()) {
        let prompt = prompt.text().or(text(Block::lenient(prompt).text()));
        if let Some(prompt) = prompt.filter(|prompt| !prompt.is_empty()) {
            let input = hashed("system_prompt", &prompt.decode_lossy());
            out.emit(Meta::Context(input), Pointer::At(CONTENT));
        }
    }
    for (name, section) in message.sections().into_iter().flat_map(Value::members) {
        let Some(section) = non_empty_text(Some(section)) else {
            continue;
        };
        let decoded = section.decode_lossy();
        let input = match name {
            INSTRUCTIONS => ImplicitInput::of_text("instructions", Some(section)),
            _ => hashed("system_prompt", &decoded),
        };
        out.emit(
            Meta::Context(input),
            Pointer::Member("/message/sections", name),
        );
    }
    if let Some(tools) = message.tools().filter(|tools| !tools.is_empty_list()) {
        let input = hashed("tools", &canonical_json(tools.raw()));
        out.emit(Meta::Context(input), Pointer::At("/message/toolsAdded"));
    }
    if let Some(removed) = message.removed() {
        let names = Some(removed.json());
        out.emit(
            Meta::system("tools_removed", names),
            Pointer::At("/message/toolsRemoved"),
        );
    }
}

fn hashed<'a>(name: &'a str, text: &str) -> ImplicitInput<'a> {
    let hash = Hash::of_bytes(text.as_bytes());
    ImplicitInput::of_hash(name, Some(hash), Some(text.len() as u64))
}
