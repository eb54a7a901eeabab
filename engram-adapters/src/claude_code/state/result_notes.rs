//! Messages that the harness adds to a result, as rows of their own that state no author (0.2.96): files that it has read again.

use engram_core::keys::hash64;
use engram_core::text::Text;

use crate::claude_code::revisions::Dialect;
use crate::claude_code::schema::Line;
use crate::shared::restorable::Restorable;
use crate::shared::value::{Field, text};

/// The first of these messages begins so.
const FIRST: &str = "⎿  ";

/// The last result, and the messages that follow it. The model answers a result at once, so that a person can write nothing in between.
#[derive(Default)]
pub struct ResultNotes {
    /// Hash of the `uuid` of the last result or note.
    last: Restorable<Option<u64>>,
    last_is_note: Restorable<bool>,
}

impl ResultNotes {
    /// The line has a result.
    pub fn set_result(&mut self, line: &Line<'_>, dialect: Dialect) {
        if dialect.notes_are_messages {
            self.last.set(key(line.uuid()));
            self.last_is_note.set(false);
        }
    }

    /// True for a note: the child of a result that begins as notes do, or the child of a note.
    pub fn is_note(&mut self, line: &Line<'_>, text: Text<'_>) -> bool {
        let follows = self.last.is_some() && *self.last == key(line.parent_uuid());
        let is_note = follows && (*self.last_is_note || text.starts_with(FIRST));
        if is_note {
            self.last.set(key(line.uuid()));
            self.last_is_note.set(true);
        }
        is_note
    }

    /// The record is converted.
    pub(super) fn commit(&mut self) {
        self.last.commit();
        self.last_is_note.commit();
    }

    /// The record is malformed: what it stated is forgotten.
    pub(super) fn roll_back(&mut self) {
        self.last.roll_back();
        self.last_is_note.roll_back();
    }
}

fn key(uuid: Field<'_>) -> Option<u64> {
    text(uuid).map(|uuid| hash64(uuid.raw()))
}
