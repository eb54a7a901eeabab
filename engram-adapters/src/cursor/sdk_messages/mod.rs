//! Messages of the SDK: what a program that uses it receives and prints, and what run stores keep as events.

mod calls;
mod convert;
mod pieces;
pub(super) mod schema;
pub(super) mod source;

use engram_core::adapter::Session;
use engram_core::emit::{Emitter, Fault, Pointer, RecordHeader};
use engram_core::ledger::Outcome;

pub(super) use convert::{MessageRecord, SdkMessages, rows};

use crate::cursor::members::{self, form};
use crate::shared::value::{StructuralIndex, parse, raw_str};
use schema::Message;
use source::SourceForm;

/// The converter of a message stream: one message per line.
pub(super) struct MessageStream {
    messages: SdkMessages,
    index: StructuralIndex,
}

impl Default for MessageStream {
    fn default() -> Self {
        MessageStream { messages: SdkMessages::new(SourceForm::Stream), index: StructuralIndex::default() }
    }
}

impl Session for MessageStream {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let value = parse(source, &mut self.index)?;
        let message = Message::strict(value, "")?;
        let record = MessageRecord { message, header: RecordHeader::default() };
        self.messages.begin(&record, out)?;
        if rows().contains(&raw_str(message.kind())) {
            members::check_chosen(raw_str(message.kind()), value, Pointer::Root, form::MESSAGES, out)?;
        }
        self.messages.convert(&record, out)
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.messages.finish(out)
    }
}
