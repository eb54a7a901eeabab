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

/// A version that is older than every recorded one.
const OLDER: &str = "0.0.0";
/// A version that is newer than every recorded one, even if versions are dates.
const NEWER: &str = "9999.0.0";

/// A tape names its version or schema, or is marked as degraded.
pub fn identified(case: &Case<'_>, findings: &mut Findings) {
    for session in &case.sessions {
        let Some(start) = session.events.first() else {
            continue;
        };
        let named = |key: &str| {
            start
                .0
                .pointer(&format!("/harness/{key}"))
                .and_then(Value::as_str)
                .is_some_and(|name| !name.is_empty())
        };
        let is_degraded = start
            .0
            .get("degraded")
            .and_then(Value::as_array)
            .is_some_and(|reasons| !reasons.is_empty());
        if named("version") || named("schema") || is_degraded {
            findings.count("sessions");
        } else {
            findings.fail(
                case.place(session),
                "neither version nor schema, and not degraded",
            );
        }
    }
}

/// The session as if an unknown version had written it; `None` if its version cannot be replaced.
fn with_unknown_version(subject: &Subject<'_>, session: &ConvertedSession) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(session.source());
    let own = subject
        .capabilities
        .with_unknown_version
        .and_then(|rewrite| rewrite(&text));
    own.map(String::into_bytes)
        .or_else(|| with_version(session, OLDER))
}

/// The session as if this version had written it; `None` if it records no version.
fn with_version(session: &ConvertedSession, version: &str) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(session.source());
    let recorded = session
        .events
        .first()?
        .0
        .pointer("/harness/version")?
        .as_str()?;
    let rewritten = text.replace(&format!("\"{recorded}\""), &format!("\"{version}\""));
    (rewritten != text).then(|| rewritten.into_bytes())
}

/// A version that is not supported, as the checks put it into sessions.
struct Other {
    name: &'static str,
    /// Its support level and the reason for lowered claims.
    level: (&'static str, &'static str),
    rewrite: fn(&Subject<'_>, &ConvertedSession) -> Option<Vec<u8>>,
    converted: &'static str,
    not_rewritten: &'static str,
}

const OTHERS: [Other; 2] = [
    Other {
        name: "an unknown version",
        level: ("unknown", "unknown_harness_version"),
        rewrite: with_unknown_version,
        converted: "sessions of an unknown version",
        not_rewritten: "sessions whose version cannot be replaced",
    },
    Other {
        name: "a newer version",
        level: ("ahead", "ahead"),
        rewrite: |_, session| with_version(session, NEWER),
        converted: "sessions of a newer version",
        not_rewritten: "sessions without a version",
    },
];

/// Converts every session as if an unsupported version had written it; `problem` judges the result.
fn convert_all(
    (subject, case): (&Subject<'_>, &Case<'_>),
    findings: &mut Findings,
    policy: Policy,
    problem: impl Fn(&Other, Result<String, ConversionError>) -> Option<String>,
) {
    for (session, other) in case
        .sessions
        .iter()
        .flat_map(|session| OTHERS.iter().map(move |other| (session, other)))
    {
        let Some(rewritten) = (other.rewrite)(subject, session) else {
            findings.note(other.not_rewritten);
            continue;
        };
        let Some(result) = subject.under(policy, &rewritten) else {
            findings.note("sessions: the string form has only the other policy");
            continue;
        };
        match problem(other, result) {
            None => findings.count(other.converted),
            Some(why) => findings.fail(case.place(session), format!("{} {why}", other.name)),
        }
    }
}

/// Strict policy refuses an unknown version, and one newer than every recorded one.
pub fn strict(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    convert_all((subject, case), findings, Policy::Strict, |_, result| {
        not_refused(result)
    });
}

/// Permissive policy converts both to a tape that claims less and gives the reason.
pub fn permissive(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    convert_all(
        (subject, case),
        findings,
        Policy::Permissive,
        |other, result| not_degraded(result, other.level),
    );
}

/// What is wrong with a conversion that should be refused.
fn not_refused(result: Result<String, ConversionError>) -> Option<String> {
    match result {
        Err(ConversionError::Refused(error))
            if error.code == ErrorCode::UnknownHarnessVersion
                && error.adapter.is_some()
                && error.harness.is_some() =>
        {
            None
        }
        Err(error) => Some(format!(
            "fails with `{error}`, not with unknown_harness_version and its adapter and harness"
        )),
        Ok(_) => Some("converts under strict policy".to_owned()),
    }
}

/// What is wrong with a tape that should have this support level and reason, and no full claim.
fn not_degraded(
    result: Result<String, ConversionError>,
    (level, reason): (&str, &str),
) -> Option<String> {
    let tape = match result {
        Err(error) => return Some(format!("fails under permissive policy: {error}")),
        Ok(tape) => events(&tape),
    };
    let Some(Event(start)) = tape.first() else {
        return Some("gives no event".to_owned());
    };
    let claims_full = start["coverage"]
        .as_object()
        .is_none_or(|claims| claims.values().any(|grade| grade == "full"));
    if start["support"] != level {
        return Some(format!("has support {}, not {level}", start["support"]));
    }
    if start["degraded"] != Value::from_iter([reason]) {
        return Some(format!(
            "is degraded by {}, not by {reason}",
            start["degraded"]
        ));
    }
    claims_full.then(|| "claims full coverage".to_owned())
}
