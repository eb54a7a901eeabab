//! The usage of a response, which every line of a message repeats. It stands once, after the last of them.

use engram_core::event::{Meta, Tokens, Usage as UsageEvent};
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::claude_code::notes::ResponseEnd;
use crate::claude_code::plan::responses::UsageHere;
use crate::claude_code::readers::Usage;
use crate::claude_code::record::Record;
use crate::claude_code::revisions::Dialect;
use crate::shared::value::{Field, Value, amount, count, elements, raw_str, text};

/// The most output tokens that are counted when a response begins.
const MAX_FIRST_OUTPUT: u64 = 1;

/// The type of an iteration in which another model gave advice (2.1.330).
const ADVISOR_ITERATION: &str = "advisor_message";
/// The name of such a part of a response on the tape.
const ADVISOR: &str = "advisor";

/// Emits the usage that the last line of a response says. `end` has the counts that a later part of it said. Returns the output tokens; none
/// of a response whose count may be that of its beginning.
pub(super) fn emit_usage(
    record: &Record<'_>,
    here: UsageHere,
    end: Option<&ResponseEnd>,
    dialect: Dialect,
    out: &mut Emitter<'_>,
) -> u64 {
    let usage = Usage::lenient_opt(record.message.usage());
    let mut tokens = tokens(&usage);
    let mut stop_reason = text(record.message.stop_reason());
    if let Some(end) = end {
        pairs(&mut tokens, end.tokens).for_each(|(first, last)| *first = (*first).max(last));
        stop_reason = stop_reason.or(end.stop_reason.as_deref().map(Text::Plain));
    }
    let cost_usd = amount(record.line.cost_usd());
    let is_early = stop_reason.is_none() && cost_usd.is_none();
    let may_be_early = dialect.counts_may_be_late()
        || tokens
            .output
            .is_none_or(|output| output <= MAX_FIRST_OUTPUT);
    let usage = UsageEvent {
        message_id: text(record.message.id()),
        request_id: text(record.line.request_id()),
        model: text(record.message.model()),
        tokens,
        cost_usd,
        stop_reason,
        service_tier: text(usage.service_tier()),
        provisional: here == UsageHere::Broken || (is_early && may_be_early),
        part: None,
    };
    let whole = tokens.output.filter(|_| !usage.provisional);
    out.emit(Meta::Usage(usage), "/message/usage");
    emit_advisors(record, out);
    whole.unwrap_or(0)
}

/// True for a running total that contains the responses that the tape has: as many output tokens. A process that was killed wrote none, and
/// older versions do not; the process that goes on counts its own responses alone (2.1.332, recorded).
pub(super) fn is_of_session(total: Value<'_>, output: u64) -> bool {
    let Some(by_model) = total.member("modelUsage") else {
        return true;
    };
    let counted = by_model
        .members()
        .filter_map(|(_, model)| count(model.member("outputTokens")));
    counted.fold(0, u64::saturating_add) >= output
}

/// Emits the usage of each advisor: the counts of the response do not include it. All other iterations are the response's own, whose counts
/// do, those of a fallback model too. An advisor that was asked several times has one usage, the sum.
fn emit_advisors(record: &Record<'_>, out: &mut Emitter<'_>) {
    let iterations = || {
        elements(
            record
                .message
                .usage()
                .and_then(|usage| usage.member("iterations")),
        )
    };
    let advice =
        || iterations().filter(|iteration| raw_str(iteration.member("type")) == ADVISOR_ITERATION);
    let Some(first) = advice().next() else { return };
    let mut sum = Tokens::default();
    advice()
        .map(|iteration| tokens(&Usage::lenient(iteration)))
        .for_each(|counts| add(&mut sum, counts));
    let usage = UsageEvent {
        message_id: text(record.message.id()),
        request_id: text(record.line.request_id()),
        model: text(first.member("model")),
        tokens: sum,
        part: Some(Text::Plain(ADVISOR)),
        ..UsageEvent::default()
    };
    out.emit(Meta::Usage(usage), "/message/usage/iterations");
}

/// Adds counts, each to the one of its name.
fn add(sum: &mut Tokens, more: Tokens) {
    for (sum, count) in pairs(sum, more) {
        *sum = sum.map_or(count, |sum| {
            Some(sum.saturating_add(count.unwrap_or_default()))
        });
    }
}

/// The counts of both, each with the one of its name.
fn pairs(one: &mut Tokens, other: Tokens) -> impl Iterator<Item = (&mut Option<u64>, Option<u64>)> {
    [
        (&mut one.input, other.input),
        (&mut one.cache_read, other.cache_read),
        (&mut one.cache_write, other.cache_write),
        (&mut one.cache_write_1h, other.cache_write_1h),
        (&mut one.output, other.output),
        (&mut one.reasoning, other.reasoning),
    ]
    .into_iter()
}

/// The counts of a response. Input does not include what came from the cache or went to it.
pub(in crate::claude_code) fn tokens(usage: &Usage<'_>) -> Tokens {
    let part = |object: Field<'_>, name| count(object.and_then(|object| object.member(name)));
    Tokens {
        input: count(usage.input()),
        cache_read: count(usage.cache_read()),
        cache_write: count(usage.cache_write()),
        cache_write_1h: part(usage.cache_creation(), "ephemeral_1h_input_tokens"),
        output: count(usage.output()),
        reasoning: part(usage.output_details(), "thinking_tokens"),
    }
}
