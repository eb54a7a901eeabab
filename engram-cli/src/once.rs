//! Sums over sessions. A session counts once, although several files or tapes have it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use engram_adapters::sessions::FormFacts;
use engram_command::report::Reporter;
use engram_command::summary::count;
use engram_core::overview::Overview;
use engram_core::stats::{NO_MODEL, NO_STATUS, Stats, TokenCounts};

/// False for a log that has nothing of a session: old versions of Claude Code kept titles of other sessions in files of their own.
pub fn is_session(overview: &Overview) -> bool {
    let has_work = overview.prompts > 0 || overview.calls > 0 || overview.tokens.responses > 0;
    has_work || overview.session_id.is_some() || overview.start.is_some()
}

/// What a command says if the filters leave nothing. `inputs` is how many there were.
pub fn none_fits(inputs: u64) -> String {
    format!(
        "none of {} fits the filters: each is a session or a sub-agent",
        count(inputs, "input")
    )
}

/// What was read of one file, session of a store, or tape.
pub struct Counted<T> {
    /// Where it is.
    pub path: PathBuf,
    /// Its counts.
    pub stats: Stats,
    /// What it is about.
    pub overview: Overview,
    /// Whose session it is, and what another form of it must have; `None` if it has no id.
    pub facts: Option<FormFacts>,
    /// What the command wants to know beside.
    pub more: T,
}

/// Everything that was read, in the order of the input.
pub struct Once<T>(Vec<Counted<T>>);

impl<T> Default for Once<T> {
    fn default() -> Self {
        Once(Vec::new())
    }
}

impl<T> Once<T> {
    /// Adds one input.
    pub fn add(&mut self, counted: Counted<T>) {
        self.0.push(counted);
    }

    /// All inputs, repeats included.
    pub fn all(self) -> Vec<Counted<T>> {
        self.0
    }

    /// The inputs without those that repeat a session of another one.
    pub fn each_once(self, report: &Reporter) -> Vec<Counted<T>> {
        let repeated = self.repeated();
        for (index, used) in &repeated {
            let (path, used) = (
                self.0[*index].path.to_string_lossy(),
                self.0[*used].path.to_string_lossy(),
            );
            report.detail(&format!(
                "skipped: {path}: the session is counted from {used}"
            ));
        }
        if !repeated.is_empty() && !report.is_verbose() {
            let inputs = count(repeated.len() as u64, "input");
            report.note(&format!(
                "skipped     {inputs} whose session is counted from another one (`-v` lists them)"
            ));
        }
        let own = self
            .0
            .into_iter()
            .enumerate()
            .filter(|(index, _)| !repeated.contains_key(index));
        own.map(|(_, counted)| counted).collect()
    }

    /// The inputs that repeat another one, each with that one. It is the rule that a search for sessions applies to their forms, but an input
    /// that states what responses cost comes before one that has more calls.
    fn repeated(&self) -> BTreeMap<usize, usize> {
        let mut sessions: BTreeMap<_, Vec<(usize, &FormFacts)>> = BTreeMap::new();
        for (index, facts) in self
            .0
            .iter()
            .enumerate()
            .filter_map(|(index, counted)| Some((index, counted.facts.as_ref()?)))
        {
            sessions
                .entry(facts.identity())
                .or_default()
                .push((index, facts));
        }
        let agents: HashSet<_> = sessions.keys().copied().collect();
        let ids: HashSet<_> = agents
            .iter()
            .map(|(harness, id, _)| (*harness, *id))
            .collect();
        let mut repeated = BTreeMap::new();
        for ((harness, session, _), mut inputs) in
            sessions.into_iter().filter(|(_, inputs)| inputs.len() > 1)
        {
            let has_own_input = |of: &str, agent: Option<&str>| match agent {
                Some(_) if of == session => agents.contains(&(harness, of, agent)),
                _ => ids.contains(&(harness, of)),
            };
            inputs.sort_by_cached_key(|(index, facts)| {
                (Reverse(facts.size()), self.rank(*index), *index)
            });
            let mut used: Vec<(usize, &FormFacts)> = Vec::new();
            for (index, facts) in inputs {
                match used
                    .iter()
                    .find(|(_, used)| used.count_for(facts, has_own_input))
                {
                    Some((used, _)) => drop(repeated.insert(index, *used)),
                    None => used.push((index, facts)),
                }
            }
        }
        repeated
    }

    /// The order of inputs with as many prompts and calls: first the one that says most about them. Paths play no part, so the same input
    /// is counted whether the logs are read or the tapes that were made of them.
    fn rank(&self, index: usize) -> impl Ord {
        let counts = self.0[index].stats.counts();
        let sum =
            |numbers: &mut dyn Iterator<Item = u64>| Reverse(numbers.fold(0, u64::saturating_add));
        let tokens_of = |model: &TokenCounts| {
            model
                .input
                .unwrap_or_default()
                .saturating_add(model.output.unwrap_or_default())
        };
        (
            sum(&mut counts.tokens.values().map(tokens_of)),
            sum(&mut counts
                .calls
                .values()
                .flatten()
                .filter(|(status, _)| **status != NO_STATUS)
                .map(|(_, calls)| *calls)),
            sum(&mut counts.edits.values().copied()),
            sum(&mut counts
                .tokens
                .iter()
                .filter(|(model, _)| *model != NO_MODEL)
                .map(|(_, tokens)| tokens_of(tokens))),
            Reverse(counts.answers),
            serde_json::to_string(&counts).unwrap_or_default(),
        )
    }
}
