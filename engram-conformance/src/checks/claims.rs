//! Compares the claims of an adapter with the evidence of its recordings: it claims no more and no less than they prove.

use std::collections::BTreeSet;

use engram_core::coverage::Grade;
use engram_core::descriptor::{AdapterDescriptor, Gap, Omission};
use engram_core::event::Kind;
use engram_core::version::Revision;

use crate::evidence::{Evidence, RevisionEvidence};
use crate::outcome::Findings;
use crate::subject::Subject;

/// What a fork has from another harness.
const OF_BASE: &str =
    "claims, gaps and rules that the recordings of the harness it is a fork of prove";

/// Pointers of field rules that would omit everything in a record.
const TOO_WIDE: &[&str] = &[
    "/**",
    "/message/**",
    "/payload/**",
    "/toolUseResult/**",
    "/payload/item/**",
    "/attachment/**",
];

/// The descriptor of the harness that the subject is a fork of, if it claims the same for this schema.
fn base_with_claims(
    subject: &Subject<'_>,
    revision: &Revision,
) -> Option<&'static AdapterDescriptor> {
    subject.capabilities.base.filter(|base| {
        let same = base.matrix.schema(revision.schema);
        same.is_some_and(|same| {
            Kind::ALL
                .iter()
                .all(|kind| same.coverage.grade(*kind) == revision.coverage.grade(*kind))
        })
    })
}

/// True if the harness that the subject is a fork of has this gap, with a recording there.
fn is_gap_of_base(subject: &Subject<'_>, gap: &Gap) -> bool {
    let base = subject.capabilities.base;
    base.is_some_and(|base| {
        let mut gaps = base.gaps.iter();
        gaps.any(|other| other.code == gap.code && other.fixture == gap.fixture)
    })
}

/// The revisions that have recordings, with their evidence.
fn with_evidence<'e>(
    subject: &Subject<'_>,
    evidence: &'e Evidence,
) -> Vec<(Revision, &'e RevisionEvidence)> {
    let pair = |revision: &Revision| {
        evidence
            .revisions
            .get(revision.schema)
            .map(|shown| (*revision, shown))
    };
    subject
        .descriptor
        .matrix
        .revisions
        .iter()
        .filter_map(pair)
        .collect()
}

/// Recordings prove every claimed kind, and every tested version has a recording.
pub fn shown(subject: &Subject<'_>, evidence: &Evidence, findings: &mut Findings) {
    for revision in subject.descriptor.matrix.revisions {
        let shown = evidence
            .revisions
            .get(revision.schema)
            .cloned()
            .unwrap_or_default();
        for kind in Kind::ALL
            .into_iter()
            .filter(|kind| revision.coverage.grade(*kind) != Grade::None)
        {
            if shown.kinds.contains(kind.as_str()) {
                findings.count("claims");
            } else if base_with_claims(subject, revision).is_some() {
                findings.note(OF_BASE);
            } else {
                let grade = revision.coverage.grade(kind).as_str();
                findings.fail(
                    revision.schema,
                    format!("claims {grade} {}, but no recording has one", kind.as_str()),
                );
            }
        }
        let tested: BTreeSet<String> = revision
            .tested
            .iter()
            .map(|version| (*version).to_owned())
            .collect();
        if tested != shown.versions {
            findings.fail(
                revision.schema,
                format!(
                    "names the tested versions {tested:?}, but the recordings have {:?}",
                    shown.versions
                ),
            );
        }
    }
}

/// Every gap that a recording exhibits is declared by its revision.
pub fn open(subject: &Subject<'_>, evidence: &Evidence, findings: &mut Findings) {
    for (revision, shown) in with_evidence(subject, evidence) {
        for (code, place) in &shown.gaps {
            let Some(row) = subject.gap_row(code) else {
                continue;
            };
            let grade = revision.coverage.grade(row.kind);
            // A recording may contain sessions of several revisions; a kind without events has no gaps.
            if grade == Grade::None {
                continue;
            }
            if grade.gaps().contains(code) {
                findings.gap(code);
            } else {
                findings.fail(
                    place,
                    format!(
                        "{} claims {} {}, but exhibits the gap {code}",
                        revision.schema,
                        grade.as_str(),
                        row.kind.as_str()
                    ),
                );
            }
        }
        findings.count("revisions");
    }
}

/// Every declared gap is exhibited: by a recording of the revision that claims it, and by the recording that the gap names.
pub fn gaps(subject: &Subject<'_>, evidence: &Evidence, findings: &mut Findings) {
    for revision in subject.descriptor.matrix.revisions {
        let shown = evidence
            .revisions
            .get(revision.schema)
            .cloned()
            .unwrap_or_default();
        if base_with_claims(subject, revision).is_some() {
            findings.note(OF_BASE);
            continue;
        }
        for kind in Kind::ALL {
            if let Grade::Partial(codes) = revision.coverage.grade(kind) {
                for code in codes.iter().filter(|code| !shown.gaps.contains_key(**code)) {
                    findings.fail(
                        revision.schema,
                        format!(
                            "names the gap {code} of {}, but no recording exhibits it",
                            kind.as_str()
                        ),
                    );
                }
            }
        }
    }
    let own = |gap: &&Gap| !is_gap_of_base(subject, gap);
    for gap in subject.descriptor.gaps.iter().filter(own) {
        let name = format!("{}/{}", subject.descriptor.harness_family, gap.fixture);
        match (subject.gap_row(gap.code), evidence.gaps.get(&name)) {
            (None, _) => findings.fail(name, format!("there is no test for the gap {}", gap.code)),
            (_, None) => findings.fail(
                name,
                format!("is named for the gap {}, but is not a recording", gap.code),
            ),
            (_, Some(shown)) if shown.contains(gap.code) => findings.count("gaps"),
            (_, Some(_)) => findings.fail(
                name,
                format!("is named for the gap {}, but does not exhibit it", gap.code),
            ),
        }
    }
    findings.count("descriptors");
}

/// The claims of a descriptor are consistent, and tapes have the claims of their revision.
pub fn consistent(subject: &Subject<'_>, evidence: &Evidence, findings: &mut Findings) {
    let descriptor = &subject.descriptor;
    let (id, revisions) = (descriptor.adapter_id, descriptor.matrix.revisions);
    findings.count("descriptors");
    if revisions.is_empty() {
        findings.fail(id, "supports no revision");
    }
    descriptor
        .matrix
        .defects()
        .into_iter()
        .for_each(|defect| findings.fail(id, defect));
    let named: BTreeSet<&str> = descriptor.gaps.iter().map(|gap| gap.code).collect();
    let used: BTreeSet<&str> = revisions
        .iter()
        .flat_map(|revision| Kind::ALL.map(|kind| revision.coverage.grade(kind).gaps()))
        .flatten()
        .copied()
        .collect();
    used.difference(&named).for_each(|gap| {
        findings.fail(
            id,
            format!("claims the gap {gap}, but does not describe it"),
        )
    });
    let of_base: BTreeSet<&str> = descriptor
        .gaps
        .iter()
        .filter(|gap| is_gap_of_base(subject, gap))
        .map(|gap| gap.code)
        .collect();
    let unused = named.difference(&used);
    unused
        .filter(|gap| !of_base.contains(*gap))
        .for_each(|gap| {
            findings.fail(
                id,
                format!("describes the gap {gap}, but no claim names it"),
            )
        });
    for kind in Kind::ALL {
        let weakest = revisions
            .iter()
            .map(|revision| weight(revision.coverage.grade(kind)))
            .min();
        if weakest != Some(weight(descriptor.coverage.grade(kind))) {
            findings.fail(
                id,
                format!(
                    "the overall claim of {} is not the weakest of its revisions",
                    kind.as_str()
                ),
            );
        }
        for revision in revisions
            .iter()
            .filter(|revision| revision.coverage.grade(kind) == Grade::Partial(&[]))
        {
            findings.fail(
                revision.schema,
                format!("claims partial {}, but names no gap", kind.as_str()),
            );
        }
    }
    for place in &evidence.wrong_claims {
        findings.fail(
            place,
            "the claims of the tape differ from those of its revision",
        );
    }
}

fn weight(grade: Grade) -> u8 {
    match grade {
        Grade::Full => 2,
        Grade::Partial(_) => 1,
        Grade::None => 0,
    }
}

/// Every omission rule has a reason, is used, and omits no more than it names.
pub fn rules(subject: &Subject<'_>, evidence: &Evidence, findings: &mut Findings) {
    let descriptor = &subject.descriptor;
    for rule in descriptor.omission_rules {
        let is_of = |record: &str| rule.pointer.is_some() || matches(rule.record, record);
        let is_used = evidence
            .rules
            .iter()
            .any(|(name, record)| name == rule.rule && is_of(record));
        if is_used {
            findings.count("rules");
        } else if subject.capabilities.unit_tested_rules.contains(&rule.rule) {
            findings.note("rules proved by a unit test");
        } else if subject
            .capabilities
            .base
            .is_some_and(|base| base.rule(rule.rule).is_some())
        {
            findings.note(OF_BASE);
        } else {
            findings.fail(
                descriptor.adapter_id,
                format!(
                    "no recording uses the rule {} of {}",
                    rule.rule, rule.record
                ),
            );
        }
        if rule.omission == Omission::Field
            && rule
                .pointer
                .is_some_and(|pointer| TOO_WIDE.contains(&pointer))
        {
            findings.fail(
                descriptor.adapter_id,
                format!(
                    "the rule {} of {} omits the whole record",
                    rule.rule, rule.record
                ),
            );
        }
        if rule.reason.is_empty() {
            findings.fail(
                descriptor.adapter_id,
                format!("the rule {} has no reason", rule.rule),
            );
        }
    }
    for (rule, place) in evidence
        .ledger_rules
        .iter()
        .filter(|(rule, _)| descriptor.rule(rule).is_none())
    {
        if !matches!(rule.as_str(), "unrecognized" | "malformed") {
            findings.fail(
                place,
                format!("the ledger names the rule `{rule}`, but the descriptor does not"),
            );
        }
    }
    findings.count("descriptors");
}

/// Matches a text with a pattern, in which `*` matches any characters.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            (0..=text.len())
                .filter(|at| text.is_char_boundary(*at))
                .any(|at| matches(rest, &text[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn star_matches_any_characters() {
        assert!(matches("a/*/c*", "a/b/cd") && !matches("a/*/c", "a/b/cd"));
    }
}
