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
use crate::shared::value::{Value, count, count_or_zero, non_empty_text, raw_str};

/// Notes the counts of a request. The sums of a later run have them, too.
pub fn note(state: &mut State, data: Value<'_>) {
    let counts = Counts::lenient_opt(data.member("usage"));
    add(state, raw_str(counts.model()), five(&counts));
}

/// Notes what the tape has of a model.
fn add(state: &mut State, model: &str, counts: Five) {
    let counted = state.counted.entry(hash64(model)).or_default();
    for (counted, count) in counted.iter_mut().zip(counts) {
        *counted = counted.saturating_add(count.unwrap_or_default());
    }
}

/// The counts of a request (`usage`), or of the requests of a compaction (`compactionTokensUsed`).
pub fn of_requests(data: Value<'_>, name: &str, out: &mut Emitter<'_>) {
    let Some(usage) = data.member(name).filter(|usage| usage.is_object()) else {
        return;
    };
    let counts = Counts::lenient(usage);
    let event = Usage {
        message_id: non_empty_text(counts.api_call()),
        model: non_empty_text(counts.model()),
        stop_reason: non_empty_text(counts.finish()),
        tokens: tokens(five(&counts)),
        ..Usage::default()
    };
    out.emit(Meta::Usage(event), Pointer::Member("/data", name));
}

/// The counts of a run, one for each model. Where they are those of all runs so far, what the tape has is subtracted.
pub fn of_run(state: &mut State, run: &Shutdown<'_>, is_of_session: bool, out: &mut Emitter<'_>) {
    for (model, metrics) in run.models().into_iter().flat_map(Value::members) {
        let Some(usage) = metrics.member("usage") else {
            continue;
        };
        let sums = sums(&Counts::lenient(usage));
        let counted = state.counted.get(&hash64(model)).copied();
        let rest = rest(sums, &counted.unwrap_or_default())
            .filter(|_| is_of_session)
            .unwrap_or(sums);
        add(state, model, rest);
        if rest
            .iter()
            .all(|count| count.is_none_or(|count| count == 0))
        {
            continue;
        }
        let event = Usage {
            model: Some(Text::Plain(model)),
            tokens: tokens(rest),
            ..Usage::default()
        };
        out.emit(
            Meta::Usage(event),
            Pointer::Member("/data/modelMetrics", model),
        );
    }
}

/// Input, from the cache, to the cache, output, reasoning: as a tape counts them.
type Five = [Option<u64>; 5];

fn five(counts: &Counts<'_>) -> Five {
    let cached = count_or_zero(counts.cache_read())
        .zip(count_or_zero(counts.cache_write()))
        .and_then(|(read, write)| read.checked_add(write));
    let input = count(counts.input()).zip(cached);
    [
        input.and_then(|(input, cached)| input.checked_sub(cached)),
        count(counts.cache_read()),
        count(counts.cache_write()),
        count(counts.output()),
        count(counts.reasoning()),
    ]
}

/// The sums of a run. Versions that do not count reasoning may log 0 for a cache that they do not count either.
fn sums(counts: &Counts<'_>) -> Five {
    match (five(counts), counts.reasoning()) {
        ([input, Some(0), Some(0), output, _], None) => [input, None, None, output, None],
        (sums, _) => sums,
    }
}

/// What is left of sums. None if they are less than what was counted: then they are not sums of the same.
fn rest(mut sums: Five, counted: &[u64; 5]) -> Option<Five> {
    for (sum, counted) in sums.iter_mut().zip(counted) {
        if let Some(sum) = sum {
            *sum = sum.checked_sub(*counted)?;
        }
    }
    Some(sums)
}

fn tokens([input, cache_read, cache_write, output, reasoning]: Five) -> Tokens {
    Tokens {
        input,
        cache_read,
        cache_write,
        cache_write_1h: None,
        output,
        reasoning,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_all_runs_give_what_is_new() {
        let sums = [Some(10), None, Some(0), Some(5), None];
        let new = [Some(3), None, Some(0), Some(0), None];
        assert_eq!(rest(sums, &[7, 0, 0, 5, 0]), Some(new));
        assert_eq!(rest(sums, &[11, 0, 0, 5, 0]), None);
    }
}
