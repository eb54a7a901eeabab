//! Texts that the message stream has in pieces, as the model sent them: one record for each piece, and none for the whole.

use engram_core::emit::{Emitter, Fault, Pointer, RecordHeader, RecordLocation};
use engram_core::event::{Channel, MsgOut};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::source::SourceForm;

/// What a piece is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceOf {
    /// Reasoning.
    Reasoning,
    /// A message.
    Message,
}

impl PieceOf {
    /// The record type of a piece and the rule that omits it.
    fn omission(self, form: SourceForm) -> (&'static str, &'static str) {
        match (self, form) {
            (PieceOf::Reasoning, SourceForm::Stream) => ("thinking", "reasoning_pieces"),
            (PieceOf::Reasoning, SourceForm::Store) => ("thinking/run_event", "reasoning_pieces"),
            (PieceOf::Message, SourceForm::Stream) => ("assistant", "message_pieces"),
            (PieceOf::Message, SourceForm::Store) => ("assistant/run_event", "message_pieces"),
        }
    }

    /// The outcome of a record that is a piece.
    pub(super) fn outcome(self, form: SourceForm) -> Outcome {
        let (record, rule) = self.omission(form);
        Outcome::Duplicate { record, rule }
    }
}

/// The pieces since the last record of another kind.
#[derive(Default)]
pub(super) struct Pieces {
    pending: Option<Pending>,
    /// The last whole message.
    last_message: String,
}

struct Pending {
    of: PieceOf,
    text: String,
    location: RecordLocation,
    t: Option<String>,
    id: Option<String>,
}

impl Pieces {
    /// Adds a piece to those of its kind.
    pub(super) fn add(&mut self, of: PieceOf, text: &str, header: RecordHeader<'_>, out: &Emitter) {
        let begin = || Pending {
            of,
            text: String::new(),
            location: out.location(),
            t: header.t.map(str::to_owned),
            id: header.id.map(|id| id.decode_lossy().into_owned()),
        };
        self.pending.get_or_insert_with(begin).text.push_str(text);
    }

    /// True if pieces of this kind are pending.
    pub(super) fn is_pending(&self, of: PieceOf) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.of == of)
    }

    /// Emits the whole text at the record of its first piece. True if there was any.
    pub(super) fn flush(&mut self, form: SourceForm, out: &mut Emitter) -> Result<bool, Fault> {
        let Some(pending) = self.pending.take() else { return Ok(false) };
        let header = RecordHeader { t: pending.t.as_deref(), id: pending.id.as_deref().map(Text::Plain), replay: false };
        out.attribute_to(pending.location, header);
        let channel = (pending.of == PieceOf::Reasoning).then_some(Channel::Reasoning);
        out.emit(MsgOut { text: Some(Text::Plain(&pending.text)), channel, ..MsgOut::default() }, Pointer::Root)?;
        let (record, rule) = pending.of.omission(form);
        out.duplicate_was_mapped(record, rule);
        if pending.of == PieceOf::Message {
            self.last_message = pending.text;
        }
        Ok(true)
    }

    /// True if this is the last whole message again.
    pub(super) fn repeats_last(&self, text: &str) -> bool {
        self.last_message == text
    }
}
