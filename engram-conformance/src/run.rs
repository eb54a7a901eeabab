//! Runs every check on every recording. Recordings are opened in parallel, and each is dropped when its checks are done.

use std::collections::{BTreeMap, BTreeSet};

use engram_core::adapter::HarnessAdapter;
use engram_core::coverage::Grade;
use rayon::prelude::*;

use crate::cases;
use crate::catalogue::CHECKS;
use crate::check::{Capability, Check, Needs, Run};
use crate::evidence::Evidence;
use crate::options::Options;
use crate::outcome::{Findings, Outcome};
use crate::recording::Recording;
use crate::recordings::Recordings;
use crate::report::{AdapterReport, Report};
use crate::subject::Subject;

/// The results of some recordings.
#[derive(Default)]
struct Results {
    findings: BTreeMap<&'static str, Findings>,
    evidence: Evidence,
    /// How many recordings show each scenario.
    scenarios: BTreeMap<&'static str, u64>,
    sessions: u64,
}

impl Results {
    fn add(mut self, other: Results) -> Results {
        for (id, findings) in other.findings {
            self.findings.entry(id).or_default().add(findings);
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
    let subject = Subject::new(adapter, options.capabilities);
    let of_harness: Vec<&Recording> = recordings.of(subject.descriptor.harness_family).collect();
    let checks: Vec<&Check> = CHECKS
        .iter()
        .filter(|check| is_selected(check, options))
        .collect();
    let needs_evidence = checks
        .iter()
        .any(|check| matches!(check.run, Run::Claims(_)));
    let results = of_harness
        .par_iter()
        .map(|recording| examine(&subject, recording, &checks, needs_evidence))
        .reduce(Results::default, Results::add);
    let outcomes = checks
        .iter()
        .map(|check| {
            (
                check.id,
                outcome(check, &subject, recordings, &results, of_harness.len()),
            )
        })
        .collect();
    Report::of(AdapterReport {
        adapter: subject.descriptor.adapter_id,
        harness: subject.descriptor.harness_family,
        recordings: of_harness.len() as u64,
        sessions: results.sessions,
        scenarios: results.scenarios,
        outcomes,
    })
}

/// See [`crate::scenarios`].
pub fn scenarios(
    adapter: &dyn HarnessAdapter,
    recordings: &Recordings,
    options: &Options<'_>,
) -> BTreeMap<String, BTreeSet<&'static str>> {
    let subject = Subject::new(adapter, options.capabilities);
    let of_harness: Vec<&Recording> = recordings.of(subject.descriptor.harness_family).collect();
    let shown = |recording: &&Recording| {
        cases::open(&subject, recording)
            .pop()
            .map(|case| (recording.name(), case.scenarios))
    };
    of_harness.par_iter().filter_map(shown).collect()
}

fn is_selected(check: &Check, options: &Options<'_>) -> bool {
    options.tier.is_none_or(|tier| tier == check.tier)
        && options.check.is_none_or(|id| id == check.id)
        && options.without.is_none_or(|id| id != check.id)
}

/// Runs the checks of one recording.
fn examine(
    subject: &Subject<'_>,
    recording: &Recording,
    checks: &[&Check],
    needs_evidence: bool,
) -> Results {
    let mut results = Results::default();
    for case in cases::open(subject, recording) {
        results.sessions += case.sessions.len() as u64 + case.failures.len() as u64;
        for check in checks {
            if matches!(check.needs, Needs::Scenario(name) if !case.scenarios.contains(name)) {
                continue;
            }
            match check.run {
                Run::Case(run) => run(&case, results.findings.entry(check.id).or_default()),
                Run::Conversion(run) => run(
                    subject,
                    &case,
                    results.findings.entry(check.id).or_default(),
                ),
                Run::Claims(_) => {}
            }
        }
        results.scenarios = case.scenarios.iter().map(|name| (*name, 1)).collect();
        if needs_evidence {
            results.evidence.add(Evidence::of(subject, &case));
        }
    }
    results
}

fn outcome(
    check: &Check,
    subject: &Subject<'_>,
    recordings: &Recordings,
    results: &Results,
    count: usize,
) -> Outcome {
    if count == 0 {
        return Outcome::skipped(format!(
            "no recordings of {}",
            subject.descriptor.harness_family
        ));
    }
    if let Some(reason) = skip_reason(check.needs, subject, recordings, results) {
        return Outcome::skipped(reason);
    }
    match check.run {
        Run::Case(_) | Run::Conversion(_) => results
            .findings
            .get(check.id)
            .cloned()
            .unwrap_or_default()
            .outcome(),
        Run::Claims(run) => {
            let mut findings = Findings::default();
            run(subject, &results.evidence, &mut findings);
            findings.outcome()
        }
    }
}

/// Why a check cannot run, if it cannot.
fn skip_reason(
    needs: Needs,
    subject: &Subject<'_>,
    recordings: &Recordings,
    results: &Results,
) -> Option<String> {
    match needs {
        Needs::Nothing => None,
        Needs::Kind(kind) => {
            let grades = subject
                .descriptor
                .matrix
                .revisions
                .iter()
                .map(|revision| revision.coverage.grade(kind));
            let is_claimed = grades
                .chain([subject.descriptor.coverage.grade(kind)])
                .any(|grade| grade != Grade::None);
            (!is_claimed).then(|| format!("claims no {}", kind.as_str()))
        }
        Needs::Scenario(name) => {
            (!results.scenarios.contains_key(name)).then(|| format!("no recording of `{name}`"))
        }
        Needs::Capability(capability) => {
            let is_provided = match capability {
                Capability::Stream => subject.capabilities.stream.is_some(),
                Capability::Tools => subject.capabilities.tools.is_some(),
                Capability::Fixtures => recordings.is_declared,
            };
            (!is_provided).then(|| capability.skip_reason().to_owned())
        }
    }
}
