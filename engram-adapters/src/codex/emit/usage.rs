//! Token counts of responses.

use engram_core::emit::Pointer;
use engram_core::event::{self, Meta, SessionFacts, Tokens};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;

use crate::shared::value::{Field, count, non_empty_text};

use super::State;
use crate::codex::format::rule;
use crate::codex::notes::{Counts, Kind};
use crate::codex::plan::usage::Usage;
use crate::codex::readers::{TokenUsage, UsageRecord};
use crate::codex::record::Record;

/// Where an event has its counts: those of the last request, and the totals.
struct CountPointers {
    last: &'static str,
    total: &'static str,
}

const IN_ENVELOPE: CountPointers = CountPointers {
    last: "/payload/info/last_token_usage",
    total: "/payload/info/total_token_usage",
};
const PRINTED: CountPointers = CountPointers {
    last: "/msg/info/last_token_usage",
    total: "/msg/info/total_token_usage",
};

/// The counts of the last request as an event, with the running totals. Up to 0.29 the event that is printed has the counts itself.
pub fn token_count(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let at = if record.at == "/msg" {
        &PRINTED
    } else {
        &IN_ENVELOPE
    };
    let note = state.note();
    if note.kind != Kind::Tokens {
        return record.bookkeeping(rule::TOKENS_NONE);
    }
    let info = record.value.first_member("info");
    match state
        .plan
        .usage
        .get(note.at as usize)
        .copied()
        .unwrap_or_default()
    {
        Usage::Difference(counts) => emit_usage(state, counts, None, at.total, out),
        Usage::Response { counts, earlier } => {
            if let Some(earlier) = earlier {
                emit_usage(state, earlier, None, at.total, out);
            }
            emit_usage(
                state,
                counts,
                None,
                if info.is_some() { at.last } else { record.at },
                out,
            );
        }
        Usage::Told => {
            let last = info
                .and_then(|info| info.first_member("last_token_usage"))
                .map(TokenUsage::lenient);
            if let Some(last) = last.filter(is_empty) {
                emit_context_size(state, count(last.total()), at.last, out);
            }
            return record.mapped_or(out.has_events(), rule::TOKENS_SAME);
        }
    }
    Outcome::Mapped
}

/// The counts of a response as a line of their own.
pub fn token_usage_record(
    state: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    if let Some(Usage::Response { counts, .. }) =
        state.plan.usage.get(state.note().at as usize).copied()
    {
        emit_usage(
            state,
            counts,
            UsageRecord::lenient(record.value).response_id(),
            "/payload/usage",
            out,
        );
    }
    Outcome::Mapped
}

/// True if nothing was counted.
fn is_empty(usage: &TokenUsage<'_>) -> bool {
    let counts = [
        usage.input(),
        usage.cached_input(),
        usage.cache_write_input(),
        usage.output(),
        usage.reasoning_output(),
    ];
    counts
        .into_iter()
        .all(|field| count(field).unwrap_or_default() == 0)
}

/// After a compaction the harness estimates how much of the context is left. Emits that if it has changed.
fn emit_context_size(
    state: &mut State,
    tokens: Option<u64>,
    at: &'static str,
    out: &mut Emitter<'_>,
) {
    let Some(tokens) = tokens.filter(|tokens| *tokens > 0 && state.last.context_changed(*tokens))
    else {
        return;
    };
    let facts = SessionFacts {
        context_tokens: Some(tokens),
        ..SessionFacts::default()
    };
    out.emit(Meta::Session(facts), Pointer::Member(at, "total_tokens"));
}

fn emit_usage(state: &State, counts: Counts, response: Field<'_>, at: &str, out: &mut Emitter<'_>) {
    let cached = counts
        .cache_read
        .unwrap_or_default()
        .saturating_add(counts.cache_write.unwrap_or_default());
    let tokens = Tokens {
        // The harness counts the cache as input.
        input: counts.input.map(|input| input.saturating_sub(cached)),
        cache_read: counts.cache_read,
        cache_write: counts.cache_write,
        output: counts.output,
        reasoning: counts.reasoning,
        ..Tokens::default()
    };
    let message_id = non_empty_text(response);
    let usage = event::Usage {
        message_id,
        model: state.last.model(),
        tokens,
        ..event::Usage::default()
    };
    out.emit(Meta::Usage(usage), at);
}
