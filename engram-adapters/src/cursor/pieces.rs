//! Texts that a log has in pieces, as the model sent them. A run of pieces becomes one message, unless the whole message follows it.

use std::hash::{DefaultHasher, Hasher};
use std::mem;
use std::vec::IntoIter;

use engram_core::emit::{Fault, Pointer, RecordHeader};
use engram_core::event::{Channel, MsgOut};
use engram_core::keys::{KeyMap, hash64};
use engram_core::text::Text;

use super::steps::Out;
use crate::shared::value::Value;
use crate::shared::value::unquote;

/// What a piece is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceOf {
    /// Reasoning.
    Reasoning,
    /// A message.
    Message,
}

/// What step 1 notes. Texts are JSON without quotation marks; a session is a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Note {
    /// A piece. `joined` is the key of its run up to here.
    Piece {
        session: u64,
        of: PieceOf,
        joined: u64,
        is_empty: bool,
    },
    /// A whole message.
    Whole { session: u64, key: u64 },
    /// Any other record, which ends a run.
    Other { session: u64 },
}

/// What becomes of a piece or a whole message, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    /// A piece of a run that becomes a message. The message is an event of the first piece.
    Joined { is_first: bool, is_last: bool },
    /// A piece of a message that follows as a whole, or of no text.
    Dropped,
    /// A whole message.
    New,
    /// A whole message that was joined from its pieces, since another record follows them.
    Again,
}

/// A run of pieces, in step 2.
struct Run {
    of: PieceOf,
    /// The places of its decisions.
    at: Vec<usize>,
    joined: u64,
    is_empty: bool,
}

/// What becomes of pieces and whole messages.
fn decide(notes: &[Note]) -> Vec<Decision> {
    let mut decisions = Vec::new();
    let mut runs: KeyMap<Run> = KeyMap::default();
    let mut last_joined: KeyMap<u64> = KeyMap::default();
    let end = |run: Option<Run>,
               session: u64,
               decisions: &mut [Decision],
               last_joined: &mut KeyMap<u64>| {
        let Some(Run { of, at, joined, .. }) = run.filter(|run| !run.is_empty) else {
            return;
        };
        let (first, last) = (at.first().copied(), at.last().copied());
        for at in at {
            decisions[at] = Decision::Joined {
                is_first: Some(at) == first,
                is_last: Some(at) == last,
            };
        }
        if of == PieceOf::Message {
            last_joined.insert(session, joined);
        }
    };
    for note in notes {
        match *note {
            Note::Piece {
                session,
                of,
                joined,
                is_empty,
            } => {
                if runs.get(&session).is_some_and(|run| run.of != of) {
                    end(
                        runs.remove(&session),
                        session,
                        &mut decisions,
                        &mut last_joined,
                    );
                }
                let run = runs.entry(session).or_insert(Run {
                    of,
                    at: Vec::new(),
                    joined,
                    is_empty: true,
                });
                run.at.push(decisions.len());
                (run.joined, run.is_empty) = (joined, run.is_empty && is_empty);
                decisions.push(Decision::Dropped);
            }
            Note::Other { session } => end(
                runs.remove(&session),
                session,
                &mut decisions,
                &mut last_joined,
            ),
            Note::Whole { session, key } => {
                let run = runs
                    .remove(&session)
                    .filter(|run| run.of != PieceOf::Message || run.joined != key);
                end(run, session, &mut decisions, &mut last_joined);
                let is_again = last_joined.remove(&session) == Some(key);
                decisions.push(if is_again {
                    Decision::Again
                } else {
                    Decision::New
                });
            }
        }
    }
    for (session, run) in runs {
        end(Some(run), session, &mut decisions, &mut last_joined);
    }
    decisions
}

/// Whether a record has an event of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Added {
    /// It is the first piece of a text.
    Mapped,
    /// It is another piece.
    Piece,
}

/// The pieces of an artifact.
#[derive(Default)]
pub(super) struct Pieces {
    notes: Vec<Note>,
    /// In step 1: the hash of each run so far.
    hashes: KeyMap<(PieceOf, DefaultHasher)>,
    decisions: IntoIter<Decision>,
    spoken: KeyMap<Spoken>,
}

/// What a session has said so far, in step 3.
#[derive(Default)]
struct Spoken {
    /// The pieces of the open run.
    text: String,
    first: usize,
    t: Option<String>,
    id: Option<String>,
    /// The last joined message.
    last: Option<u64>,
    /// All messages, without separators.
    all: DefaultHasher,
}

impl Pieces {
    /// Adds a piece of the record with this number.
    pub(super) fn add(
        &mut self,
        (session, number): (u64, usize),
        of: PieceOf,
        piece: Value<'_>,
        header: RecordHeader<'_>,
        out: &mut Out<'_, '_>,
    ) -> Result<Added, Fault> {
        let piece = piece.raw_str();
        if out.is_check() {
            self.note_piece(session, of, piece);
            out.emit(MsgOut::default(), Pointer::Root)?;
            return Ok(Added::Piece);
        }
        let Some(Decision::Joined { is_first, is_last }) = self.decisions.next() else {
            return Ok(Added::Piece);
        };
        let spoken = self.spoken.entry(session).or_default();
        if is_first {
            spoken.text.clear();
            spoken.first = number;
            (spoken.t, spoken.id) = (
                header.t.map(str::to_owned),
                header.id.map(|id| id.decode_lossy().into_owned()),
            );
        }
        spoken.text.push_str(piece);
        if is_last {
            spoken.emit(of, out)?;
        }
        Ok(if is_first {
            Added::Mapped
        } else {
            Added::Piece
        })
    }

    fn note_piece(&mut self, session: u64, of: PieceOf, piece: &str) {
        let (run, hash) = self
            .hashes
            .entry(session)
            .or_insert((of, DefaultHasher::new()));
        if *run != of {
            (*run, *hash) = (of, DefaultHasher::new());
        }
        hash.write(piece.as_bytes());
        self.notes.push(Note::Piece {
            session,
            of,
            joined: hash.finish(),
            is_empty: piece.is_empty(),
        });
    }

    /// A whole message. True if it was not joined from pieces.
    pub(super) fn whole(&mut self, session: u64, text: Text<'_>, out: &Out<'_, '_>) -> bool {
        let text = unquote(text.raw());
        if out.is_check() {
            self.hashes.remove(&session);
            self.notes.push(Note::Whole {
                session,
                key: hash_of(text),
            });
            return true;
        }
        let is_new = self.decisions.next() == Some(Decision::New);
        if is_new {
            self.spoken
                .entry(session)
                .or_default()
                .all
                .write(text.as_bytes());
        }
        is_new
    }

    /// A record that ends a run.
    pub(super) fn end_run(&mut self, session: u64, out: &Out<'_, '_>) {
        if out.is_check() && self.hashes.remove(&session).is_some() {
            self.notes.push(Note::Other { session });
        }
    }

    /// Step 2.
    pub(super) fn decide(&mut self) {
        self.decisions = decide(&mem::take(&mut self.notes)).into_iter();
    }

    /// True if this is the last joined message again.
    pub(super) fn repeats_last(&self, session: u64, text: Text<'_>) -> bool {
        self.spoken
            .get(&session)
            .is_some_and(|spoken| spoken.last == Some(hash64(unquote(text.raw()))))
    }

    /// True if this is all messages so far, joined.
    pub(super) fn repeats_all(&self, session: u64, text: Text<'_>) -> bool {
        self.spoken
            .get(&session)
            .is_some_and(|spoken| spoken.all.finish() == hash_of(unquote(text.raw())))
    }
}

impl Spoken {
    fn emit(&mut self, of: PieceOf, out: &mut Out<'_, '_>) -> Result<(), Fault> {
        let token = format!("\"{}\"", self.text);
        let header = RecordHeader::new(self.t.as_deref(), self.id.as_deref().map(Text::Plain));
        let channel = (of == PieceOf::Reasoning).then_some(Channel::Reasoning);
        let message = MsgOut {
            text: Some(Text::Token(&token)),
            channel,
            ..MsgOut::default()
        };
        out.of_record(self.first, header, |out| out.emit(message, Pointer::Root))?;
        if of == PieceOf::Message {
            self.last = Some(hash64(&*self.text));
            self.all.write(self.text.as_bytes());
        }
        Ok(())
    }
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DROPPED: Decision = Decision::Dropped;

    fn piece(session: u64, of: PieceOf, joined: u64) -> Note {
        Note::Piece {
            session,
            of,
            joined,
            is_empty: false,
        }
    }

    fn joined(is_first: bool, is_last: bool) -> Decision {
        Decision::Joined { is_first, is_last }
    }

    #[test]
    fn pieces_become_a_message_unless_the_whole_follows() {
        use PieceOf::Message;
        let (one, two) = (piece(0, Message, 1), piece(0, Message, 2));
        let whole = |key| Note::Whole { session: 0, key };
        assert_eq!(
            decide(&[one, two]),
            [joined(true, false), joined(false, true)]
        );
        assert_eq!(
            decide(&[one, two, whole(2)]),
            [DROPPED, DROPPED, Decision::New]
        );
        assert_eq!(
            decide(&[one, whole(3)]),
            [joined(true, true), Decision::New]
        );
        let other = Note::Other { session: 0 };
        let expected = [
            joined(true, false),
            joined(false, true),
            Decision::Again,
            Decision::New,
        ];
        assert_eq!(decide(&[one, two, other, whole(2), whole(2)]), expected);
    }

    #[test]
    fn runs_are_of_one_kind_and_one_session() {
        use PieceOf::{Message, Reasoning};
        let alone = joined(true, true);
        assert_eq!(
            decide(&[piece(0, Reasoning, 1), piece(0, Message, 2)]),
            [alone, alone]
        );
        let other = Note::Other { session: 1 };
        assert_eq!(
            decide(&[piece(0, Message, 1), other, piece(0, Message, 2)]),
            [joined(true, false), joined(false, true)]
        );
        let nothing = Note::Piece {
            session: 0,
            of: Message,
            joined: 1,
            is_empty: true,
        };
        assert_eq!(decide(&[nothing, nothing]), [DROPPED, DROPPED]);
    }
}
