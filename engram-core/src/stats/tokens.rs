//! Sums of token counts and costs.

use serde::{Deserialize, Serialize};

use crate::event::{Tokens, Usage};

/// Sums of token counts and costs, as the logs state them. A count that no response says is unknown, not 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TokenCounts {
    /// The responses that are added.
    pub responses: u64,
    /// Input tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Input tokens read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// Input tokens written to a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// The part of `cache_write` with the longer life.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<u64>,
    /// Output tokens spent on reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    /// Cost in US dollars, as responses state it. A stated 0 of a response with tokens is unknown: harnesses write it where they know no
    /// price, or where a subscription pays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The sums that are too small: some of the responses do not state a count, or a sum is larger than a number can be.
    #[serde(skip_serializing_if = "Partial::is_empty")]
    pub partial: Partial,
}

/// Which sums of [`TokenCounts`] are at least so much, and may be more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Partial {
    /// [`TokenCounts::input`].
    #[serde(skip_serializing_if = "is_false")]
    pub input: bool,
    /// [`TokenCounts::output`].
    #[serde(skip_serializing_if = "is_false")]
    pub output: bool,
    /// [`TokenCounts::cache_read`].
    #[serde(skip_serializing_if = "is_false")]
    pub cache_read: bool,
    /// [`TokenCounts::cache_write`].
    #[serde(skip_serializing_if = "is_false")]
    pub cache_write: bool,
    /// [`TokenCounts::reasoning`].
    #[serde(skip_serializing_if = "is_false")]
    pub reasoning: bool,
    /// [`TokenCounts::cost_usd`].
    #[serde(skip_serializing_if = "is_false")]
    pub cost_usd: bool,
}

// Serde passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
pub(super) fn is_false(value: &bool) -> bool {
    !value
}

impl Partial {
    // Serde passes a reference.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    fn is_empty(&self) -> bool {
        *self == Partial::default()
    }
}

impl TokenCounts {
    /// The counts of one response.
    pub fn of(usage: &Usage<'_>) -> TokenCounts {
        let Tokens {
            input,
            cache_read,
            cache_write,
            cache_write_1h,
            output,
            reasoning,
        } = usage.tokens;
        let has_tokens = [input, cache_read, cache_write, output]
            .into_iter()
            .flatten()
            .any(|count| count > 0);
        let stated = usage
            .cost_usd
            .and_then(|cost| amount(cost.as_str()))
            .filter(|cost| *cost != 0.0 || !has_tokens);
        let cost_usd = stated.map(|cost| cost.clamp(-MAX_COST, MAX_COST));
        let partial = Partial {
            cost_usd: stated != cost_usd,
            ..Partial::default()
        };
        TokenCounts {
            responses: 1,
            input,
            output,
            cache_read,
            cache_write,
            cache_write_1h,
            reasoning,
            cost_usd,
            partial,
        }
    }

    /// Adds other counts.
    pub fn add(&mut self, more: TokenCounts) {
        if self.responses == 0 || more.responses == 0 {
            *self = if self.responses == 0 { more } else { *self };
            return;
        }
        let (one, other, known, others) = (self.partial, more.partial, self.known(), more.known());
        let of = |field: fn(&Partial) -> bool| {
            field(&one) || field(&other) || field(&known) != field(&others)
        };
        self.partial = Partial {
            input: of(|of| of.input),
            output: of(|of| of.output),
            cache_read: of(|of| of.cache_read),
            cache_write: of(|of| of.cache_write),
            reasoning: of(|of| of.reasoning),
            cost_usd: of(|of| of.cost_usd),
        };
        self.responses = self.responses.saturating_add(more.responses);
        let partial = &mut self.partial;
        self.input = count(self.input, more.input, &mut partial.input);
        self.output = count(self.output, more.output, &mut partial.output);
        self.cache_read = count(self.cache_read, more.cache_read, &mut partial.cache_read);
        self.cache_write = count(self.cache_write, more.cache_write, &mut partial.cache_write);
        self.reasoning = count(self.reasoning, more.reasoning, &mut partial.reasoning);
        self.cache_write_1h = sum(
            self.cache_write_1h,
            more.cache_write_1h,
            u64::saturating_add,
        );
        let cost = sum(self.cost_usd, more.cost_usd, |one, other| one + other);
        self.cost_usd = cost.map(|cost| cost.clamp(-MAX_COST, MAX_COST));
        partial.cost_usd |= cost != self.cost_usd;
    }

    /// The sums that some response says.
    fn known(&self) -> Partial {
        Partial {
            input: self.input.is_some(),
            output: self.output.is_some(),
            cache_read: self.cache_read.is_some(),
            cache_write: self.cache_write.is_some(),
            reasoning: self.reasoning.is_some(),
            cost_usd: self.cost_usd.is_some(),
        }
    }

    /// All tokens together, and whether counts of input or output are unknown. `None` if no count is known.
    pub fn all(&self) -> Option<(u64, bool)> {
        let counts = [self.input, self.output, self.cache_read, self.cache_write];
        let mut is_partial = self.partial.input
            || self.partial.output
            || self.input.is_none()
            || self.output.is_none();
        let all = counts
            .into_iter()
            .fold(None, |all, more| count(all, more, &mut is_partial))?;
        Some((all, is_partial))
    }
}

/// The largest cost in US dollars that is added up. A log can contain any number, and infinity is none.
pub(super) const MAX_COST: f64 = 1e12;

/// A cost of a log, if it is a number.
pub(super) fn amount(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|cost| !cost.is_nan())
}

/// The sum of what is known. If it is larger than a number can be, it is the largest one, and `is_partial`.
fn count(one: Option<u64>, other: Option<u64>, is_partial: &mut bool) -> Option<u64> {
    sum(one, other, |one, other| {
        one.checked_add(other).unwrap_or_else(|| {
            *is_partial = true;
            u64::MAX
        })
    })
}

/// The sum of what is known.
fn sum<T: Copy>(one: Option<T>, other: Option<T>, mut add: impl FnMut(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(add(one, other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_that_no_number_can_be_says_so() {
        let one = TokenCounts {
            responses: 1,
            input: Some(u64::MAX),
            output: Some(1),
            cost_usd: Some(MAX_COST),
            ..TokenCounts::default()
        };
        let mut sum = one;
        sum.add(one);
        assert_eq!(
            (sum.input, sum.output, sum.cost_usd),
            (Some(u64::MAX), Some(2), Some(MAX_COST))
        );
        assert_eq!(
            sum.partial,
            Partial {
                input: true,
                cost_usd: true,
                ..Partial::default()
            }
        );
        assert_eq!(
            (one.all(), one.partial),
            (Some((u64::MAX, true)), Partial::default())
        );
    }
}
