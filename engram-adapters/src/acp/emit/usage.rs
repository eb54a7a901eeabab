//! Tokens. The protocol does not say whether cached and reasoning tokens are part of the others; the total that is counted with them does.

use engram_core::event::{Tokens, Usage};

use crate::acp::readers::Counts;
use crate::shared::value::{Value, count};

/// The tokens of a response, or of a turn. If no known way of counting gives the total, only counts that mean the same in all ways are kept.
pub fn usage(counts: Value<'_>) -> Usage<'_> {
    let counts = Counts::lenient(counts);
    let [input, output, total, thought, read, write] = [
        counts.input(),
        counts.output(),
        counts.total(),
        counts.thought(),
        counts.cache_read(),
        counts.cache_write(),
    ]
    .map(count);
    let parts = Parts {
        input,
        output,
        thought,
        read,
        write,
    };
    Usage {
        tokens: tokens(total, parts),
        ..Usage::default()
    }
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

#[derive(Debug, Clone, Copy)]
struct Parts {
    input: Option<u64>,
    output: Option<u64>,
    thought: Option<u64>,
    read: Option<u64>,
    write: Option<u64>,
}

fn tokens(total: Option<u64>, parts: Parts) -> Tokens {
    let Parts {
        input,
        output,
        thought,
        read,
        write,
    } = parts;
    let common = Tokens {
        cache_read: read,
        cache_write: write,
        reasoning: thought,
        ..Tokens::default()
    };
    let (Some(total), Some(input), Some(output)) = (total, input, output) else {
        return common;
    };
    let sum = |counts: &[Option<u64>]| {
        let counts = counts.iter().map(|count| count.unwrap_or(0));
        counts.into_iter().try_fold(0_u64, u64::checked_add)
    };
    let is_total = |counts: &[Option<u64>]| sum(counts) == Some(total);
    let (input, output) = (Some(input), Some(output));
    let cached = sum(&[read, write]);
    // With the cache in the input, and reasoning in the output or beside it; or all of them apart.
    if is_total(&[input, output]) || is_total(&[input, output, thought]) {
        let is_apart = !is_total(&[input, output]);
        return Tokens {
            input: cached.and_then(|cached| input?.checked_sub(cached)),
            output: if is_apart {
                sum(&[output, thought])
            } else {
                output
            },
            ..common
        };
    }
    if is_total(&[input, output, thought, read, write]) {
        return Tokens {
            input,
            output: sum(&[output, thought]),
            ..common
        };
    }
    if is_total(&[input, output, read, write]) {
        return Tokens {
            input,
            output,
            ..common
        };
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(total: u64, input: u64, output: u64, thought: u64, read: u64) -> [Option<u64>; 4] {
        let parts = Parts {
            input: Some(input),
            output: Some(output),
            thought: Some(thought),
            read: Some(read),
            write: None,
        };
        let tokens = tokens(Some(total), parts);
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
