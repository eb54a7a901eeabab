//! Token counts of messages, which every line of a message repeats, and which are emitted once.
//!
//! A message is logged block by block. Only its last line has the final count (1.0.10 to 2.1.90), and up to 2.0.69 no line may have
//! a `stop_reason`. So the count is emitted at the line with the stop reason; if there is none, when the next message begins,
//! attributed to the last line that stated it.

use engram_core::emit::{Emitter, Fault, Pointer, RecordHeader, RecordLocation};
use engram_core::event::{Meta, Number, Tokens, Usage as UsageEvent};
use engram_core::text::Text;

use crate::claude_code::record::Record;
use crate::claude_code::schema::Usage;
use crate::shared::seen_set::SeenSet;
use crate::shared::value::{Field, count, number, text};

/// The limit of messages with a pending count. It is also the limit of sub-agents that write into one file at a time.
const MAX_PENDING: usize = 64;

/// Token counts: input, output, read from the cache, written to the cache.
type Counts = [Option<u64>; 4];

/// A count that may not be final, and what its event needs of its line.
#[derive(Default)]
struct PendingCount {
    message: u64,
    location: RecordLocation,
    time: Option<String>,
    id: Option<String>,
    session: Option<String>,
    agent: Option<String>,
    replay: bool,
    prefix: Pointer<'static>,
    model: Option<String>,
    counts: Counts,
}

/// Counts that may not be final.
#[derive(Default)]
pub struct PendingUsage {
    /// Oldest first.
    pending: Vec<PendingCount>,
    /// Emitted counts, whose memory is reused.
    spare: Vec<PendingCount>,
    /// The messages whose counts were emitted.
    emitted: SeenSet,
}

impl PendingUsage {
    /// Emits the counts of earlier messages of the record's agent. Returns whether it emitted any.
    pub fn flush_before(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        if self.pending.is_empty() || record.kind != "assistant" { Ok(false) } else { self.flush_finished(record, out) }
    }

    #[inline(never)]
    fn flush_finished(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        let is_finished =
            |count: &PendingCount| count.agent.as_deref() == record.agent.as_deref() && Some(count.message) != record.message_key;
        let before = self.pending.len();
        while let Some(at) = self.pending.iter().position(is_finished) {
            self.pending[at].emit(&mut self.emitted, out)?;
            self.release(at);
        }
        // These events are attributed to earlier lines, and stay even if the record is malformed.
        self.emitted.commit();
        Ok(self.pending.len() < before)
    }

    /// The record is converted: its count stays.
    pub(super) fn commit(&mut self) {
        self.emitted.commit();
    }

    /// The record is malformed: its count is not emitted.
    pub(super) fn roll_back(&mut self) {
        self.emitted.roll_back();
    }

    /// Emits all pending counts.
    pub(super) fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.pending.drain(..).try_for_each(|count| count.emit(&mut self.emitted, out))
    }

    /// Takes the count that the record states: emits it if it is final, else keeps it.
    #[inline(never)]
    pub fn update(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let (line, message) = (&record.line, &record.message);
        let (Some(usage), Some(id)) = (message.usage(), record.message_key) else { return Ok(()) };
        let is_final = message.stop_reason().is_some() || line.cost_usd().is_some();
        let was_emitted = if is_final { !self.emitted.insert(id) } else { self.emitted.contains(id) };
        if was_emitted {
            return Ok(());
        }
        let usage = Usage::lenient(usage);
        let counts = [count(usage.input()), count(usage.output()), count(usage.cache_read()), count(usage.cache_write())];
        let earlier = self.pending.iter().position(|count| count.message == id);
        if let Some(at) = earlier {
            self.release(at);
        }
        if !is_final && (earlier.is_some() || self.pending.len() < MAX_PENDING) {
            let mut count = self.spare.pop().unwrap_or_default();
            count.fill(record, id, counts, out.location());
            self.pending.push(count);
            return Ok(());
        }
        emit_usage(text(message.model()), counts, number(line.cost_usd()), out)
    }

    fn release(&mut self, at: usize) {
        self.spare.push(self.pending.remove(at));
    }
}

impl PendingCount {
    /// Takes over what the record states.
    #[inline(never)]
    fn fill(&mut self, record: &Record<'_>, message: u64, counts: Counts, location: RecordLocation) {
        (self.message, self.location, self.replay, self.prefix) = (message, location, record.replay, record.prefix);
        set(&mut self.time, record.time.as_deref());
        set(&mut self.id, raw(record.line.uuid()));
        set(&mut self.session, record.session_id().as_deref());
        set(&mut self.agent, record.agent.as_deref());
        set(&mut self.model, raw(record.message.model()));
        self.counts = counts;
    }

    fn emit(&self, emitted: &mut SeenSet, out: &mut Emitter) -> Result<(), Fault> {
        out.set_source(self.session.as_deref(), self.agent.as_deref());
        out.attribute_to(
            self.location,
            RecordHeader { t: self.time.as_deref(), id: self.id.as_deref().map(Text::Token), replay: self.replay },
        );
        out.set_pointer_prefix(self.prefix);
        emitted.insert(self.message);
        emit_usage(self.model.as_deref().map(Text::Token), self.counts, None, out)
    }
}

/// The raw JSON of a string.
fn raw(field: Field<'_>) -> Option<&str> {
    text(field).map(|text| text.raw())
}

/// Replaces a text and reuses its memory.
fn set(slot: &mut Option<String>, text: Option<&str>) {
    match (slot.as_mut(), text) {
        (Some(slot), Some(text)) => text.clone_into(slot),
        _ => *slot = text.map(str::to_owned),
    }
}

#[inline(never)]
fn emit_usage(model: Option<Text<'_>>, counts: Counts, cost_usd: Option<Number<'_>>, out: &mut Emitter) -> Result<(), Fault> {
    let [input, output, cache_read, cache_write] = counts;
    let tokens = Tokens { input, output, cache_read, cache_write, ..Tokens::default() };
    out.emit(Meta::Usage(UsageEvent { model, tokens, cost_usd, ..UsageEvent::default() }), Pointer::At("/message/usage"))?;
    Ok(())
}
