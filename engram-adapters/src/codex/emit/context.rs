//! Input of the model that is no message: instructions, the system prompt, tool descriptions.

use engram_core::event::{ImplicitInput, Meta};
use engram_core::hash::Hash;
use engram_core::steps::Emitter;
use engram_core::text::{Text, canonical_json};

use crate::shared::value::{Field, Value, non_empty_text};

use super::last_said::LastSaid;

/// Emits instructions that a person wrote, with their text, unless they were emitted before.
pub fn emit_instructions(
    last: &mut LastSaid,
    instructions: Field<'_>,
    at: &str,
    out: &mut Emitter<'_>,
) {
    let Some(text) = non_empty_text(instructions) else {
        return;
    };
    if !last.insert_instructions(text.raw()) {
        return;
    }
    let (hash, bytes) = hash_of_text(text);
    let input = ImplicitInput {
        name: Text::Plain("instructions"),
        file: None,
        hash,
        bytes,
        text: Some(text),
    };
    out.emit(Meta::Context(input), at);
}

/// Emits the harness's own system prompt, by hash.
pub fn emit_system_prompt(prompt: Text<'_>, at: &str, out: &mut Emitter<'_>) {
    let (hash, bytes) = hash_of_text(prompt);
    let input = ImplicitInput::of_hash("system_prompt", hash, bytes);
    out.emit(Meta::Context(input), at);
}

/// Emits a JSON value that the harness gives to the model, by the hash of its canonical form.
pub fn emit_value(name: &str, value: Value<'_>, at: &str, out: &mut Emitter<'_>) {
    let json = canonical_json(value.raw());
    let (hash, bytes) = (
        Some(Hash::of_bytes(json.as_bytes())),
        Some(json.len() as u64),
    );
    let input = ImplicitInput::of_hash(name, hash, bytes);
    out.emit(Meta::Context(input), at);
}

fn hash_of_text(text: Text<'_>) -> (Option<Hash>, Option<u64>) {
    let decoded = text.decode().ok();
    (
        decoded.as_deref().map(Hash::of_text),
        decoded.map(|decoded| decoded.len() as u64),
    )
}
