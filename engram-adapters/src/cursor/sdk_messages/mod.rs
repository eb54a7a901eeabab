//! Messages of the SDK: what a program that uses it receives and prints, and what run stores keep as events.

mod calls;
mod convert;
pub(super) mod source;

use engram_core::emit::{Fault, Pointer, RecordHeader};
use engram_core::ledger::Outcome;
use engram_core::steps::Record;

pub(super) use convert::{MessageRecord, SdkMessages};

use crate::cursor::fields::decoded_non_empty;
use crate::cursor::format::SdkKind;
use crate::cursor::members::{self, form};
use crate::cursor::pieces::Pieces;
use crate::cursor::readers::SdkMessage;
use crate::cursor::steps::{Out, Reader, is_log_line, line_of_standard_error};
use crate::shared::by_session::BySession;
use crate::shared::value::raw_str;
use source::SourceForm;

/// The converter of a message stream: one message per line. A program may run several agents and print the messages of all.
pub(super) struct MessageStream {
    agents: BySession<SdkMessages>,
    pieces: Pieces,
}

impl Default for MessageStream {
    fn default() -> Self {
        MessageStream {
            agents: agents(),
            pieces: Pieces::default(),
        }
    }
}

fn agents() -> BySession<SdkMessages> {
    let begin = || SdkMessages::new(SourceForm::Stream);
    BySession::new(begin(), begin)
}

impl Reader for MessageStream {
    fn record(&mut self, record: &Record<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
        let message = SdkMessage::strict(record.value, "")?;
        let kind = raw_str(message.kind());
        let of = SdkKind::named(kind).ok_or_else(|| Fault::unrecognized(kind))?;
        let (number, agent) = (record.number, decoded_non_empty(message.agent_id()));
        if let Some(agent) = &agent {
            self.agents.switch_to(agent);
        }
        members::check_chosen(kind, record.value, Pointer::Root, form::MESSAGES, out);
        let record = MessageRecord {
            message,
            of,
            header: RecordHeader::default(),
            number,
        };
        self.agents
            .current()
            .convert(&record, &mut self.pieces, out)
    }

    fn decide(&mut self) {
        self.agents = agents();
        self.pieces.decide();
    }

    fn sessions_are_apart(&self) -> bool {
        true
    }

    fn cut_record(&self, text: &str) -> Option<&'static str> {
        line_of_standard_error(text)
    }

    fn is_notice(&self, text: &str) -> bool {
        is_log_line(text)
    }

    fn envelope(&mut self, record: &Record<'_>, out: &mut Out<'_, '_>) {
        if let Some(agent) = decoded_non_empty(SdkMessage::lenient(record.value).agent_id()) {
            out.set_source(Some(&agent), None);
        }
    }
}
