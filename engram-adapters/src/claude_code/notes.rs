//! What the plan needs of each record: one [`Note`] for it, or several if it wraps other lines. Texts are hashes.

use engram_core::event::Tokens;
use engram_core::keys::{KeyMap, hash64};

use super::revisions::Dialect;
use crate::shared::printed_parts::PrintedParts;
use crate::shared::value::{Field, text};

/// A key of something that is missing.
pub(super) const NONE: u64 = 0;

/// What a line is, as far as the plan depends on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Kind {
    User,
    Assistant,
    Attachment,
    /// Any `system` line but those below.
    System,
    /// No part of a response follows: a turn or a run begins or ends.
    TurnEnd,
    /// The boundary of a compaction.
    Boundary,
    /// A hook runs.
    Progress,
    /// The output of a command so far. `message` is the call.
    Output,
    /// A prompt enters the queue. `message` is its first text, or its whole list.
    Enqueue,
    /// The next prompt leaves the queue, to be sent.
    Dequeue,
    /// A prompt leaves the queue. `message` is as in [`Kind::Enqueue`], if the line has the prompt.
    Remove,
    /// A title with the last line of its session, which is `parent`.
    Title,
    /// The last prompt, with the line that the session goes on from, which is `parent`.
    LastPrompt,
    /// Which files are as they were when a message was sent: the message is `parent`, the files are `message`.
    Snapshot,
    /// One more file of a snapshot, which the agent is about to change for the first time: the message is `parent`, the file is `message`.
    OneMoreFile,
    /// A message of the conversation as it was sent to the model.
    Blob,
    /// A session that is the fork of another one begins here. Before it are copies.
    ForkBriefing,
    /// The file is that of a fork: it begins with the response of the parent that launched it.
    Fork,
    #[default]
    Other,
}

/// Facts of a line that are true or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Flags(u32);

impl Flags {
    pub const SIDECHAIN: Flags = Flags(1);
    pub const META: Flags = Flags(1 << 1);
    /// The harness wrote the message in the model's place.
    pub const SYNTHETIC: Flags = Flags(1 << 2);
    /// The content is a string, no list.
    pub const STRING: Flags = Flags(1 << 3);
    pub const RESULT: Flags = Flags(1 << 4);
    /// The line has the counts of its response.
    pub const USAGE: Flags = Flags(1 << 5);
    /// The line was entered as a prompt.
    pub const PERSON: Flags = Flags(1 << 6);
    /// The stream of the response before broke. `request` is its request, if the line names it.
    pub const BROKEN: Flags = Flags(1 << 7);
    /// Another line wraps this one.
    pub const WRAPPED: Flags = Flags(1 << 8);
    /// The line has no `uuid`: the key is another identity.
    pub const IDENTITY: Flags = Flags(1 << 9);
    /// A person chose where to go on.
    pub const EXPLICIT: Flags = Flags(1 << 10);
    /// The agent that writes the summary of a compaction wrote the line.
    pub const COMPACTING: Flags = Flags(1 << 11);
    /// The text asks this agent for the summary.
    pub const ASKS_SUMMARY: Flags = Flags(1 << 12);
    /// Another session has requested the answer.
    pub const FOREIGN_REQUEST: Flags = Flags(1 << 13);
    /// The session of the line has requested the answer.
    pub const OWN_REQUEST: Flags = Flags(1 << 14);
    /// The result shows that a file was changed.
    pub const CHANGES_FILE: Flags = Flags(1 << 19);
    /// The line is that of a sub-agent that has a file of its own.
    pub const BESIDE: Flags = Flags(1 << 20);
    /// The harness wrote the result for a call whose session seemed to have ended.
    pub const MADE_UP: Flags = Flags(1 << 21);
    /// A relay gave the answer its id: that of a message of the model's provider begins otherwise.
    pub const RELAYED: Flags = Flags(1 << 22);
    /// The text is what a command of the person printed.
    pub const PRINTED: Flags = Flags(1 << 23);
    /// The line says that it is the copy of a line of another session.
    pub const FORKED: Flags = Flags(1 << 15);
    /// The queue delivers the prompt to the agent.
    pub const DELIVERS: Flags = Flags(1 << 16);
    /// The queued prompt is `/clear`, which begins another session.
    pub const CLEARS: Flags = Flags(1 << 17);
    /// A printed line that gives no event.
    pub const OMITTED: Flags = Flags(1 << 18);

    /// True if it has all these flags.
    pub fn has(self, flags: Flags) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Adds flags if `is` holds.
    pub fn set(&mut self, flags: Flags, is: bool) {
        self.0 |= if is { flags.0 } else { 0 };
    }
}

impl std::ops::BitOr for Flags {
    type Output = Flags;

    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// One line. Ids are keys, [`NONE`] if the line has none.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Note {
    /// What identifies the line; see [`Flags::IDENTITY`].
    pub uuid: u64,
    pub parent: u64,
    /// Of an answer: its message, else its request. See also [`Kind`].
    pub message: u64,
    /// The request. Of a result: the line with its call, if it is named.
    pub request: u64,
    /// The sub-agent that the line names.
    pub agent: u64,
    /// In milliseconds since the epoch; [`NO_TIME`] if the line has none.
    pub time: i64,
    /// The number of the record.
    pub record: u32,
    /// The position of its first block in [`Notes::blocks`].
    pub first_block: u32,
    pub flags: Flags,
    /// The number of the session, from 1; 0 if the line has none.
    pub session: u16,
    pub kind: Kind,
    pub dialect: Dialect,
}

/// The time of a line without one.
pub(super) const NO_TIME: i64 = i64::MIN;

impl Note {
    pub fn is(&self, flags: Flags) -> bool {
        self.flags.has(flags)
    }

    /// True for a line whose session facts count, and that may be the copy of another session's line.
    pub fn is_conversation(&self) -> bool {
        use Kind::{
            Assistant, Attachment, Boundary, ForkBriefing, Progress, System, TurnEnd, User,
        };
        matches!(
            self.kind,
            User | Assistant | Attachment | ForkBriefing | System | TurnEnd | Boundary | Progress
        )
    }
}

/// A content block, or what the line has in place of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    /// What it says; [`NONE`] if the block only repeats a part of another one.
    pub fact: u64,
    /// See [`BlockKind`].
    pub key: u64,
    pub kind: BlockKind,
}

/// What the key of a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum BlockKind {
    /// The id of a call.
    Call,
    /// The id of the call of a result.
    Result,
    /// The text in the user's place, decoded.
    Text,
    /// A slash command as it was typed, which a text has in the harness's tags.
    Typed,
    /// The first prompt of the session, which a hook gave.
    HookPrompt,
    /// The counts of the input of a response. They are in all its lines.
    Input,
    /// None: the line has the structured form of a result.
    Structured,
    /// None.
    Other,
}

/// The notes of all records, in their order.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub all: Vec<Note>,
    pub blocks: Vec<Block>,
    /// The ids of the sessions. A note has the number of its session, from 1.
    pub sessions: Vec<String>,
    /// Sessions from which lines were copied: the note and the session.
    pub requested_by: Vec<(u32, u16)>,
    /// How responses ended, by their messages. None where a relay gave several responses one id.
    pub ends: KeyMap<Option<ResponseEnd>>,
    /// The parts that a capture has of answers.
    pub parts: PrintedParts,
}

/// How a response ended, as parts of it say that a capture has beside its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResponseEnd {
    /// The last counts.
    pub tokens: Tokens,
    /// Why it ended.
    pub stop_reason: Option<Box<str>>,
}

impl Notes {
    /// Adds a note with its blocks.
    pub fn push(&mut self, note: Note, blocks: &[Block]) {
        let first_block = u32::try_from(self.blocks.len()).unwrap_or(u32::MAX);
        self.blocks.extend_from_slice(blocks);
        self.all.push(Note {
            first_block,
            ..note
        });
    }

    /// The blocks of the note at this place.
    pub fn blocks_of(&self, at: usize) -> &[Block] {
        let place = |note: &Note| note.first_block as usize;
        let end = self.all.get(at + 1).map_or(self.blocks.len(), place);
        self.all
            .get(at)
            .and_then(|note| self.blocks.get(place(note)..end))
            .unwrap_or_default()
    }

    /// How the response with this message ended, if the log says so beside its lines.
    pub fn end_of(&self, message: Field<'_>) -> Option<&ResponseEnd> {
        let key = (!self.ends.is_empty()).then(|| text(message))??;
        self.ends.get(&hash64(key.raw()))?.as_ref()
    }

    /// The number of a session.
    pub fn session(&mut self, id: &str) -> u16 {
        let known = self.sessions.iter().rposition(|known| known == id);
        let at = known.unwrap_or_else(|| {
            self.sessions.push(id.to_owned());
            self.sessions.len() - 1
        });
        u16::try_from(at + 1).unwrap_or(u16::MAX)
    }

    /// The first note of a record, or of the next record with a note.
    pub fn first_of(&self, record: usize) -> usize {
        self.all
            .partition_point(|note| (note.record as usize) < record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_small() {
        assert_eq!(size_of::<Note>(), 64);
    }

    #[test]
    fn blocks_belong_to_their_notes() {
        let block = |key| Block {
            fact: key,
            key,
            kind: BlockKind::Other,
        };
        let mut notes = Notes::default();
        notes.push(Note::default(), &[block(1), block(2)]);
        notes.push(
            Note {
                record: 1,
                ..Note::default()
            },
            &[],
        );
        notes.push(
            Note {
                record: 1,
                ..Note::default()
            },
            &[block(3)],
        );
        assert_eq!(
            [0, 1, 2, 3].map(|at| notes.blocks_of(at).len()),
            [2, 0, 1, 0]
        );
        assert_eq!([0, 1, 2].map(|record| notes.first_of(record)), [0, 1, 3]);
        assert_eq!(
            [notes.session("a"), notes.session("b"), notes.session("a")],
            [1, 2, 1]
        );
    }
}
