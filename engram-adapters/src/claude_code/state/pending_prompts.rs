//! Queued prompts: emitted as part of the conversation, or at the end if they never reach it.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{MsgIn, Role};
use engram_core::text::Text;

use super::deferred::{DeferredText, MAX_DEFERRED_BYTES};
use crate::claude_code::blocks::{author, is_harness_text};
use crate::claude_code::omission_rules::rule;
use engram_core::keys::hash64;

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

    /// Defers a prompt of the current record; emits it now if the buffer is full. Returns whether it was deferred.
    pub fn defer(&mut self, text: Text<'_>, prompt: DeferredText, out: &mut Emitter) -> Result<bool, Fault> {
        let bytes = self.bytes + prompt.bytes();
        let fits = bytes <= MAX_DEFERRED_BYTES;
        if fits {
            self.bytes = bytes;
            self.pending.push(QueuedPrompt { key: hash64(text.decode_lossy()), prompt });
        } else {
            emit_prompt(text, out)?;
        }
        Ok(fits)
    }

    /// Emits the prompts that never reached the conversation.
    pub(super) fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        for queued in self.pending.drain(..) {
            emit_prompt(queued.prompt.restore_location(out), out)?;
            out.duplicate_was_mapped("queue-operation/enqueue", rule::QUEUED);
        }
        Ok(())
    }
}

fn emit_prompt(text: Text<'_>, out: &mut Emitter) -> Result<(), Fault> {
    let by = author(is_harness_text(text));
    out.emit(MsgIn { role: Role::User, by, text: Some(text), attachments: Vec::new() }, Pointer::At("/content"))?;
    Ok(())
}
