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

use crate::cursor::fields::decoded_non_empty;
use crate::cursor::members::{self, form};
use crate::shared::by_session::{BySession, Ended};
use crate::shared::value::{StructuralIndex, parse, raw_str};
use schema::Message;
use source::SourceForm;

/// The converter of a message stream: one message per line. A program may run several agents and print the messages of all.
pub(super) struct MessageStream {
    agents: BySession<SdkMessages>,
    index: StructuralIndex,
}

impl Default for MessageStream {
    fn default() -> Self {
        let begin = || SdkMessages::new(SourceForm::Stream);
        MessageStream { agents: BySession::new(begin(), begin), index: StructuralIndex::default() }
    }
}

impl Session for MessageStream {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let value = parse(source, &mut self.index)?;
        let message = Message::strict(value, "")?;
        let record = MessageRecord { message, header: RecordHeader::default() };
        if let Some(agent) = decoded_non_empty(message.agent_id())
            && let Some(ended) = self.agents.switch_to(&agent)
        {
            let location = out.location();
            finish(ended, out)?;
            out.attribute_to(location, RecordHeader::default());
        }
        let messages = self.agents.current();
        messages.begin(&record, out)?;
        if rows().contains(&raw_str(message.kind())) {
            members::check_chosen(raw_str(message.kind()), value, Pointer::Root, form::MESSAGES, out)?;
        }
        messages.convert(&record, out)
    }

    fn sessions_are_apart(&self) -> bool {
        true
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.agents.end_all().into_iter().try_for_each(|ended| finish(ended, out))
    }
}

/// Emits the text of an agent that no later message has ended.
fn finish(mut ended: Ended<SdkMessages>, out: &mut Emitter) -> Result<(), Fault> {
    if let Some(id) = &ended.id {
        out.set_source(Some(id), None);
    }
    ended.state.finish(out)
}
