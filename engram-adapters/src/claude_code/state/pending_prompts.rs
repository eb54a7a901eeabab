//! Queued prompts: emitted as part of the conversation, where they were delivered, or at the end if they never reach it.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Author, MsgIn, Role};
use engram_core::text::Text;

use super::deferred::{DeferredText, MAX_DEFERRED_BYTES};
use crate::claude_code::omission_rules::rule;
use crate::claude_code::record::Record;
use engram_core::keys::hash64;

/// The command that begins a new session.
const CLEAR: &str = "/clear";

/// Commands that the harness logs under another name.
const ALIASES: &[(&str, &str)] = &[("/cost", "/usage"), ("/stats", "/usage")];

/// Queued prompts that have not reached the conversation, oldest first.
#[derive(Default)]
pub struct PendingPrompts {
    pending: Vec<QueuedPrompt>,
    /// The memory that they take.
    bytes: usize,
}

struct QueuedPrompt {
    /// Hash of the decoded text.
    key: u64,
    by: Author,
    /// The log shows that it left the queue: it comes before the next answer.
    is_delivered: bool,
    /// It was sent as the next prompt.
    is_sent: bool,
    prompt: DeferredText,
}

impl PendingPrompts {
    /// The prompt with this text has reached the conversation.
    pub fn remove(&mut self, text: Text<'_>) {
        if self.pending.is_empty() {
            return;
        }
        let key = hash64(text.decode_lossy());
        if let Some(at) = self.pending.iter().position(|queued| queued.key == key) {
            self.bytes -= self.pending.remove(at).prompt.bytes();
        }
    }

    /// The next prompt was sent.
    pub fn send(&mut self) {
        if let Some(queued) = self.pending.iter_mut().find(|queued| !queued.is_sent) {
            queued.is_sent = true;
        }
    }

    /// The command that was sent and that the harness logs under this other name.
    pub fn take_alias(&mut self, logged: &str) -> Option<&'static str> {
        let (alias, _) = ALIASES.iter().find(|(_, name)| *name == logged)?;
        let key = hash64(alias);
        let at = self.pending.iter().position(|queued| queued.key == key && queued.is_sent)?;
        self.bytes -= self.pending.remove(at).prompt.bytes();
        Some(alias)
    }

    /// True if a prompt with this text waits.
    pub fn has(&self, text: &str) -> bool {
        !self.pending.is_empty() && self.pending.iter().any(|queued| queued.key == hash64(text))
    }

    /// A prompt left the queue: the one with this text, else the only one.
    pub fn deliver(&mut self, text: Option<Text<'_>>) {
        let found = match text {
            Some(text) => {
                let key = hash64(text.decode_lossy());
                self.pending.iter_mut().find(|queued| queued.key == key && !queued.is_delivered)
            }
            None if self.pending.len() == 1 => self.pending.first_mut(),
            None => None,
        };
        if let Some(queued) = found {
            queued.is_delivered = true;
        }
    }

    /// Emits the prompts that were delivered before this answer, and that no record has repeated. Returns whether there were any.
    #[inline]
    pub fn release_before(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        if self.pending.is_empty() || record.kind != "assistant" || record.agent.is_some() {
            return Ok(false);
        }
        self.release_delivered(out)
    }

    #[inline(never)]
    fn release_delivered(&mut self, out: &mut Emitter) -> Result<bool, Fault> {
        let mut is_any = false;
        while let Some(at) = self.pending.iter().position(|queued| queued.is_delivered) {
            let queued = self.pending.remove(at);
            self.bytes -= queued.prompt.bytes();
            queued.emit(out)?;
            is_any = true;
        }
        Ok(is_any)
    }

    /// Defers a prompt of the current record; emits it now if the buffer is full. Returns whether it was deferred.
    pub fn defer(&mut self, text: Text<'_>, by: Author, prompt: DeferredText, out: &mut Emitter) -> Result<bool, Fault> {
        let bytes = self.bytes + prompt.bytes();
        let fits = bytes <= MAX_DEFERRED_BYTES;
        if fits {
            self.bytes = bytes;
            self.pending.push(QueuedPrompt { key: hash64(text.decode_lossy()), by, is_delivered: false, is_sent: false, prompt });
        } else {
            emit_prompt(text, by, out)?;
        }
        Ok(fits)
    }

    /// Emits the prompts that never reached the conversation. Where logs have attachments (2.1.100 and later), `/clear` is a record of
    /// the session that it begins.
    pub(super) fn finish(&mut self, has_attachments: bool, out: &mut Emitter) -> Result<(), Fault> {
        let clear = hash64(CLEAR);
        let is_elsewhere = |queued: &QueuedPrompt| has_attachments && queued.key == clear;
        self.pending.drain(..).filter(|queued| !is_elsewhere(queued)).try_for_each(|queued| queued.emit(out))
    }
}

impl QueuedPrompt {
    fn emit(&self, out: &mut Emitter) -> Result<(), Fault> {
        emit_prompt(self.prompt.restore_location(out), self.by, out)?;
        out.duplicate_was_mapped("queue-operation/enqueue", rule::QUEUED);
        Ok(())
    }
}

fn emit_prompt(text: Text<'_>, by: Author, out: &mut Emitter) -> Result<(), Fault> {
    out.emit(MsgIn { role: Role::User, by, text: Some(text), attachments: Vec::new() }, Pointer::At("/content"))?;
    Ok(())
}
