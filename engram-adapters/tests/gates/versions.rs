//! Logs of versions that are not recorded: each support level has its treatment under both policies.

use std::sync::atomic::{AtomicU64, Ordering};

use engram_conformance::tape::events;
use engram_core::adapter::{Evidence, Identity, SessionInit, SideInfo, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::error::ErrorCode;
use engram_core::head::Head;
use engram_core::limits::Limits;
use engram_core::pipeline::Input;
use engram_core::policy::Policy;
use engram_core::steps::Conversion;
use engram_core::version::{KnownBad, Revision, Support, VersionMatrix};
use rayon::prelude::*;
use serde_json::Value;

use crate::report::{self, Tally};
use crate::tape::convert_bytes;
use crate::tree::{Artifact, fixtures, registered};

/// The version that an artifact records in its head, if it decides about the schema. Of a schema that the structure alone proves, the
/// version says only how well it is known (`version::tests` in `engram-core`).
fn recorded(artifact: &Artifact) -> Option<String> {
    let mut input = Input::new(artifact.bytes.as_slice(), Limits::default());
    let identity = artifact.entry.identify(&input.head().ok()?);
    let matrix = &artifact.entry.descriptor().matrix;
    let proven = identity.schema.and_then(|schema| matrix.schema(schema));
    identity
        .version
        .filter(|_| proven.is_none_or(|revision| revision.versions.is_some()))
}

/// The names of fields that record the version.
const VERSION_FIELDS: [&str; 4] = ["version", "cli_version", "cursor_version", "copilotVersion"];

/// The artifact without its version fields.
fn without_version(artifact: &Artifact, version: &str) -> Vec<u8> {
    let mut text = String::from_utf8_lossy(&artifact.bytes).into_owned();
    for key in VERSION_FIELDS {
        for field in [
            format!("\"{key}\":\"{version}\""),
            format!("\"{key}\": \"{version}\""),
        ] {
            text = text
                .replace(&format!("{field},"), "")
                .replace(&format!(",{field}"), "");
        }
    }
    text.into_bytes()
}

/// The artifact as if another version had written it.
fn with_version(artifact: &Artifact, version: &str, other: &str) -> Vec<u8> {
    let mut text = String::from_utf8_lossy(&artifact.bytes).into_owned();
    for key in VERSION_FIELDS {
        for (before, after) in [("\":\"", "\""), ("\": \"", "\"")] {
            text = text.replace(
                &format!("\"{key}{before}{version}{after}"),
                &format!("\"{key}{before}{other}{after}"),
            );
        }
    }
    text.into_bytes()
}

/// The findings for an adapter that converts a log of a version at this level, which is not supported.
fn unsupported_version_findings(
    adapter: &dyn StreamAdapter,
    bytes: &[u8],
    level: Support,
) -> Vec<String> {
    let code = if level == Support::KnownBad {
        ErrorCode::KnownBadVersion
    } else {
        ErrorCode::UnknownHarnessVersion
    };
    let mut findings = Vec::new();
    match convert_bytes(adapter, bytes, Policy::Strict, SideInfo::default()) {
        Err(error) if error.code == code && error.adapter.is_some() && error.harness.is_some() => {}
        Err(error) => findings.push(format!(
            "strict fails with `{error}`, not with {code} and its adapter and harness"
        )),
        Ok(_) => findings.push(format!("strict gives a tape, not {code}")),
    }
    match convert_bytes(adapter, bytes, Policy::Permissive, SideInfo::default()) {
        Err(error) => findings.push(format!("permissive fails: {error}")),
        Ok(tape) => findings.extend(degraded_tape_findings(&events(&tape.text)[0].0, level)),
    }
    findings
}

/// The facts that the first event of a tape of this level must have, and does not.
fn degraded_tape_findings(start: &Value, level: Support) -> Vec<String> {
    let mut findings = Vec::new();
    if start["support"] != level.as_str() {
        findings.push(format!(
            "support is {}, not {}",
            start["support"],
            level.as_str()
        ));
    }
    let reasons = Value::from_iter(level.degradation());
    if start["degraded"] != reasons {
        findings.push(format!("degraded is {}, not {reasons}", start["degraded"]));
    }
    if let Some(schema) = start["harness"].get("schema") {
        findings.push(format!("the schema {schema} is not proven"));
    }
    let full: Vec<&str> = start["coverage"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, grade)| *grade == "full")
        .map(|(kind, _)| kind.as_str())
        .collect();
    if !full.is_empty() || start["coverage"].is_null() {
        findings.push(format!("coverage claims full for {full:?}"));
    }
    findings
}

/// The findings for a version between two recorded ones: under both policies it has the schema and the claims of its revision.
fn between_findings(adapter: &dyn StreamAdapter, bytes: &[u8], revision: &Revision) -> Vec<String> {
    let expected = serde_json::json!({"support": "between", "degraded": [], "coverage": revision.coverage, "schema": revision.schema});
    let problem = |policy: Policy| match convert_bytes(adapter, bytes, policy, SideInfo::default())
    {
        Err(error) => Some(format!("{policy} fails: {error}")),
        Ok(tape) => {
            let mut start = events(&tape.text).swap_remove(0).0;
            start["schema"] = start["harness"]["schema"].take();
            let wrong = ["support", "degraded", "coverage", "schema"]
                .into_iter()
                .find(|key| start[*key] != expected[*key]);
            wrong.map(|key| format!("{policy}: {key} is {}, not {}", start[key], expected[key]))
        }
    };
    Policy::ALL.into_iter().filter_map(problem).collect()
}

/// The next version after this one, and its revision, if it is between two recorded versions.
fn next_between(matrix: &VersionMatrix, version: &str) -> Option<(String, &'static Revision)> {
    let (head, last) = version.rsplit_once('.')?;
    let next = format!("{head}.{}", last.parse::<u64>().ok()? + 1);
    match matrix.resolve(Some(&next)) {
        (Some(revision), Support::Between) => Some((next, revision)),
        _ => None,
    }
}

fn each(findings: impl Fn(&Artifact, &str) -> Vec<String> + Sync) -> (Tally, Vec<String>) {
    let versioned: Vec<(&Artifact, String)> = fixtures()
        .artifacts()
        .filter_map(|artifact| Some((artifact, recorded(artifact)?)))
        .collect();
    let mut tally = Tally::default();
    tally.count_many("sessions that record a version", versioned.len() as u64);
    assert!(!versioned.is_empty(), "some harness records its version");
    let found = versioned
        .par_iter()
        .flat_map_iter(|(artifact, version)| {
            findings(artifact, version)
                .into_iter()
                .map(|finding| format!("{}: {finding}", artifact.full_name()))
        })
        .collect();
    (tally, found)
}

#[test]
fn log_without_version_is_not_guessed() {
    let (tally, findings) = each(|artifact, version| {
        unsupported_version_findings(
            artifact.adapter(),
            &without_version(artifact, version),
            Support::Unknown,
        )
    });
    report::print("removed versions", tally);
    report::assert_none("removed versions", &findings);
}

#[test]
fn version_older_than_all_recorded_ones_is_unknown() {
    let (tally, findings) = each(|artifact, version| {
        unsupported_version_findings(
            artifact.adapter(),
            &with_version(artifact, version, "0.0.0"),
            Support::Unknown,
        )
    });
    report::print("older versions", tally);
    report::assert_none("older versions", &findings);
}

#[test]
fn version_newer_than_all_recorded_ones_is_ahead() {
    let (tally, findings) = each(|artifact, version| {
        unsupported_version_findings(
            artifact.adapter(),
            &with_version(artifact, version, "9999.0.0"),
            Support::Ahead,
        )
    });
    report::print("newer versions", tally);
    report::assert_none("newer versions", &findings);
}

#[test]
fn version_between_two_recorded_ones_of_a_schema_keeps_the_claims() {
    let is_between = AtomicU64::new(0);
    let (_, findings) = each(|artifact, version| {
        let Some((next, revision)) = next_between(&artifact.adapter().describe().matrix, version)
        else {
            return Vec::new();
        };
        is_between.fetch_add(1, Ordering::Relaxed);
        between_findings(
            artifact.adapter(),
            &with_version(artifact, version, &next),
            revision,
        )
    });
    assert!(
        is_between.into_inner() > 100,
        "most recorded versions have a successor in their range"
    );
    report::assert_none("versions between", &findings);
    let (_, unchanged) = each(|artifact, version| {
        let between = next_between(&artifact.adapter().describe().matrix, version);
        between.map_or_else(Vec::new, |(_, revision)| {
            between_findings(artifact.adapter(), &artifact.bytes, revision)
        })
    });
    assert!(
        unchanged
            .iter()
            .any(|finding| finding.contains("support is \"tested\", not \"between\"")),
        "the gate sees the level"
    );
}

#[test]
fn each_range_runs_from_its_oldest_to_its_newest_recorded_version() {
    let matrices = || {
        registered()
            .adapters()
            .map(|entry| entry.descriptor().matrix)
    };
    let findings: Vec<String> = matrices().flat_map(|matrix| matrix.defects()).collect();
    report::assert_none("ranges", &findings);
    let widened = matrices().flat_map(|matrix| {
        let revisions = matrix.revisions.iter().map(|revision| Revision {
            versions: revision.versions.map(|_| ">=0.0.1"),
            ..*revision
        });
        VersionMatrix {
            revisions: Vec::leak(revisions.collect()),
            ..matrix
        }
        .defects()
    });
    assert!(widened.count() > 0);
}

/// An adapter with another known-bad list.
struct WithKnownBad {
    inner: &'static dyn StreamAdapter,
    descriptor: &'static AdapterDescriptor,
}

impl WithKnownBad {
    /// The adapter, with one known-bad version. Leaks memory; tests make few of these.
    fn new(inner: &'static dyn StreamAdapter, version: &str) -> Self {
        let versions: &'static str = Box::leak(format!("={version}").into_boxed_str());
        let known_bad: &'static [KnownBad] = Box::leak(Box::new([KnownBad {
            versions,
            reason: "for the test",
        }]));
        let matrix = VersionMatrix {
            known_bad,
            ..inner.describe().matrix
        };
        WithKnownBad {
            inner,
            descriptor: Box::leak(Box::new(AdapterDescriptor {
                matrix,
                ..*inner.describe()
            })),
        }
    }
}

impl StreamAdapter for WithKnownBad {
    fn describe(&self) -> &'static AdapterDescriptor {
        self.descriptor
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        self.inner.probe(head)
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        self.inner.identify(head)
    }

    fn conversion(&self, init: &SessionInit<'_>) -> Box<dyn Conversion> {
        self.inner.conversion(init)
    }
}

#[test]
fn known_bad_version_is_rejected_or_degraded() {
    let (tally, findings) = each(|artifact, version| {
        let adapter = WithKnownBad::new(artifact.adapter(), version);
        unsupported_version_findings(&adapter, &artifact.bytes, Support::KnownBad)
    });
    report::print("known-bad versions", tally);
    report::assert_none("known-bad versions", &findings);
}

#[test]
fn supported_version_is_not_degraded() {
    let (_, findings) = each(|artifact, _| {
        unsupported_version_findings(artifact.adapter(), &artifact.bytes, Support::Unknown)
    });
    assert!(
        findings
            .iter()
            .any(|finding| finding.contains("strict gives a tape")),
        "the gate distinguishes good and bad versions"
    );
    assert!(
        findings
            .iter()
            .any(|finding| finding.contains("degraded is []"))
    );
    assert!(
        findings
            .iter()
            .any(|finding| finding.contains("is not proven"))
    );
}
