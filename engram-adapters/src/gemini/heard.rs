//! What has been said, and how often: tells a history that is written again from what is new in it.
//!
//! From 0.44.0 on the harness writes its whole history again at resume, compression, cancellation and failure, with new ids for
//! some messages and without the details of calls. Texts have no ids of their own there, so the n-th time that a history holds a
//! text is the n-th time that it was said.

use std::hash::Hash;

use engram_core::text::Text;

use super::schema::{FunctionResponse, Record, Response};
use crate::shared::correlate::{KeyMap, hash64};
use crate::shared::value::{Field, Value};

/// How often each text was said, at twelve bytes a text.
#[derive(Debug, Default)]
pub(super) struct Heard {
    said: KeyMap<u32>,
}

/// How often each text has come up in one reading of a history.
#[derive(Debug, Default)]
pub(super) struct Reading {
    seen: KeyMap<u32>,
}

impl Heard {
    /// Counts a text that is said now.
    pub fn note(&mut self, text: u64) {
        *self.said.entry(text).or_default() += 1;
    }

    /// True when a history holds the text more often than it was said, which counts as saying it.
    pub fn is_new(&mut self, reading: &mut Reading, text: u64) -> bool {
        let seen = reading.seen.entry(text).or_default();
        *seen += 1;
        let said = self.said.entry(text).or_default();
        let new = *seen > *said;
        *said = (*said).max(*seen);
        new
    }
}

/// What the log has said of a call.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CallFacts {
    /// That it was made.
    pub asked: bool,
    /// What came of it.
    pub answered: bool,
    /// What the model was told of it, as an [`answer_key`].
    pub answer: Option<u64>,
}

/// What the model is told of a call, as eight bytes.
pub(super) fn answer_key(response: &FunctionResponse<'_>) -> u64 {
    let answer = Response::lenient_opt(response.response());
    match (answer.output(), answer.error()) {
        (None, None) => hash64(response.response().map(Value::raw)),
        (output, error) => hash64((output.map(Value::raw), error.map(Value::raw))),
    }
}

/// What a turn has said under its id, at thirty-two bytes a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Turn {
    text: u64,
    thoughts: u64,
    tokens: u64,
}

/// The turns that may be written again.
#[derive(Debug, Default)]
pub(super) struct Turns {
    said: KeyMap<Turn>,
}

/// What of a turn was written before, just so.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rewritten {
    pub text: bool,
    pub thoughts: bool,
    pub tokens: bool,
}

impl Turns {
    /// Remembers what a turn says, and tells what of it was written before.
    pub fn write(&mut self, id: u64, message: &Record<'_>) -> Rewritten {
        let turn = Turn::of(message);
        let before = self.said.insert(id, turn);
        before.map(|before| before.again(turn)).unwrap_or_default()
    }

    /// What of a turn was written before. Does not remember it.
    pub fn known(&self, id: u64, message: &Record<'_>) -> Rewritten {
        self.said.get(&id).map(|before| before.again(Turn::of(message))).unwrap_or_default()
    }
}

impl Turn {
    fn of(message: &Record<'_>) -> Turn {
        let digest = |field: Field<'_>| field.map_or(0, |value| hash64(value.raw()));
        Turn { text: digest(message.content()), thoughts: digest(message.thoughts()), tokens: digest(message.tokens()) }
    }

    fn again(self, now: Turn) -> Rewritten {
        Rewritten { text: self.text == now.text, thoughts: self.thoughts == now.thoughts, tokens: self.tokens == now.tokens }
    }
}

/// The key of a text of one speaker. One harness spells one text in one way, so the source's spelling will do.
pub(super) fn text_key(speaker: impl Hash, text: Text<'_>) -> u64 {
    hash64((speaker, text.raw()))
}

/// The key of a thought, whatever white space and emphasis stand in it: the harness takes thoughts apart and joins them again.
pub(super) fn thought_key(text: Text<'_>) -> u64 {
    let mut bytes = text.raw().bytes().peekable();
    let mut plain = Vec::with_capacity(bytes.len());
    while let Some(byte) = bytes.next() {
        match byte {
            b' ' | b'*' | b'\n' => {}
            // White space is spelled with an escape: `\n`, `\t`. Any other escape counts.
            b'\\' => drop(bytes.next_if(|next| matches!(next, b'n' | b't' | b'r'))),
            other => plain.push(other),
        }
    }
    hash64(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_adds_only_what_it_holds_more_often() {
        let mut heard = Heard::default();
        heard.note(1);
        heard.note(1);
        let mut reading = Reading::default();
        assert_eq!([1, 1, 1, 2].map(|text| heard.is_new(&mut reading, text)), [false, false, true, true]);
        let mut again = Reading::default();
        assert_eq!([1, 1, 1, 2].map(|text| heard.is_new(&mut again, text)), [false; 4]);
    }

    #[test]
    fn thoughts_are_equal_however_they_are_set() {
        let joined = thought_key(Text::Token(r#""**Plan** Look at it.""#));
        assert_eq!(joined, thought_key(Text::Token(r#""**Plan**\n\nLook at it.\n""#)));
        assert_ne!(joined, thought_key(Text::Token(r#""**Plan** Look at that.""#)));
    }
}
