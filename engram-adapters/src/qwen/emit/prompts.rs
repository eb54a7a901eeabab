//! What the model is told: prompts, and what the harness puts beside the words of a person.

use engram_core::emit::Pointer;
use engram_core::event::{Attachment, Author, ImplicitInput, Meta, MsgIn};
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::state::State;
use crate::qwen::notes::PARTS;
use crate::qwen::readers::{Line, Media, Message, Part, Payload};
use crate::shared::media::base64_hash;
use crate::shared::value::{Value, elements, non_empty_text, raw_str, text};

/// The part before the texts of files that a prompt names with `@`, and the part behind them (`resolveAtCommandQuery`).
const FILES: [&str; 2] = [
    r"\n--- Content from referenced files ---",
    r"\n--- End of content ---",
];

/// What the harness puts before words that a person typed while a turn ran (`prefixMidTurnUserMessageParts`).
const MEANWHILE: &str = "\n[User message received during tool execution]: ";

/// What a part of a prompt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Words,
    File,
    Hook,
    Reminder,
}

/// A prompt of a person. If it is a command, its words are those of the command, and the model gets others.
pub fn prompt(state: &mut State, line: &Line<'_>, out: &mut Emitter<'_>) {
    let shown = non_empty_text(Payload::lenient_opt(line.payload()).display());
    let command = shown.filter(|shown| {
        let shown = shown.decode_lossy();
        let mut parts = elements(Message::lenient_opt(line.message()).parts());
        let is_sent = |part| {
            text(Part::lenient(part).text()).is_some_and(|text| text.decode_lossy() == shown)
        };
        shown.starts_with('/') && !parts.any(is_sent)
    });
    let is_sent = std::mem::take(&mut state.is_command_sent);
    if let Some(command) = command.filter(|_| !is_sent) {
        let said = MsgIn::user(Author::Person, Some(command));
        out.emit(said, "/systemPayload/displayText");
    }
    let of = match is_sent || command.is_some() {
        true => Of::Command,
        false => Of::Prompt,
    };
    words(line, Author::Person, of, out);
}

/// Where the words of a message come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// Somebody said them.
    Prompt,
    /// A person typed them while a turn ran.
    Meanwhile,
    /// A command stands for them.
    Command,
}

/// The texts of a message, the first with its images. The texts of files and of hooks are parts of their own.
pub fn words(line: &Line<'_>, by: Author, of: Of, out: &mut Emitter<'_>) {
    let parts = Message::lenient_opt(line.message()).parts();
    let mut attachments: Vec<Attachment<'_>> = elements(parts)
        .filter_map(|part| attachment(Part::lenient(part).media()?))
        .collect();
    let payload = Payload::lenient_opt(line.payload());
    attachments.extend(elements(payload.links()).map(link));
    let has_hook = non_empty_text(payload.hook()).is_some();
    let count = elements(parts).count();
    let mut in_files = false;
    for (n, part) in elements(parts).enumerate() {
        let part = Part::lenient(part);
        let Some(words) = non_empty_text(part.text()) else {
            continue;
        };
        let mark = FILES.iter().position(|mark| *mark == raw_str(part.text()));
        in_files |= mark == Some(0) && n > 0;
        let role = match in_files {
            true => Role::File,
            false if has_hook && n + 1 == count => Role::Hook,
            false if n + 1 < count && is_reminder(words) => Role::Reminder,
            false => Role::Words,
        };
        in_files &= mark != Some(1);
        let pointer = Pointer::Item(PARTS, n);
        match role {
            Role::Words if of == Of::Command => context("command", words, pointer, out),
            Role::Words => {
                let decoded = words.decode_lossy();
                let typed = decoded
                    .strip_prefix(MEANWHILE)
                    .filter(|_| of == Of::Meanwhile);
                if typed.is_some() {
                    context("mid_turn", Text::Plain(MEANWHILE), pointer, out);
                }
                let words = typed.map_or(words, Text::Plain);
                emit_words(Some(words), by, &mut attachments, pointer, out);
            }
            Role::File => context("file", words, pointer, out),
            Role::Hook => context("hook", words, pointer, out),
            Role::Reminder => context("reminder", words, pointer, out),
        }
    }
    if !attachments.is_empty() {
        emit_words(None, by, &mut attachments, Pointer::At(PARTS), out);
    }
}

/// True for a part that is one reminder of the harness. The words of the person are the next part.
fn is_reminder(part: Text<'_>) -> bool {
    let part = part.decode_lossy();
    let inside = part.trim().strip_prefix("<system-reminder>");
    inside
        .and_then(|inside| inside.split_once("</system-reminder>"))
        .is_some_and(|(_, rest)| rest.is_empty())
}

/// What the model is told beside the conversation.
pub fn context(name: &str, words: Text<'_>, pointer: Pointer<'_>, out: &mut Emitter<'_>) {
    let input = ImplicitInput::of_text(name, Some(words));
    out.emit(Meta::Context(input), pointer);
}

fn emit_words(
    text: Option<Text<'_>>,
    by: Author,
    attachments: &mut Vec<Attachment<'_>>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    let message = MsgIn::user(by, text).with(std::mem::take(attachments));
    out.emit(message, pointer);
}

/// A file that a client names beside the words.
fn link(link: Value<'_>) -> Attachment<'_> {
    Attachment {
        media_type: None,
        hash: None,
        bytes: None,
        name: non_empty_text(link.member("uri")),
    }
}

/// An image or a file, hashed.
pub fn attachment(media: Value<'_>) -> Option<Attachment<'_>> {
    let media = Media::lenient(media);
    let (hash, bytes) = base64_hash(text(media.data())?).unzip();
    Some(Attachment {
        media_type: text(media.media_type()),
        hash,
        bytes,
        name: non_empty_text(media.name()),
    })
}
