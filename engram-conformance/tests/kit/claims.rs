//! Descriptors that claim what is not so, and tapes that say the same. Tests make few of these, so that they may leak them.

use engram_core::coverage::Grade;
use engram_core::descriptor::{AdapterDescriptor, Gap, Omission, OmissionRule};
use engram_core::version::Revision;

use crate::breaks::matrix;
use crate::tape::Tape;

fn leaked<T>(items: Vec<T>) -> &'static [T] {
    Box::leak(items.into_boxed_slice())
}

/// A tape whose first event claims what the descriptor claims for its revision.
pub fn told(tape: &str, descriptor: &AdapterDescriptor) -> String {
    let mut tape = Tape::of(tape);
    let schema = tape.field(0, "schema").is_some().then(|| tape.line(0).split("\"schema\":\"").nth(2)).flatten();
    let schema = schema.and_then(|rest| rest.split('"').next()).unwrap_or_default();
    let is_degraded = !tape.line(0).contains("\"degraded\":[]");
    let (Some(revision), false) = (descriptor.matrix.schema(schema), is_degraded) else { return tape.text() };
    let claims = serde_json::to_string(&revision.coverage).unwrap_or_default();
    let said = tape.line(0).split_once("\"coverage\":").and_then(|(_, rest)| rest.split_once('}')).map(|(said, _)| format!("{said}}}"));
    tape.replace(0, &said.unwrap_or_default(), &claims);
    tape.text()
}

/// Every revision changed, and the overall claim with them.
pub fn with_revision(descriptor: AdapterDescriptor, change: impl Fn(Revision) -> Revision) -> AdapterDescriptor {
    let revisions = descriptor.matrix.revisions.iter().map(|revision| change(*revision)).collect();
    AdapterDescriptor { matrix: matrix(&descriptor, revisions), ..descriptor }
}

/// Another claim for reads, without the gaps that went with the real one.
pub fn with_reads(descriptor: AdapterDescriptor, grade: Grade) -> AdapterDescriptor {
    let mut changed = with_revision(descriptor, |mut revision| {
        revision.coverage.code_read = grade;
        revision
    });
    changed.coverage.code_read = grade;
    changed.gaps = leaked(descriptor.gaps.iter().copied().filter(|gap| !gap.code.starts_with("read.")).collect());
    changed
}

/// One gap more.
pub fn with_gap(descriptor: AdapterDescriptor, gap: Gap) -> AdapterDescriptor {
    AdapterDescriptor { gaps: leaked(descriptor.gaps.iter().copied().chain([gap]).collect()), ..descriptor }
}

/// Every gap is said to be shown by a fixture of which there is none.
pub fn with_wrong_fixtures(descriptor: AdapterDescriptor) -> AdapterDescriptor {
    let gaps = descriptor.gaps.iter().map(|gap| Gap { fixture: "0.0.0/none", ..*gap }).collect();
    AdapterDescriptor { gaps: leaked(gaps), ..descriptor }
}

/// One rule more, for records that there are not.
pub fn with_idle_rule(descriptor: AdapterDescriptor) -> AdapterDescriptor {
    let idle =
        OmissionRule { rule: "idle", omission: Omission::Bookkeeping, record: "no_such_record", pointer: None, reason: "for the test" };
    AdapterDescriptor { omission_rules: leaked(descriptor.omission_rules.iter().copied().chain([idle]).collect()), ..descriptor }
}
