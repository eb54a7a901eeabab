//! The header, and the blocks of text in a message.

use engram_adapters::shared::value::{Field, Value, count, non_empty_text, text};
use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Author, Channel, Meta, MsgIn, MsgOut, Role, SessionFacts, Tokens, Usage};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::schema::{Block, Header};

/// Converts the header: facts and tokens of the session.
pub fn header(record: Value<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let header = Header::strict(record, "")?;
    let (cwd, title) = (non_empty_text(header.working_dir()), non_empty_text(header.description()));
    out.emit(Meta::Session(SessionFacts { cwd, title, ..SessionFacts::default() }), Pointer::Root)?;
    let tokens = Tokens { input: count(header.input_tokens()), output: count(header.output_tokens()), ..Tokens::default() };
    if tokens.input.is_some() {
        out.emit(Meta::Usage(Usage { tokens, ..Usage::default() }), Pointer::Root)?;
    }
    Ok(Outcome::Mapped)
}

/// Converts a block of text, by the role of its message.
pub fn text_block(role: &str, block: &Block<'_>, pointer: Pointer<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let text = Some(required_text(block.text(), "/content/text")?);
    match role {
        "user" => out.emit(MsgIn { role: Role::User, by: Author::Person, text, attachments: Vec::new() }, pointer)?,
        "assistant" => out.emit(MsgOut { text, ..MsgOut::default() }, pointer)?,
        other => return Err(Fault::unrecognized(other)),
    };
    Ok(())
}

/// Converts a block of the model's reasoning.
pub fn thinking_block(_role: &str, block: &Block<'_>, pointer: Pointer<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let text = Some(required_text(block.thinking(), "/content/thinking")?);
    out.emit(MsgOut { text, channel: Some(Channel::Reasoning), ..MsgOut::default() }, pointer)?;
    Ok(())
}

/// The text of a field that must be a string.
pub fn required_text<'a>(field: Field<'a>, pointer: &str) -> Result<Text<'a>, Fault> {
    text(field).ok_or_else(|| Fault::malformed(pointer, "text", field.map_or("nothing", Value::raw)))
}
