//! Content blocks of messages and tool results: images, malformed and empty content.

use engram_core::emit::{Fault, Pointer};
use engram_core::event::{Attachment, Author, Meta, MsgIn};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::readers::{Block, Source};
use super::wrappers::{self, States};
use crate::shared::media::{base64_hash, text_hash};
use crate::shared::value::{Field, Value, non_empty_text, raw_str, text};

/// Where the blocks of a message are.
pub(super) const CONTENT: &str = "/message/content";

/// True for the type of a block with a call: of the harness's tools, or of one that the provider runs inside of the response.
pub(super) fn is_call(kind: &str) -> bool {
    matches!(kind, "tool_use" | "server_tool_use" | "mcp_tool_use")
}

/// True for the type of a block with what the provider ran inside of the response. They are the types that the bundle of 2.1.332 names.
pub(super) fn is_provided_result(kind: &str) -> bool {
    matches!(
        kind,
        "advisor_tool_result"
            | "web_search_tool_result"
            | "web_fetch_tool_result"
            | "code_execution_tool_result"
            | "bash_code_execution_tool_result"
            | "text_editor_code_execution_tool_result"
            | "tool_search_tool_result"
            | "mcp_tool_result"
    )
}

/// The images and documents of a list of blocks, hashed.
pub(super) fn images(content: Field<'_>) -> Vec<Attachment<'_>> {
    content
        .filter(|content| content.is_array())
        .map(images_in)
        .unwrap_or_default()
}

#[inline(never)]
fn images_in(blocks: Value<'_>) -> Vec<Attachment<'_>> {
    blocks.elements().filter_map(image).collect()
}

fn image<'a>(block: Value<'a>) -> Option<Attachment<'a>> {
    let block = Block::lenient(block);
    let source = Source::lenient(block.source()?);
    let hash = if raw_str(source.kind()) == "text" {
        text_hash
    } else {
        base64_hash
    };
    let (hash, bytes) = text(source.data()).and_then(hash).unzip();
    Some(Attachment {
        media_type: text(source.media_type()),
        hash,
        bytes,
        name: non_empty_text(block.title()),
    })
}

/// The texts of a prompt: itself, or those of its blocks.
pub(super) fn prompt_texts(prompt: Value<'_>) -> impl Iterator<Item = Text<'_>> {
    prompt.text().into_iter().chain(
        prompt
            .elements()
            .filter_map(|block| text(Block::lenient(block).text())),
    )
}

/// Emits a prompt: a message for each text.
pub(super) fn emit_prompt(
    prompt: Value<'_>,
    by: impl Fn(Option<Text<'_>>) -> Author,
    pointer: &str,
    out: &mut Emitter<'_>,
) {
    let mut attachments = images(Some(prompt));
    let mut texts = prompt_texts(prompt).map(Some).collect::<Vec<_>>();
    if texts.is_empty() && !attachments.is_empty() {
        texts.push(None);
    }
    // The images belong to the first text of a person.
    let is_persons = |text: &Option<Text<'_>>| by(*text) == Author::Person;
    let first = texts.iter().position(is_persons).unwrap_or(0);
    for (index, text) in texts.iter().enumerate() {
        let by = by(*text);
        let is_split = by == Author::Person
            && text.is_some_and(|text| {
                let pointer = Pointer::At(pointer);
                wrappers::emit_around(text, States::Author, &mut attachments, pointer, out)
            });
        if is_split {
            continue;
        }
        let attachments = if index == first {
            std::mem::take(&mut attachments)
        } else {
            Vec::new()
        };
        out.emit(MsgIn::user(by, *text).with(attachments), pointer);
    }
}

/// The block of a message at this index.
///
/// # Errors
/// [`Fault::Malformed`] if it is not an object, or a field has another type.
pub(super) fn message_block<'a>(value: Value<'a>, index: usize) -> Result<Block<'a>, Fault> {
    Block::strict(value, "").map_err(|fault| fault.within(Pointer::Item(CONTENT, index)))
}

/// The content of a message is neither text nor a list.
#[cold]
pub(super) fn malformed_content(found: &str) -> Fault {
    Fault::malformed(CONTENT, "text or a list of blocks", found)
}

/// A field of the block at this index is missing.
#[cold]
pub(super) fn missing_in_block(
    index: usize,
    field: &str,
    expected: &'static str,
    found: &str,
) -> Fault {
    Fault::malformed(format!("{CONTENT}/{index}/{field}"), expected, found)
}

/// Emits that a message has no content.
#[cold]
pub(super) fn emit_empty_message(role: &str, out: &mut Emitter<'_>) -> Outcome {
    out.emit(
        Meta::system("empty_message", Some(Text::Plain(role))),
        CONTENT,
    );
    Outcome::Mapped
}
