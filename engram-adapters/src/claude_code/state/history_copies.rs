//! Copies of the history so far that the same file repeats with new ids (up to 2.0.10, one before each turn over stream-json).
//!
//! A copy repeats the history in its order from its beginning. Of two forms, one has all records, and one leaves out the prompts (1.0.60).
//! A person may begin a session twice with the same words. So a first prompt waits until a later record proves the copy: an answer or a
//! result by its id, or another text by a time that nobody types in.

use engram_core::keys::hash64;

use crate::claude_code::record::{Record, line_time};
use crate::claude_code::revisions::Dialect;
use crate::claude_code::schema::{Block, Line, Message};
use crate::shared::restorable::Restorable;
use crate::shared::time::millis;
use crate::shared::value::{Value, is_true, raw_str, text};

/// A copy may leave out this many records of the history in a row.
const MAX_LEFT_OUT: usize = 256;

/// The longest time between two records that were copied together, in milliseconds.
const COPY_STEP_MS: i64 = 1;

/// What a line shows about the copy that the lines that wait may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyProof {
    /// No line waits, and this one has no need to.
    None,
    /// Nothing: the line has to wait.
    Unknown,
    /// The lines are a copy, or are not.
    Decided,
}

/// What a record is for a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Prompt,
    /// An answer or a result: its id is part of what it states.
    Answer,
    Notice,
}

/// What a record of the history states.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stated {
    key: u32,
    part: Part,
}

/// How far a copy has come.
#[derive(Debug, Clone, Copy)]
struct Progress {
    /// The position in the history after the last copied record.
    at: usize,
    /// The last copied line.
    last: u64,
    has_prompts: bool,
}

/// A copy that is not proven yet.
#[derive(Debug)]
struct Candidate {
    /// The lines that wait and are parts of it.
    lines: Vec<u64>,
    /// The position in the history after the last of them.
    at: usize,
    time: Option<i64>,
}

/// The history so far, and how far the current copy has repeated it. Keeps eight bytes for each record.
#[derive(Default)]
pub struct HistoryCopies {
    /// What each record states.
    history: Vec<Stated>,
    /// The number of converted records of the history.
    converted: usize,
    copied: Restorable<Option<Progress>>,
    candidate: Option<Candidate>,
    /// The first line of the copy that was proven last.
    proven: Option<u64>,
}

impl HistoryCopies {
    /// The record is converted.
    pub(super) fn commit(&mut self) {
        self.converted = self.history.len();
        self.copied.commit();
    }

    /// The record is malformed: it is no part of the history.
    pub(super) fn roll_back(&mut self) {
        self.history.truncate(self.converted);
        self.copied.roll_back();
    }

    /// True if the line may begin a copy, or show whether the lines that wait are one.
    #[inline]
    pub fn concerns(&self, line: Value<'_>, dialect: Dialect) -> bool {
        self.candidate.is_some() || (dialect.copies_are_restamped && text(line.member("parentUuid")).is_none())
    }

    /// What a line that was not converted yet shows about a copy. A prompt without a parent that is the first of the history may begin one.
    pub fn proof(&mut self, line: Value<'_>) -> CopyProof {
        let record = unconverted(line);
        let (Some(uuid), true) = (text(record.line.uuid()), is_part(&record)) else { return self.undecided() };
        let (uuid, stated) = (hash64(uuid.raw()), Stated::of(&record));
        let time = line_time(&record.line).as_deref().and_then(millis);
        let Some(mut candidate) = self.candidate.take() else {
            let at = if stated.part == Part::Prompt { self.position(0, stated, true) } else { None };
            self.candidate = at.map(|at| Candidate { lines: vec![uuid], at: at + 1, time });
            return self.undecided();
        };
        if candidate.lines.contains(&uuid) {
            self.candidate = Some(candidate);
            return CopyProof::Unknown;
        }
        let parent = text(record.line.parent_uuid()).map(|parent| hash64(parent.raw()));
        let follows = parent.is_some() && parent.as_ref() == candidate.lines.last();
        let Some(at) = self.position(candidate.at, stated, true).filter(|_| follows) else { return CopyProof::Decided };
        let is_fast = matches!((candidate.time, time), (Some(before), Some(now)) if (0..=COPY_STEP_MS).contains(&(now - before)));
        if stated.part == Part::Answer || is_fast {
            self.proven = candidate.lines.first().copied();
            return CopyProof::Decided;
        }
        candidate.lines.push(uuid);
        self.candidate = Some(Candidate { at: at + 1, time, ..candidate });
        CopyProof::Unknown
    }

    fn undecided(&self) -> CopyProof {
        if self.candidate.is_some() { CopyProof::Unknown } else { CopyProof::None }
    }

    /// The lines that wait are converted now, whatever they are.
    pub fn stop_waiting(&mut self) {
        self.candidate = None;
    }

    /// True for a record that repeats the history. Other records become part of it.
    #[inline]
    pub fn is_copy(&mut self, record: &Record<'_>, dialect: Dialect) -> bool {
        dialect.copies_are_restamped && record.is_conversation && self.continues_copy(record)
    }

    #[inline(never)]
    fn continues_copy(&mut self, record: &Record<'_>) -> bool {
        if is_true(record.line.is_sidechain()) {
            return false;
        }
        let stated = Stated::of(record);
        let uuid = text(record.line.uuid()).map(|uuid| hash64(uuid.raw()));
        let before = match (text(record.line.parent_uuid()), *self.copied) {
            (None, _) => self.beginning(record, stated, uuid),
            (Some(parent), Some(copied)) if hash64(parent.raw()) == copied.last => Some(copied),
            _ => None,
        };
        let found = before.and_then(|copied| Some((self.position(copied.at, stated, copied.has_prompts)?, copied.has_prompts)));
        match (found, uuid) {
            (Some((at, has_prompts)), Some(last)) => self.copied.set(Some(Progress { at: at + 1, last, has_prompts })),
            _ => {
                if self.copied.is_some() {
                    self.copied.set(None);
                }
                self.history.push(stated);
            }
        }
        found.is_some()
    }

    /// The beginning of the history, for a line that begins a copy: a prompt that was proven to, or an answer without a request id,
    /// which only copies lack.
    fn beginning(&self, record: &Record<'_>, stated: Stated, uuid: Option<u64>) -> Option<Progress> {
        let begins = match stated.part {
            Part::Prompt => uuid.is_some() && uuid == self.proven,
            Part::Answer => record.kind == "assistant" && record.line.request_id().is_none(),
            Part::Notice => false,
        };
        begins.then_some(Progress { at: 0, last: 0, has_prompts: stated.part == Part::Prompt })
    }

    /// The position of what is stated, if a copy that has come to `at` may go on there.
    fn position(&self, at: usize, stated: Stated, has_prompts: bool) -> Option<usize> {
        let may_be_left_out = |part| part == Part::Notice || (part == Part::Prompt && !has_prompts);
        if stated.part == Part::Prompt && !has_prompts {
            return None;
        }
        let rest = self.history.get(at..)?.iter().take(MAX_LEFT_OUT);
        let left_out = rest.clone().take_while(|known| **known != stated && may_be_left_out(known.part)).count();
        rest.clone().nth(left_out).filter(|known| **known == stated).map(|_| at + left_out)
    }
}

impl Stated {
    /// What a record states, without what a copy changes: ids, times, and whether a text is a string or a block.
    fn of(record: &Record<'_>) -> Self {
        let (part, key) = part_and_key(record);
        // Half of the hash is enough: records are compared with one or few others.
        Stated { key: (key >> 32) as u32, part }
    }
}

fn part_and_key(record: &Record<'_>) -> (Part, u64) {
    let Some(content) = record.message.content() else {
        let facts = record.line.compact_metadata().map(Value::raw);
        return (Part::Notice, hash64((record.kind, raw_str(record.line.subtype()), record.line.content().map(Value::raw), facts)));
    };
    let mut blocks = content.elements().map(Block::lenient);
    let has_result = content.elements().any(|block| Block::lenient(block).tool_use_id().is_some());
    let part = match record.kind {
        "assistant" if record.message.id().is_some() => Part::Answer,
        "user" if has_result => Part::Answer,
        "user" => Part::Prompt,
        _ => Part::Notice,
    };
    if let (Some(block), None) = (blocks.next(), blocks.next()) {
        if let Some(call) = block.tool_use_id() {
            return (part, hash64((record.kind, "result", call.raw())));
        }
        if record.kind == "user"
            && let Some(text) = block.text()
        {
            return (part, hash64((record.kind, record.message_key, text.raw())));
        }
    }
    (part, hash64((record.kind, record.message_key, content.raw())))
}

/// What a copy consists of.
fn is_part(record: &Record<'_>) -> bool {
    matches!(record.kind, "user" | "assistant" | "system") && !is_true(record.line.is_sidechain())
}

/// A line as far as a copy depends on it.
fn unconverted(line: Value<'_>) -> Record<'_> {
    let line = Line::lenient(line);
    let message = line.message().map(Message::lenient).unwrap_or_default();
    let message_key = message.id().or_else(|| line.request_id()).map(|id| hash64(id.raw()));
    Record { kind: raw_str(line.kind()), message, message_key, line, ..Record::default() }
}
