//! Parts of an answer that a run prints as they arrive, in the form of Anthropic's interface, before the line that has the whole. No line comes
//! if the run is killed, or if its connection breaks.

use std::collections::HashSet;

use engram_core::emit::Pointer;
use engram_core::event::{Channel, MsgOut};
use engram_core::keys::{KeyMap, PlaceMap};
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;

use super::joined::Joined;
use super::value::{Field, Value, non_empty_text, raw_str, text};

/// The words of a block that no line has, by the numbers of records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Left {
    /// The record in which the answer begins.
    start: Option<usize>,
    /// The first record that has words.
    first: usize,
    /// The other records that have words.
    others: Vec<usize>,
}

/// The answer that a stream is at, and its last block that has words.
#[derive(Debug, Default)]
struct Open {
    start: Option<usize>,
    block: Option<Block>,
}

#[derive(Debug)]
struct Block {
    channel: Option<Channel>,
    words: Joined,
    left: Left,
}

/// Finds the words that no line has. A stream is what a session prints, or a sub-agent of it: the
/// caller gives each a key.
#[derive(Debug, Default)]
pub struct PrintedParts {
    /// The keys of the records that were noted.
    seen: HashSet<u64>,
    open: KeyMap<Open>,
    left: PlaceMap<usize, Left>,
}

impl PrintedParts {
    /// Notes a part: the number and the key of its record, and the event of the interface in it. A log may have a record once more, and the
    /// key tells it: it is 0 for a record without an id, which may be there twice on purpose.
    pub fn part(&mut self, stream: u64, (number, key): (usize, u64), event: Value<'_>) {
        if key != 0 && !self.seen.insert(key) {
            return;
        }
        match raw_str(event.member("type")) {
            "message_start" => {
                self.close(stream);
                self.open.entry(stream).or_default().start = Some(number);
            }
            "content_block_start" => self.close(stream),
            "content_block_delta" => {
                if let Some((words, channel)) = words(event) {
                    self.words(stream, number, words, channel);
                }
            }
            _ => {}
        }
    }

    fn words(&mut self, stream: u64, number: usize, words: Text<'_>, channel: Option<Channel>) {
        let open = self.open.entry(stream).or_default();
        match &mut open.block {
            Some(block) => {
                block.words.push(words);
                block.left.others.push(number);
            }
            None => {
                let (start, first, others) = (open.start, number, Vec::new());
                open.block = Some(Block {
                    channel,
                    words: Joined::from_iter([words]),
                    left: Left {
                        start,
                        first,
                        others,
                    },
                });
            }
        }
    }

    /// Notes a block of a line, with its `text` or its `thinking`. Its parts came just before it.
    pub fn line(&mut self, stream: u64, said: Field<'_>, thought: Field<'_>) {
        let Some(open) = self.open.get_mut(&stream) else {
            return;
        };
        let has_words = |block: &mut Block| {
            let whole = text(block.channel.map_or(said, |_| thought));
            whole.is_some_and(|whole| {
                let (whole, words) = (whole.comparable(), block.words.text());
                whole.contains(&*words.comparable())
            })
        };
        open.block.take_if(has_words);
    }

    /// No more words come for the block that is open, and no line has come.
    fn close(&mut self, stream: u64) {
        let open = self.open.get_mut(&stream);
        if let Some(block) = open.and_then(|open| open.block.take()) {
            self.left.insert(block.left.first, block.left);
        }
    }

    /// No line comes any more.
    pub fn end(&mut self) {
        let streams: Vec<u64> = self.open.keys().copied().collect();
        streams.into_iter().for_each(|stream| self.close(stream));
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
    let mut joined = Joined::from_iter([first]);
    for number in &left.others {
        let mut other = record.others.get(*number);
        let event = other
            .as_mut()
            .and_then(|other| other.value()?.member("event"));
        if let Some((more, _)) = event.and_then(words) {
            joined.push(more);
        }
    }
    let mut start = left.start.and_then(|number| record.others.get(number));
    let start = start.as_mut().and_then(|start| start.value());
    let message = start.and_then(|start| start.member("event")?.member("message"));
    let said = MsgOut {
        text: Some(joined.text()),
        channel,
        model: message.and_then(|message| text(message.member("model"))),
        ..MsgOut::default()
    };
    out.emit(said, Pointer::At("/event/delta"));
}
