//! Claims: what an adapter says it covers is what its recordings show, no more and no less.

use std::collections::BTreeSet;

use engram_core::coverage::Grade;
use engram_core::descriptor::Omission;
use engram_core::event::Kind;
use engram_core::version::Revision;

use crate::convert::Subject;
use crate::evidence::{Evidence, Shown};
use crate::gaps;
use crate::outcome::Found;

/// Field rules that would omit all that a record says, whatever it is.
const TOO_WIDE: &[&str] = &["/**", "/message/**", "/payload/**", "/toolUseResult/**", "/payload/item/**", "/attachment/**"];

/// The claims that hold for the revisions that recordings are of.
fn claimed<'e>(subject: &Subject<'_>, evidence: &'e Evidence) -> Vec<(Revision, &'e Shown)> {
    let with_evidence = |revision: &Revision| evidence.revisions.get(revision.schema).map(|shown| (*revision, shown));
    subject.descriptor.matrix.revisions.iter().filter_map(with_evidence).collect()
}

/// What is claimed is shown, and what is called tested has its recording.
pub fn shown(subject: &Subject<'_>, evidence: &Evidence, found: &mut Found) {
    for revision in subject.descriptor.matrix.revisions {
        let shown = evidence.revisions.get(revision.schema).cloned().unwrap_or_default();
        for kind in Kind::ALL.into_iter().filter(|kind| revision.coverage.grade(*kind) != Grade::None) {
            if shown.kinds.contains(kind.as_str()) {
                found.count("claims");
            } else {
                let grade = revision.coverage.grade(kind).as_str();
                found.fail(revision.schema, format!("claims {grade} {}, and no recording shows one", kind.as_str()));
            }
        }
        let tested: BTreeSet<String> = revision.tested.iter().map(|version| (*version).to_owned()).collect();
        if tested != shown.versions {
            found.fail(revision.schema, format!("says tested {tested:?}, the recordings are of {:?}", shown.versions));
        }
        for end in ends(revision).into_iter().filter(|end| !tested.contains(end)) {
            found.fail(revision.schema, format!("supports up to or from {end}, of which there is no recording"));
        }
    }
}

/// The versions that a revision's range names.
fn ends(revision: &Revision) -> Vec<String> {
    let bounds = revision.versions.unwrap_or_default().split(',').map(|bound| bound.trim().trim_start_matches(['>', '<', '=']).to_owned());
    bounds.filter(|version| !version.is_empty()).collect()
}

/// A gap that a recording shows is declared by the revision that it is of.
pub fn open(subject: &Subject<'_>, evidence: &Evidence, found: &mut Found) {
    for (revision, shown) in claimed(subject, evidence) {
        for (code, place) in &shown.gaps {
            let Some(row) = gaps::find(code, subject.offered.gaps) else { continue };
            let grade = revision.coverage.grade(row.kind);
            // A recording may hold sessions of several revisions: what is never given has no gaps.
            if grade == Grade::None {
                continue;
            }
            if grade.gaps().contains(code) {
                found.gap(code);
            } else {
                found.fail(place, format!("{} claims {} {}, but has the gap {code}", revision.schema, grade.as_str(), row.kind.as_str()));
            }
        }
        found.count("revisions");
    }
}

/// Every declared gap is shown: by the revision that names it, and by the recording that its row names.
pub fn gaps(subject: &Subject<'_>, evidence: &Evidence, found: &mut Found) {
    for revision in subject.descriptor.matrix.revisions {
        let shown = evidence.revisions.get(revision.schema).cloned().unwrap_or_default();
        for kind in Kind::ALL {
            if let Grade::Partial(codes) = revision.coverage.grade(kind) {
                for code in codes.iter().filter(|code| !shown.gaps.contains_key(**code)) {
                    found.fail(revision.schema, format!("names the gap {code} of {}, and no recording shows it", kind.as_str()));
                }
            }
        }
    }
    for gap in subject.descriptor.gaps {
        let name = format!("{}/{}", subject.descriptor.harness_family, gap.fixture);
        match (gaps::find(gap.code, subject.offered.gaps), evidence.gaps.get(&name)) {
            (None, _) => found.fail(name, format!("nothing says what it means to show the gap {}", gap.code)),
            (_, None) => found.fail(name, format!("is to show the gap {}, and is no recording", gap.code)),
            (_, Some(shown)) if shown.contains(gap.code) => found.count("gaps"),
            (_, Some(_)) => found.fail(name, format!("is to show the gap {}, and does not", gap.code)),
        }
    }
    found.count("descriptors");
}

/// A descriptor agrees with itself, and tapes with it.
pub fn whole(subject: &Subject<'_>, evidence: &Evidence, found: &mut Found) {
    let descriptor = &subject.descriptor;
    let (id, revisions) = (descriptor.adapter_id, descriptor.matrix.revisions);
    found.count("descriptors");
    if revisions.is_empty() {
        found.fail(id, "supports nothing");
    }
    let named: BTreeSet<&str> = descriptor.gaps.iter().map(|gap| gap.code).collect();
    let used: BTreeSet<&str> =
        revisions.iter().flat_map(|revision| Kind::ALL.map(|kind| revision.coverage.grade(kind).gaps())).flatten().copied().collect();
    used.difference(&named).for_each(|gap| found.fail(id, format!("the gap {gap} is claimed and not described")));
    named.difference(&used).for_each(|gap| found.fail(id, format!("the gap {gap} is described and no claim names it")));
    for kind in Kind::ALL {
        let weakest = revisions.iter().map(|revision| weight(revision.coverage.grade(kind))).min();
        if weakest != Some(weight(descriptor.coverage.grade(kind))) {
            found.fail(id, format!("the overall claim of {} is not the weakest of its revisions", kind.as_str()));
        }
        for revision in revisions.iter().filter(|revision| revision.coverage.grade(kind) == Grade::Partial(&[])) {
            found.fail(revision.schema, format!("claims partial {} and names no gap", kind.as_str()));
        }
    }
    for place in &evidence.disagreeing {
        found.fail(place, "the tape claims something else than its revision");
    }
}

fn weight(grade: Grade) -> u8 {
    match grade {
        Grade::Full => 2,
        Grade::Partial(_) => 1,
        Grade::None => 0,
    }
}

/// Every omission rule gives a reason, is used, and hides no more than it names.
pub fn rules(subject: &Subject<'_>, evidence: &Evidence, found: &mut Found) {
    let descriptor = &subject.descriptor;
    for rule in descriptor.omission_rules {
        let is_of = |record: &str| rule.pointer.is_some() || matches(rule.record, record);
        let is_used = evidence.rules.iter().any(|(name, record)| name == rule.rule && is_of(record));
        if is_used {
            found.count("rules");
        } else if subject.offered.proven_elsewhere.contains(&rule.rule) {
            found.note("rules that a unit test proves");
        } else {
            found.fail(descriptor.adapter_id, format!("no recording needs the rule {} of {}", rule.rule, rule.record));
        }
        if rule.omission == Omission::Field && rule.pointer.is_some_and(|pointer| TOO_WIDE.contains(&pointer)) {
            found.fail(descriptor.adapter_id, format!("the rule {} of {} hides whatever is in it", rule.rule, rule.record));
        }
        if rule.reason.is_empty() {
            found.fail(descriptor.adapter_id, format!("the rule {} gives no reason", rule.rule));
        }
    }
    for (rule, place) in evidence.ledger_rules.iter().filter(|(rule, _)| descriptor.rule(rule).is_none()) {
        if !matches!(rule.as_str(), "unrecognized" | "malformed") {
            found.fail(place, format!("the ledger names the rule `{rule}`, which the descriptor does not have"));
        }
    }
    found.count("descriptors");
}

/// True when `*` in a pattern may stand for any run of characters.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text
            .strip_prefix(start)
            .is_some_and(|text| (0..=text.len()).filter(|at| text.is_char_boundary(*at)).any(|at| matches(rest, &text[at..]))),
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_run() {
        assert!(matches("a/*/c*", "a/b/cd") && !matches("a/*/c", "a/b/cd"));
    }
}
