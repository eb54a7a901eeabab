//! Reverts: the user went back to an earlier message. Until the next prompt the later messages are still there; then the table of events of
//! a database has them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use engram_core::emit::RecordHeader;
use engram_core::event::{Meta, Seq};
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::shared::value::{Field, Value, elements, is_true, raw_str};

/// The revert that the session's own record says.
#[derive(Default)]
pub struct Revert {
    /// The first message that is reverted.
    message_id: Option<String>,
    /// The first part of it that is reverted; all of them if there is none.
    part_id: Option<String>,
    /// The first message or part that came after the revert: a turn was under way, or the harness was stopped before it deleted what is
    /// reverted.
    before: Option<String>,
    has_files: bool,
    /// What the revert changed in files.
    diff: Option<String>,
    /// The last event before that message, or before that part.
    to: Option<Seq>,
    is_emitted: bool,
}

impl Revert {
    /// Remembers a revert, and the first message or part after it.
    pub fn set(&mut self, revert: Field<'_>, before: Field<'_>) {
        let Some(revert) = revert else { return };
        let id = |value| Some(raw_str(value).to_owned()).filter(|id| !id.is_empty());
        (self.message_id, self.part_id) =
            (id(revert.member("messageID")), id(revert.member("partID")));
        (self.before, self.has_files) = (id(before), revert.member("snapshot").is_some());
        self.diff = revert.member("diff").map(|diff| diff.raw().to_owned());
    }

    /// Notes that the message with this id comes next.
    pub fn reach(&mut self, message_id: &str, out: &mut Emitter<'_>) {
        if self.to.is_none() && self.message_id.as_deref() == Some(message_id) {
            self.to = out.last_seq();
        }
        self.reach_next(message_id, out);
    }

    /// Notes that the part with this id comes next.
    pub fn reach_part(&mut self, part_id: &str, out: &mut Emitter<'_>) {
        if self.to.is_some() && self.part_id.as_deref() == Some(part_id) {
            self.to = out.last_seq();
        }
        self.reach_next(part_id, out);
    }

    fn reach_next(&mut self, id: &str, out: &mut Emitter<'_>) {
        if self.before.as_deref() == Some(id) {
            self.end(out);
        }
    }

    /// Emits the revert, once. Where its message is gone, only what it changed in files is known.
    pub fn end(&mut self, out: &mut Emitter<'_>) {
        if self.message_id.is_none() || std::mem::replace(&mut self.is_emitted, true) {
            return;
        }
        out.of_record(0, RecordHeader::default(), |out| {
            let diff = self.diff.as_deref().map(Text::Token);
            let text = diff.filter(|diff| !diff.is_empty());
            if text.is_some() || self.to.is_none() {
                let name = Text::Plain("revert");
                out.emit(Meta::system(name, text), "/revert");
            }
            if let Some(to) = self.to {
                let files = self.has_files;
                out.emit(Meta::Rewind { to, files }, "/revert");
            }
        });
    }
}

/// Turns that were taken back for good, in the order in which that happened. A later revert may go back further than one before it.
#[derive(Default)]
pub struct Undone {
    turns: Vec<Turns>,
    /// The revert that took a message or part back, by its id. Those that are still to come.
    taken_back: HashMap<String, usize>,
    /// How many of the turns have ended.
    ended: usize,
}

/// What one revert took back.
struct Turns {
    /// How many messages and parts are still to come.
    left: usize,
    has_files: bool,
    /// The last event before the first of them, once it is reached.
    to: Option<Seq>,
}

impl Undone {
    /// What the session's own record says.
    pub fn of(reverts: Field<'_>) -> Undone {
        let mut undone = Undone::default();
        for revert in elements(reverts) {
            let ids = ["messageIDs", "partIDs"]
                .into_iter()
                .flat_map(|name| revert.member(name))
                .flat_map(Value::elements);
            let mut left = 0;
            for id in ids {
                if let Entry::Vacant(new) = undone.taken_back.entry(id.raw_str().to_owned()) {
                    new.insert(undone.turns.len());
                    left += 1;
                }
            }
            undone.turns.push(Turns {
                left,
                has_files: is_true(revert.member("files")),
                to: None,
            });
        }
        undone
    }

    /// Notes that the message with this id comes next: the user went on here if all that a revert took back has come.
    pub fn reach(&mut self, message_id: &str, out: &mut Emitter<'_>) {
        while let Some(turns) = self.turns.get(self.ended).filter(|turns| turns.left == 0) {
            turns.end(out);
            self.ended += 1;
        }
        self.reach_part(message_id, out);
    }

    /// Notes that the part, or message, with this id comes next.
    pub fn reach_part(&mut self, id: &str, out: &Emitter<'_>) {
        if let Some(turns) = self
            .taken_back
            .remove(id)
            .and_then(|at| self.turns.get_mut(at))
        {
            turns.left -= 1;
            turns.to = turns.to.or_else(|| out.last_seq());
        }
    }

    /// Emits where the user went back to, if turns that were taken back have been reached.
    pub fn end(&mut self, out: &mut Emitter<'_>) {
        self.turns
            .drain(..)
            .skip(self.ended)
            .for_each(|turns| turns.end(out));
    }
}

impl Turns {
    fn end(&self, out: &mut Emitter<'_>) {
        if let Some(to) = self.to {
            let rewind = Meta::Rewind {
                to,
                files: self.has_files,
            };
            out.of_record(0, RecordHeader::default(), |out| {
                out.emit(rewind, "/reverts")
            });
        }
    }
}
