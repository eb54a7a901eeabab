//! Text that a capture holds in pieces: reasoning, and messages of `--stream-partial-output`, which it says again as a whole.

use std::hash::{DefaultHasher, Hasher};

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault, RecordHeader, RecordLocation};
use engram_core::event::{Channel, MsgOut};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

/// What a piece is a piece of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    /// Reasoning, which never comes as a whole.
    Thought,
    /// A message, which normally does.
    Answer,
}

impl Piece {
    /// The record type of a piece and the rule by which it is omitted.
    pub(super) fn omission(self) -> (&'static str, &'static str) {
        match self {
            Piece::Thought => ("thinking/delta", "thinking_pieces"),
            Piece::Answer => ("assistant", "message_pieces"),
        }
    }

    /// The outcome of the record of a piece.
    pub(super) fn outcome(self) -> Outcome {
        let (record, rule) = self.omission();
        Outcome::Duplicate { record, rule }
    }
}

/// PullReader that wait for the rest, and what has been said.
#[derive(Default)]
pub(super) struct PullReader {
    waiting: Option<Waiting>,
    /// The last message that was put together from its pieces because no whole had come.
    flushed: Option<String>,
    /// All messages so far, without separators.
    said: DefaultHasher,
}

struct Waiting {
    piece: Piece,
    text: String,
    location: RecordLocation,
    t: Option<String>,
}

impl PullReader {
    /// Takes a piece. A piece of another kind ends what waits.
    pub(super) fn add(&mut self, piece: Piece, text: &str, stamp: RecordHeader<'_>, out: &mut Emitter) -> Result<(), Fault> {
        if self.waiting.as_ref().is_some_and(|waiting| waiting.piece != piece) {
            let location = out.location();
            self.flush(out)?;
            out.attribute_to(location, stamp);
        }
        let fresh = || Waiting { piece, text: String::new(), location: out.location(), t: stamp.t.map(str::to_owned) };
        self.waiting.get_or_insert_with(fresh).text.push_str(text);
        Ok(())
    }

    /// Takes a whole message. False when it was already put together from its pieces.
    pub(super) fn whole(&mut self, text: &str, stamp: RecordHeader<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        if self.waiting.as_ref().is_some_and(|waiting| waiting.piece == Piece::Answer && waiting.text == text) {
            self.waiting = None;
        } else if self.waiting.is_some() {
            let location = out.location();
            self.flush(out)?;
            out.attribute_to(location, stamp);
        }
        if self.flushed.take().is_some_and(|flushed| flushed == text) {
            return Ok(false);
        }
        self.said.write(text.as_bytes());
        Ok(true)
    }

    /// Writes what waits, where its first piece stands, and gives the number of events.
    pub(super) fn flush(&mut self, out: &mut Emitter) -> Result<usize, Fault> {
        let Some(waiting) = self.waiting.take().filter(|waiting| !waiting.text.is_empty()) else { return Ok(0) };
        out.attribute_to(waiting.location, RecordHeader { t: waiting.t.as_deref(), ..RecordHeader::default() });
        let channel = (waiting.piece == Piece::Thought).then_some(Channel::Reasoning);
        out.emit(MsgOut { text: Some(Text::Plain(&waiting.text)), channel, ..MsgOut::default() }, Pointer::Root)?;
        let (record, rule) = waiting.piece.omission();
        out.duplicate_was_mapped(record, rule);
        if waiting.piece == Piece::Answer {
            self.said.write(waiting.text.as_bytes());
            self.flushed = Some(waiting.text);
        }
        Ok(1)
    }

    /// True when `text` is all messages so far, joined.
    pub(super) fn repeats_all(&self, text: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        hasher.write(text.as_bytes());
        hasher.finish() == self.said.finish()
    }
}
