//! What a tape says about its responses, its times, and what of it spans cannot hold.

use engram_core::event::*;
use engram_core::text::replace_lone_surrogates;

use super::conventions::*;
use super::wire::Attributes;
use super::{CONTEXT, FINGERPRINTS, NO_TIME_EVENT, REPLAY};
use crate::losses::{Losses, SURROGATE, TIME_RANGE, UNKNOWN_LABEL};
use crate::session::{Response, Session};
use crate::text::owned;
use crate::time::moment;

/// The provider, as the session said it last before an event.
pub(super) fn provider(session: &Session<'_>, before: usize) -> Option<String> {
    session.events[..before]
        .iter()
        .rev()
        .find_map(|record| match &record.event {
            Event::Meta(Meta::Session(facts)) => facts.provider.map(owned),
            _ => None,
        })
}

/// The model of a response, or of its session.
pub(super) fn model(session: &Session<'_>, response: &Response) -> Option<String> {
    let stated = |index: &usize| match &session.events[*index].event {
        Event::MsgOut(message) => message.model.map(owned),
        Event::Meta(Meta::Usage(usage)) => usage.model.map(owned),
        _ => None,
    };
    let of_session = || {
        session.events[..response.first()]
            .iter()
            .rev()
            .find_map(|record| match &record.event {
                Event::Meta(Meta::Session(facts)) => facts.model.map(owned),
                _ => None,
            })
    };
    response
        .events
        .iter()
        .chain(&response.usage)
        .find_map(stated)
        .or_else(of_session)
}

/// Why a response ended.
pub(super) fn finish_reason(session: &Session<'_>, response: &Response) -> String {
    let reason = |index: &usize| match &session.events[*index].event {
        Event::Meta(Meta::Usage(usage)) => usage.stop_reason.map(owned),
        _ => None,
    };
    response
        .usage
        .iter()
        .find_map(reason)
        .unwrap_or_else(|| "unknown".to_owned())
}

/// What a response cost.
pub(super) fn usage(
    session: &Session<'_>,
    response: &Response,
    semconv: Semconv,
    attributes: &mut Attributes,
) {
    let (mut tokens, mut cost, mut reasons) = (Tokens::default(), None::<f64>, Vec::new());
    let add = |sum: &mut Option<u64>, count: Option<u64>| {
        if let Some(count) = count {
            *sum = Some(sum.unwrap_or_default().saturating_add(count));
        }
    };
    for &index in &response.usage {
        let Event::Meta(Meta::Usage(usage)) = &session.events[index].event else {
            continue;
        };
        add(&mut tokens.input, usage.tokens.input);
        add(&mut tokens.input, usage.tokens.cache_read);
        add(&mut tokens.input, usage.tokens.cache_write);
        add(&mut tokens.cache_read, usage.tokens.cache_read);
        add(&mut tokens.cache_write, usage.tokens.cache_write);
        add(&mut tokens.output, usage.tokens.output);
        add(&mut tokens.reasoning, usage.tokens.reasoning);
        if let Some(more) = usage
            .cost_usd
            .and_then(|cost| cost.as_str().parse::<f64>().ok())
        {
            cost = Some(cost.unwrap_or_default() + more);
        }
        reasons.extend(usage.stop_reason.map(owned));
    }
    if !reasons.is_empty() {
        attributes.set(FINISH_REASONS, reasons);
    }
    attributes.maybe(INPUT_TOKENS, tokens.input);
    attributes.maybe(CACHE_READ, tokens.cache_read);
    attributes.maybe(semconv.cache_write(), tokens.cache_write);
    attributes.maybe(OUTPUT_TOKENS, tokens.output);
    attributes.maybe(REASONING_TOKENS, tokens.reasoning);
    attributes.maybe("engram.cost.usd", cost);
}

/// The time of each event that is exported.
pub(super) fn times(session: &Session<'_>, losses: &mut Losses) -> Vec<Option<i64>> {
    let time = |record: &EventRecord<'_>| {
        if record.replay {
            losses.count(&REPLAY);
            return None;
        }
        if record.t_basis == Some(TimeBasis::Absent) {
            losses.count(&NO_TIME_EVENT);
            return None;
        }
        // A span has no time before 1970.
        let time = moment(record.t).nanoseconds().filter(|time| *time > 0);
        losses.count_many(&TIME_RANGE, u64::from(time.is_none()));
        time
    };
    session.events.iter().map(time).collect()
}

/// Counts what spans cannot hold.
pub(super) fn count_losses(session: &Session<'_>, losses: &mut Losses) {
    let mut is_lossy = false;
    for record in &session.events {
        let has_anchors = match &record.event {
            Event::CodeRead(read) => !read.anchor_hashes.is_empty(),
            Event::CodeEdit(edit) => {
                !edit.before_anchor_hashes.is_empty() || !edit.after_anchor_hashes.is_empty()
            }
            _ => false,
        };
        losses.count_many(&FINGERPRINTS, u64::from(has_anchors));
        match &record.event {
            Event::Meta(
                Meta::Context(_)
                | Meta::Episode(_)
                | Meta::System { .. }
                | Meta::Revision(_)
                | Meta::Unrecognized(_),
            ) => losses.count(&CONTEXT),
            Event::Meta(Meta::Other(_)) => losses.count(&UNKNOWN_LABEL),
            _ => {}
        }
        is_lossy |= matches!(
            replace_lone_surrogates(&record.to_line()),
            std::borrow::Cow::Owned(_)
        );
    }
    losses.count_many(&SURROGATE, u64::from(is_lossy));
}
