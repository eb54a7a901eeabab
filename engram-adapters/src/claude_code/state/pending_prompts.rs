//! Queued prompts: emitted as part of the conversation, where they were delivered, or at the end if they never reach it.

use engram_core::emit::{Emitter, Fault};
use engram_core::event::Author;
use engram_core::text::Text;

use super::deferred::DeferredText;
use crate::claude_code::blocks::{emit_prompt, prompt_texts};
use crate::claude_code::omission_rules::rule;
use crate::claude_code::record::Record;
use crate::claude_code::schema::Line;
use crate::shared::value::{Field, StructuralIndex, Value, parse, raw_str};
use engram_core::keys::hash64;

/// The limit of prompts that wait. Further prompts are emitted at once.
const MAX_PENDING: usize = 4096;

/// The command that begins a new session.
const CLEAR: &str = "/clear";

/// Where a line of the queue has its prompt.
const CONTENT: &str = "/content";

/// The operation by which the next prompt is sent.
const DEQUEUE: &str = "dequeue";

/// Commands that the harness logs under another name.
const ALIASES: &[(&str, &str)] = &[("/cost", "/usage"), ("/stats", "/usage")];

/// Queued prompts that have not reached the conversation, oldest first.
#[derive(Default)]
pub struct PendingPrompts {
    pending: Vec<QueuedPrompt>,
}

struct QueuedPrompt {
    /// Hash of the first text, decoded; of the list if there is no text in it.
    key: u64,
    by: Author,
    /// The log shows that it left the queue: it comes before the next answer.
    is_delivered: bool,
    /// When it was sent as the next prompt; empty if the log does not state it.
    sent_at: Option<String>,
    /// The log has lines that were written after it was sent.
    is_passed: bool,
    /// `None` if there was no room for it, so that it was emitted at once.
    prompt: Option<DeferredText>,
}

impl PendingPrompts {
    /// The prompt with this text has reached the conversation.
    pub fn remove(&mut self, text: Text<'_>) {
        if self.pending.is_empty() {
            return;
        }
        self.remove_key(hash64(text.comparable()));
    }

    /// This prompt, which may have several texts, or images alone, has reached the conversation.
    pub fn remove_prompt(&mut self, prompt: Value<'_>) {
        if self.pending.is_empty() {
            return;
        }
        prompt_texts(prompt).for_each(|text| self.remove(text));
        self.remove_key(hash64(prompt.raw()));
    }

    fn remove_key(&mut self, key: u64) {
        if let Some(at) = self.pending.iter().position(|queued| queued.key == key) {
            self.pending.remove(at);
        }
    }

    /// The next prompt was sent at this time.
    pub fn send(&mut self, time: Option<&str>) {
        if let Some(queued) = self.pending.iter_mut().find(|queued| queued.sent_at.is_none()) {
            queued.sent_at = Some(time.unwrap_or_default().to_owned());
        }
    }

    /// The command that was sent and that the harness logs under this other name.
    pub fn take_alias(&mut self, logged: &str) -> Option<&'static str> {
        let (alias, _) = ALIASES.iter().find(|(_, name)| *name == logged)?;
        let key = hash64(alias);
        let at = self.pending.iter().position(|queued| queued.key == key && queued.sent_at.is_some())?;
        self.pending.remove(at);
        Some(alias)
    }

    /// True if a prompt with this text waits.
    pub fn has(&self, text: &str) -> bool {
        !self.pending.is_empty() && self.pending.iter().any(|queued| queued.key == hash64(text))
    }

    /// A prompt left the queue: this one, else the only one.
    pub fn deliver(&mut self, prompt: Field<'_>) {
        let found = match prompt {
            Some(prompt) => {
                let key = key_of(prompt);
                self.pending.iter_mut().find(|queued| queued.key == key && !queued.is_delivered)
            }
            None if self.pending.len() == 1 => self.pending.first_mut(),
            None => None,
        };
        if let Some(queued) = found {
            queued.is_delivered = true;
        }
    }

    /// Emits the prompts that no record has repeated: those that were delivered before this answer, and those whose turn is over because the
    /// next prompt is sent. Returns whether there were any.
    #[inline]
    pub fn release_before(&mut self, record: &Record<'_>, has_attachments: bool, out: &mut Emitter) -> Result<bool, Fault> {
        if self.pending.is_empty() || record.agent.is_some() {
            return Ok(false);
        }
        match record.kind {
            "assistant" => self.release(|queued| queued.is_delivered, out),
            "user" => {
                self.pass(record.time.as_deref());
                Ok(false)
            }
            "queue-operation" if raw_str(record.line.operation()) == DEQUEUE => {
                self.release(|queued| queued.is_passed && !queued.is_elsewhere(has_attachments), out)
            }
            _ => Ok(false),
        }
    }

    /// The log has a line of this time. Lines of the turn before may come after a prompt was sent.
    fn pass(&mut self, time: Option<&str>) {
        let is_later = |sent: &str| !sent.is_empty() && time.is_some_and(|time| time >= sent);
        for queued in &mut self.pending {
            queued.is_passed |= queued.sent_at.as_deref().is_some_and(is_later);
        }
    }

    #[inline(never)]
    fn release(&mut self, is_due: impl Fn(&QueuedPrompt) -> bool, out: &mut Emitter) -> Result<bool, Fault> {
        let mut is_any = false;
        while let Some(at) = self.pending.iter().position(&is_due) {
            let queued = self.pending.remove(at);
            queued.emit(out)?;
            is_any |= queued.prompt.is_some();
        }
        Ok(is_any)
    }

    /// Defers a prompt of the current record; emits it now if there is no room for it. Returns whether it was deferred.
    pub fn defer(&mut self, content: Value<'_>, by: Author, line: &Line<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        let has_room = self.pending.len() < MAX_PENDING;
        let prompt = has_room.then(|| DeferredText::new(content, line, out)).flatten();
        let fits = prompt.is_some();
        if !fits {
            emit_prompt(content, |_| by, CONTENT, out)?;
        }
        if has_room {
            self.pending.push(QueuedPrompt { key: key_of(content), by, is_delivered: false, sent_at: None, is_passed: false, prompt });
        }
        Ok(fits)
    }

    /// Removes the prompt with this text if it was emitted when it entered the queue. Returns whether there was one.
    pub fn take_emitted(&mut self, text: Text<'_>) -> bool {
        if self.pending.iter().all(|queued| queued.prompt.is_some()) {
            return false;
        }
        let key = hash64(text.comparable());
        let first = self.pending.iter().position(|queued| queued.key == key);
        first.filter(|at| self.pending[*at].prompt.is_none()).map(|at| self.pending.remove(at)).is_some()
    }

    /// Emits the prompts that never reached the conversation.
    pub(super) fn finish(&mut self, has_attachments: bool, out: &mut Emitter) -> Result<(), Fault> {
        self.pending.drain(..).filter(|queued| !queued.is_elsewhere(has_attachments)).try_for_each(|queued| queued.emit(out))
    }
}

impl QueuedPrompt {
    /// Where logs have attachments (2.1.100 and later), `/clear` is a record of the session that it begins.
    fn is_elsewhere(&self, has_attachments: bool) -> bool {
        has_attachments && self.key == hash64(CLEAR)
    }

    fn emit(&self, out: &mut Emitter) -> Result<(), Fault> {
        let Some(prompt) = &self.prompt else { return Ok(()) };
        let mut index = StructuralIndex::default();
        let prompt = prompt.restore_location(out);
        emit_prompt(parse(prompt.raw(), &mut index)?, |_| self.by, CONTENT, out)?;
        out.duplicate_was_mapped("queue-operation/enqueue", rule::QUEUED);
        Ok(())
    }
}

fn key_of(prompt: Value<'_>) -> u64 {
    prompt_texts(prompt).next().map_or_else(|| hash64(prompt.raw()), |text| hash64(text.comparable()))
}
