//! The check P7: an agent that misbehaves in eleven ways, each with the verdict that it must get. The agent is the loop of `engram-lab episode
//! agent`, under the limits of the profile, so no harness is started.

use std::num::NonZeroU64;
use std::path::Path;

use engram_profiles::canonical;
use engram_profiles::ledger::{self, Entry};
use engram_profiles::profile::{Continuation, Profile, Tier, ToolBridge};
use engram_profiles::receipt::Verdict;
use engram_profiles::registry;
use serde_json::{Value, json};

use super::evidence::Run;
use super::job::{Job, Proof};
use super::journal::{LEDGER, Times};
use super::script::Script;
use super::verify::{Review, verify};
use crate::conform::{Outcome, PATIENCE};
use crate::error::{Fault, RecorderError};
use crate::isolation::Isolation;
use crate::stop::Stop;

/// The check.
pub const CHECK: &str = "P7 episode.hostile";
/// The id of the profile that the agent runs under: it is not a shipped one.
const PROFILE: &str = "hostile";
/// The reason of a stall.
const STALL: &str = "stall";
/// So long without a sign of life is a stall where one must be seen.
const STALL_MS: u64 = 2_000;
/// The id of the shipped profile that it is made from.
const LOCAL: &str = "local-inference";
/// How often the agent asks where it asks too often.
const MANY: usize = 10_000;

/// A misbehaviour.
struct Case {
    /// Its name, which is the code of a failure.
    id: &'static str,
    code: &'static str,
    /// What the model says.
    steps: Vec<Vec<Value>>,
    /// The reason that the ledger must have.
    reason: &'static str,
    /// How many requests it must have, and how many frames must have been text.
    requested: usize,
    foreign: u64,
}

/// Whether each misbehaviour gets its verdict, under the bridge of a profile. `agent` is the program with the loop.
///
/// # Errors
/// `io`.
pub fn check(bridge: &ToolBridge, agent: &Path, stop: &Stop) -> Result<Outcome, RecorderError> {
    let (patient, hasty) = (profile(bridge, None)?, profile(bridge, Some(STALL_MS))?);
    let directory = tempfile::tempdir().map_err(|error| RecorderError::new(Fault::Io, error))?;
    let cases = cases(bridge);
    for case in &cases {
        let script = json!({"id": case.id, "about": "It misbehaves.", "task": "Misbehave.", "files": {"a.txt": "a\n"}, "steps": case.steps});
        let script = Script::parse(case.id, &script.to_string())?;
        let out = directory.path().join(case.id);
        let job = Job {
            // On a busy machine an agent may be slow without having stalled.
            profile: if case.reason == STALL {
                &hasty
            } else {
                &patient
            },
            exe: agent,
            script: &script,
            tier: Tier::Full,
            work: "hostile",
            times: Times::LeftOut,
            limit_ms: None,
            out: &out,
            isolation: &Isolation::None,
            proof: Proof::Absent,
            patience: PATIENCE,
            stop,
        };
        job.run()?;
        if stop.is_asked() {
            return Ok(Outcome::of(CHECK, Verdict::Blocked, "it was stopped"));
        }
        if let Some(what) = case.fault(&out)? {
            return Ok(Outcome::failed(
                CHECK,
                case.code,
                format!("{}: {what}", case.id),
            ));
        }
    }
    Ok(Outcome::of(
        CHECK,
        Verdict::Passed,
        format!("{} cases", cases.len()),
    ))
}

impl Case {
    /// How its episode differs from what is given.
    fn fault(&self, out: &Path) -> Result<Option<String>, RecorderError> {
        let reason = match verify(out)?.review {
            Review::Receipt(_) => return Ok(Some("there is a receipt".to_owned())),
            Review::Blocked(reason) => reason,
        };
        let expected = format!("ADAPTER_PROTOCOL_VIOLATION/{}", self.reason);
        if reason != expected {
            return Ok(Some(format!("{reason} instead of {expected}")));
        }
        let bytes =
            std::fs::read(out.join(LEDGER)).map_err(|error| RecorderError::io(out, &error))?;
        let lines =
            ledger::verify(&bytes).map_err(|error| RecorderError::new(Fault::Violation, error))?;
        let count = |is: fn(&Entry) -> bool| lines.iter().filter(|line| is(&line.entry)).count();
        let requested = count(|entry| matches!(entry, Entry::ToolRequested(_)));
        let executed = count(|entry| matches!(entry, Entry::ToolExecuted(_)));
        let foreign = Run::read(out)?.foreign_frames;
        let is_stated = (requested, executed, foreign) == (self.requested, 0, self.foreign);
        Ok((!is_stated).then(|| {
            format!("{requested} requests, {executed} executed, {foreign} frames as text")
        }))
    }
}

/// The profile of the agent: that of `local-inference` with this bridge, and with this patience.
fn profile(bridge: &ToolBridge, stall_ms: Option<u64>) -> Result<Vec<u8>, RecorderError> {
    let wrong = |what: String| RecorderError::new(Fault::Misconfigured, what);
    let shipped = registry::all()
        .find(|shipped| shipped.profile.profile_id == LOCAL)
        .ok_or_else(|| wrong(format!("no {LOCAL}")))?;
    let mut profile: Profile = shipped.profile.clone();
    profile.profile_id = PROFILE.to_owned();
    profile.tool_bridge = Some(ToolBridge {
        continuation: Continuation::Restart,
        ..bridge.clone()
    });
    if let Some(stall_ms) = stall_ms.and_then(NonZeroU64::new) {
        profile.health_checks.stall_ms = stall_ms;
    }
    profile.health_checks.max_stalls = 0;
    canonical::to_vec(&profile).map_err(|error| wrong(error.to_string()))
}

fn say(text: impl Into<String>) -> Value {
    json!({"say": text.into()})
}

fn done() -> Value {
    say("{\"status\":\"done\",\"summary\":\"x\"}\n")
}

/// The frame of a request with these arguments, encoded already.
fn frame(id: &str, tool: &str, args: &str) -> String {
    format!("⟦TI1 {{nonce}}⟧ {id} {tool} {args}\n")
}

/// `{"path":"a.txt"}`.
const ARGS: &str = "eyJwYXRoIjoiYS50eHQifQ";

fn cases(bridge: &ToolBridge) -> Vec<Case> {
    let read = frame("r1", "read", ARGS);
    let most = |bytes: NonZeroU64| usize::try_from(bytes.get()).unwrap_or(usize::MAX);
    let case = |id, code, steps, reason| Case {
        id,
        code,
        steps,
        reason,
        requested: 0,
        foreign: 0,
    };
    vec![
        Case {
            foreign: 1,
            ..case(
                "wrong_nonce",
                "ADAPTER_PROTOCOL_VIOLATION/wrong_nonce",
                vec![vec![
                    say(read.replace("{nonce}", "00000000000000000000000000000000")),
                    done(),
                ]],
                "no_intent",
            )
        },
        case(
            "same_id",
            "ADAPTER_PROTOCOL_VIOLATION/same_id",
            vec![vec![say(read.repeat(2))]],
            "id_used",
        ),
        case(
            "padded_args",
            "ADAPTER_PROTOCOL_VIOLATION/padded_args",
            vec![vec![say(frame("r1", "read", &format!("{ARGS}==")))]],
            "args_encoding",
        ),
        // `{"path": "a.txt"}`, with a space.
        case(
            "other_spelling_of_args",
            "ADAPTER_PROTOCOL_VIOLATION/padded_args",
            vec![vec![say(frame("r1", "read", "eyJwYXRoIjogImEudHh0In0"))]],
            "args_form",
        ),
        case(
            "oversized_args",
            "ADAPTER_PROTOCOL_VIOLATION/oversized_args",
            vec![vec![
                json!({"intent": {"id": "r1", "tool": "read", "args": {"path": "a".repeat(most(bridge.max_args_bytes))}}}),
            ]],
            "args_size",
        ),
        case(
            "answers_itself",
            "ADAPTER_PROTOCOL_VIOLATION/answers_itself",
            vec![vec![say("⟦TR1 {nonce}⟧ r1 denied NO\n")]],
            "response_by_agent",
        ),
        // The output of one run is one block.
        case(
            "split_frame",
            "ADAPTER_PROTOCOL_VIOLATION/split_frame",
            vec![
                vec![say("⟦TI1 {nonce}⟧ r1 read")],
                vec![say(format!(" {ARGS}\n"))],
            ],
            "fields",
        ),
        Case {
            requested: 1,
            ..case(
                "unknown_tool",
                "ADAPTER_PROTOCOL_VIOLATION/unknown_tool",
                vec![vec![say(frame("r1", "dance", ARGS))], vec![done()]],
                "no_intent",
            )
        },
        case(
            "after_end",
            "ADAPTER_PROTOCOL_VIOLATION/after_end",
            vec![vec![done(), say(read.clone())]],
            "after_end",
        ),
        case(
            "many_intents",
            "ADAPTER_PROTOCOL_VIOLATION/many_intents",
            vec![vec![say((0..MANY.max(most(bridge.max_requests) + 1))
                .map(|n| frame(&format!("r{n}"), "read", ARGS))
                .collect::<String>())]],
            "too_many",
        ),
        case(
            "no_line_end",
            "ADAPTER_PROTOCOL_VIOLATION/no_line_end",
            vec![vec![say(format!(
                "⟦TI1 {{nonce}}⟧ r1 read {}",
                "a".repeat(most(bridge.max_line_bytes))
            ))]],
            "line_size",
        ),
        case(
            STALL,
            "ADAPTER_PROTOCOL_VIOLATION/stall",
            vec![vec![json!({"sleep": {"ms": 20 * STALL_MS}}), done()]],
            STALL,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// An agent that says nothing, whatever its model says.
    fn deaf(directory: &Path, says: &str) -> std::path::PathBuf {
        let path = directory.join("agent");
        let text = format!(
            "#!/bin/sh\ncase \"$*\" in *--version*) echo 'engram-lab 0.1.0';; *--help*) echo '--model';; *) {says};; esac\n"
        );
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn bridge() -> ToolBridge {
        registry::all()
            .find_map(|shipped| shipped.profile.tool_bridge.clone())
            .unwrap()
    }

    #[test]
    fn eleven_misbehaviours_have_a_verdict() {
        let codes: std::collections::BTreeSet<&str> =
            cases(&bridge()).iter().map(|case| case.code).collect();
        assert_eq!(
            codes.len(),
            11,
            "two spellings of arguments are one misbehaviour"
        );
    }

    #[test]
    fn agent_whose_misbehaviour_is_not_seen_fails_with_its_case() {
        let directory = tempfile::tempdir().unwrap();
        let outcome = check(
            &bridge(),
            &deaf(directory.path(), "cat > /dev/null"),
            &Stop::default(),
        )
        .unwrap();
        assert_eq!(
            (outcome.verdict, outcome.code),
            (
                Verdict::Failed,
                Some("ADAPTER_PROTOCOL_VIOLATION/wrong_nonce")
            ),
            "{outcome:?}"
        );
        assert!(outcome.what.contains("/end instead of"), "{}", outcome.what);
    }
}
