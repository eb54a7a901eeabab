//! Reads that may be the first half of an edit. The harness runs an edit as a `Read` and then a `Write`, both with the id of the one call
//! that the model made. So the payloads of a read are kept until the next payload shows which it is.

use std::mem;

use engram_core::emit::{Emitter, KeptText, RecordLocation};

use super::schema::Payload;
use crate::cursor::fields::{decoded, decoded_non_empty};
use crate::shared::value::{raw_str, text};

/// The most reads that are kept at once.
const MAX_HELD: usize = 16;

/// The reads that are kept, oldest first.
#[derive(Default)]
pub(super) struct HeldReads {
    held: Vec<HeldRead>,
}

/// A read: its payloads so far.
pub(super) struct HeldRead {
    id: String,
    file: String,
    generation: String,
    /// True if it has ended.
    has_ended: bool,
    /// The content of the file, if a payload had it and there was room for it.
    pub(super) content: Option<KeptText>,
    /// True if there was no such file.
    pub(super) is_missing: bool,
    /// Its payloads.
    pub(super) payloads: Vec<HeldPayload>,
}

/// A payload that is kept.
pub(super) struct HeldPayload {
    /// Its JSON.
    pub(super) source: KeptText,
    /// Its place.
    pub(super) location: RecordLocation,
    /// True if it has given an event already, such as a new fact about the session.
    pub(super) is_mapped: bool,
}

/// What a payload is to the reads that are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It begins a read.
    Begins,
    /// It belongs to the read with this number.
    BelongsTo(usize),
    /// It shows that the read with this number is a part of its own call.
    Contains(usize),
    /// None of these.
    Other,
}

impl HeldReads {
    /// What a payload is to the reads that are held.
    pub(super) fn role(&self, payload: &Payload<'_>) -> Role {
        let (step, tool) = (raw_str(payload.hook_event_name()), raw_str(payload.tool_name()));
        let id = decoded_non_empty(payload.tool_use_id());
        let at = || self.held.iter().position(|read| Some(read.id.as_str()) == id.as_deref());
        let file = || decoded(payload.file_path());
        let generation = || decoded(payload.generation_id()).unwrap_or_default();
        let is_open = |read: &HeldRead| !read.has_ended && read.generation == generation();
        let reads_file = || self.held.iter().rposition(|read| is_open(read) && Some(read.file.as_str()) == file().as_deref());
        match (step, tool) {
            ("preToolUse", "Read") if id.is_some() && at().is_none() => Role::Begins,
            ("preToolUse", tool) if tool != "Read" => at().map_or(Role::Other, Role::Contains),
            ("postToolUse" | "postToolUseFailure", "Read") => at().map_or(Role::Other, Role::BelongsTo),
            ("beforeReadFile", _) => at().or_else(reads_file).map_or(Role::Other, Role::BelongsTo),
            _ => Role::Other,
        }
    }

    /// Keeps the first payload of a read. Returns the oldest read if there are too many.
    pub(super) fn begin(&mut self, payload: &Payload<'_>, held: HeldPayload) -> Option<HeldRead> {
        let text = |field| decoded(field).unwrap_or_default().into_owned();
        let file = payload.tool_input().and_then(|input| input.member("file_path"));
        self.held.push(HeldRead {
            id: text(payload.tool_use_id()),
            file: text(file),
            generation: text(payload.generation_id()),
            has_ended: false,
            content: None,
            is_missing: false,
            payloads: vec![held],
        });
        (self.held.len() > MAX_HELD).then(|| self.held.remove(0))
    }

    /// Keeps another payload of a read.
    pub(super) fn add(&mut self, at: usize, payload: &Payload<'_>, held: HeldPayload, out: &Emitter) {
        let Some(read) = self.held.get_mut(at) else { return };
        match raw_str(payload.hook_event_name()) {
            "beforeReadFile" => read.content = text(payload.content()).and_then(|content| out.keep(&content.decode().ok()?)),
            step => {
                read.has_ended = true;
                read.is_missing = step == "postToolUseFailure" && raw_str(payload.failure_type()) == "error" && read.content.is_none();
            }
        }
        read.payloads.push(held);
    }

    /// Takes the read out that is a part of another call.
    pub(super) fn take(&mut self, at: usize) -> Option<HeldRead> {
        (at < self.held.len()).then(|| self.held.remove(at))
    }

    /// Takes out the reads that are calls of their own: those that have ended, or all at the end of a turn.
    pub(super) fn take_settled(&mut self, at_end: bool) -> Vec<HeldRead> {
        if self.held.is_empty() {
            return Vec::new();
        }
        let (settled, open) = mem::take(&mut self.held).into_iter().partition(|read| at_end || read.has_ended);
        self.held = open;
        settled
    }
}
