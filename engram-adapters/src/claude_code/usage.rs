//! Tokens of a message: said once, though every line of the message repeats them.
//!
//! The lines of one message come as its blocks are complete. Only the last of them has the final count (1.0.10 to 2.1.90),
//! and up to 2.0.69 none may have a `stop_reason`. So the count is said at the line that has the stop reason, else when
//! the next message begins, placed at the last line that stated it.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault, RecordHeader, RecordLocation};
use engram_core::event::{Meta, Number, Tokens, Usage as UsageEvent};
use engram_core::text::Text;

use super::record::Record;
use super::schema::Usage;
use crate::shared::seen_set::SeenSet;
use crate::shared::value::{Field, number, text};

/// The most messages whose count is held back: as many agents may write into one file at a time.
const MAX_OPEN: usize = 64;

/// Tokens as the source spells them: input, output, read from a cache, written to one.
type Counts<T> = [Option<T>; 4];

/// A count that may not be the final one, and where it stands.
#[derive(Default)]
struct Open {
    message: u64,
    location: RecordLocation,
    time: Option<String>,
    id: Option<String>,
    session: Option<String>,
    agent: Option<String>,
    replay: bool,
    within: Pointer<'static>,
    model: Option<String>,
    counts: Counts<String>,
}

/// Counts said and held back.
#[derive(Default)]
pub(super) struct Usages {
    /// The counts that are held back, the oldest first.
    open: Vec<Open>,
    /// Some that were said: their room is used again.
    spare: Vec<Open>,
    said: SeenSet,
}

impl Usages {
    /// Says the counts of the same agent's earlier messages. True when it said any.
    pub fn flush(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        if self.open.is_empty() || record.kind != "assistant" { Ok(false) } else { self.say_over(record, out) }
    }

    #[inline(never)]
    fn say_over(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        let is_over = |open: &Open| open.agent.as_deref() == record.agent.as_deref() && Some(open.message) != record.message_key;
        let held = self.open.len();
        while let Some(at) = self.open.iter().position(is_over) {
            self.open[at].say(&mut self.said, out)?;
            self.release(at);
        }
        Ok(self.open.len() < held)
    }

    /// Says the counts of messages that no other message followed.
    pub fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.open.drain(..).try_for_each(|open| open.say(&mut self.said, out))
    }

    fn hold(&mut self, record: &Record<'_>, message: u64, counts: Counts<Number<'_>>, location: RecordLocation) {
        let mut open = self.spare.pop().unwrap_or_default();
        open.note(record, message, counts, location);
        self.open.push(open);
    }

    fn release(&mut self, at: usize) {
        self.spare.push(self.open.remove(at));
    }

    /// Takes the count that the line states.
    #[inline(never)]
    pub fn state(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let (line, message) = (&record.line, &record.message);
        let (Some(usage), Some(id)) = (message.usage(), record.message_key) else { return Ok(()) };
        let is_final = message.stop_reason().is_some() || line.cost_usd().is_some();
        let said = if is_final { !self.said.insert(id) } else { self.said.contains(id) };
        if said {
            return Ok(());
        }
        let usage = Usage::lenient(usage);
        let counts = [number(usage.input()), number(usage.output()), number(usage.cache_read()), number(usage.cache_write())];
        let earlier = self.open.iter().position(|open| open.message == id);
        if let Some(at) = earlier {
            self.release(at);
        }
        if !is_final && (earlier.is_some() || self.open.len() < MAX_OPEN) {
            self.hold(record, id, counts, out.location());
            return Ok(());
        }
        emit(text(message.model()), counts, number(line.cost_usd()), out)
    }
}

impl Open {
    /// What the record states, kept until it is known to be final.
    #[inline(never)]
    fn note(&mut self, record: &Record<'_>, message: u64, counts: Counts<Number<'_>>, location: RecordLocation) {
        (self.message, self.location, self.replay, self.within) = (message, location, record.replay, record.within);
        put(&mut self.time, record.time.as_deref());
        put(&mut self.id, spelled(record.line.uuid()));
        put(&mut self.session, record.session().as_deref());
        put(&mut self.agent, record.agent.as_deref());
        put(&mut self.model, spelled(record.message.model()));
        for (slot, count) in self.counts.iter_mut().zip(&counts) {
            put(slot, count.as_ref().map(|count| count.as_str()));
        }
    }

    fn say(&self, said: &mut SeenSet, out: &mut Emitter) -> Result<(), Fault> {
        out.set_source(self.session.as_deref(), self.agent.as_deref());
        out.attribute_to(
            self.location,
            RecordHeader { t: self.time.as_deref(), id: self.id.as_deref().map(Text::Token), replay: self.replay },
        );
        out.set_pointer_prefix(self.within);
        said.insert(self.message);
        let counts = self.counts.each_ref().map(|count| Number::of_str(count.as_deref()?));
        emit(self.model.as_deref().map(Text::Token), counts, None, out)
    }
}

/// A text as the source spells it.
fn spelled(field: Field<'_>) -> Option<&str> {
    text(field).map(|text| text.raw())
}

/// Puts a text in the place of another, into its room.
fn put(slot: &mut Option<String>, text: Option<&str>) {
    match (slot.as_mut(), text) {
        (Some(slot), Some(text)) => text.clone_into(slot),
        _ => *slot = text.map(str::to_owned),
    }
}

#[inline(never)]
fn emit(model: Option<Text<'_>>, counts: Counts<Number<'_>>, cost_usd: Option<Number<'_>>, out: &mut Emitter) -> Result<(), Fault> {
    let [input, output, cache_read, cache_write] = counts;
    let tokens = Tokens { input, output, cache_read, cache_write, ..Tokens::default() };
    out.emit(Meta::Usage(UsageEvent { model, tokens, cost_usd }), Pointer::At("/message/usage"))?;
    Ok(())
}
