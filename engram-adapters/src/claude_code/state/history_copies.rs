//! Copies of the history so far that the same file repeats with new ids (up to 2.0.10, one before each turn over stream-json).
//!
//! A copy repeats the history in its order, block by block, from its beginning or from a later record (2.0.10): its first line follows the
//! line that this record follows. Of two forms, one has all records, and one leaves out the prompts (1.0.60).
//! A person may begin a session twice with the same words. So a first prompt waits until a later record proves the copy: an answer or a
//! result by its id, or another text by a time that nobody types in.

use engram_core::keys::hash64;

use crate::claude_code::record::{Record, line_time};
use crate::claude_code::revisions::Dialect;
use crate::claude_code::schema::{Block, Line, Message};
use crate::shared::restorable::{Restorable, RestorableMap};
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

/// What a block of the history states, or a record without blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stated {
    key: u32,
    part: Part,
}

/// How far a copy has come.
#[derive(Debug, Clone, Copy)]
struct Progress {
    /// The position in the history after the last copied block.
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

/// The history so far, and how far the current copy has repeated it. Keeps eight bytes for each block, and 16 for each record.
#[derive(Default)]
pub struct HistoryCopies {
    /// What each block states.
    history: Vec<Stated>,
    /// The length of the history of converted records.
    converted: usize,
    /// The position of the first record that follows each line, by the hash of the line's id.
    followers: RestorableMap<u32>,
    /// What the current record states. Reused from record to record.
    stated: Vec<Stated>,
    copied: Restorable<Option<Progress>>,
    candidate: Option<Candidate>,
    /// The first line of the copy that was proven last.
    proven: Option<u64>,
}

impl HistoryCopies {
    /// The record is converted.
    pub(super) fn commit(&mut self) {
        self.converted = self.history.len();
        self.followers.commit();
        self.copied.commit();
    }

    /// The record is malformed: it is no part of the history.
    pub(super) fn roll_back(&mut self) {
        self.history.truncate(self.converted);
        self.followers.roll_back();
        self.copied.roll_back();
    }

    /// True if the line may begin a copy, or show whether the lines that wait are one.
    #[inline]
    pub fn concerns(&self, line: Value<'_>, dialect: Dialect) -> bool {
        self.candidate.is_some() || (dialect.copies_are_restamped && self.may_begin(line))
    }

    fn may_begin(&self, line: Value<'_>) -> bool {
        text(line.member("parentUuid")).is_none_or(|parent| self.followers.get(hash64(parent.raw())).is_some() && is_prompt(line))
    }

    /// What a line that was not converted yet shows about a copy. A prompt that follows the line that the same prompt follows may begin one.
    pub fn proof(&mut self, line: Value<'_>) -> CopyProof {
        let record = unconverted(line);
        let (Some(uuid), true) = (text(record.line.uuid()), is_part(&record)) else { return self.undecided() };
        let uuid = hash64(uuid.raw());
        let part = self.set_stated(&record);
        let time = line_time(&record.line).as_deref().and_then(millis);
        let Some(mut candidate) = self.candidate.take() else {
            let start = if part == Part::Prompt { self.start(&record.line) } else { None };
            let at = start.and_then(|start| self.end_of_copy(start, true));
            self.candidate = at.map(|at| Candidate { lines: vec![uuid], at, time });
            return self.undecided();
        };
        if candidate.lines.contains(&uuid) {
            self.candidate = Some(candidate);
            return CopyProof::Unknown;
        }
        let parent = text(record.line.parent_uuid()).map(|parent| hash64(parent.raw()));
        let follows = parent.is_some() && parent.as_ref() == candidate.lines.last();
        let Some(at) = self.end_of_copy(candidate.at, true).filter(|_| follows) else { return CopyProof::Decided };
        let is_fast = matches!((candidate.time, time), (Some(before), Some(now)) if (0..=COPY_STEP_MS).contains(&(now - before)));
        if part == Part::Answer || is_fast {
            self.proven = candidate.lines.first().copied();
            return CopyProof::Decided;
        }
        candidate.lines.push(uuid);
        self.candidate = Some(Candidate { at, time, ..candidate });
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
        let part = self.set_stated(record);
        let uuid = text(record.line.uuid()).map(|uuid| hash64(uuid.raw()));
        let parent = text(record.line.parent_uuid()).map(|parent| hash64(parent.raw()));
        let continued = self.copied.filter(|copied| parent == Some(copied.last));
        let before = continued.or_else(|| self.beginning(record, part, uuid));
        let found = before.and_then(|copied| Some((self.end_of_copy(copied.at, copied.has_prompts)?, copied.has_prompts)));
        match (found, uuid) {
            (Some((at, has_prompts)), Some(last)) => self.copied.set(Some(Progress { at, last, has_prompts })),
            _ => {
                if self.copied.is_some() {
                    self.copied.set(None);
                }
                if let (Some(parent), Ok(at)) = (parent, u32::try_from(self.history.len())) {
                    self.followers.insert_new(parent, at);
                }
                self.history.append(&mut self.stated);
            }
        }
        found.is_some()
    }

    /// The place in the history of what a line that begins a copy repeats: a prompt that was proven to, what a model or a tool gave after
    /// the same line, or an answer without a request id, which only copies lack.
    fn beginning(&self, record: &Record<'_>, part: Part, uuid: Option<u64>) -> Option<Progress> {
        let at = self.start(&record.line)?;
        let is_first = text(record.line.parent_uuid()).is_none();
        let begins = match part {
            Part::Prompt => uuid.is_some() && uuid == self.proven,
            Part::Answer => !is_first || (record.kind == "assistant" && record.line.request_id().is_none()),
            Part::Notice => false,
        };
        begins.then_some(Progress { at, last: 0, has_prompts: part == Part::Prompt || !is_first })
    }

    /// The position of the record that follows the same line as this one, if there is one.
    fn start(&self, line: &Line<'_>) -> Option<usize> {
        let Some(parent) = text(line.parent_uuid()) else { return Some(0) };
        self.followers.get(hash64(parent.raw())).map(|at| at as usize)
    }

    /// The position after what the current record states, if a copy that has come to `at` may go on with it.
    fn end_of_copy(&self, at: usize, has_prompts: bool) -> Option<usize> {
        let first = *self.stated.first()?;
        let may_be_left_out = |part| part == Part::Notice || (part == Part::Prompt && !has_prompts);
        if first.part == Part::Prompt && !has_prompts {
            return None;
        }
        let rest = self.history.get(at..)?;
        let left_out = rest.iter().take(MAX_LEFT_OUT).take_while(|known| **known != first && may_be_left_out(known.part)).count();
        rest.get(left_out..)?.starts_with(&self.stated).then(|| at + left_out + self.stated.len())
    }

    /// Replaces what is stated by what a record states, without what a copy changes: ids, times, and whether a text is a string or a block.
    fn set_stated(&mut self, record: &Record<'_>) -> Part {
        let part = part_of(record);
        self.stated.clear();
        // Half of the hash is enough: records are compared with one or few others.
        let stated = |key: u64| Stated { key: (key >> 32) as u32, part };
        let content = record.message.content();
        let blocks = content.into_iter().flat_map(Value::elements);
        self.stated.extend(blocks.map(|block| stated(block_key(record, block))));
        if self.stated.is_empty() {
            let facts = || {
                let metadata = record.line.compact_metadata().map(Value::raw);
                hash64((record.kind, raw_str(record.line.subtype()), record.line.content().map(Value::raw), metadata))
            };
            let key = content.map_or_else(facts, |content| hash64((record.kind, record.message_key, content.raw())));
            self.stated.push(stated(key));
        }
        part
    }
}

fn part_of(record: &Record<'_>) -> Part {
    let Some(content) = record.message.content() else { return Part::Notice };
    match record.kind {
        "assistant" if record.message.id().is_some() => Part::Answer,
        "user" if has_result(content) => Part::Answer,
        "user" => Part::Prompt,
        _ => Part::Notice,
    }
}

fn block_key(record: &Record<'_>, value: Value<'_>) -> u64 {
    let block = Block::lenient(value);
    match (block.tool_use_id(), block.text()) {
        (Some(call), _) => hash64((record.kind, "result", call.raw())),
        (None, Some(text)) if record.kind == "user" => hash64((record.kind, record.message_key, text.raw())),
        _ => hash64((record.kind, record.message_key, value.raw())),
    }
}

fn has_result(content: Value<'_>) -> bool {
    content.elements().any(|block| Block::lenient(block).tool_use_id().is_some())
}

/// True for a `user` line without a result.
fn is_prompt(line: Value<'_>) -> bool {
    let line = Line::lenient(line);
    let content = line.message().map(Message::lenient).and_then(|message| message.content());
    raw_str(line.kind()) == "user" && content.is_some_and(|content| !has_result(content))
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
