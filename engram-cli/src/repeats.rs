//! Which inputs repeat a session that another one has, so that sums over the others are those of `engram stats`.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use engram_command::pool::in_order;
use engram_core::error::AdapterError;
use engram_core::form_facts::{FormFacts, FormSink, Identity};
use engram_core::repeats::{Rank, repeated};
use engram_core::sink::EventSink;
use engram_core::stats::Stats;

/// What is compared of an input.
pub struct Form {
    facts: FormFacts,
    rank: Rank,
}

impl Form {
    /// Reads an input, whose events `send` gives. `None` if that fails, or if they name no session.
    pub fn read(send: impl FnOnce(&mut dyn EventSink) -> Option<()>) -> Option<Form> {
        let mut sinks = (Stats::default(), FormSink::default());
        send(&mut sinks)?;
        let (stats, form) = sinks;
        let facts = form.facts()?;
        let rank = Rank::of(&facts, &stats);
        Some(Form { facts, rank })
    }
}

/// The numbers of the inputs that repeat another one, each with that one. `of` says whose session an input is. Only inputs of sessions that
/// several have are read, with their sub-agents; one that `form` cannot read repeats nothing and is repeated by none.
///
/// # Errors
/// If no threads can be made.
pub fn repeats<T: Sync>(
    inputs: &[T],
    of: impl Fn(&T) -> Option<Identity>,
    form: impl Fn(&T) -> Option<Form> + Sync,
    jobs: Option<NonZeroUsize>,
) -> Result<BTreeMap<usize, usize>, AdapterError> {
    let mut of_session: BTreeMap<Identity, Vec<usize>> = BTreeMap::new();
    for (number, input) in inputs.iter().enumerate() {
        if let Some(of) = of(input) {
            of_session.entry(of).or_default().push(number);
        }
    }
    let session = |of: &Identity| (of.harness.clone(), of.session_id.clone());
    let several = of_session.iter().filter(|(_, numbers)| numbers.len() > 1);
    let several: BTreeSet<_> = several.map(|(of, _)| session(of)).collect();
    let several = of_session
        .iter()
        .filter(|(of, _)| several.contains(&session(of)));
    let several: Vec<usize> = several.flat_map(|(_, numbers)| numbers.clone()).collect();
    let mut forms: BTreeMap<usize, Form> = BTreeMap::new();
    in_order(
        jobs,
        &several,
        |number| form(&inputs[*number]),
        |number, form| forms.extend(form.map(|form| (*number, form))),
    )?;
    let mut all: BTreeSet<Identity> = of_session.into_keys().collect();
    all.extend(forms.values().flat_map(|form| form.facts.names()));
    let facts = forms.iter().map(|(number, form)| (*number, &form.facts));
    Ok(repeated(
        facts,
        |number, _| forms[&number].rank.clone(),
        &all,
    ))
}
