//! Text that a capture records in pieces: reasoning, and messages with `--stream-partial-output`. The whole message normally follows.

use std::hash::{DefaultHasher, Hasher};

use engram_core::emit::{Emitter, Fault, Pointer, RecordHeader, RecordLocation};
use engram_core::event::{Channel, MsgOut};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

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

/// Pieces that are not emitted yet, and a digest of the messages that are.
#[derive(Default)]
pub(in crate::cursor::stream) struct PartialText {
    pending: Option<PendingText>,
    /// The last message that was joined from its pieces, because another record followed them.
    joined: Option<String>,
    /// All messages so far, without separators.
    messages: DefaultHasher,
}

struct PendingText {
    kind: PartialKind,
    text: String,
    location: RecordLocation,
    t: Option<String>,
}

impl PartialText {
    /// Adds a piece. Emits the pending text first if it is of another kind.
    pub(in crate::cursor::stream) fn add(
        &mut self,
        kind: PartialKind,
        text: &str,
        header: RecordHeader<'_>,
        out: &mut Emitter,
    ) -> Result<(), Fault> {
        if self.pending.as_ref().is_some_and(|pending| pending.kind != kind) {
            self.flush_before(header, out)?;
        }
        let begin = || PendingText { kind, text: String::new(), location: out.location(), t: header.t.map(str::to_owned) };
        self.pending.get_or_insert_with(begin).text.push_str(text);
        Ok(())
    }

    /// Replaces the pending pieces of a message by the whole message. False if the message was already emitted, joined from its pieces.
    pub(in crate::cursor::stream) fn replace_by_whole(
        &mut self,
        text: &str,
        header: RecordHeader<'_>,
        out: &mut Emitter,
    ) -> Result<bool, Fault> {
        if self.pending.as_ref().is_some_and(|pending| pending.kind == PartialKind::Message && pending.text == text) {
            self.pending = None;
        } else if self.pending.is_some() {
            self.flush_before(header, out)?;
        }
        if self.joined.take().is_some_and(|joined| joined == text) {
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
        let Some(pending) = self.pending.take().filter(|pending| !pending.text.is_empty()) else { return Ok(0) };
        out.attribute_to(pending.location, RecordHeader { t: pending.t.as_deref(), ..RecordHeader::default() });
        let channel = (pending.kind == PartialKind::Reasoning).then_some(Channel::Reasoning);
        out.emit(MsgOut { text: Some(Text::Plain(&pending.text)), channel, ..MsgOut::default() }, Pointer::Root)?;
        let (record, rule) = pending.kind.omission();
        out.duplicate_was_mapped(record, rule);
        if pending.kind == PartialKind::Message {
            self.messages.write(pending.text.as_bytes());
            self.joined = Some(pending.text);
        }
        Ok(1)
    }

    /// True if `text` is all messages so far, joined.
    pub(in crate::cursor::stream) fn repeats_all_messages(&self, text: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        hasher.write(text.as_bytes());
        hasher.finish() == self.messages.finish()
    }
}
