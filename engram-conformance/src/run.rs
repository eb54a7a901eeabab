//! The run: every check over every recording, each recording opened once and let go.

use std::collections::{BTreeMap, BTreeSet};

use engram_core::adapter::HarnessAdapter;
use engram_core::coverage::Grade;
use rayon::prelude::*;

use crate::catalogue::CHECKS;
use crate::check::{Check, Needs, Over, Part};
use crate::convert::Subject;
use crate::evidence::Evidence;
use crate::options::Options;
use crate::outcome::{Found, Outcome};
use crate::recordings::{Recording, Recordings};
use crate::report::{Column, Report};
use crate::scene::Scene;

/// What one recording, or several, came to.
#[derive(Default)]
struct Seen {
    found: BTreeMap<&'static str, Found>,
    evidence: Evidence,
    /// How many recordings show each scenario.
    scenarios: BTreeMap<&'static str, u64>,
    sessions: u64,
}

impl Seen {
    fn add(mut self, other: Seen) -> Seen {
        for (id, found) in other.found {
            self.found.entry(id).or_default().add(found);
        }
        for (name, count) in other.scenarios {
            *self.scenarios.entry(name).or_default() += count;
        }
        self.evidence.add(other.evidence);
        self.sessions += other.sessions;
        self
    }
}

/// See [`crate::run`].
pub fn run(adapter: &dyn HarnessAdapter, recordings: &Recordings, options: &Options<'_>) -> Report {
    let subject = Subject::new(adapter, options.offered);
    let of_harness: Vec<&Recording> = recordings.of(subject.descriptor.harness_family).collect();
    let checks: Vec<&Check> = CHECKS.iter().filter(|check| is_asked(check, options)).collect();
    let needs_evidence = checks.iter().any(|check| matches!(check.over, Over::Adapter(_)));
    let seen = of_harness.par_iter().map(|recording| look(&subject, recording, &checks, needs_evidence)).reduce(Seen::default, Seen::add);
    let outcomes = checks.iter().map(|check| (check.id, outcome(check, &subject, recordings, &seen, of_harness.len()))).collect();
    Report::of(Column {
        adapter: subject.descriptor.adapter_id,
        harness: subject.descriptor.harness_family,
        recordings: of_harness.len() as u64,
        sessions: seen.sessions,
        scenarios: seen.scenarios,
        outcomes,
    })
}

/// See [`crate::scenarios`].
pub fn scenarios(adapter: &dyn HarnessAdapter, recordings: &Recordings, options: &Options<'_>) -> BTreeMap<String, BTreeSet<&'static str>> {
    let subject = Subject::new(adapter, options.offered);
    let of_harness: Vec<&Recording> = recordings.of(subject.descriptor.harness_family).collect();
    let shown = |recording: &&Recording| Scene::all(&subject, recording).pop().map(|scene| (recording.name(), scene.shows));
    of_harness.par_iter().filter_map(shown).collect()
}

fn is_asked(check: &Check, options: &Options<'_>) -> bool {
    options.tier.is_none_or(|tier| tier == check.tier)
        && options.check.is_none_or(|id| id == check.id)
        && options.without.is_none_or(|id| id != check.id)
}

fn look(subject: &Subject<'_>, recording: &Recording, checks: &[&Check], needs_evidence: bool) -> Seen {
    let mut seen = Seen::default();
    for scene in Scene::all(subject, recording) {
        seen.sessions += scene.sides.len() as u64 + scene.troubles.len() as u64;
        for check in checks {
            let is_shown = match check.needs {
                Needs::Scenario(name) => scene.shows.contains(name),
                _ => true,
            };
            if let Over::Recordings(over) = check.over
                && is_shown
            {
                over(&scene, seen.found.entry(check.id).or_default());
            }
        }
        seen.scenarios = scene.shows.iter().map(|name| (*name, 1)).collect();
        if needs_evidence {
            seen.evidence.add(Evidence::of(&scene));
        }
    }
    seen
}

fn outcome(check: &Check, subject: &Subject<'_>, recordings: &Recordings, seen: &Seen, count: usize) -> Outcome {
    if count == 0 {
        return Outcome::skipped(format!("no recordings of {}", subject.descriptor.harness_family));
    }
    if let Some(reason) = unmet(check.needs, subject, recordings, seen) {
        return Outcome::skipped(reason);
    }
    match check.over {
        Over::Recordings(_) => seen.found.get(check.id).cloned().unwrap_or_default().outcome(),
        Over::Adapter(over) => {
            let mut found = Found::default();
            over(subject, &seen.evidence, &mut found);
            found.outcome()
        }
    }
}

/// Why a check has nothing to say, if it has not.
fn unmet(needs: Needs, subject: &Subject<'_>, recordings: &Recordings, seen: &Seen) -> Option<String> {
    match needs {
        Needs::Nothing => None,
        Needs::Kind(kind) => {
            let grades = subject.descriptor.matrix.revisions.iter().map(|revision| revision.coverage.grade(kind));
            grades
                .chain([subject.descriptor.coverage.grade(kind)])
                .all(|grade| grade == Grade::None)
                .then(|| format!("claims no {}", kind.as_str()))
        }
        Needs::Scenario(name) => (!seen.scenarios.contains_key(name)).then(|| format!("no recording of `{name}`")),
        Needs::Part(part) => {
            let is_there = match part {
                Part::Stream => subject.offered.stream.is_some(),
                Part::Tools => subject.offered.tools.is_some(),
                Part::Fixtures => recordings.is_declared,
            };
            (!is_there).then(|| part.missing().to_owned())
        }
    }
}
