//! Prompts that were queued: said when they reach the conversation, or at the end if they never did.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{MsgIn, Role};
use engram_core::text::Text;

use super::blocks::is_harness_text;
use super::descriptor::rule;
use super::record::{Late, MAX_WAITING_BYTES};
use engram_core::keys::hash64;

/// A prompt that has not reached the conversation yet.
struct Queued {
    key: u64,
    prompt: Late,
}

/// The prompts that have not reached the conversation yet, oldest first.
#[derive(Default)]
pub(super) struct Queue {
    waiting: Vec<Queued>,
    /// What they take.
    bytes: usize,
}

impl Queue {
    /// The conversation says this text: it waits no longer.
    pub fn arrived(&mut self, said: Text<'_>) {
        if self.waiting.is_empty() {
            return;
        }
        let key = hash64(said.decode_lossy());
        if let Some(at) = self.waiting.iter().position(|queued| queued.key == key) {
            self.bytes -= self.waiting.remove(at).prompt.bytes();
        }
    }

    /// A prompt of the record at hand waits, or is said where too many do. True if it waits.
    pub fn hold(&mut self, said: Text<'_>, prompt: Late, out: &mut Emitter) -> Result<bool, Fault> {
        let bytes = self.bytes + prompt.bytes();
        let waits = bytes <= MAX_WAITING_BYTES;
        if waits {
            self.bytes = bytes;
            self.waiting.push(Queued { key: hash64(said.decode_lossy()), prompt });
        } else {
            say(said, out)?;
        }
        Ok(waits)
    }

    /// Says what never reached the conversation: the session ended first.
    pub fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        for queued in self.waiting.drain(..) {
            say(queued.prompt.take_place(out), out)?;
            out.duplicate_was_mapped("queue-operation/enqueue", rule::QUEUED);
        }
        Ok(())
    }
}

fn say(said: Text<'_>, out: &mut Emitter) -> Result<(), Fault> {
    let synthetic = is_harness_text(said);
    out.emit(MsgIn { role: Role::User, text: Some(said), synthetic, attachments: Vec::new() }, Pointer::At("/content"))?;
    Ok(())
}
