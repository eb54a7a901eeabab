//! Sums over sessions. A session counts once, although several files or tapes have it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use engram_command::report::Reporter;
use engram_command::summary::count;
use engram_core::form_facts::FormFacts;
use engram_core::overview::Overview;
use engram_core::repeats::{Rank, repeated};
use engram_core::stats::Stats;

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

    /// Where the inputs are that repeat another one. A place that another session has too is left out.
    pub fn repeating(&self) -> BTreeSet<PathBuf> {
        let repeated = self.repeated();
        let place = |index: &usize| self.0[*index].path.clone();
        let own = (0..self.0.len()).filter(|index| !repeated.contains_key(index));
        let own: BTreeSet<PathBuf> = own.map(|index| place(&index)).collect();
        let places = repeated.keys().map(place);
        places.filter(|place| !own.contains(place)).collect()
    }

    /// The inputs that repeat another one, each with that one.
    fn repeated(&self) -> BTreeMap<usize, usize> {
        let forms = self.0.iter().enumerate();
        let forms = forms.filter_map(|(index, counted)| Some((index, counted.facts.as_ref()?)));
        let all = forms.clone().flat_map(|(_, facts)| facts.names());
        let rank = |index: usize, facts: &_| Rank::of(facts, &self.0[index].stats);
        repeated(forms.clone(), rank, &all.collect())
    }
}
