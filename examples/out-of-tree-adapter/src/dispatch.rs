//! Which function converts which record, and which block of a message.

use engram_adapters::shared::route::{Action, Route};
use engram_adapters::shared::time::from_seconds;
use engram_adapters::shared::value::{StructuralIndex, Value, integer, parse, raw_str, text};
use engram_core::adapter::Session;
use engram_core::emit::{Emitter, Fault, Pointer, RecordHeader};
use engram_core::ledger::Outcome;

use crate::messages::{header, text_block, thinking_block};
use crate::results::{tool_request, tool_response};
use crate::schema::{Block, Message};

/// Converts one block. Gets the role of its message, and the block's place in the record.
type Handler = fn(&str, &Block<'_>, Pointer<'_>, &mut Emitter<'_>) -> Result<(), Fault>;

/// Each type of block and what happens to it.
static BLOCKS: &[Route<Handler>] = &[
    Route::convert("text", text_block),
    Route::convert("toolRequest", tool_request),
    Route::convert("toolResponse", tool_response),
    Route::convert("thinking", thinking_block),
];

/// A session: its header, then messages.
#[derive(Default)]
pub struct Transcript {
    index: StructuralIndex,
    is_past_header: bool,
}

impl Session for Transcript {
    /// A message has an id or a time, so one that is there twice was copied.
    fn repeats_are_exact(&self) -> bool {
        true
    }

    fn record(&mut self, line: &str, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
        let record = parse(line, &mut self.index)?;
        if !self.is_past_header && record.member("working_dir").is_some() {
            self.is_past_header = true;
            out.check_members("", record, Pointer::Root, &|_| None)?;
            return header(record, out);
        }
        message(record, out)
    }
}

fn message(record: Value<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let message = Message::strict(record, "")?;
    let t = integer(message.created()).and_then(from_seconds);
    out.set_header(RecordHeader { t: t.as_deref(), id: text(message.id()), replay: false });
    out.check_members(raw_str(message.role()), record, Pointer::Root, &|_| None)?;
    let blocks = message.content().into_iter().flat_map(Value::elements);
    let mut is_empty = true;
    for (n, value) in blocks.enumerate() {
        is_empty = false;
        block(raw_str(message.role()), value, n, out)?;
    }
    if is_empty { Err(Fault::malformed("/content", "content", "nothing")) } else { Ok(Outcome::Mapped) }
}

fn block(role: &str, value: Value<'_>, n: usize, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let pointer = Pointer::Item("/content", n);
    let block = Block::strict(value, &format!("/content/{n}"))?;
    let kind = raw_str(block.kind());
    match Route::find(BLOCKS, kind) {
        Some(Action::Convert(convert)) => convert(role, &block, pointer, out),
        Some(Action::Omit) => Ok(()),
        None => out.unrecognized_block(kind, value.raw(), pointer),
    }
}
