//! Going back to an earlier point (2.1.300 and later). The new prompt comes first in the log, and then the line that shows it.

use std::mem;

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Author, Meta, MsgIn, Role, Seq};

use super::deferred::DeferredText;
use crate::claude_code::blocks::{CONTENT, images};
use crate::claude_code::omission_rules::rule;
use crate::claude_code::record::Record;
use crate::claude_code::schema::Line;
use crate::claude_code::state::read_lines::ReadLines;
use crate::shared::restorable::Restorable;
use crate::shared::value::{StructuralIndex, Value, parse, text};

/// Prompts that may follow a rewind.
#[derive(Default)]
pub struct Rewinds {
    /// The last event before the first prompt, and before the last one.
    prompts: Restorable<Option<(Seq, Seq)>>,
    last: Last,
}

/// The last prompt, if it does not go on from the last line.
#[derive(Default)]
enum Last {
    /// It goes on from there, or it is decided.
    #[default]
    Decided,
    /// It waits until the next lines show why.
    Waits(HeldPrompt),
    /// It is too large to wait, and was emitted.
    TooLarge,
}

/// What becomes of a prompt when a line shows that the person has gone back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmed {
    /// There was none.
    NoPrompt,
    /// The rewind was emitted, and then the prompt.
    Emitted,
    /// It was too large to wait. A rewind behind it would undo it.
    TooLarge,
}

struct HeldPrompt {
    prompt: DeferredText,
    /// The last event of what it goes on from.
    to: Seq,
}

impl Rewinds {
    /// The event that a prompt goes on from, if it is before the last prompt: then the person may have gone back.
    pub fn target(&self, record: &Record<'_>, lines: &ReadLines) -> Option<Seq> {
        let (first, last) = (*self.prompts)?;
        let to = match text(record.line.parent_uuid()) {
            Some(parent) => lines.last_event(parent)?,
            None => first,
        };
        (to <= last && record.agent.is_none() && !record.replay).then_some(to)
    }

    /// Keeps the prompt of the current record until it is known whether the person has gone back to this event. False if it is too large.
    pub fn hold(&mut self, content: Value<'_>, line: &Line<'_>, to: Seq, out: &Emitter) -> bool {
        let held = DeferredText::new(content, line, out).map(|prompt| HeldPrompt { prompt, to });
        let is_held = held.is_some();
        self.last = held.map_or(Last::TooLarge, Last::Waits);
        is_held
    }

    /// A prompt follows this event.
    pub fn set_prompt(&mut self, before: Seq) {
        let first = self.prompts.map_or(before, |(first, _)| first);
        self.prompts.set(Some((first, before)));
    }

    /// The record is converted.
    pub(super) fn commit(&mut self) {
        self.prompts.commit();
    }

    /// The record is malformed: its prompt is forgotten.
    pub(super) fn roll_back(&mut self) {
        self.prompts.roll_back();
    }

    /// The person has gone back: emits that, and then the prompt.
    pub fn confirm(&mut self, out: &mut Emitter) -> Result<Confirmed, Fault> {
        match mem::take(&mut self.last) {
            Last::Decided => Ok(Confirmed::NoPrompt),
            Last::TooLarge => Ok(Confirmed::TooLarge),
            Last::Waits(held) => {
                out.emit(Meta::Rewind { to: held.to, files: false }, Pointer::Root)?;
                self.emit(&held, out)?;
                Ok(Confirmed::Emitted)
            }
        }
    }

    /// Emits the kept prompt before a line that shows that the person has not gone back. Returns whether there was one.
    #[inline]
    pub fn release_before(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        if matches!(self.last, Last::Decided) || !matches!(record.kind, "user" | "assistant" | "system") {
            return Ok(false);
        }
        self.finish(out)
    }

    /// Emits the kept prompt. Returns whether there was one.
    pub(super) fn finish(&mut self, out: &mut Emitter) -> Result<bool, Fault> {
        let Last::Waits(held) = mem::take(&mut self.last) else { return Ok(false) };
        self.emit(&held, out)?;
        Ok(true)
    }

    fn emit(&mut self, held: &HeldPrompt, out: &mut Emitter) -> Result<(), Fault> {
        self.set_prompt(out.last_seq().unwrap_or_default());
        let mut index = StructuralIndex::default();
        held.prompt.restore_location(out);
        emit_typed(parse(held.prompt.json(), &mut index)?, out)?;
        out.duplicate_was_mapped("user", rule::HELD);
        Ok(())
    }
}

/// Emits a prompt that a person typed: a text, or a list of texts and images. The first text has the images.
fn emit_typed(content: Value<'_>, out: &mut Emitter) -> Result<(), Fault> {
    let mut attachments = images(Some(content));
    let mut emit = |text, pointer: Pointer<'_>| {
        let attachments = mem::take(&mut attachments);
        out.emit(MsgIn { role: Role::User, by: Author::Person, text, attachments }, pointer).map(drop)
    };
    let mut has_text = content.text().is_some();
    if has_text {
        emit(content.text(), Pointer::At(CONTENT))?;
    }
    for (index, block) in content.elements().enumerate() {
        if let Some(text) = text(block.member("text")) {
            has_text = true;
            emit(Some(text), Pointer::Item(CONTENT, index))?;
        }
    }
    if has_text { Ok(()) } else { emit(None, Pointer::At(CONTENT)) }
}
