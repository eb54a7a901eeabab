//! The usage of a response, which every line of a message repeats. It stands once, after the last of them.

use engram_core::emit::Pointer;
use engram_core::event::{Meta, Tokens, Usage as UsageEvent};
use engram_core::steps::Emitter;

use crate::claude_code::plan::responses::UsageHere;
use crate::claude_code::record::Record;
use crate::claude_code::revisions::Dialect;
use crate::claude_code::schema::Usage;
use crate::shared::value::{Field, amount, count, text};

/// The most output tokens that are counted when a response begins.
const MAX_FIRST_OUTPUT: u64 = 1;

/// Emits the usage that the last line of a response states.
pub(super) fn emit_usage(record: &Record<'_>, here: UsageHere, dialect: Dialect, out: &mut Emitter<'_>) {
    let usage = Usage::lenient_opt(record.message.usage());
    let tokens = tokens(&usage);
    let (stop_reason, cost_usd) = (text(record.message.stop_reason()), amount(record.line.cost_usd()));
    let is_early = stop_reason.is_none() && cost_usd.is_none();
    let may_be_early = dialect.counts_may_be_late() || tokens.output.is_none_or(|output| output <= MAX_FIRST_OUTPUT);
    let usage = UsageEvent {
        message_id: text(record.message.id()),
        request_id: text(record.line.request_id()),
        model: text(record.message.model()),
        tokens,
        cost_usd,
        stop_reason,
        service_tier: text(usage.service_tier()),
        provisional: here == UsageHere::Broken || (is_early && may_be_early),
    };
    out.emit(Meta::Usage(usage), Pointer::At("/message/usage"));
}

/// The counts of a response. Input does not include what came from the cache or went to it.
fn tokens(usage: &Usage<'_>) -> Tokens {
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
