//! Which function checks and which one converts each record, and each block of a message.

use engram_adapters::shared::time::from_seconds;
use engram_adapters::shared::value::{Value, integer, raw_str, text};
use engram_core::emit::{Fault, Pointer, RecordHeader};
use engram_core::ledger::Outcome;
use engram_core::steps::{Check, Conversion, Emitter, Record};

use crate::messages::{check_text, emit_header, emit_text, emit_thinking, required_text};
use crate::results::{check_request, check_response, emit_request, emit_response};
use crate::schema::{Block, Header, Message};

/// A session: its header, then messages. Nothing in a message depends on a later one, so there is nothing to decide.
#[derive(Default)]
pub struct Transcript {
    /// The number of the header.
    header: Option<usize>,
}

impl Conversion for Transcript {
    /// A message has an id or a time, so one that is there twice was copied.
    fn repeats_are_exact(&self) -> bool {
        true
    }

    fn check(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        if self.header.is_none() && record.value.member("working_dir").is_some() {
            Header::strict(record.value, "")?;
            check.members("", record.value, Pointer::Root, &|_| None);
            self.header = Some(record.number);
            return Ok(());
        }
        check_message(record.value, check)
    }

    fn decide(&mut self) {}

    fn emit(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        if self.header == Some(record.number) {
            emit_header(record.value, out)
        } else {
            emit_message(record.value, out)
        }
        Outcome::Mapped
    }
}

fn check_message(value: Value<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
    let message = Message::strict(value, "")?;
    check.members(raw_str(message.role()), value, Pointer::Root, &|_| None);
    if message.id().is_some() || integer(message.created()).is_some() {
        check.identify();
    }
    let blocks = message.content().into_iter().flat_map(Value::elements);
    let mut is_empty = true;
    for (n, value) in blocks.enumerate() {
        is_empty = false;
        let block = Block::strict(value, &format!("/content/{n}"))?;
        match raw_str(block.kind()) {
            "text" => check_text(raw_str(message.role()), &block)?,
            "thinking" => drop(required_text(block.thinking(), "/content/thinking")?),
            "toolRequest" => check_request(&block)?,
            "toolResponse" => check_response(&block)?,
            other => check.unknown_block(other)?,
        }
    }
    if is_empty {
        Err(Fault::malformed("/content", "content", "nothing"))
    } else {
        Ok(())
    }
}

fn emit_message(value: Value<'_>, out: &mut Emitter<'_>) {
    let message = Message::lenient(value);
    let t = integer(message.created()).and_then(from_seconds);
    out.set_header(RecordHeader::new(t.as_deref(), text(message.id())));
    for (n, value) in message
        .content()
        .into_iter()
        .flat_map(Value::elements)
        .enumerate()
    {
        let (block, pointer) = (Block::lenient(value), Pointer::Item("/content", n));
        match raw_str(block.kind()) {
            "text" => emit_text(raw_str(message.role()), &block, pointer, out),
            "thinking" => emit_thinking(&block, pointer, out),
            "toolRequest" => emit_request(&block, pointer, out),
            "toolResponse" => emit_response(&block, pointer, out),
            other => out.unrecognized_block(other, value.raw(), pointer),
        }
    }
}
