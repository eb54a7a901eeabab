//! Tokens and cost.

use engram_core::event::{self, Meta, Usage};
use engram_core::text::Text;

use crate::opencode::schema::{Cache, Tokens};
use crate::shared::value::{Field, number};

/// Tokens and cost as an event.
pub(super) fn usage<'a>(tokens: &Tokens<'a>, cost: Field<'a>, model: Option<Text<'a>>) -> Meta<'a> {
    let cache = Cache::lenient_opt(tokens.cache());
    Meta::Usage(Usage {
        model,
        tokens: event::Tokens {
            input: number(tokens.input()),
            output: number(tokens.output()),
            cache_read: number(cache.read_from_cache()),
            cache_write: number(cache.written_to_cache()),
            reasoning: number(tokens.reasoning()),
            total: number(tokens.total()),
        },
        cost_usd: number(cost),
    })
}

/// False while a request has no response yet: the harness then writes zeros.
pub(super) fn is_spent(tokens: &Tokens<'_>) -> bool {
    [tokens.input(), tokens.output()].into_iter().flatten().any(|count| count.raw() != "0")
}
