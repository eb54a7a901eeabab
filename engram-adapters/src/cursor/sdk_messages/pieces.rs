//! Texts that the message stream has in pieces, as the model sent them: one record for each piece, and none for the whole.

use engram_core::emit::{Emitter, Fault, Pointer, RecordHeader, RecordLocation};
use engram_core::event::{Channel, MsgOut};
use engram_core::keys::hash64;
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::source::SourceForm;
use crate::shared::joined_text::{JoinedText, unquote};
use crate::shared::value::Value;

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
    /// Hash of the last whole message, as JSON without quotation marks.
    last_message: Option<u64>,
}

struct Pending {
    of: PieceOf,
    text: JoinedText,
    location: RecordLocation,
    t: Option<String>,
    id: Option<String>,
}

impl Pieces {
    /// Adds a piece of the current record to those of its kind. If there is no memory left, emits them first. Returns whether the piece was
    /// emitted, too.
    pub(super) fn add(
        &mut self,
        of: PieceOf,
        piece: Value<'_>,
        (form, header): (SourceForm, RecordHeader<'_>),
        out: &mut Emitter,
    ) -> Result<bool, Fault> {
        if self.push(of, piece.raw_str(), header, out) {
            return Ok(false);
        }
        let location = out.location();
        self.flush(form, out)?;
        out.attribute_to(location, header);
        if self.push(of, piece.raw_str(), header, out) {
            return Ok(false);
        }
        self.pending = None;
        self.emit(of, piece.raw(), out)?;
        Ok(true)
    }

    fn push(&mut self, of: PieceOf, piece: &str, header: RecordHeader<'_>, out: &Emitter) -> bool {
        if self.pending.is_none() {
            let begin = |text| Pending {
                of,
                text,
                location: out.location(),
                t: header.t.map(str::to_owned),
                id: header.id.map(|id| id.decode_lossy().into_owned()),
            };
            self.pending = JoinedText::begin(out).map(begin);
        }
        self.pending.as_mut().is_some_and(|pending| pending.text.push(piece))
    }

    /// True if pieces of this kind are pending.
    pub(super) fn is_pending(&self, of: PieceOf) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.of == of)
    }

    /// Emits the whole text at the record of its first piece. True if there was any.
    pub(super) fn flush(&mut self, form: SourceForm, out: &mut Emitter) -> Result<bool, Fault> {
        let Some(Pending { of, text, location, t, id }) = self.pending.take() else { return Ok(false) };
        out.attribute_to(location, RecordHeader { t: t.as_deref(), id: id.as_deref().map(Text::Plain), replay: false });
        self.emit(of, &text.into_token(), out)?;
        let (record, rule) = of.omission(form);
        out.duplicate_was_mapped(record, rule);
        Ok(true)
    }

    /// Emits a text, which is a JSON string.
    fn emit(&mut self, of: PieceOf, token: &str, out: &mut Emitter) -> Result<(), Fault> {
        let channel = (of == PieceOf::Reasoning).then_some(Channel::Reasoning);
        out.emit(MsgOut { text: Some(Text::Token(token)), channel, ..MsgOut::default() }, Pointer::Root)?;
        if of == PieceOf::Message {
            self.last_message = Some(hash64(unquote(token)));
        }
        Ok(())
    }

    /// True if this is the last whole message again.
    pub(super) fn repeats_last(&self, text: Text<'_>) -> bool {
        self.last_message == Some(hash64(unquote(text.raw())))
    }
}
