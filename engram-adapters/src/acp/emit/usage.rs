//! Tokens. The protocol does not say whether cached and reasoning tokens are part of the others; the total that is counted with them does.

use engram_core::event::{Tokens, Usage};

use crate::acp::readers::Counts;
use crate::shared::value::{Value, count, non_empty_text};

/// The tokens of a response, or of a turn.
pub fn usage(counts: Value<'_>) -> Usage<'_> {
    let counts = Counts::lenient(counts);
    let said = Tokens {
        input: count(counts.input()),
        output: count(counts.output()),
        reasoning: count(counts.thought()),
        cache_read: count(counts.cache_read()),
        cache_write: count(counts.cache_write()),
        cache_write_1h: None,
    };
    Usage {
        tokens: apart(count(counts.total()), said),
        ..Usage::default()
    }
}

/// The tokens of a turn with one model, of sub-agents and requests beside the conversation too (claude-agent-acp 0.101.0: recorded).
pub fn of_model(row: Value<'_>) -> Usage<'_> {
    let of = |name| {
        count(
            row.member("token_count")
                .and_then(|counts| counts.member(name)),
        )
    };
    let said = Tokens {
        input: of("inputTokens"),
        output: of("outputTokens"),
        reasoning: of("reasoningOutputTokens"),
        cache_read: of("cachedInputTokens"),
        cache_write: of("cachedWriteTokens"),
        cache_write_1h: None,
    };
    Usage {
        model: non_empty_text(row.member("model")),
        tokens: apart(of("totalTokens"), said),
        ..Usage::default()
    }
}

/// The tokens of a session so far (Vibe 3.0.3: recorded).
pub fn totals(meta: Value<'_>) -> Option<Tokens> {
    let of = |name| count(meta.member(name));
    let said = Tokens {
        input: of("promptTokens"),
        output: of("completionTokens"),
        cache_read: of("cachedTokens"),
        ..Tokens::default()
    };
    of("totalTokens").map(|total| apart(Some(total), said))
}

/// True if no token was counted.
pub fn is_nothing(tokens: &Tokens) -> bool {
    [tokens.input, tokens.cache_read, tokens.output]
        .iter()
        .all(|count| *count == Some(0))
}

/// The tokens of a turn, by what was counted before it and with it. What was counted with it, if that is less.
pub fn since(before: Tokens, now: Tokens) -> Tokens {
    let rest = |now: Option<u64>, before: Option<u64>| match now {
        Some(now) => now.checked_sub(before.unwrap_or(0)).map(Some),
        None => Some(None),
    };
    let tokens = || {
        Some(Tokens {
            input: rest(now.input, before.input)?,
            cache_read: rest(now.cache_read, before.cache_read)?,
            cache_write: rest(now.cache_write, before.cache_write)?,
            cache_write_1h: None,
            output: rest(now.output, before.output)?,
            reasoning: rest(now.reasoning, before.reasoning)?,
        })
    };
    tokens().unwrap_or(now)
}

/// The counts, with no token in two of them, by their total. If no known way of counting gives it, only counts that mean the same in all ways are
/// kept.
fn apart(total: Option<u64>, said: Tokens) -> Tokens {
    let unclear = Tokens {
        input: None,
        output: None,
        ..said
    };
    let Tokens {
        input,
        output,
        reasoning,
        cache_read,
        cache_write,
        ..
    } = said;
    if [total, input, output].contains(&None) {
        return unclear;
    }
    let sum = |counts: &[Option<u64>]| {
        let mut counts = counts.iter().map(|count| count.unwrap_or(0));
        counts.try_fold(0_u64, u64::checked_add)
    };
    let is_total = |counts: &[Option<u64>]| sum(counts) == total;
    let cached = sum(&[cache_read, cache_write]);
    // The cache is a part of the input or beside it, reasoning a part of the output or beside it.
    let (is_cache_beside, is_reasoning_beside) = if is_total(&[input, output]) {
        (false, false)
    } else if is_total(&[input, output, reasoning]) {
        (false, true)
    } else if is_total(&[input, output, reasoning, cached]) {
        (true, true)
    } else if is_total(&[input, output, cached]) {
        (true, false)
    } else {
        return unclear;
    };
    Tokens {
        input: match is_cache_beside {
            true => input,
            false => cached.and_then(|cached| input?.checked_sub(cached)),
        },
        output: match is_reasoning_beside {
            true => sum(&[output, reasoning]),
            false => output,
        },
        ..said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(total: u64, input: u64, output: u64, thought: u64, read: u64) -> [Option<u64>; 4] {
        let said = Tokens {
            input: Some(input),
            output: Some(output),
            reasoning: Some(thought),
            cache_read: Some(read),
            ..Tokens::default()
        };
        let tokens = apart(Some(total), said);
        [
            tokens.input,
            tokens.output,
            tokens.cache_read,
            tokens.reasoning,
        ]
    }

    #[test]
    fn a_sum_of_all_turns_gives_the_last_turn() {
        let tokens = |input, output| Tokens {
            input: Some(input),
            output: Some(output),
            ..Tokens::default()
        };
        assert_eq!(since(tokens(515, 265), tokens(621, 321)), tokens(106, 56));
        assert_eq!(since(Tokens::default(), tokens(621, 321)), tokens(621, 321));
        assert_eq!(since(tokens(900, 1), tokens(621, 321)), tokens(621, 321));
    }

    #[test]
    fn the_total_says_what_the_parts_include() {
        let some = |counts: [u64; 4]| counts.map(Some);
        // Qwen Code: the cache is a part of the input, reasoning one of the output.
        assert_eq!(of(1060, 1010, 50, 16, 512), some([498, 50, 512, 16]));
        // Kilo: all apart.
        assert_eq!(of(1120, 558, 34, 16, 512), some([558, 50, 512, 16]));
        // No known way.
        assert_eq!(of(9, 1010, 50, 16, 512), [None, None, Some(512), Some(16)]);
        // More in the cache than there was input.
        assert_eq!(
            of(110, 60, 50, 0, 512),
            [None, Some(50), Some(512), Some(0)]
        );
    }
}
