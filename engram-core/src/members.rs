//! The members of JSON objects, written in the order of the calls, each behind a comma.
//!
//! An event has some twenty of them, and which is decided anew for each event: code this often called must stay small, so the
//! ways to write a value are calls, and what the compiler knows is written in one piece.

use crate::buffer::{Buffer, Piece, Push as _};
use crate::digits::{hex_digits, push_number};
use crate::event::{Attachment, Number, Range};
use crate::hash::Hash;
use crate::json::push_json;
use crate::limits::LimitExceeded;
use crate::text::{Text, push_text};

/// A [`Piece`] of these literals.
macro_rules! piece {
    ($($text:expr),+) => {{
        const PIECE: &$crate::buffer::Piece = &$crate::buffer::Piece::of(&[$($text),+]);
        PIECE
    }};
}
pub(crate) use piece;

/// A member's name: `,"name":`. The name needs no escapes.
macro_rules! key {
    ($name:literal) => {
        $crate::members::piece!(",\"", $name, "\":")
    };
}
pub(crate) use key;

/// A member whose value is a word that the compiler knows: `,"name":"word"`.
macro_rules! word {
    ($name:literal, $word:expr) => {
        $crate::members::piece!(",\"", $name, "\":\"", $word, "\"")
    };
}
pub(crate) use word;

/// A member whose value is the word of one of these, as [`word`]. All of an enum have to be given, in its order.
macro_rules! word_of {
    ($name:literal, $all:expr, $one:expr) => {{
        static WORDS: [$crate::buffer::Piece; $all.len()] = {
            let mut words = [$crate::buffer::Piece::of(&[]); $all.len()];
            let mut number = 0;
            while number < words.len() {
                assert!($all[number] as usize == number, "not in the order of the enum");
                words[number] = $crate::buffer::Piece::of(&[",\"", $name, "\":\"", $all[number].as_str(), "\""]);
                number += 1;
            }
            words
        };
        &WORDS[$one as usize]
    }};
}
pub(crate) use word_of;

impl Buffer {
    /// Writes a name that only the run knows. It needs no escapes.
    pub fn named(&mut self, name: &str) -> &mut Buffer {
        self.push_str(",\"");
        self.push_str(name);
        self.push_str("\":");
        self
    }

    #[inline(never)]
    pub fn text(&mut self, key: &Piece, text: &Text<'_>) {
        self.piece(key);
        push_text(self, *text);
    }

    pub fn text_if(&mut self, key: &Piece, text: &Option<Text<'_>>) {
        if let Some(text) = text {
            self.text(key, text);
        }
    }

    /// As [`Buffer::text_if`], for names and ids: an empty one says nothing and is left out.
    #[inline(never)]
    pub fn name(&mut self, key: &Piece, name: &Option<Text<'_>>) {
        if let Some(name) = name
            && !name.is_empty()
        {
            self.text(key, name);
        }
    }

    /// Writes a word of the spec or a time: text that needs no escapes.
    #[inline(never)]
    pub fn word(&mut self, key: &Piece, word: &str) {
        self.piece(key);
        push_word(self, word);
    }

    pub fn number(&mut self, key: &Piece, number: Option<u64>) {
        if let Some(number) = number {
            self.piece(key);
            push_number(self, number);
        }
    }

    /// Writes a number as the source spells it.
    pub fn spelled(&mut self, key: &Piece, number: Option<Number<'_>>) {
        if let Some(number) = number {
            self.piece(key);
            self.push_str(number.as_str());
        }
    }

    #[inline(never)]
    pub fn hash(&mut self, key: &Piece, hash: &Option<Hash>) {
        if let Some(hash) = hash {
            self.piece(key);
            self.ascii(b"\"blake3:");
            hash.bytes().as_chunks().0.iter().for_each(|bytes| self.ascii(&hex_digits(*bytes)));
            self.ascii(b"\"");
        }
    }

    /// Writes `"key":true` or `"key":false`, if `value` is not what absence means.
    #[inline(always)]
    pub fn flag(&mut self, key: &Piece, value: bool, absent: bool) {
        if value != absent {
            self.truth(key, value);
        }
    }

    #[inline(never)]
    pub fn truth(&mut self, key: &Piece, value: bool) {
        self.piece(key);
        self.push_str(if value { "true" } else { "false" });
    }

    #[inline(never)]
    pub fn range(&mut self, key: &Piece, range: &Option<Range>) {
        if let Some(Range { first, last }) = *range {
            self.piece(key);
            self.ascii(b"[");
            push_number(self, first);
            self.ascii(b",");
            push_number(self, last);
            self.ascii(b"]");
        }
    }

    #[inline(never)]
    pub fn anchors(&mut self, key: &Piece, anchors: &[u64]) {
        if anchors.is_empty() {
            return;
        }
        self.piece(key);
        self.ascii(b"[");
        for anchor in anchors {
            let mut item = *b"\"................\",";
            item[1..17].copy_from_slice(&hex_digits(anchor.to_be_bytes()));
            self.ascii(&item);
        }
        // Nothing comes behind the last comma.
        self.truncate(self.len() - 1);
        self.ascii(b"]");
    }

    pub fn json(&mut self, key: &Piece, raw: Option<&str>, max_depth: usize) -> Result<(), LimitExceeded> {
        let Some(raw) = raw else { return Ok(()) };
        self.piece(key);
        push_json(self, raw, max_depth)
    }

    /// Writes an object, whose members `fill` writes.
    pub fn object(&mut self, key: &Piece, fill: impl FnOnce(&mut Buffer)) {
        self.piece(key);
        let start = self.len();
        fill(self);
        self.brace(start);
    }

    pub fn attachments(&mut self, attachments: &[Attachment<'_>]) {
        if !attachments.is_empty() {
            self.some_attachments(attachments);
        }
    }

    #[inline(never)]
    fn some_attachments(&mut self, attachments: &[Attachment<'_>]) {
        self.piece(key!("attachments"));
        for (n, attachment) in attachments.iter().enumerate() {
            self.ascii(if n == 0 { b"[" } else { b"," });
            let start = self.len();
            self.name(key!("media_type"), &attachment.media_type);
            self.hash(key!("hash"), &attachment.hash);
            self.number(key!("bytes"), attachment.bytes);
            self.name(key!("name"), &attachment.name);
            self.brace(start);
        }
        self.ascii(b"]");
    }
}

pub(crate) fn push_word(out: &mut Buffer, word: &str) {
    out.ascii(b"\"");
    out.push_str(word);
    out.ascii(b"\"");
}
