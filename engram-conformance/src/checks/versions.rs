//! A tape names its version or schema, and an unknown version is refused or degraded, never guessed.

use engram_core::error::ErrorCode;
use engram_core::policy::Policy;
use serde_json::Value;

use crate::case::Case;
use crate::convert::ConversionError;
use crate::converted_session::ConvertedSession;
use crate::outcome::Findings;
use crate::subject::Subject;
use crate::tape::{Event, events};

/// A version that no harness has.
const UNKNOWN_VERSION: &str = "999.0.0";

/// A tape names its version or schema, or is marked as degraded.
pub fn identified(case: &Case<'_>, findings: &mut Findings) {
    for session in &case.sessions {
        let Some(start) = session.events.first() else { continue };
        let named = |key: &str| start.0.pointer(&format!("/harness/{key}")).and_then(Value::as_str).is_some_and(|name| !name.is_empty());
        let is_degraded = start.0.get("degraded").and_then(Value::as_array).is_some_and(|reasons| !reasons.is_empty());
        if named("version") || named("schema") || is_degraded {
            findings.count("sessions");
        } else {
            findings.fail(case.place(session), "neither version nor schema, and not degraded");
        }
    }
}

/// The session as if an unknown version had written it; `None` if its version cannot be replaced.
fn with_unknown_version(subject: &Subject<'_>, session: &ConvertedSession) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(session.source());
    if let Some(rewritten) = subject.capabilities.with_unknown_version.and_then(|rewrite| rewrite(&text)) {
        return Some(rewritten.into_bytes());
    }
    let version = session.events.first()?.0.pointer("/harness/version")?.as_str()?.to_owned();
    let rewritten = text.replace(&format!("\"{version}\""), &format!("\"{UNKNOWN_VERSION}\""));
    (rewritten != text).then(|| rewritten.into_bytes())
}

/// Converts every session as an unknown version; `problem` judges the result.
fn convert_all(
    (subject, case): (&Subject<'_>, &Case<'_>),
    findings: &mut Findings,
    policy: Policy,
    problem: impl Fn(Result<String, ConversionError>) -> Option<String>,
) {
    for session in &case.sessions {
        let Some(rewritten) = with_unknown_version(subject, session) else {
            findings.note("sessions whose version cannot be replaced");
            continue;
        };
        let Some(result) = subject.under(policy, &rewritten) else {
            findings.note("sessions: the string form has only the other policy");
            continue;
        };
        match problem(result) {
            None => findings.count("sessions of an unknown version"),
            Some(why) => findings.fail(case.place(session), format!("an unknown version {why}")),
        }
    }
}

/// Strict policy refuses an unknown version.
pub fn strict(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    convert_all((subject, case), findings, Policy::Strict, |result| match result {
        Err(ConversionError::Refused(error))
            if error.code == ErrorCode::UnknownHarnessVersion && error.adapter.is_some() && error.harness.is_some() =>
        {
            None
        }
        Err(error) => Some(format!("fails with `{error}`, not with unknown_harness_version and its adapter and harness")),
        Ok(_) => Some("converts under strict policy".to_owned()),
    });
}

/// Permissive policy converts an unknown version to a tape that claims less and is marked as degraded.
pub fn permissive(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    convert_all((subject, case), findings, Policy::Permissive, |result| match result {
        Err(error) => Some(format!("fails under permissive policy: {error}")),
        Ok(tape) => events(&tape).first().map_or(Some("gives no event".to_owned()), not_degraded),
    });
}

/// What is wrong with the first event of a tape that should be degraded.
fn not_degraded(start: &Event) -> Option<String> {
    let start = &start.0;
    let claims_full = start["coverage"].as_object().is_none_or(|claims| claims.values().any(|grade| grade == "full"));
    if start["support"] != "unknown" {
        return Some(format!("has support {}", start["support"]));
    }
    if start["degraded"] != Value::from_iter([ErrorCode::UnknownHarnessVersion.as_str()]) {
        return Some(format!("is degraded by {}", start["degraded"]));
    }
    claims_full.then(|| "claims full coverage".to_owned())
}
