//! Text that a capture records in pieces: reasoning, and messages with `--stream-partial-output`. The whole message normally follows.

use std::hash::{DefaultHasher, Hasher};

use engram_core::emit::{Emitter, Fault, Pointer, RecordHeader, RecordLocation};
use engram_core::event::{Channel, MsgOut};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::shared::joined_text::{JoinedText, unquote};
use crate::shared::value::Value;

/// What a piece is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cursor::stream) enum PartialKind {
    /// Reasoning. The whole text is never recorded.
    Reasoning,
    /// A message. The whole text normally follows its pieces.
    Message,
}

impl PartialKind {
    /// The record type of a piece and the rule that omits it.
    fn omission(self) -> (&'static str, &'static str) {
        match self {
            PartialKind::Reasoning => ("thinking/delta", "thinking_pieces"),
            PartialKind::Message => ("assistant", "message_pieces"),
        }
    }

    /// The outcome of a record that is a piece.
    pub(in crate::cursor::stream) fn outcome(self) -> Outcome {
        let (record, rule) = self.omission();
        Outcome::Duplicate { record, rule }
    }
}

/// Pieces that are not emitted yet, and a digest of the messages that are. Texts are JSON without quotation marks.
#[derive(Default)]
pub(in crate::cursor::stream) struct PartialText {
    pending: Option<PendingText>,
    /// The last message that was joined from its pieces, because another record followed them.
    joined: Option<DefaultHasher>,
    /// The last text is only the beginning of a message, because there was no memory left for the rest.
    goes_on: bool,
    /// All messages so far, without separators.
    messages: DefaultHasher,
}

struct PendingText {
    kind: PartialKind,
    text: JoinedText,
    location: RecordLocation,
    t: Option<String>,
}

impl PartialText {
    /// Adds a piece. Emits the pending text first if it is of another kind, or if there is no memory left. Returns whether the piece was
    /// emitted, too.
    pub(in crate::cursor::stream) fn add(
        &mut self,
        kind: PartialKind,
        piece: Value<'_>,
        header: RecordHeader<'_>,
        out: &mut Emitter,
    ) -> Result<bool, Fault> {
        if self.pending.as_ref().is_some_and(|pending| pending.kind != kind) {
            self.flush_before(header, out)?;
        }
        if self.push(kind, piece.raw_str(), header, out) {
            return Ok(false);
        }
        self.flush_before(header, out)?;
        self.goes_on = kind == PartialKind::Message && self.joined.is_some();
        if self.push(kind, piece.raw_str(), header, out) {
            return Ok(false);
        }
        self.pending = None;
        self.emit(kind, piece.raw(), out)?;
        self.goes_on = kind == PartialKind::Message;
        Ok(true)
    }

    fn push(&mut self, kind: PartialKind, piece: &str, header: RecordHeader<'_>, out: &Emitter) -> bool {
        if self.pending.is_none() {
            let begin = |text| PendingText { kind, text, location: out.location(), t: header.t.map(str::to_owned) };
            self.pending = JoinedText::begin(out).map(begin);
        }
        self.pending.as_mut().is_some_and(|pending| pending.text.push(piece))
    }

    /// Replaces the pending pieces of a message by the whole message. False if the message was already emitted, joined from its pieces.
    pub(in crate::cursor::stream) fn replace_by_whole(
        &mut self,
        text: &str,
        header: RecordHeader<'_>,
        out: &mut Emitter,
    ) -> Result<bool, Fault> {
        if self.pending.as_ref().is_some_and(|pending| pending.kind == PartialKind::Message && pending.text.as_str() == text) {
            self.pending = None;
        } else if self.pending.is_some() {
            self.flush_before(header, out)?;
        }
        if self.joined.take().is_some_and(|joined| joined.finish() == hash_of(text)) {
            return Ok(false);
        }
        self.messages.write(text.as_bytes());
        Ok(true)
    }

    /// Emits the pending text and returns to the current record, which has this header.
    fn flush_before(&mut self, header: RecordHeader<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let location = out.location();
        self.flush(out)?;
        out.attribute_to(location, header);
        Ok(())
    }

    /// Emits the pending text at the record of its first piece, and returns the number of events.
    pub(in crate::cursor::stream) fn flush(&mut self, out: &mut Emitter) -> Result<usize, Fault> {
        let Some(PendingText { kind, text, location, t }) = self.pending.take() else { return Ok(0) };
        if text.as_str().is_empty() {
            return Ok(0);
        }
        out.attribute_to(location, RecordHeader { t: t.as_deref(), ..RecordHeader::default() });
        let token = text.into_token();
        self.emit(kind, &token, out)?;
        let (record, rule) = kind.omission();
        out.duplicate_was_mapped(record, rule);
        Ok(1)
    }

    /// Emits a text, which is a JSON string.
    fn emit(&mut self, kind: PartialKind, token: &str, out: &mut Emitter) -> Result<(), Fault> {
        let channel = (kind == PartialKind::Reasoning).then_some(Channel::Reasoning);
        out.emit(MsgOut { text: Some(Text::Token(token)), channel, ..MsgOut::default() }, Pointer::Root)?;
        if kind == PartialKind::Message {
            let text = unquote(token);
            self.messages.write(text.as_bytes());
            let joined = if std::mem::take(&mut self.goes_on) { self.joined.take() } else { None };
            let mut joined = joined.unwrap_or_default();
            joined.write(text.as_bytes());
            self.joined = Some(joined);
        }
        Ok(())
    }

    /// True if `text` is all messages so far, joined.
    pub(in crate::cursor::stream) fn repeats_all_messages(&self, text: &str) -> bool {
        hash_of(text) == self.messages.finish()
    }
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}
