//! The header, and the blocks of text in a message.

use engram_adapters::shared::value::{Field, Value, count, non_empty_text, text};
use engram_core::emit::{Fault, Pointer};
use engram_core::event::{Author, Channel, Meta, MsgIn, MsgOut, SessionFacts, Tokens, Usage};
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::schema::{Block, Header};

/// Emits the header: facts and tokens of the session.
pub fn emit_header(record: Value<'_>, out: &mut Emitter<'_>) {
    let header = Header::lenient(record);
    let (cwd, title) = (
        non_empty_text(header.working_dir()),
        non_empty_text(header.description()),
    );
    out.emit(
        Meta::Session(SessionFacts {
            cwd,
            title,
            ..SessionFacts::default()
        }),
        Pointer::Root,
    );
    let tokens = Tokens {
        input: count(header.input_tokens()),
        output: count(header.output_tokens()),
        ..Tokens::default()
    };
    if tokens.input.is_some() {
        out.emit(
            Meta::Usage(Usage {
                tokens,
                ..Usage::default()
            }),
            Pointer::Root,
        );
    }
}

/// A block of text needs a text, and a role that is known.
pub fn check_text(role: &str, block: &Block<'_>) -> Result<(), Fault> {
    required_text(block.text(), "/content/text")?;
    if matches!(role, "user" | "assistant") {
        Ok(())
    } else {
        Err(Fault::unrecognized(role))
    }
}

/// Emits a block of text, by the role of its message.
pub fn emit_text(role: &str, block: &Block<'_>, pointer: Pointer<'_>, out: &mut Emitter<'_>) {
    let text = text(block.text());
    if role == "user" {
        out.emit(MsgIn::user(Author::Person, text), pointer);
    } else {
        out.emit(
            MsgOut {
                text,
                ..MsgOut::default()
            },
            pointer,
        );
    }
}

/// Emits a block of the model's reasoning.
pub fn emit_thinking(block: &Block<'_>, pointer: Pointer<'_>, out: &mut Emitter<'_>) {
    let text = text(block.thinking());
    out.emit(
        MsgOut {
            text,
            channel: Some(Channel::Reasoning),
            ..MsgOut::default()
        },
        pointer,
    );
}

/// The text of a field that must be a string.
pub fn required_text<'a>(field: Field<'a>, pointer: &str) -> Result<Text<'a>, Fault> {
    text(field)
        .ok_or_else(|| Fault::malformed(pointer, "text", field.map_or("nothing", Value::raw)))
}
