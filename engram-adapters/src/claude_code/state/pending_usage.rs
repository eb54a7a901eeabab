//! Token counts of responses, which every line of a message repeats, and which are emitted once, after the last line of the message.
//!
//! A message is logged block by block. Up to 2.1.90 only its last line has the final count, and up to 2.0.69 no line may have a
//! `stop_reason`. So the count waits for a record that shows that the message is complete, and is attributed to the last line that
//! stated it.

use std::collections::VecDeque;

use engram_core::emit::{Emitter, Fault, Pointer, RecordHeader, RecordLocation};
use engram_core::event::{Meta, Number, Tokens, Usage as UsageEvent};
use engram_core::text::Text;

use super::open_response::OpenResponse;
use super::waiting_lines::Next;
use crate::claude_code::record::Record;
use crate::claude_code::revisions::Dialect;
use crate::claude_code::schema::Usage;
use crate::shared::seen_set::SeenSet;
use crate::shared::value::{Field, amount, count, text};

/// The limit of messages with a pending count. It is also the limit of sub-agents that write into one file at a time.
const MAX_PENDING: usize = 64;

/// The limit of counts that were emitted before the end of their response was known.
const MAX_EARLY: usize = 64;

/// The last line of a printed run.
const RESULT: &str = "result";

/// Distinguishes a message with its request from a message.
const REQUEST: &str = "request";

/// The most output tokens that are counted when a response begins.
const MAX_FIRST_OUTPUT: u64 = 1;

/// A count that waits, and what its event needs of its line. Strings are raw JSON, except the agent, the session and the time.
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
    message_id: Option<String>,
    request_id: Option<String>,
    stop_reason: Option<String>,
    service_tier: Option<String>,
    cost_usd: Option<String>,
    tokens: Tokens,
    /// With those that were emitted early.
    stated: Tokens,
    provisional: bool,
    /// A line that is not converted yet has another part of the response.
    goes_on: bool,
}

impl EarlyCount {
    fn is_of(&self, message: u64, request: Option<&str>) -> bool {
        self.message == message && self.request.as_deref() == request
    }
}

/// Counts that wait. At most one is of a response about which nothing is decided: the last one.
#[derive(Default)]
pub struct PendingUsage {
    /// Oldest first.
    pending: Vec<PendingCount>,
    /// Emitted counts, whose memory is reused.
    spare: Vec<PendingCount>,
    /// The messages whose counts were emitted, alone and with their requests.
    emitted: SeenSet,
    /// The counts that were emitted before the end of their response was known, newest first.
    early: VecDeque<EarlyCount>,
}

/// A count that was emitted, of a response that may go on.
struct EarlyCount {
    message: u64,
    request: Option<String>,
    tokens: Tokens,
}

impl PendingUsage {
    /// Emits the counts of the record's agent that the record shows to be complete. Returns whether it emitted any.
    #[inline]
    pub fn flush_before(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        let may_end = matches!(record.kind, "assistant" | "user" | RESULT);
        if self.pending.is_empty() || !may_end { Ok(false) } else { self.flush_finished(record, out) }
    }

    #[inline(never)]
    fn flush_finished(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        let is_finished = |count: &PendingCount| {
            count.agent.as_deref() == record.agent.as_deref() && !count.goes_on && (record.kind != "assistant" || !count.is_of(record))
        };
        let before = self.pending.len();
        while let Some(at) = self.pending.iter().position(is_finished) {
            self.emit_at(at, out)?;
        }
        if record.kind == "assistant"
            && let Some(at) = self.pending.iter().position(|count| count.is_of(record))
        {
            // Here is the part that was announced: the response may go on once more.
            let count = self.pending.remove(at);
            self.pending.push(PendingCount { goes_on: false, ..count });
        }
        Ok(self.pending.len() < before)
    }

    /// True if there is a response that may go on.
    #[inline]
    pub fn has_open(&self) -> bool {
        self.pending.last().is_some_and(|count| !count.goes_on)
    }

    /// The response that may go on.
    pub fn open(&self, results_may_be_between: bool) -> Option<OpenResponse<'_>> {
        let count = self.pending.last().filter(|count| !count.goes_on)?;
        let (request, agent) = (count.request_id.as_deref(), count.agent.as_deref());
        Some(OpenResponse { message: count.message, request, agent, line: count.id.as_deref(), results_may_be_between })
    }

    /// The open response goes on, or its count is emitted: it is complete, or nothing shows when it will be. Returns false if no response is
    /// open.
    pub fn decide(&mut self, next: Next, out: &mut Emitter) -> Result<bool, Fault> {
        let Some(open) = self.pending.last_mut().filter(|count| !count.goes_on) else { return Ok(false) };
        if next == Next::GoesOn {
            open.goes_on = true;
            return Ok(true);
        }
        if next == Next::Unknown {
            let early = EarlyCount { message: open.message, request: open.request_id.clone(), tokens: open.stated };
            self.emit_at(self.pending.len() - 1, out)?;
            self.early.truncate(MAX_EARLY - 1);
            self.early.push_front(early);
            return Ok(true);
        }
        open.provisional |= next == Next::Broken;
        self.emit_at(self.pending.len() - 1, out)?;
        Ok(true)
    }

    /// Emits a count. It is attributed to an earlier line, and stays even if the record is malformed.
    fn emit_at(&mut self, at: usize, out: &mut Emitter) -> Result<(), Fault> {
        self.pending[at].emit(&mut self.emitted, out)?;
        let count = self.pending.remove(at);
        self.early.retain(|early| !early.is_of(count.message, count.request_id.as_deref()));
        self.spare.push(count);
        self.emitted.commit();
        Ok(())
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

    /// Takes the count that the record states.
    #[inline(never)]
    pub fn update(&mut self, record: &Record<'_>, dialect: Dialect, out: &mut Emitter) -> Result<(), Fault> {
        let (Some(usage), Some(id)) = (record.message.usage(), record.message_key) else { return Ok(()) };
        let request = raw(record.line.request_id());
        let early = self.early.iter().find(|early| early.is_of(id, request)).map(|early| early.tokens);
        if early.is_none() && self.is_emitted(id, request) {
            return Ok(());
        }
        let usage = Usage::lenient(usage);
        let stated = tokens(&usage);
        let Some(new) = early.map_or(Some(stated), |early| difference(stated, early)) else { return Ok(()) };
        let earlier = self.pending.iter().position(|count| count.is_of(record));
        let is_full = earlier.is_none() && self.pending.len() >= MAX_PENDING;
        let mut count = match earlier {
            Some(at) => self.pending.remove(at),
            None => self.spare.pop().unwrap_or_default(),
        };
        count.fill(record, id, out.location());
        (count.tokens, count.stated) = (new, stated);
        if early.is_some() {
            count.cost_usd = None;
        }
        set(&mut count.service_tier, raw(usage.service_tier()));
        count.provisional &= dialect.counts_may_be_late || count.tokens.output.is_none_or(|output| output <= MAX_FIRST_OUTPUT);
        if is_full {
            count.insert_into(&mut self.emitted);
            return count.emit_usage(out);
        }
        self.pending.push(count);
        Ok(())
    }

    /// True if the count of this response was emitted. Several responses may have the message id, if the log has their request ids.
    fn is_emitted(&self, message: u64, request: Option<&str>) -> bool {
        let has = |request: Option<&str>| self.emitted.contains((REQUEST, message, request));
        self.emitted.contains(message) && (request.is_none() || has(request) || has(None))
    }
}

/// The counts of a response. Input does not include what came from the cache or went to it.
fn tokens(usage: &Usage<'_>) -> Tokens {
    let part = |object: Field<'_>, name| count(object.and_then(|object| object.member(name)));
    Tokens {
        input: count(usage.input()),
        cache_read: count(usage.cache_read()),
        cache_write: count(usage.cache_write()),
        cache_write_1h: part(usage.cache_creation(), "ephemeral_1h_input_tokens"),
        output: count(usage.output()),
        reasoning: part(usage.output_details(), "thinking_tokens"),
    }
}

/// How many more tokens a response has than were emitted. `None` if it has no more.
fn difference(stated: Tokens, emitted: Tokens) -> Option<Tokens> {
    let more = |stated: Option<u64>, emitted: Option<u64>| stated.map(|stated| stated.saturating_sub(emitted.unwrap_or(0)));
    let new = Tokens {
        input: more(stated.input, emitted.input),
        cache_read: more(stated.cache_read, emitted.cache_read),
        cache_write: more(stated.cache_write, emitted.cache_write),
        cache_write_1h: more(stated.cache_write_1h, emitted.cache_write_1h),
        output: more(stated.output, emitted.output),
        reasoning: more(stated.reasoning, emitted.reasoning),
    };
    let is_any = [new.input, new.cache_read, new.cache_write, new.output].into_iter().flatten().any(|tokens| tokens > 0);
    is_any.then_some(new)
}

impl PendingCount {
    /// Takes over what the record states.
    #[inline(never)]
    fn fill(&mut self, record: &Record<'_>, message: u64, location: RecordLocation) {
        (self.message, self.location, self.replay, self.prefix) = (message, location, record.replay, record.prefix);
        set(&mut self.time, record.time.as_deref());
        set(&mut self.id, raw(record.line.uuid()));
        set(&mut self.session, record.session_id().as_deref());
        set(&mut self.agent, record.agent.as_deref());
        set(&mut self.model, raw(record.message.model()));
        set(&mut self.message_id, raw(record.message.id()));
        set(&mut self.request_id, raw(record.line.request_id()));
        set(&mut self.stop_reason, raw(record.message.stop_reason()));
        set(&mut self.cost_usd, amount(record.line.cost_usd()).map(Number::as_str));
        self.provisional = self.stop_reason.is_none() && self.cost_usd.is_none();
        self.goes_on = false;
    }

    fn emit(&self, emitted: &mut SeenSet, out: &mut Emitter) -> Result<(), Fault> {
        out.set_source(self.session.as_deref(), self.agent.as_deref());
        out.attribute_to(
            self.location,
            RecordHeader { t: self.time.as_deref(), id: self.id.as_deref().map(Text::Token), replay: self.replay },
        );
        out.set_pointer_prefix(self.prefix);
        self.insert_into(emitted);
        self.emit_usage(out)
    }

    fn insert_into(&self, emitted: &mut SeenSet) {
        emitted.insert(self.message);
        emitted.insert((REQUEST, self.message, self.request_id.as_deref()));
    }

    /// True if the record is a part of the response.
    fn is_of(&self, record: &Record<'_>) -> bool {
        let request = raw(record.line.request_id());
        let is_other = self.request_id.is_some() && request.is_some() && self.request_id.as_deref() != request;
        Some(self.message) == record.message_key && !is_other
    }

    fn emit_usage(&self, out: &mut Emitter) -> Result<(), Fault> {
        let usage = UsageEvent {
            message_id: token(&self.message_id),
            request_id: token(&self.request_id),
            model: token(&self.model),
            tokens: self.tokens,
            cost_usd: self.cost_usd.as_deref().and_then(Number::of_str),
            stop_reason: token(&self.stop_reason),
            service_tier: token(&self.service_tier),
            provisional: self.provisional,
        };
        out.emit(Meta::Usage(usage), Pointer::At("/message/usage"))?;
        Ok(())
    }
}

/// The raw JSON of a string.
fn raw(field: Field<'_>) -> Option<&str> {
    text(field).map(|text| text.raw())
}

/// The text of a kept JSON string.
fn token(raw: &Option<String>) -> Option<Text<'_>> {
    raw.as_deref().map(Text::Token)
}

/// Replaces a text and reuses its memory.
fn set(slot: &mut Option<String>, text: Option<&str>) {
    match (slot.as_mut(), text) {
        (Some(slot), Some(text)) => text.clone_into(slot),
        _ => *slot = text.map(str::to_owned),
    }
}
