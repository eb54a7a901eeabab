//! Tokens: of each request (`session.usage_record`), or of each run (`session.shutdown`), never both.
//!
//! `inputTokens` has those of the cache in it, and `outputTokens` has reasoning in it. 1.0.12 and 1.0.20 do not count the cache of Anthropic's
//! interface: they log 0 for it, and the rest as `inputTokens` (recorded).

use engram_core::emit::Pointer;
use engram_core::event::{Meta, Tokens, Usage};
use engram_core::keys::hash64;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::state::State;
use crate::copilot::readers::{Counts, Shutdown};
use crate::shared::value::{Field, Value, count, count_or_zero, non_empty_text, raw_str};

/// The counts of a request.
pub fn of_request(data: Value<'_>, out: &mut Emitter<'_>) {
    let Some(usage) = data.member("usage") else {
        return;
    };
    let counts = Counts::lenient(usage);
    let event = Usage {
        message_id: non_empty_text(counts.api_call()),
        model: non_empty_text(counts.model()),
        stop_reason: non_empty_text(counts.finish()),
        tokens: tokens(&counts),
        ..Usage::default()
    };
    out.emit(Meta::Usage(event), Pointer::At("/data/usage"));
}

/// The counts of the requests of a compaction.
pub fn of_compaction(usage: Field<'_>, out: &mut Emitter<'_>) {
    let Some(usage) = usage.filter(|usage| usage.is_object()) else {
        return;
    };
    let counts = Counts::lenient(usage);
    let event = Usage {
        model: non_empty_text(counts.model()),
        tokens: tokens(&counts),
        ..Usage::default()
    };
    out.emit(Meta::Usage(event), Pointer::At("/data/compactionTokensUsed"));
}

/// The counts of a run, one for each model. Where they are those of all runs so far, what the tape has is subtracted.
pub fn of_run(state: &mut State, run: &Shutdown<'_>, is_of_session: bool, out: &mut Emitter<'_>) {
    for (model, metrics) in run.models().into_iter().flat_map(Value::members) {
        let Some(usage) = metrics.member("usage") else {
            continue;
        };
        let sums = sums(&Counts::lenient(usage));
        let counted = state.counted.entry(hash64(model)).or_default();
        let rest = match is_of_session {
            true => rest(&sums, counted).unwrap_or(sums),
            false => sums,
        };
        *counted = sum(counted, &rest);
        if is_nothing(&rest) {
            continue;
        }
        let event = Usage {
            model: Some(Text::Plain(model)),
            tokens: rest,
            ..Usage::default()
        };
        out.emit(Meta::Usage(event), Pointer::Member("/data/modelMetrics", model));
    }
}

/// The sums of a run. Versions that do not count reasoning may log 0 for a cache that they do not count either.
fn sums(counts: &Counts<'_>) -> Tokens {
    let sums = tokens(counts);
    let is_nothing = |count: Option<u64>| count.is_none_or(|count| count == 0);
    match counts.reasoning() {
        None if is_nothing(sums.cache_read) && is_nothing(sums.cache_write) => Tokens {
            cache_read: None,
            cache_write: None,
            ..sums
        },
        _ => sums,
    }
}

fn tokens(counts: &Counts<'_>) -> Tokens {
    let cached = count_or_zero(counts.cache_read())
        .zip(count_or_zero(counts.cache_write()))
        .and_then(|(read, write)| read.checked_add(write));
    Tokens {
        input: count(counts.input())
            .zip(cached)
            .and_then(|(input, cached)| input.checked_sub(cached)),
        cache_read: count(counts.cache_read()),
        cache_write: count(counts.cache_write()),
        cache_write_1h: None,
        output: count(counts.output()),
        reasoning: count(counts.reasoning()),
    }
}

/// Applies a function to each count of two.
fn each(
    one: &Tokens,
    other: &Tokens,
    both: impl Fn(Option<u64>, Option<u64>) -> Option<Option<u64>>,
) -> Option<Tokens> {
    Some(Tokens {
        input: both(one.input, other.input)?,
        cache_read: both(one.cache_read, other.cache_read)?,
        cache_write: both(one.cache_write, other.cache_write)?,
        cache_write_1h: None,
        output: both(one.output, other.output)?,
        reasoning: both(one.reasoning, other.reasoning)?,
    })
}

/// What is left of sums. None if they are less than what was counted: then they are not sums of the same.
fn rest(sums: &Tokens, counted: &Tokens) -> Option<Tokens> {
    each(sums, counted, |sum, counted| match sum {
        None => Some(None),
        Some(sum) => Some(Some(sum.checked_sub(counted.unwrap_or_default())?)),
    })
}

fn sum(one: &Tokens, other: &Tokens) -> Tokens {
    let add = |one: Option<u64>, other: Option<u64>| match (one, other) {
        (None, None) => Some(None),
        _ => Some(Some(one.unwrap_or_default().saturating_add(other.unwrap_or_default()))),
    };
    each(one, other, add).unwrap_or_default()
}

fn is_nothing(tokens: &Tokens) -> bool {
    let counts = [tokens.input, tokens.cache_read, tokens.cache_write, tokens.output];
    counts.iter().all(|count| count.is_none_or(|count| count == 0))
}

/// How a run ended, and how much the model was given last.
pub fn shutdown_kind<'a>(run: &Shutdown<'a>) -> Option<Text<'a>> {
    non_empty_text(run.kind()).filter(|_| raw_str(run.kind()) != "routine")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_all_runs_give_what_is_new() {
        let tokens = |input, output| Tokens {
            input: Some(input),
            output: Some(output),
            ..Tokens::default()
        };
        assert_eq!(rest(&tokens(10, 5), &tokens(7, 5)), Some(tokens(3, 0)));
        assert_eq!(rest(&tokens(3, 5), &tokens(7, 5)), None);
        assert_eq!(sum(&tokens(3, 5), &tokens(7, 5)), tokens(10, 10));
    }
}
