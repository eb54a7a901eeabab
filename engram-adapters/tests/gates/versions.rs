//! Logs without a version or of a known-bad version: rejected by the strict policy, degraded by the permissive one.

use engram_conformance::tape::events;
use engram_core::adapter::{Evidence, Identity, Session, SessionInit, SideInfo, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::error::ErrorCode;
use engram_core::head::Head;
use engram_core::limits::Limits;
use engram_core::pipeline::Input;
use engram_core::policy::Policy;
use engram_core::version::{KnownBad, VersionMatrix};
use rayon::prelude::*;
use serde_json::Value;

use crate::report::{self, Tally};
use crate::tape::convert_bytes;
use crate::tree::{Artifact, fixtures};

/// The version that an artifact records in its head.
fn recorded(artifact: &Artifact) -> Option<String> {
    let mut input = Input::new(artifact.bytes.as_slice(), Limits::default());
    artifact.entry.identify(&input.head().ok()?).version
}

/// The artifact without its version fields.
fn without_version(artifact: &Artifact, version: &str) -> Vec<u8> {
    let mut text = String::from_utf8_lossy(&artifact.bytes).into_owned();
    for key in ["version", "cli_version", "cursor_version"] {
        for field in [format!("\"{key}\":\"{version}\""), format!("\"{key}\": \"{version}\"")] {
            text = text.replace(&format!("{field},"), "").replace(&format!(",{field}"), "");
        }
    }
    text.into_bytes()
}

/// The findings for an adapter that converts a log of a version that it cannot trust.
fn untrusted_version_findings(adapter: &dyn StreamAdapter, bytes: &[u8], code: ErrorCode, support: &str) -> Vec<String> {
    let mut findings = Vec::new();
    match convert_bytes(adapter, bytes, Policy::Strict, SideInfo::default()) {
        Err(error) if error.code == code && error.adapter.is_some() && error.harness.is_some() => {}
        Err(error) => findings.push(format!("strict fails with `{error}`, not with {code} and its adapter and harness")),
        Ok(_) => findings.push(format!("strict gives a tape, not {code}")),
    }
    match convert_bytes(adapter, bytes, Policy::Permissive, SideInfo::default()) {
        Err(error) => findings.push(format!("permissive fails: {error}")),
        Ok(tape) => findings.extend(degraded_tape_findings(&events(&tape.text)[0].0, code, support)),
    }
    findings
}

/// The facts that the first event of a degraded tape must have, and does not.
fn degraded_tape_findings(start: &Value, code: ErrorCode, support: &str) -> Vec<String> {
    let mut findings = Vec::new();
    if start["support"] != support {
        findings.push(format!("support is {}, not {support}", start["support"]));
    }
    if start["degraded"] != Value::from_iter([code.as_str()]) {
        findings.push(format!("degraded is {}, not [{code}]", start["degraded"]));
    }
    let full: Vec<&str> =
        start["coverage"].as_object().into_iter().flatten().filter(|(_, grade)| *grade == "full").map(|(kind, _)| kind.as_str()).collect();
    if !full.is_empty() || start["coverage"].is_null() {
        findings.push(format!("coverage claims full for {full:?}"));
    }
    findings
}

fn each(findings: impl Fn(&Artifact, &str) -> Vec<String> + Sync) -> (Tally, Vec<String>) {
    let versioned: Vec<(&Artifact, String)> = fixtures().artifacts().filter_map(|artifact| Some((artifact, recorded(artifact)?))).collect();
    let mut tally = Tally::default();
    tally.count_many("sessions that record a version", versioned.len() as u64);
    assert!(!versioned.is_empty(), "some harness records its version");
    let found = versioned
        .par_iter()
        .flat_map_iter(|(artifact, version)| {
            findings(artifact, version).into_iter().map(|finding| format!("{}: {finding}", artifact.full_name()))
        })
        .collect();
    (tally, found)
}

#[test]
fn log_without_version_is_not_guessed() {
    let (tally, findings) = each(|artifact, version| {
        untrusted_version_findings(artifact.adapter(), &without_version(artifact, version), ErrorCode::UnknownHarnessVersion, "unknown")
    });
    report::print("removed versions", tally);
    report::assert_none("removed versions", &findings);
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
        let known_bad: &'static [KnownBad] = Box::leak(Box::new([KnownBad { versions, reason: "for the test" }]));
        let matrix = VersionMatrix { known_bad, ..inner.describe().matrix };
        WithKnownBad { inner, descriptor: Box::leak(Box::new(AdapterDescriptor { matrix, ..*inner.describe() })) }
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

    fn session(&self, init: &SessionInit<'_>) -> Box<dyn Session> {
        self.inner.session(init)
    }
}

#[test]
fn known_bad_version_is_rejected_or_degraded() {
    let (tally, findings) = each(|artifact, version| {
        let adapter = WithKnownBad::new(artifact.adapter(), version);
        untrusted_version_findings(&adapter, &artifact.bytes, ErrorCode::KnownBadVersion, "known_bad")
    });
    report::print("known-bad versions", tally);
    report::assert_none("known-bad versions", &findings);
}

#[test]
fn supported_version_is_not_degraded() {
    let (_, findings) =
        each(|artifact, _| untrusted_version_findings(artifact.adapter(), &artifact.bytes, ErrorCode::UnknownHarnessVersion, "unknown"));
    assert!(findings.iter().any(|finding| finding.contains("strict gives a tape")), "the gate distinguishes good and bad versions");
    assert!(findings.iter().any(|finding| finding.contains("degraded is []")));
}
