//! Tokens of a message: said once, though every line of the message repeats them.
//!
//! The lines of one message come as its blocks are complete. Only the last of them has the final count (1.0.10 to 2.1.90),
//! and up to 2.0.69 none may have a `stop_reason`. So the count is said at the line that has the stop reason, else when
//! the next message begins, placed at the last line that stated it.

use std::borrow::Cow;

use engram_core::emit::{Emitter, Fault, Stamp};
use engram_core::event::{Meta, Number, Tokens, Usage as UsageEvent};
use engram_core::render::Pointer;
use engram_core::text::Text;

use super::convert::Record;
use super::schema::Usage;
use crate::kit::correlate::Said;
use crate::kit::value::{Field, number, text};

/// The most messages whose count is held back: as many agents may write into one file at a time.
const MAX_OPEN: usize = 64;

/// Tokens as the source spells them: input, output, read from a cache, written to one.
type Counts<T> = [Option<T>; 4];

/// A count that may not be the final one.
struct Open {
    message: u64,
    line: u64,
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
    open: Vec<Open>,
    said: Said,
}

impl Usages {
    /// Says the counts of the same agent's earlier messages. True when it said any.
    pub fn flush(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        if self.open.is_empty() || record.kind != "assistant" { Ok(false) } else { self.say_over(record, out) }
    }

    #[inline(never)]
    fn say_over(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        let is_over = |open: &mut Open| open.agent.as_deref() == record.agent.as_deref() && Some(open.message) != record.message_key;
        let over: Vec<Open> = self.open.extract_if(.., is_over).collect();
        for open in &over {
            self.say(open, out)?;
        }
        Ok(!over.is_empty())
    }

    /// Says the counts of messages that no other message followed.
    pub fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        for open in std::mem::take(&mut self.open) {
            self.say(&open, out)?;
        }
        Ok(())
    }

    fn say(&mut self, open: &Open, out: &mut Emitter) -> Result<(), Fault> {
        out.source(open.session.as_deref(), open.agent.as_deref());
        out.restamp(open.line, Stamp { t: open.time.as_deref(), id: open.id.as_deref().map(Text::Token), replay: open.replay });
        out.within(open.within);
        self.said.first(open.message);
        let counts = open.counts.each_ref().map(|count| Number::of_str(count.as_deref()?));
        emit(open.model.as_deref().map(Text::Token), counts, None, out)
    }

    /// Takes the count that the line states.
    #[inline(never)]
    pub fn state(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let (line, message) = (&record.line, &record.message);
        let (Some(usage), Some(id)) = (message.usage(), record.message_key) else { return Ok(()) };
        let is_final = message.stop_reason().is_some() || line.cost_usd().is_some();
        let said = if is_final { !self.said.first(id) } else { self.said.contains(id) };
        if said {
            return Ok(());
        }
        let usage = Usage::of(usage);
        let counts = [number(usage.input()), number(usage.output()), number(usage.cache_read()), number(usage.cache_write())];
        let earlier = self.open.iter().position(|open| open.message == id);
        if let Some(at) = earlier {
            self.open.remove(at);
        }
        if !is_final && (earlier.is_some() || self.open.len() < MAX_OPEN) {
            self.open.push(Open::of(record, id, counts, out.line()));
            return Ok(());
        }
        emit(text(message.model()), counts, number(line.cost_usd()), out)
    }
}

impl Open {
    /// What the record states, kept until it is known to be final.
    #[inline(never)]
    fn of(record: &Record<'_>, message: u64, counts: Counts<Number<'_>>, line: u64) -> Open {
        let owned = |raw: Field<'_>| text(raw).and(raw).map(|raw| raw.raw().to_owned());
        Open {
            message,
            line,
            time: record.time.as_deref().map(str::to_owned),
            id: owned(record.line.uuid()),
            session: record.session().map(Cow::into_owned),
            agent: record.agent.as_deref().map(str::to_owned),
            replay: record.replay,
            within: record.within,
            model: owned(record.message.model()),
            counts: counts.map(|count| count.map(|count| count.as_str().to_owned())),
        }
    }
}

#[inline(never)]
fn emit(model: Option<Text<'_>>, counts: Counts<Number<'_>>, cost_usd: Option<Number<'_>>, out: &mut Emitter) -> Result<(), Fault> {
    let [input, output, cache_read, cache_write] = counts;
    let tokens = Tokens { input, output, cache_read, cache_write, ..Tokens::default() };
    out.emit(Meta::Usage(UsageEvent { model, tokens, cost_usd }), Pointer::At("/message/usage"))?;
    Ok(())
}
