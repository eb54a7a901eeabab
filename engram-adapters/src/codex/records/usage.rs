//! Token counts of responses: each response once, whichever records state it.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Meta, SessionFacts, Tokens, Usage};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::shared::value::{Field, count, count_or_zero, non_empty_text};

use crate::codex::omissions;
use crate::codex::record::Record;
use crate::codex::schema::{TokenInfo, TokenUsage, UsageRecord};
use crate::codex::state::session_state::SessionState;
use crate::codex::state::token_counts::{Counts, NewCounts};

/// Where an event has its counts.
pub struct CountPointers {
    info: &'static str,
    last: &'static str,
    total: &'static str,
}

impl CountPointers {
    /// JSON pointers of the counts, of those of the last request, and of the totals.
    pub const fn new(info: &'static str, last: &'static str, total: &'static str) -> CountPointers {
        CountPointers { info, last, total }
    }
}

/// The counts of the last request as an event, with the running totals.
pub fn token_count(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    const POINTERS: CountPointers =
        CountPointers::new("/payload/info", "/payload/info/last_token_usage", "/payload/info/total_token_usage");
    counts_of_event(state, record, &POINTERS, out)
}

/// The counts of a response alone, as an event of up to 0.29 has them.
pub fn response_counts(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    emit_usage(state, counts_of(&TokenUsage::strict(record.value, record.at)?), None, record.at, out)?;
    Ok(Outcome::Mapped)
}

/// As [`token_count`], with the pointers of a form.
pub fn counts_of_event(state: &mut SessionState, record: &Record<'_>, at: &CountPointers, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let info = record.value.first_member("info").map(|info| TokenInfo::strict(info, at.info)).transpose()?;
    let Some(last) = info.and_then(|info| info.last()) else {
        // A process of the harness writes this before its first response.
        state.counts.begin_process();
        return Ok(record.omitted_by(&omissions::NO_COUNTS));
    };
    let request = TokenUsage::strict(last, at.last)?;
    let total = info.and_then(|info| info.total()).map(|total| TokenUsage::strict(total, at.total)).transpose()?;
    let counts = counts_of(&request);
    // A total that cannot be read gives no difference.
    match state.counts.add_event(counts, total.as_ref().filter(|total| is_readable(total)).map(counts_of)) {
        NewCounts::Response { earlier } => {
            if let Some(earlier) = earlier {
                emit_usage(state, earlier, None, at.total, out)?;
            }
            emit_usage(state, counts, None, at.last, out)?;
            Ok(Outcome::Mapped)
        }
        NewCounts::Nothing => {
            let is_estimate = counts.is_zero() && emit_context_size(state, count(request.total()), at.last, out)?;
            Ok(record.mapped_or(is_estimate, &omissions::SAME_COUNTS))
        }
    }
}

/// The counts of a response as a line of their own.
pub fn token_usage_record(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let usage = UsageRecord::strict(record.value, record.at)?;
    let Some(counts) = usage.usage() else {
        return Err(Fault::malformed("/payload/usage", "token counts", "nothing"));
    };
    let counts = counts_of(&TokenUsage::strict(counts, "/payload/usage")?);
    state.counts.add_record(counts);
    emit_usage(state, counts, usage.response_id(), "/payload/usage", out)?;
    Ok(Outcome::Mapped)
}

/// After a compaction the harness estimates how much of the context is left. True if that has changed.
fn emit_context_size(state: &mut SessionState, tokens: Option<u64>, at: &'static str, out: &mut Emitter<'_>) -> Result<bool, Fault> {
    let Some(tokens) = tokens.filter(|tokens| *tokens > 0 && state.last.context_changed(*tokens)) else { return Ok(false) };
    let facts = SessionFacts { context_tokens: Some(tokens), ..SessionFacts::default() };
    out.emit(Meta::Session(facts), Pointer::Member(at, "total_tokens"))?;
    Ok(true)
}

/// True if all counts that are there can be read.
fn is_readable(usage: &TokenUsage<'_>) -> bool {
    let counts = [usage.input(), usage.cached_input(), usage.cache_write_input(), usage.output(), usage.reasoning_output()];
    counts.into_iter().all(|count| count_or_zero(count).is_some())
}

fn counts_of(usage: &TokenUsage<'_>) -> Counts {
    // The harness counts the cache as input, so without its part the rest is not known.
    let cache = count_or_zero(usage.cached_input()).and(count_or_zero(usage.cache_write_input()));
    Counts {
        input: count(usage.input()).filter(|_| cache.is_some()),
        cache_read: count(usage.cached_input()),
        cache_write: count(usage.cache_write_input()),
        output: count(usage.output()),
        reasoning: count(usage.reasoning_output()),
    }
}

fn emit_usage(state: &SessionState, counts: Counts, response: Field<'_>, at: &str, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let cached = counts.cache_read.unwrap_or_default().saturating_add(counts.cache_write.unwrap_or_default());
    let tokens = Tokens {
        // The harness counts the cache as input.
        input: counts.input.map(|input| input.saturating_sub(cached)),
        cache_read: counts.cache_read,
        cache_write: counts.cache_write,
        output: counts.output,
        reasoning: counts.reasoning,
        ..Tokens::default()
    };
    let message_id: Option<Text<'_>> = non_empty_text(response);
    out.emit(Meta::Usage(Usage { message_id, model: state.last.model(), tokens, ..Usage::default() }), Pointer::At(at))?;
    Ok(())
}
