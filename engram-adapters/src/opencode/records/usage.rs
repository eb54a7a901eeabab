//! Tokens and cost.

use engram_core::event::{self, Meta, Usage};
use engram_core::text::Text;

use crate::opencode::schema::{Cache, Tokens};
use crate::shared::value::{Field, count, number};

/// Tokens and cost as an event.
pub(super) fn usage<'a>(tokens: &Tokens<'a>, cost: Field<'a>, model: Option<Text<'a>>) -> Meta<'a> {
    let cache = Cache::lenient_opt(tokens.cache());
    let reasoning = count(tokens.reasoning());
    Meta::Usage(Usage {
        model,
        tokens: event::Tokens {
            input: count(tokens.input()),
            cache_read: count(cache.read_from_cache()),
            cache_write: count(cache.written_to_cache()),
            // The harness counts reasoning beside the output.
            output: count(tokens.output()).map(|output| output.saturating_add(reasoning.unwrap_or_default())),
            reasoning,
            ..event::Tokens::default()
        },
        cost_usd: number(cost),
        ..Usage::default()
    })
}

/// False while a request has no response yet: the harness then writes zeros.
pub(super) fn is_spent(tokens: &Tokens<'_>) -> bool {
    [tokens.input(), tokens.output()].into_iter().flatten().any(|count| count.raw() != "0")
}
