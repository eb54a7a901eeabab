//! Versions: told from the content, and an unheard-of one is refused or degraded, never guessed.

use engram_core::error::ErrorCode;
use engram_core::policy::Policy;
use serde_json::Value;

use crate::convert::Trouble;
use crate::outcome::Found;
use crate::scene::{Scene, Side};
use crate::tape::{Event, events};

/// A version that no harness has.
const UNHEARD_OF: &str = "999.0.0";

/// A tape names what it was made of.
pub fn identified(scene: &Scene<'_>, found: &mut Found) {
    for side in &scene.sides {
        let Some(start) = side.events.first() else { continue };
        let named = |key: &str| start.0.pointer(&format!("/harness/{key}")).and_then(Value::as_str).is_some_and(|name| !name.is_empty());
        let is_degraded = start.0.get("degraded").and_then(Value::as_array).is_some_and(|reasons| !reasons.is_empty());
        if named("version") || named("schema") || is_degraded {
            found.count("sessions");
        } else {
            found.fail(scene.place(side), "neither version nor schema, and not degraded");
        }
    }
}

/// The session as a version that no harness has would write it.
fn aged(scene: &Scene<'_>, side: &Side) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(side.source());
    if let Some(unheard_of) = scene.subject.offered.unheard_of
        && let Some(aged) = unheard_of(&text)
    {
        return Some(aged.into_bytes());
    }
    let version = side.events.first()?.0.pointer("/harness/version")?.as_str()?.to_owned();
    let aged = text.replace(&format!("\"{version}\""), &format!("\"{UNHEARD_OF}\""));
    (aged != text).then(|| aged.into_bytes())
}

fn each(scene: &Scene<'_>, found: &mut Found, policy: Policy, wrong: impl Fn(Result<String, Trouble>) -> Option<String>) {
    for side in &scene.sides {
        let Some(aged) = aged(scene, side) else {
            found.note("sessions whose version cannot be replaced");
            continue;
        };
        let Some(made) = scene.subject.under(policy, &aged) else {
            found.note("sessions: the string form keeps the other policy only");
            continue;
        };
        match wrong(made) {
            None => found.count("sessions of an unheard-of version"),
            Some(why) => found.fail(scene.place(side), format!("an unheard-of version {why}")),
        }
    }
}

/// Strict policy refuses it.
pub fn strict(scene: &Scene<'_>, found: &mut Found) {
    each(scene, found, Policy::Strict, |made| match made {
        Err(Trouble::Refused(error))
            if error.code == ErrorCode::UnknownHarnessVersion && error.adapter.is_some() && error.harness.is_some() =>
        {
            None
        }
        Err(trouble) => Some(format!("fails with `{trouble}`, not with unknown_harness_version and its adapter and harness")),
        Ok(_) => Some("gives a tape under strict policy".to_owned()),
    });
}

/// Permissive policy gives a tape that claims less, and says why.
pub fn permissive(scene: &Scene<'_>, found: &mut Found) {
    each(scene, found, Policy::Permissive, |made| match made {
        Err(trouble) => Some(format!("fails under permissive policy: {trouble}")),
        Ok(tape) => events(&tape).first().map_or(Some("gives no event".to_owned()), not_degraded),
    });
}

/// What the first event of a degraded tape has to say, and does not.
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
