//! Parts of an answer that a run prints as they arrive, in the form of Anthropic's interface, before the line that has the whole. No line comes
//! if the run is killed, or if its connection breaks.

use std::collections::HashSet;

use engram_core::emit::Pointer;
use engram_core::event::{Channel, MsgOut};
use engram_core::keys::{KeyMap, PlaceMap};
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;

use super::value::{Value, non_empty_text, raw_str, text};

/// The words of a block that no line has, by the numbers of records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Left {
    /// The record in which the answer begins.
    start: Option<usize>,
    /// The records that have the words, but for the first one.
    others: Vec<usize>,
}

/// The answer that a stream is at.
#[derive(Debug, Default)]
struct Open {
    start: Option<usize>,
    /// The records with words of each block since the last line.
    blocks: Vec<Vec<usize>>,
}

/// Finds the words that no line has. A stream is what a session prints, or a sub-agent of it: the caller gives each a key. A log may have a
/// record once more: the key of its text tells it, and is 0 for a record without an id, which may be there twice on purpose.
#[derive(Debug, Default)]
pub struct PrintedParts {
    /// The keys of the texts of all records.
    seen: HashSet<u64>,
    open: KeyMap<Open>,
    left: PlaceMap<usize, Left>,
}

impl PrintedParts {
    /// Notes a part: the number and the key of its record, and the event of the interface in it.
    pub fn part(&mut self, stream: u64, (number, key): (usize, u64), event: Value<'_>) {
        if !self.is_new(key) {
            return;
        }
        match raw_str(event.member("type")) {
            "message_start" => {
                self.end(stream);
                self.open.entry(stream).or_default().start = Some(number);
            }
            "message_stop" => self.end(stream),
            "content_block_start" => self.open.entry(stream).or_default().blocks.push(Vec::new()),
            "content_block_delta" if words(event).is_some() => {
                let blocks = &mut self.open.entry(stream).or_default().blocks;
                match blocks.last_mut() {
                    Some(block) => block.push(number),
                    None => blocks.push(vec![number]),
                }
            }
            _ => {}
        }
    }

    /// Notes a line of an answer by its key: it has all that came before it.
    pub fn line(&mut self, stream: u64, key: u64) {
        if self.is_new(key)
            && let Some(open) = self.open.get_mut(&stream)
        {
            open.blocks.clear();
        }
    }

    /// Another run of the session begins, and its first line has this key.
    pub fn run(&mut self, stream: u64, key: u64) {
        if self.is_new(key) {
            self.end(stream);
        }
    }

    fn is_new(&mut self, key: u64) -> bool {
        key == 0 || self.seen.insert(key)
    }

    /// No line comes any more for what is open.
    fn end(&mut self, stream: u64) {
        let Some(open) = self.open.remove(&stream) else {
            return;
        };
        for block in open.blocks {
            if let [first, others @ ..] = block.as_slice() {
                let (start, others) = (open.start, others.to_vec());
                self.left.insert(*first, Left { start, others });
            }
        }
    }

    /// No line comes any more.
    pub fn end_all(&mut self) {
        let streams: Vec<u64> = self.open.keys().copied().collect();
        streams.into_iter().for_each(|stream| self.end(stream));
    }

    /// The words that begin in this record and that no line has.
    pub fn left(&self, number: usize) -> Option<&Left> {
        self.left.get(&number)
    }
}

/// The words of a part, and whether they are reasoning.
fn words(event: Value<'_>) -> Option<(Text<'_>, Option<Channel>)> {
    let delta = event.member("delta")?;
    match raw_str(delta.member("type")) {
        "text_delta" => Some((non_empty_text(delta.member("text"))?, None)),
        "thinking_delta" => {
            let words = non_empty_text(delta.member("thinking"))?;
            Some((words, Some(Channel::Reasoning)))
        }
        _ => None,
    }
}

/// Emits the words of a block that no line has, at its first record.
pub fn emit_left(record: &Record<'_>, left: &Left, out: &mut Emitter<'_>) {
    let Some((first, channel)) = record.value.member("event").and_then(words) else {
        return;
    };
    let mut joined = first.decode_lossy().into_owned();
    for number in &left.others {
        let mut other = record.others.get(*number);
        let event = other
            .as_mut()
            .and_then(|other| other.value()?.member("event"));
        if let Some((more, _)) = event.and_then(words) {
            joined.push_str(&more.decode_lossy());
        }
    }
    let mut start = left.start.and_then(|number| record.others.get(number));
    let start = start.as_mut().and_then(|start| start.value());
    let message = start.and_then(|start| start.member("event")?.member("message"));
    let said = MsgOut {
        text: Some(Text::Plain(&joined)),
        channel,
        model: message.and_then(|message| text(message.member("model"))),
        ..MsgOut::default()
    };
    out.emit(said, Pointer::At("/event/delta"));
}
