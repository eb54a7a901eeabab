//! Which inputs repeat a session that another input has. A sum over sessions leaves them out.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::form_facts::{FormFacts, Identity};
use crate::keys::hash64;
use crate::stats::{NO_MODEL, NO_STATUS, Stats, TokenCounts};

/// The order of inputs with as many prompts and calls: the greatest one says most about them. Paths play no part, so the same input is counted
/// whether the logs are read or the tapes that were made of them.
///
/// These numbers are compared one after the other: tokens, calls with a status, edits, tokens of named models, answers, 1 if the log has a working
/// directory, events with a time, and a hash of all counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rank([u64; 8]);

impl Rank {
    /// The rank of the input with these facts and counts.
    pub fn of(facts: &FormFacts, stats: &Stats) -> Rank {
        let counts = stats.counts();
        let (has_directory, dated) = facts.place_and_time();
        let sum = |numbers: &mut dyn Iterator<Item = u64>| numbers.fold(0, u64::saturating_add);
        let tokens_of = |model: &TokenCounts| {
            model
                .input
                .unwrap_or_default()
                .saturating_add(model.output.unwrap_or_default())
        };
        let with_status = counts.calls.values().flatten();
        let with_status = with_status.filter(|(status, _)| **status != NO_STATUS);
        let with_model = counts.tokens.iter().filter(|(model, _)| *model != NO_MODEL);
        Rank([
            sum(&mut counts.tokens.values().map(tokens_of)),
            sum(&mut with_status.map(|(_, calls)| *calls)),
            sum(&mut counts.edits.values().copied()),
            sum(&mut with_model.map(|(_, tokens)| tokens_of(tokens))),
            counts.answers,
            u64::from(has_directory),
            dated,
            hash64(serde_json::to_string(&counts).unwrap_or_default()),
        ])
    }
}

/// The inputs that repeat another one, each with that one. `all` are the sessions and sub-agents of all inputs ([`FormFacts::names`]), also of those
/// that are alone with theirs and need not be among `forms`.
///
/// It is the rule that a search for sessions applies to their forms, but an input that states what responses cost comes before one that has
/// more calls.
pub fn repeated<'f, K: Copy + Ord>(
    forms: impl IntoIterator<Item = (K, &'f FormFacts)>,
    rank: impl Fn(K, &'f FormFacts) -> Rank,
    all: &BTreeSet<Identity>,
) -> BTreeMap<K, K> {
    let mut sessions: BTreeMap<&Identity, Vec<(K, &FormFacts)>> = BTreeMap::new();
    for (key, facts) in forms {
        let session = sessions.entry(facts.identity()).or_default();
        session.push((key, facts));
    }
    let ids: BTreeSet<(&str, &str)> = all
        .iter()
        .map(|of| (of.harness.as_str(), of.session_id.as_str()))
        .collect();
    let mut repeated = BTreeMap::new();
    for (own, mut inputs) in sessions.into_iter().filter(|(_, inputs)| inputs.len() > 1) {
        let has_own_input = |of: &str, agent: Option<&str>| match agent {
            Some(agent) if of == own.session_id => all.contains(&Identity {
                agent_id: Some(agent.to_owned()),
                ..own.clone()
            }),
            _ => ids.contains(&(own.harness.as_str(), of)),
        };
        inputs
            .sort_by_cached_key(|(key, facts)| (Reverse((facts.size(), rank(*key, facts))), *key));
        let mut used: Vec<(K, &FormFacts)> = Vec::new();
        for (key, facts) in inputs {
            match used
                .iter()
                .find(|(_, used)| used.count_for(facts, has_own_input))
            {
                Some((used, _)) => drop(repeated.insert(key, *used)),
                None => used.push((key, facts)),
            }
        }
    }
    repeated
}
