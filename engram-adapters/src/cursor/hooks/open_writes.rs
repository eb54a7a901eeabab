//! Writes that are under way: what the file was before, and what is written.

use engram_core::emit::{Emitter, KeptText};

use super::schema::Payload;
use crate::cursor::fields::{decoded, decoded_non_empty};
use crate::shared::value::{Field, text};

/// The most writes that are remembered.
const MAX_OPEN: usize = 16;

/// The writes without a result yet, oldest first.
#[derive(Default)]
pub(super) struct OpenWrites {
    open: Vec<OpenWrite>,
}

/// What a file was before a write.
#[derive(Debug)]
pub(super) enum Before {
    /// No payload shows it.
    Unknown,
    /// There was no such file.
    Missing,
    /// Its text.
    Text(KeptText),
}

/// A write.
pub(super) struct OpenWrite {
    /// The id of its call.
    pub(super) id: String,
    /// The file.
    pub(super) file: String,
    generation: String,
    /// What the file was before.
    pub(super) before: Before,
    /// The text that is written, if there was room for it.
    pub(super) after: Option<KeptText>,
    /// True if its edits are on the tape.
    pub(super) is_emitted: bool,
}

impl OpenWrites {
    /// Begins a write.
    pub(super) fn begin(&mut self, payload: &Payload<'_>, before: Before, out: &Emitter) {
        if self.open.len() == MAX_OPEN {
            self.open.remove(0);
        }
        let input = |name: &str| text(payload.tool_input().and_then(|input| input.member(name)));
        self.open.push(OpenWrite {
            id: decoded(payload.tool_use_id()).unwrap_or_default().into_owned(),
            file: input("file_path").map(|file| file.decode_lossy().into_owned()).unwrap_or_default(),
            generation: decoded(payload.generation_id()).unwrap_or_default().into_owned(),
            before,
            after: input("content").and_then(|content| out.keep(&content.decode().ok()?)),
            is_emitted: false,
        });
    }

    /// The write that a payload about a file belongs to: by its id, else by the file and the generation.
    pub(super) fn of(&mut self, payload: &Payload<'_>) -> Option<&mut OpenWrite> {
        let (id, file) = (decoded_non_empty(payload.tool_use_id()), decoded(payload.file_path()));
        let generation = decoded(payload.generation_id()).unwrap_or_default();
        let is_of_file = |write: &OpenWrite| Some(write.file.as_str()) == file.as_deref() && write.generation == generation;
        let is_it = |write: &OpenWrite| id.as_deref().map_or_else(|| is_of_file(write), |id| write.id == id);
        self.open.iter_mut().rev().find(|write| is_it(write))
    }

    /// True if a payload belongs to a write that is under way.
    pub(super) fn has(&mut self, payload: &Payload<'_>) -> bool {
        self.of(payload).is_some()
    }

    /// Ends the write with this id.
    pub(super) fn end(&mut self, id: Field<'_>) -> Option<OpenWrite> {
        let id = decoded_non_empty(id)?;
        let at = self.open.iter().position(|write| write.id == *id)?;
        Some(self.open.remove(at))
    }
}
