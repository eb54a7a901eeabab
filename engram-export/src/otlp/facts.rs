//! What a tape says about its responses, its times, and what of it spans cannot hold.

use std::io;

use engram_core::event::*;
use engram_core::text::replace_lone_surrogates;

use super::conventions::*;
use super::options::Content;
use super::rules::{CONTEXT, FINGERPRINTS, NO_TIME_EVENT, REPLAY, TEXT};
use super::wire::Attributes;
use crate::losses::{Losses, SURROGATE, TIME_RANGE, UNKNOWN_LABEL};
use crate::session::{Response, Session};
use crate::text::owned;
use crate::time::moment;

/// What one look at all events tells.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// The time of each event that is exported.
    pub(super) times: Vec<Option<i64>>,
    /// The messages to the model and the results.
    inputs: Vec<usize>,
    /// Whether the model says or calls something after an event, in the same turn.
    pub(super) has_output_after: Vec<bool>,
    /// The providers and models that the session states, each with its event.
    providers: Vec<(usize, String)>,
    models: Vec<(usize, String)>,
    /// The hash of the log.
    pub(super) input: String,
    /// The title that the log states last.
    pub(super) title: Option<String>,
    /// The largest cost that the log states for the session: with its sub-agents.
    pub(super) total: Option<f64>,
    /// The version of the harness.
    pub(super) version: Option<String>,
    /// The address, branch and commit of the repository.
    pub(super) repository: [Option<String>; 3],
}

impl Facts {
    /// Looks at all events, and counts what spans cannot hold.
    pub(super) fn of(
        session: &Session<'_>,
        content: Content,
        losses: &mut Losses,
    ) -> io::Result<Facts> {
        let mut facts = Facts::default();
        let mut is_output = Vec::with_capacity(session.len());
        session.each(&mut |index, line, record| {
            let time = time(record, losses);
            count_losses(record, line, losses);
            if time.is_some() {
                let is_left_out = content.leaves_out(&record.event);
                losses.count_many(&TEXT, u64::from(is_left_out));
            }
            facts.times.push(time);
            facts.add(index, record);
            is_output.push(matches!(
                record.event,
                Event::MsgOut(_) | Event::ToolCall(_)
            ));
            Ok(())
        })?;
        facts.has_output_after = has_output_after(&is_output, &session.turns);
        Ok(facts)
    }

    fn add(&mut self, index: usize, record: &EventRecord<'_>) {
        match &record.event {
            Event::MsgIn(_) | Event::ToolResult(_) => self.inputs.push(index),
            Event::Meta(Meta::TapeStop(stop)) if self.input.is_empty() => {
                self.input = stop.input.hash.to_string()
            }
            Event::Meta(Meta::TapeStart(start)) if !record.replay => {
                self.version = start.harness.version.map(owned)
            }
            Event::Meta(Meta::Session(stated)) => {
                self.providers
                    .extend(stated.provider.map(|provider| (index, owned(provider))));
                self.models
                    .extend(stated.model.map(|model| (index, owned(model))));
                if !record.replay {
                    self.session(stated);
                }
            }
            _ => {}
        }
    }

    fn session(&mut self, stated: &SessionFacts<'_>) {
        self.title = stated.title.map(owned).or(self.title.take());
        let total = stated.cost_total_usd;
        let total = total.and_then(|total| total.as_str().parse::<f64>().ok());
        self.total = self.total.into_iter().chain(total).reduce(f64::max);
        let repository = [stated.repo_url, stated.repo_branch, stated.repo_head];
        for (known, stated) in self.repository.iter_mut().zip(repository) {
            *known = known.take().or_else(|| stated.map(owned));
        }
    }

    /// When the request for a response began: with the result or input before it.
    pub(super) fn request_time(&self, first: usize) -> Option<i64> {
        let before = self.inputs.partition_point(|input| *input < first);
        self.times[*self.inputs.get(before.checked_sub(1)?)?]
    }

    /// The provider, as the session said it last before an event.
    pub(super) fn provider(&self, before: usize) -> Option<&str> {
        last_before(&self.providers, before)
    }

    /// The model of a response, or of its session.
    pub(super) fn model(
        &self,
        session: &Session<'_>,
        response: &Response,
    ) -> io::Result<Option<String>> {
        for index in response.events.iter().chain(&response.usage) {
            let line = session.line(*index)?;
            let stated = match &line.record()?.event {
                Event::MsgOut(message) => message.model.map(owned),
                Event::Meta(Meta::Usage(usage)) => usage.model.map(owned),
                _ => None,
            };
            if stated.is_some() {
                return Ok(stated);
            }
        }
        Ok(last_before(&self.models, response.first()).map(str::to_owned))
    }
}

fn last_before(stated: &[(usize, String)], before: usize) -> Option<&str> {
    let end = stated.partition_point(|(index, _)| *index < before);
    stated[..end].last().map(|(_, word)| word.as_str())
}

fn has_output_after(is_output: &[bool], turns: &[Option<u64>]) -> Vec<bool> {
    let mut has = vec![false; is_output.len()];
    for index in (1..is_output.len()).rev() {
        has[index - 1] = turns[index - 1] == turns[index] && (is_output[index] || has[index]);
    }
    has
}

/// What a response cost, and why it ended; the first reason, or `unknown`.
pub(super) fn usage(
    session: &Session<'_>,
    response: &Response,
    semconv: Semconv,
    attributes: &mut Attributes,
) -> io::Result<String> {
    let (mut tokens, mut cost, mut reasons) = (Tokens::default(), None::<f64>, Vec::new());
    let add = |sum: &mut Option<u64>, count: Option<u64>| {
        if let Some(count) = count {
            *sum = Some(sum.unwrap_or_default().saturating_add(count));
        }
    };
    for &index in &response.usage {
        let line = session.line(index)?;
        let Event::Meta(Meta::Usage(usage)) = line.record()?.event else {
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
    let reason = reasons.first().cloned();
    if !reasons.is_empty() {
        attributes.set(FINISH_REASONS, reasons);
    }
    attributes.maybe(INPUT_TOKENS, tokens.input);
    attributes.maybe(CACHE_READ, tokens.cache_read);
    attributes.maybe(semconv.cache_write(), tokens.cache_write);
    attributes.maybe(OUTPUT_TOKENS, tokens.output);
    attributes.maybe(REASONING_TOKENS, tokens.reasoning);
    attributes.maybe("engram.cost.usd", cost);
    Ok(reason.unwrap_or_else(|| "unknown".to_owned()))
}

/// The time of an event, if it is exported.
fn time(record: &EventRecord<'_>, losses: &mut Losses) -> Option<i64> {
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
}

/// Counts what spans cannot hold.
fn count_losses(record: &EventRecord<'_>, line: &str, losses: &mut Losses) {
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
    let is_lossy = matches!(replace_lone_surrogates(line), std::borrow::Cow::Owned(_));
    losses.count_many(&SURROGATE, u64::from(is_lossy));
}
