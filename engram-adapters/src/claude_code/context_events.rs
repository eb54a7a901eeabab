//! `meta context` events: what the harness gives the model, or keeps, beside the conversation.

use engram_core::emit::Pointer;
use engram_core::event::{ImplicitInput, Meta};
use engram_core::hash::Hash;
use engram_core::steps::Emitter;
use engram_core::text::{DecodeBuffer, Text, canonical_json};

use crate::shared::value::Field;

/// Emits a context whose text is short or was written by a person.
pub(super) fn emit_text(
    name: &str,
    text: Option<Text<'_>>,
    pointer: Pointer<'_>,
    out: &mut Emitter,
) {
    out.emit(Meta::Context(ImplicitInput::of_text(name, text)), pointer);
}

/// Emits a context with the text of a file.
pub(super) fn emit_file_text(
    name: &str,
    file: Option<Text<'_>>,
    text: Option<Text<'_>>,
    pointer: Pointer<'_>,
    out: &mut Emitter,
) {
    out.emit(
        Meta::Context(ImplicitInput {
            name: Text::Plain(name),
            file,
            hash: None,
            bytes: None,
            text,
        }),
        pointer,
    );
}

/// Emits a context with hash and size in place of its text: of the decoded text of a string, of the canonical JSON of any other value. A text
/// that is too long to be decoded has neither.
pub(super) fn emit_hash(
    name: &str,
    value: Field<'_>,
    pointer: &str,
    buffer: &mut DecodeBuffer,
    out: &mut Emitter,
) {
    let json = value
        .filter(|value| value.text().is_none())
        .map(|value| canonical_json(value.raw()));
    let text = value
        .and_then(|value| value.text())
        .and_then(|text| text.decode_into(buffer).ok());
    let hashed = json.as_deref().or(text);
    let hash = hashed.map(|text| Hash::of_bytes(text.as_bytes()));
    let bytes = hashed.map(|text| text.len() as u64);
    out.emit(
        Meta::Context(ImplicitInput::of_hash(name, hash, bytes)),
        pointer,
    );
}
