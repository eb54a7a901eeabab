//! Token counts of requests.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Meta, Tokens, Usage};
use engram_core::ledger::Outcome;

use crate::shared::value::{Value, count};

use crate::codex::omissions;
use crate::codex::record::Record;
use crate::codex::schema::{TokenInfo, TokenUsage, UsageRecord};
use crate::codex::state::session_state::SessionState;

/// The counts of the last request as an event.
pub fn token_count(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let Some(info) = record.value.first_member("info").map(|info| TokenInfo::strict(info, "/payload/info")).transpose()? else {
        return Ok(record.omitted_by(&omissions::NO_COUNTS));
    };
    let Some(last) = info.last() else {
        return Ok(record.omitted_by(&omissions::NO_COUNTS));
    };
    if !state.last.counts_changed(last, info.total()) {
        return Ok(record.omitted_by(&omissions::SAME_COUNTS));
    }
    emit_usage(last, "/payload/info/last_token_usage", out)
}

/// The counts of the last request as a line of their own.
pub fn token_usage_record(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let counts = UsageRecord::strict(record.value, record.at)?;
    let Some(usage) = counts.usage() else {
        return Err(Fault::malformed("/payload/usage", "token counts", "nothing"));
    };
    if !state.last.counts_changed(usage, counts.thread()) {
        return Ok(record.omitted_by(&omissions::SAME_COUNTS));
    }
    emit_usage(usage, "/payload/usage", out)
}

fn emit_usage(usage: Value<'_>, at: &str, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let counts = TokenUsage::strict(usage, at)?;
    let (cache_read, cache_write) = (count(counts.cached_input()), count(counts.cache_write_input()));
    let cached = cache_read.unwrap_or_default().saturating_add(cache_write.unwrap_or_default());
    let tokens = Tokens {
        // The harness counts the cache as input.
        input: count(counts.input()).map(|input| input.saturating_sub(cached)),
        cache_read,
        cache_write,
        output: count(counts.output()),
        reasoning: count(counts.reasoning_output()),
        ..Tokens::default()
    };
    out.emit(Meta::Usage(Usage { tokens, ..Usage::default() }), Pointer::At(at))?;
    Ok(Outcome::Mapped)
}
