//! Writes that are under way.

use engram_core::steps::Lookup;

use super::plan::Before;
use super::schema::Step;
use crate::cursor::fields::{decoded, decoded_non_empty};
use crate::cursor::readers::Payload;
use crate::shared::value::{Field, text};

/// The most writes that are remembered.
const MAX_OPEN: usize = 16;

/// The writes without a result yet, oldest first.
#[derive(Default)]
pub(super) struct OpenWrites {
    open: Vec<OpenWrite>,
}

/// A write. Its texts are read again when they are needed.
pub(super) struct OpenWrite {
    /// The id of its call.
    pub(super) id: String,
    /// The file.
    pub(super) file: String,
    generation: String,
    /// What the file was before.
    pub(super) before: Before,
    /// The payload with which it begins.
    begins: usize,
    /// True if its edits are on the tape.
    pub(super) is_emitted: bool,
}

impl OpenWrites {
    /// Begins a write.
    pub(super) fn begin(&mut self, step: &Step<'_>, before: Before) {
        if self.open.len() == MAX_OPEN {
            self.open.remove(0);
        }
        let file = step
            .tool_input()
            .and_then(|input| input.member("file_path"));
        let owned = |field| decoded(field).unwrap_or_default().into_owned();
        let (id, file, generation) = (
            owned(step.tool_use_id()),
            owned(file),
            owned(step.generation_id()),
        );
        self.open.push(OpenWrite {
            id,
            file,
            generation,
            before,
            begins: step.number,
            is_emitted: false,
        });
    }

    /// The write that a payload about a file belongs to: by its id, else by the file and the generation.
    pub(super) fn of(&mut self, payload: &Payload<'_>) -> Option<&mut OpenWrite> {
        let (id, file) = (
            decoded_non_empty(payload.tool_use_id()),
            decoded(payload.file_path()),
        );
        let generation = decoded(payload.generation_id()).unwrap_or_default();
        let is_of_file = |write: &OpenWrite| {
            Some(write.file.as_str()) == file.as_deref() && write.generation == generation
        };
        let is_it = |write: &OpenWrite| {
            id.as_deref()
                .map_or_else(|| is_of_file(write), |id| write.id == id)
        };
        self.open.iter_mut().rev().find(|write| is_it(write))
    }

    /// Ends the write with this id.
    pub(super) fn end(&mut self, id: Field<'_>) -> Option<OpenWrite> {
        let id = decoded_non_empty(id)?;
        let at = self.open.iter().position(|write| write.id == *id)?;
        Some(self.open.remove(at))
    }
}

impl OpenWrite {
    /// The text that is written, if it is valid Unicode.
    pub(super) fn after(&self, others: Lookup<'_>) -> Option<String> {
        let mut payload = others.get(self.begins)?;
        let content = text(payload.value()?.member("tool_input")?.member("content"))?;
        content.decode().ok().map(Into::into)
    }

    /// The text before, if the payload with this number has it as valid Unicode.
    pub(super) fn text_before(number: usize, others: Lookup<'_>) -> Option<String> {
        let mut payload = others.get(number)?;
        text(payload.value()?.member("content"))?
            .decode()
            .ok()
            .map(Into::into)
    }
}
