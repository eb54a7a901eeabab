//! Tokens and cost. Pi counts as a tape does: `input` without the cache, `output` with reasoning (`docs/message-types.md`).

use engram_core::event::{Tokens, Usage};

use crate::pi::readers::{Cost, Usage as Counts};
use crate::shared::value::{Value, amount, count};

/// The tokens and the cost of a `usage` object.
pub fn usage(counts: Value<'_>) -> Usage<'_> {
    let counts = Counts::lenient(counts);
    Usage {
        tokens: Tokens {
            input: count(counts.input()),
            cache_read: count(counts.cache_read()),
            cache_write: count(counts.cache_write()),
            cache_write_1h: count(counts.cache_write_1h()),
            output: count(counts.output()),
            reasoning: count(counts.reasoning()).or_else(|| count(counts.claw_reasoning())),
        },
        cost_usd: amount(Cost::lenient_opt(counts.cost()).total()),
        ..Usage::default()
    }
}

/// True if no request was counted: each count is 0.
pub fn is_nothing(usage: &Usage<'_>) -> bool {
    let Tokens {
        input,
        cache_read,
        cache_write,
        output,
        ..
    } = usage.tokens;
    [input, cache_read, cache_write, output]
        .iter()
        .all(|count| count.is_none_or(|count| count == 0))
}
