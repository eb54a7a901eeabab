//! Descriptors with false claims, and tapes with the same claims. They leak memory, which is acceptable in tests.

use engram_core::coverage::Grade;
use engram_core::descriptor::{AdapterDescriptor, Gap, Omission, OmissionRule};
use engram_core::version::Revision;

use crate::breaks::matrix;
use crate::tape::Tape;

fn leaked<T>(items: Vec<T>) -> &'static [T] {
    Box::leak(items.into_boxed_slice())
}

/// A tape with the claims of the descriptor for its revision.
pub fn with_claims_of(tape: &str, descriptor: &AdapterDescriptor) -> String {
    let mut tape = Tape::of(tape);
    let schema = tape
        .field(0, "schema")
        .is_some()
        .then(|| tape.line(0).split("\"schema\":\"").nth(2))
        .flatten();
    let schema = schema
        .and_then(|rest| rest.split('"').next())
        .unwrap_or_default();
    let is_degraded = !tape.line(0).contains("\"degraded\":[]");
    let (Some(revision), false) = (descriptor.matrix.schema(schema), is_degraded) else {
        return tape.text();
    };
    let claims = serde_json::to_string(&revision.coverage).unwrap_or_default();
    let claimed = tape
        .line(0)
        .split_once("\"coverage\":")
        .and_then(|(_, rest)| rest.split_once('}'))
        .map(|(claimed, _)| format!("{claimed}}}"));
    tape.replace(0, &claimed.unwrap_or_default(), &claims);
    tape.text()
}

/// Changes every revision.
pub fn with_revision(
    descriptor: AdapterDescriptor,
    change: impl Fn(Revision) -> Revision,
) -> AdapterDescriptor {
    let revisions = descriptor
        .matrix
        .revisions
        .iter()
        .map(|revision| change(*revision))
        .collect();
    AdapterDescriptor {
        matrix: matrix(&descriptor, revisions),
        ..descriptor
    }
}

/// Changes the claim for reads, and removes the gaps of reads.
pub fn with_reads(descriptor: AdapterDescriptor, grade: Grade) -> AdapterDescriptor {
    let mut changed = with_revision(descriptor, |mut revision| {
        revision.coverage.code_read = grade;
        revision
    });
    changed.coverage.code_read = grade;
    changed.gaps = leaked(
        descriptor
            .gaps
            .iter()
            .copied()
            .filter(|gap| !gap.code.starts_with("read."))
            .collect(),
    );
    changed
}

/// Adds a gap.
pub fn with_gap(descriptor: AdapterDescriptor, gap: Gap) -> AdapterDescriptor {
    AdapterDescriptor {
        gaps: leaked(descriptor.gaps.iter().copied().chain([gap]).collect()),
        ..descriptor
    }
}

/// Names a fixture that does not exist for every gap.
pub fn with_wrong_fixtures(descriptor: AdapterDescriptor) -> AdapterDescriptor {
    let gaps = descriptor
        .gaps
        .iter()
        .map(|gap| Gap {
            fixture: "0.0.0/none",
            ..*gap
        })
        .collect();
    AdapterDescriptor {
        gaps: leaked(gaps),
        ..descriptor
    }
}

/// Adds a rule for records that do not exist.
pub fn with_unused_rule(descriptor: AdapterDescriptor) -> AdapterDescriptor {
    let unused = OmissionRule {
        rule: "unused",
        omission: Omission::Bookkeeping,
        record: "no_such_record",
        pointer: None,
        reason: "for the test",
    };
    AdapterDescriptor {
        omission_rules: leaked(
            descriptor
                .omission_rules
                .iter()
                .copied()
                .chain([unused])
                .collect(),
        ),
        ..descriptor
    }
}
