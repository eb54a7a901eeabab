//! Claims: what an adapter says it covers is what the fixtures show, no more and no less.

use std::collections::{BTreeMap, BTreeSet};

use engram_adapters::REGISTRY;
use engram_core::coverage::Grade;
use engram_core::descriptor::AdapterDescriptor;
use engram_core::event::Kind;
use engram_core::version::Revision;

use crate::gaps::{self, Shown};
use crate::report::{self, Tally};
use crate::tree::{fixtures, recordings};

/// What the cases of one revision show.
#[derive(Debug, Default, Clone)]
struct Evidence {
    /// Kinds of which there are events.
    kinds: BTreeSet<&'static str>,
    /// Gaps that some case has.
    gaps: BTreeSet<String>,
    /// Gaps that some fixture shows: what only a recording beside the project shows is proven to nobody.
    shown: BTreeSet<String>,
    /// Versions of the fixtures.
    versions: BTreeSet<String>,
    /// Claims that a tape makes otherwise than the revision.
    disagreeing: Vec<String>,
}

/// Collects what cases show, by adapter and schema.
fn evidence(shown: &[Shown]) -> BTreeMap<(String, String), Evidence> {
    let mut found: BTreeMap<(String, String), Evidence> = BTreeMap::new();
    for case in shown {
        for tape in case.tapes() {
            let Some(start) = tape.first() else { continue };
            let field = |pointer: &str| start.0.pointer(pointer).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
            let of_revision = found.entry((field("/adapter/id"), field("/harness/schema"))).or_default();
            of_revision.kinds.extend(tape.iter().map(|event| event.kind().as_str()));
            of_revision.gaps.extend(gaps::demonstrated(case));
            if case.is_fixture() {
                of_revision.shown.extend(gaps::demonstrated(case));
                // A session that a newer release went on with is of the release that it says.
                let recorded = field("/harness/version");
                of_revision.versions.insert(if recorded.is_empty() { case.version().to_owned() } else { recorded });
            }
            of_revision.disagreeing.extend(disagreement(start, &case.name()));
        }
    }
    found
}

/// A tape whose first event claims something else than its revision.
fn disagreement(start: &crate::tape::Event, name: &str) -> Option<String> {
    let text = |pointer: &str| start.0.pointer(pointer).and_then(|value| value.as_str()).unwrap_or_default();
    let entry = REGISTRY.iter().find(|entry| entry.adapter.describe().adapter_id == text("/adapter/id"))?;
    let revision = entry.adapter.describe().matrix.schema(text("/harness/schema"))?;
    let claimed = serde_json::to_value(revision.coverage).ok()?;
    (start.0.get("coverage") != Some(&claimed)).then(|| format!("{name} claims something else than its revision"))
}

/// What is wrong with the claims of one revision, given what its cases show.
fn unproven(revision: &Revision, shown: &Evidence) -> Vec<String> {
    let mut findings = shown.disagreeing.clone();
    for kind in Kind::ALL {
        let grade = revision.coverage.grade(kind);
        let emits = shown.kinds.contains(kind.as_str());
        match grade {
            Grade::None if emits => findings.push(format!("claims no {}, and gives some", kind.as_str())),
            Grade::Full | Grade::Partial(_) if !emits => {
                findings.push(format!("claims {} {}, and no fixture shows one", grade.as_str(), kind.as_str()))
            }
            _ => {}
        }
        if let Grade::Partial(named) = grade {
            if named.is_empty() {
                findings.push(format!("claims partial {} and names no gap", kind.as_str()));
            }
            let unshown = named.iter().filter(|gap| !shown.shown.contains(**gap));
            findings.extend(unshown.map(|gap| format!("names the gap {gap} of {}, and no fixture shows it", kind.as_str())));
        }
        if grade == Grade::None {
            continue;
        }
        // A case may hold sessions of several revisions: what is never given has no gaps.
        let open =
            shown.gaps.iter().filter(|gap| grade != Grade::None && gaps::kind(gap) == Some(kind) && !grade.gaps().contains(&gap.as_str()));
        findings.extend(open.map(|gap| format!("claims {} {}, but has the gap {gap}", grade.as_str(), kind.as_str())));
    }
    let tested: BTreeSet<String> = revision.tested.iter().map(|version| (*version).to_owned()).collect();
    if tested != shown.versions {
        findings.push(format!("says tested {tested:?}, the fixtures are of {:?}", shown.versions));
    }
    findings.extend(
        ends(revision)
            .into_iter()
            .filter(|end| !tested.contains(end))
            .map(|end| format!("supports up to or from {end}, of which there is no fixture")),
    );
    findings
}

/// The versions that a revision's range names.
fn ends(revision: &Revision) -> Vec<String> {
    let bounds = revision.versions.unwrap_or_default().split(',').map(|bound| bound.trim().trim_start_matches(['>', '<', '=']).to_owned());
    bounds.filter(|version| !version.is_empty()).collect()
}

/// What is wrong with a descriptor in itself.
fn inconsistent(descriptor: &AdapterDescriptor) -> Vec<String> {
    let mut findings = Vec::new();
    let named: BTreeSet<&str> = descriptor.gaps.iter().map(|gap| gap.code).collect();
    let revisions = descriptor.matrix.revisions;
    let used: BTreeSet<&str> =
        revisions.iter().flat_map(|revision| Kind::ALL.map(|kind| revision.coverage.grade(kind).gaps())).flatten().copied().collect();
    findings.extend(used.difference(&named).map(|gap| format!("the gap {gap} is claimed and not described")));
    findings.extend(named.difference(&used).map(|gap| format!("the gap {gap} is described and no claim names it")));
    for kind in Kind::ALL {
        let weight = |grade: Grade| match grade {
            Grade::Full => 2,
            Grade::Partial(_) => 1,
            Grade::None => 0,
        };
        let weakest = revisions.iter().map(|revision| weight(revision.coverage.grade(kind))).min();
        if weakest != Some(weight(descriptor.coverage.grade(kind))) {
            findings.push(format!("the overall claim of {} is not the weakest of its revisions", kind.as_str()));
        }
    }
    findings
}

/// Gaps whose own fixture does not show them.
fn unshown_gaps(descriptor: &AdapterDescriptor, shown: &[Shown]) -> Vec<String> {
    let forms = |fixture: &str| {
        let name = format!("{}/{fixture}", descriptor.harness_family);
        shown.iter().filter(|case| case.is_fixture() && case.name() == name).collect::<Vec<_>>()
    };
    let wrong = descriptor.gaps.iter().filter_map(|gap| match (gaps::kind(gap.code), forms(gap.fixture).as_slice()) {
        (None, _) => Some(format!("the gate cannot tell the gap {}: tests/gates/gaps.rs has no row for it", gap.code)),
        (_, []) => Some(format!("the gap {} is to be shown by {}, which is no fixture", gap.code, gap.fixture)),
        (_, forms) => {
            let is_shown = forms.iter().any(|case| gaps::demonstrated(case).contains(gap.code));
            (!is_shown).then(|| format!("the gap {} is not shown by {}", gap.code, gap.fixture))
        }
    });
    wrong.collect()
}

#[test]
fn claims_equal_what_fixtures_show() {
    let shown: Vec<Shown> = [fixtures(), recordings()]
        .into_iter()
        .flat_map(|corpus| &corpus.cases)
        .map(|(case, artifacts)| Shown::of(case, artifacts))
        .collect();
    let evidence = evidence(&shown);
    let (mut findings, mut tally) = (Vec::new(), Tally::default());
    tally.count_many("cases", shown.len() as u64);
    for entry in REGISTRY {
        let descriptor = entry.adapter.describe();
        assert!(!descriptor.matrix.revisions.is_empty(), "{} supports something", descriptor.adapter_id);
        let mut found = inconsistent(descriptor);
        found.extend(unshown_gaps(descriptor, &shown));
        tally.count_many("gaps", descriptor.gaps.len() as u64);
        for revision in descriptor.matrix.revisions {
            tally.count("revisions");
            let key = (descriptor.adapter_id.to_owned(), revision.schema.to_owned());
            let of_revision = evidence.get(&key).cloned().unwrap_or_default();
            found.extend(unproven(revision, &of_revision).into_iter().map(|what| format!("{} {what}", revision.schema)));
        }
        findings.extend(found.into_iter().map(|what| format!("{}: {what}", descriptor.adapter_id)));
    }
    report::say("claims", tally);
    report::none("claims", &findings);
}

#[test]
fn a_claim_too_many_or_too_few_is_a_finding() {
    let descriptor = REGISTRY[0].adapter.describe();
    let revision = descriptor.matrix.revisions[0];
    let code = gaps::known().next().expect("some gap is known");
    let kind = gaps::kind(code).expect("it has a kind");
    let with = |grade: Grade| {
        let mut changed = revision;
        match kind {
            Kind::CodeEdit => changed.coverage.code_edit = grade,
            Kind::CodeRead => changed.coverage.code_read = grade,
            Kind::ToolResult => changed.coverage.tool_result = grade,
            other => panic!("no test of a gap of {}", other.as_str()),
        }
        changed
    };
    let shows = Evidence { kinds: Kind::ALL.map(Kind::as_str).into(), gaps: BTreeSet::from([code.to_owned()]), ..Evidence::default() };
    let silent = Evidence::default();
    let found = |revision: &Revision, shown: &Evidence| unproven(revision, shown).join("; ");
    assert!(found(&with(Grade::Full), &shows).contains(&format!("but has the gap {code}")));
    assert!(found(&with(Grade::Partial(&["no.such_gap"])), &shows).contains("no fixture shows it"));
    assert!(found(&with(Grade::Partial(&[])), &shows).contains("names no gap"));
    assert!(found(&with(Grade::None), &shows).contains("and gives some"));
    assert!(found(&with(Grade::Full), &silent).contains("and no fixture shows one"));
    assert!(found(&revision, &silent).contains("says tested"));
    let mut loose = *descriptor;
    loose.gaps = &[];
    loose.coverage.meta = Grade::None;
    let loose = inconsistent(&loose).join("; ");
    assert!(loose.contains("is not the weakest of its revisions"), "{loose}");
}
