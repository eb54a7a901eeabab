//! Tokens and cost of one response.

use engram_core::event::{self, Meta, Usage};
use engram_core::text::Text;

use super::message_context::MessageContext;
use crate::opencode::dialect::Dialect;
use crate::opencode::readers::{Cache, Tokens};
use crate::shared::value::{Field, amount, count, count_or_zero, non_empty_text};

/// Tokens and cost of a request of 1.x.
///
/// Up to 1.3.2 `output` contains the reasoning, and later it does not: `total` shows which. Before 1.0.98 `input` contains what came from
/// the cache, but not for all providers; a message that says how it finished is of a later version, and input below that is without it. A
/// line of a stream without a total may be of 2.x, too.
pub(super) fn usage<'a>(
    counts: &Tokens<'a>,
    cost: Field<'a>,
    stop_reason: Field<'a>,
    message: &MessageContext<'a>,
    dialect: Dialect,
) -> Meta<'a> {
    let cache = Cache::lenient_opt(counts.cache());
    let [input, output, reasoning] =
        [counts.input(), counts.output(), counts.reasoning()].map(count);
    let [cache_read, cache_write] = [cache.read_from_cache(), cache.written_to_cache()].map(count);
    let parts = [input, output, cache_read, cache_write]
        .into_iter()
        .map(Option::unwrap_or_default);
    let without_reasoning = parts.fold(0, u64::saturating_add);
    let total = count(counts.total());
    let is_beside = total.is_some_and(|total| total > without_reasoning);
    let of_cache = cache_read
        .unwrap_or_default()
        .saturating_add(cache_write.unwrap_or_default());
    let is_uncached = total.is_some()
        || message.has_finish
        || of_cache == 0
        || input.is_some_and(|input| input < of_cache);
    let all = [
        counts.input(),
        counts.output(),
        counts.reasoning(),
        counts.total(),
        cache.read_from_cache(),
        cache.written_to_cache(),
    ];
    // Which counts contain others shows only if all can be read.
    let is_readable = all.into_iter().all(|count| count_or_zero(count).is_some());
    let is_older = message.printed_at.is_none() && !dialect.counts_only_lines;
    let is_known = total.is_some() || is_older || reasoning.unwrap_or_default() == 0;
    let output = if is_beside {
        add(output, reasoning.or(Some(0)))
    } else {
        output.filter(|_| is_known)
    }
    .filter(|_| is_readable);
    let tokens = event::Tokens {
        input: input.filter(|_| is_uncached && is_readable),
        cache_read,
        cache_write,
        output,
        reasoning,
        ..event::Tokens::default()
    };
    let (tokens, cost) = if counts.is_spent() {
        (tokens, cost)
    } else {
        Default::default()
    };
    of_response(tokens, cost, stop_reason, message.message_id, message.model)
}

/// Tokens and cost of a request of 2.x, which counts reasoning apart from the output and the cache apart from the input.
pub(super) fn step_usage<'a>(
    counts: &Tokens<'a>,
    cost: Field<'a>,
    stop_reason: Field<'a>,
    message: &MessageContext<'a>,
) -> Meta<'a> {
    let cache = Cache::lenient_opt(counts.cache());
    let tokens = event::Tokens {
        input: count(counts.input()),
        cache_read: count(cache.read_from_cache()),
        cache_write: count(cache.written_to_cache()),
        output: add(count(counts.output()), count_or_zero(counts.reasoning())),
        reasoning: count(counts.reasoning()),
        ..event::Tokens::default()
    };
    let (tokens, cost) = if counts.is_spent() {
        (tokens, cost)
    } else {
        Default::default()
    };
    of_response(tokens, cost, stop_reason, message.message_id, message.model)
}

fn of_response<'a>(
    tokens: event::Tokens,
    cost: Field<'a>,
    stop_reason: Field<'a>,
    message_id: Option<Text<'a>>,
    model: Option<Text<'a>>,
) -> Meta<'a> {
    let usage = Usage {
        message_id,
        model,
        tokens,
        cost_usd: amount(cost),
        stop_reason: non_empty_text(stop_reason),
        ..Usage::default()
    };
    Meta::Usage(usage)
}

fn add(output: Option<u64>, reasoning: Option<u64>) -> Option<u64> {
    output
        .zip(reasoning)
        .map(|(output, reasoning)| output.saturating_add(reasoning))
}
