//! Prompts that were queued: said when they reach the conversation, or at the end if they never did.

use engram_core::emit::{Emitter, Fault};
use engram_core::event::{MsgIn, Role};
use engram_core::ledger::Outcome;
use engram_core::render::Pointer;
use engram_core::text::Text;

use super::convert::{Converter, Late, Record};
use super::descriptor::{Omitted, rule};
use super::messages::is_harness_text;
use crate::kit::correlate::key;
use crate::kit::value::{filled_text, word};

/// The most prompts that are held. Older ones count as said.
const MAX_QUEUED: usize = 1024;

/// A prompt that has not reached the conversation yet.
struct Queued {
    key: u64,
    prompt: Late,
}

/// The prompts that have not reached the conversation yet, oldest first.
#[derive(Default)]
pub(super) struct Queue {
    waiting: Vec<Queued>,
}

impl Queue {
    /// The conversation says this text: it waits no longer.
    pub fn arrived(&mut self, said: Text<'_>) {
        if self.waiting.is_empty() {
            return;
        }
        let key = key(said.decode_lossy());
        if let Some(at) = self.waiting.iter().position(|queued| queued.key == key) {
            self.waiting.remove(at);
        }
    }

    /// Says what never reached the conversation: the session ended first.
    pub fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        for queued in self.waiting.drain(..) {
            let said = queued.prompt.take_place(out);
            let synthetic = is_harness_text(said);
            out.emit(MsgIn { role: Role::User, text: Some(said), synthetic, attachments: Vec::new() }, Pointer::At("/content"))?;
            out.duplicate_was_mapped("queue-operation/enqueue", rule::QUEUED);
        }
        Ok(())
    }
}

impl Converter {
    /// `queue-operation` (2.0.30 and later): a prompt waits, goes on, or is taken back.
    pub fn queue_operation(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let line = &record.line;
        match word(line.operation()) {
            "enqueue" => {}
            "dequeue" => {
                self.history.queued(record.time.as_deref(), record.session().as_deref());
                return Ok(Omitted { record: "queue-operation/dequeue", rule: rule::QUEUE_STATE }.bookkeeping());
            }
            "remove" => return Ok(Omitted { record: "queue-operation/remove", rule: rule::QUEUED }.duplicate()),
            "popAll" => return Ok(Omitted { record: "queue-operation/popAll", rule: rule::TAKEN_BACK }.duplicate()),
            other => return Err(Fault::unrecognized(&format!("queue-operation/{other}"))),
        }
        self.history.queued(record.time.as_deref(), record.session().as_deref());
        let (Some(said), Some(prompt)) = (filled_text(line.content()), line.content()) else {
            return Ok(Omitted { record: "queue-operation/enqueue", rule: rule::QUEUE_STATE }.bookkeeping());
        };
        if self.queue.waiting.len() == MAX_QUEUED {
            self.queue.waiting.remove(0);
        }
        self.queue.waiting.push(Queued { key: key(said.decode_lossy()), prompt: Late::of(prompt, line, out.line()) });
        Ok(Omitted { record: "queue-operation/enqueue", rule: rule::QUEUED }.duplicate())
    }
}
