//! The sums and facts of each session of a tape.

use std::collections::HashMap;

use engram_core::event::*;
use engram_core::stats::TokenCounts;
use engram_core::text::Text;

use super::column::*;
use super::rows::Rows;
use super::small::SessionRows;
use super::values::{Place, Project, session_key};
use crate::text::owned;

/// Sessions of a tape with sums of their own.
const MAX_SESSIONS: usize = 4096;

/// The sessions of a tape. Most tapes have one.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    known: Vec<Facts>,
    index: HashMap<(Option<String>, Option<String>), usize>,
    last: usize,
    version: Option<String>,
    /// The largest total so far.
    total: Option<f64>,
    /// It is the tape of a sub-agent: the total of its session has its costs.
    is_of_agent: bool,
}

/// What is known of one session.
#[derive(Debug, Default)]
struct Facts {
    session_id: Option<String>,
    agent_id: Option<String>,
    start: Option<i64>,
    end: Option<i64>,
    title: Option<String>,
    cwd: Option<String>,
    first_model: Option<String>,
    model: Option<String>,
    repo_url: Option<String>,
    repo_branch: Option<String>,
    repo_head: Option<String>,
    agent: Option<String>,
    parent_session_id: Option<String>,
    parent_call_id: Option<String>,
    fork_of: Option<String>,
    events: u64,
    replayed: u64,
    prompts: u64,
    calls: u64,
    failed_calls: u64,
    edits: u64,
    responses: u64,
    input: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    output: Option<u64>,
    reasoning: Option<u64>,
    cost_usd: Option<f64>,
    without_cost: u64,
    cost_computed_usd: Option<f64>,
    cost_total_usd: Option<f64>,
    cost_after_total_usd: Option<f64>,
}

impl Sessions {
    /// Takes the next event. False if there are too many sessions for it to count.
    pub(super) fn note(&mut self, place: &Place<'_>, record: &EventRef<'_>) -> bool {
        if self.known.is_empty() {
            self.is_of_agent = place.agent_id.is_some();
        }
        match record.event {
            Event::Meta(Meta::TapeStart(start)) => self.version = start.harness.version.map(owned),
            Event::Meta(Meta::Revision(revision)) => {
                self.version = revision.harness.version.map(owned)
            }
            _ => {}
        }
        match self.find(place) {
            Some(index) => {
                self.last = index;
                let before = self.total;
                self.known[index].note(place, record);
                let total = self.known[index].cost_total_usd;
                self.total = before.into_iter().chain(total).reduce(f64::max);
                if self.total != before {
                    // What came before a total is in it.
                    self.known
                        .iter_mut()
                        .for_each(|facts| facts.cost_after_total_usd = None);
                }
                true
            }
            None => false,
        }
    }

    /// Adds the computed cost of the response that was noted last.
    pub(super) fn add_cost(&mut self, cost: f64) {
        if let Some(facts) = self.known.get_mut(self.last) {
            for sum in [
                &mut facts.cost_computed_usd,
                &mut facts.cost_after_total_usd,
            ] {
                *sum = Some(sum.unwrap_or_default() + cost);
            }
        }
    }

    /// The model that the session has said last.
    pub(super) fn model(&self, place: &Place<'_>) -> Option<&str> {
        let facts = self.known.get(self.last)?;
        facts
            .is_of(place)
            .then_some(facts.model.as_deref())
            .flatten()
    }

    fn find(&mut self, place: &Place<'_>) -> Option<usize> {
        if self
            .known
            .get(self.last)
            .is_some_and(|facts| facts.is_of(place))
        {
            return Some(self.last);
        }
        let key = (
            place.session_id.map(str::to_owned),
            place.agent_id.map(str::to_owned),
        );
        if let Some(index) = self.index.get(&key) {
            return Some(*index);
        }
        if self.known.len() == MAX_SESSIONS {
            return None;
        }
        self.known.push(Facts {
            session_id: key.0.clone(),
            agent_id: key.1.clone(),
            ..Facts::default()
        });
        self.index.insert(key, self.known.len() - 1);
        Some(self.known.len() - 1)
    }

    /// Appends a row for each session.
    pub(super) fn push_all(
        &self,
        (tape, harness): (&str, &str),
        project: Project,
        rows: &mut SessionRows,
    ) {
        for facts in &self.known {
            let (session, agent) = (facts.session_id.as_deref(), facts.agent_id.as_deref());
            rows.session_key.push(&session_key(tape, session, agent));
            if let Some(cwd) = &facts.cwd {
                rows.project.push(&project(cwd));
            }
            facts
                .cost_after_total_usd
                .filter(|_| !self.is_of_agent)
                .into_iter()
                .for_each(|cost| rows.cost_after_total_usd.push(cost));
            rows.tape.push(tape);
            rows.harness.push(harness);
            word(&mut rows.version, &self.version);
            facts.push(rows);
        }
    }
}

impl Facts {
    fn is_of(&self, place: &Place<'_>) -> bool {
        (self.session_id.as_deref(), self.agent_id.as_deref()) == (place.session_id, place.agent_id)
    }

    fn note(&mut self, place: &Place<'_>, record: &EventRef<'_>) {
        self.events += 1;
        if record.replay {
            self.replayed += 1;
            // A fork goes on where its history began.
            if let Event::Meta(Meta::Session(SessionFacts { cwd: Some(cwd), .. })) = record.event {
                self.cwd.get_or_insert_with(|| owned(*cwd));
            }
            return;
        }
        if let (Some(t), None) = (place.t, record.t_basis) {
            self.start = Some(self.start.map_or(t, |start| start.min(t)));
            self.end = self.end.max(Some(t));
        }
        match record.event {
            Event::MsgIn(message) => self.prompts += u64::from(message.by == Author::Person),
            Event::ToolCall(_) => self.calls += 1,
            Event::ToolResult(result) => {
                self.failed_calls +=
                    u64::from(result.status.is_some_and(|status| status != Status::Ok))
            }
            Event::CodeEdit(_) => self.edits += 1,
            Event::Meta(Meta::Session(facts)) => self.session(facts),
            Event::Meta(Meta::Usage(usage)) => self.usage(usage),
            _ => {}
        }
    }

    fn session(&mut self, facts: &SessionFacts<'_>) {
        let first = |known: &mut Option<String>, text: Option<Text<'_>>| {
            if known.is_none() {
                *known = text.map(owned);
            }
        };
        let last = |known: &mut Option<String>, text: Option<Text<'_>>| {
            if let Some(text) = text {
                *known = Some(owned(text));
            }
        };
        last(&mut self.title, facts.title);
        first(&mut self.cwd, facts.cwd);
        first(&mut self.first_model, facts.model);
        last(&mut self.model, facts.model);
        first(&mut self.repo_url, facts.repo_url);
        first(&mut self.repo_branch, facts.repo_branch);
        first(&mut self.repo_head, facts.repo_head);
        first(&mut self.agent, facts.agent);
        first(&mut self.parent_session_id, facts.parent_session_id);
        first(&mut self.parent_call_id, facts.parent_call_id);
        first(&mut self.fork_of, facts.fork_of);
        let total = facts.cost_total_usd;
        let total = total.and_then(|total| total.as_str().parse::<f64>().ok());
        self.cost_total_usd = self
            .cost_total_usd
            .into_iter()
            .chain(total)
            .reduce(f64::max);
    }

    fn usage(&mut self, usage: &Usage<'_>) {
        let add = |sum: &mut Option<u64>, count: Option<u64>| {
            if let Some(count) = count {
                *sum = Some(sum.unwrap_or_default().saturating_add(count));
            }
        };
        self.responses += 1;
        add(&mut self.input, usage.tokens.input);
        add(&mut self.cache_read, usage.tokens.cache_read);
        add(&mut self.cache_write, usage.tokens.cache_write);
        add(&mut self.output, usage.tokens.output);
        add(&mut self.reasoning, usage.tokens.reasoning);
        // A cost of 0 for a response with tokens is no statement.
        let stated = TokenCounts::of(usage).cost_usd;
        self.without_cost += u64::from(stated.is_none());
        if let Some(cost) = stated {
            self.cost_usd = Some(self.cost_usd.unwrap_or_default() + cost);
        }
        if self.first_model.is_none() {
            self.first_model = usage.model.map(owned);
        }
    }

    fn push(&self, rows: &mut SessionRows) {
        let time = |column: &mut Times, time: Option<i64>| {
            time.into_iter().for_each(|time| column.push(time))
        };
        let sum = |column: &mut Ints, sum: Option<u64>| {
            sum.into_iter().for_each(|sum| column.push(int(sum)))
        };
        word(&mut rows.session_id, &self.session_id);
        word(&mut rows.agent_id, &self.agent_id);
        time(&mut rows.start, self.start);
        time(&mut rows.end, self.end);
        if let Some(title) = &self.title {
            rows.title.push(title);
        }
        word(&mut rows.cwd, &self.cwd);
        word(&mut rows.model, &self.first_model);
        word(&mut rows.repo_url, &self.repo_url);
        word(&mut rows.repo_branch, &self.repo_branch);
        word(&mut rows.repo_head, &self.repo_head);
        word(&mut rows.agent, &self.agent);
        word(&mut rows.parent_session_id, &self.parent_session_id);
        word(&mut rows.parent_call_id, &self.parent_call_id);
        word(&mut rows.fork_of, &self.fork_of);
        rows.events.push(int(self.events));
        rows.replayed.push(int(self.replayed));
        rows.prompts.push(int(self.prompts));
        rows.calls.push(int(self.calls));
        rows.failed_calls.push(int(self.failed_calls));
        rows.edits.push(int(self.edits));
        rows.responses.push(int(self.responses));
        sum(&mut rows.input, self.input);
        sum(&mut rows.cache_read, self.cache_read);
        sum(&mut rows.cache_write, self.cache_write);
        sum(&mut rows.output, self.output);
        sum(&mut rows.reasoning, self.reasoning);
        self.cost_usd
            .into_iter()
            .for_each(|cost| rows.cost_usd.push(cost));
        rows.responses_without_cost.push(int(self.without_cost));
        self.cost_computed_usd
            .into_iter()
            .for_each(|cost| rows.cost_computed_usd.push(cost));
        self.cost_total_usd
            .into_iter()
            .for_each(|cost| rows.cost_total_usd.push(cost));
        rows.end_row();
    }
}

fn word(column: &mut Words, word: &Option<String>) {
    if let Some(word) = word {
        column.push(word);
    }
}
