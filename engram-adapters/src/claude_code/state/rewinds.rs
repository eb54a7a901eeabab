//! Going back to an earlier point (2.1.300 and later). The new prompt comes first in the log, and then the line that shows it.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Author, Meta, MsgIn, Role, Seq};
use engram_core::text::Text;

use super::deferred::DeferredText;
use crate::claude_code::blocks::CONTENT;
use crate::claude_code::omission_rules::rule;
use crate::claude_code::record::Record;
use crate::claude_code::state::read_lines::ReadLines;
use crate::shared::restorable::Restorable;
use crate::shared::value::text;

/// Prompts that may follow a rewind.
#[derive(Default)]
pub struct Rewinds {
    /// The last event before the first prompt, and before the last one.
    prompts: Restorable<Option<(Seq, Seq)>>,
    /// A prompt that does not go on from the last line, until the next lines show why.
    held: Option<HeldPrompt>,
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

    /// Keeps a prompt until it is known whether the person has gone back to this event.
    pub fn hold(&mut self, prompt: DeferredText, to: Seq) {
        self.held = Some(HeldPrompt { prompt, to });
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

    /// The person has gone back: emits that, and then the prompt. Returns whether there was one.
    pub fn confirm(&mut self, out: &mut Emitter) -> Result<bool, Fault> {
        let Some(held) = self.held.take() else { return Ok(false) };
        out.emit(Meta::Rewind { to: held.to, files: false }, Pointer::Root)?;
        self.emit(&held, out)?;
        Ok(true)
    }

    /// Emits the kept prompt before a line that shows that the person has not gone back. Returns whether there was one.
    #[inline]
    pub fn release_before(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        if self.held.is_none() || !matches!(record.kind, "user" | "assistant" | "system") {
            return Ok(false);
        }
        self.finish(out)?;
        Ok(true)
    }

    /// Emits the kept prompt.
    pub(super) fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.held.take().map_or(Ok(()), |held| self.emit(&held, out))
    }

    fn emit(&mut self, held: &HeldPrompt, out: &mut Emitter) -> Result<(), Fault> {
        self.set_prompt(out.last_seq().unwrap_or_default());
        let text: Text<'_> = held.prompt.restore_location(out);
        out.emit(MsgIn { role: Role::User, by: Author::Person, text: Some(text), attachments: Vec::new() }, Pointer::At(CONTENT))?;
        out.duplicate_was_mapped("user", rule::HELD);
        Ok(())
    }
}
