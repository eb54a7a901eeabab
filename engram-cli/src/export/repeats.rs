//! Which tapes of an export repeat a session that another tape of it has, so that sums over the rows are those of `engram stats`.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use engram_command::pool::in_order;
use engram_command::report::Reporter;
use engram_command::summary::count;
use engram_core::error::AdapterError;
use engram_core::form_facts::{FormFacts, FormSink, Identity};
use engram_core::repeats::{Rank, repeated};
use engram_core::stats::Stats;
use engram_core::tape::replay;

use super::inputs::TapeFile;
use crate::tapes::open_tape;

/// The names of the tapes that repeat another one, each with that one. Only tapes of sessions that have several are read, and of those only what
/// will have rows counts: a tape that is refused gives none for another one.
///
/// # Errors
/// If no threads can be made. A tape that cannot be read is left out here; the export reports it.
pub fn repeats(
    tapes: &[TapeFile],
    has_rows: impl Fn(&TapeFile) -> bool + Sync,
    jobs: Option<NonZeroUsize>,
    report: &Reporter,
) -> Result<BTreeMap<String, String>, AdapterError> {
    let mut of_session: BTreeMap<&Identity, Vec<&TapeFile>> = BTreeMap::new();
    for tape in tapes {
        if let Some(of) = &tape.of {
            of_session.entry(of).or_default().push(tape);
        }
    }
    let several = of_session.values().filter(|tapes| tapes.len() > 1);
    let several: Vec<&TapeFile> = several.flatten().copied().collect();
    let mut forms: BTreeMap<&str, (FormFacts, Rank)> = BTreeMap::new();
    in_order(
        jobs,
        &several,
        |tape| form(tape).filter(|_| has_rows(tape)),
        |tape, form| {
            forms.extend(form.map(|form| (tape.name.as_str(), form)));
        },
    )?;
    let all: BTreeSet<Identity> = of_session.into_keys().cloned().collect();
    let facts = forms.iter().map(|(name, (facts, _))| (*name, facts));
    let repeated = repeated(facts, |name, _| forms[name].1.clone(), &all);
    if !repeated.is_empty() {
        report.note(&format!(
            "repeats     {} whose session is counted from another one: only `events` and `tapes` have rows of them",
            count(repeated.len() as u64, "tape")
        ));
    }
    let owned = |(repeat, of): (&str, &str)| (repeat.to_owned(), of.to_owned());
    Ok(repeated.into_iter().map(owned).collect())
}

fn form(tape: &TapeFile) -> Option<(FormFacts, Rank)> {
    let mut sinks = (Stats::default(), FormSink::default());
    replay(open_tape(&tape.path).ok()?, &mut sinks).ok()?;
    let (stats, form) = sinks;
    let facts = form.facts()?;
    let rank = Rank::of(&facts, &stats);
    Some((facts, rank))
}
