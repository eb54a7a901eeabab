//! The checks that the evidence of one episode decides, P5, P6, P8 and P10. A verification makes them again.

use engram_core::audit::audit;
use engram_core::check::check_stream;
use engram_core::pipeline::{Input, Options};
use engram_core::tape::JsonLines;
use engram_profiles::episode::{Decision, EndStatus};
use engram_profiles::ledger::{Entry, Line};
use engram_profiles::receipt::{Ended, Started, Verdict};

use super::evidence::Run;
use super::journal::LOG;
use crate::conform::Outcome;
use crate::error::{Fault, RecorderError};
use crate::process::End;

/// The check of requests.
pub const INTENT: &str = "P5 episode.intent";
/// The check of the end.
pub const END: &str = "P6 episode.end";
/// The check of denials.
pub const DENY: &str = "P8 episode.deny";
/// The check of the tape.
pub const TAPE_CHECK: &str = "P10 episode.tape";

/// All of them, for a ledger, the run, the log and the tape that was left of it.
///
/// # Errors
/// `io`.
pub fn all(
    lines: &[Line],
    run: &Run,
    log: &[u8],
    left: &[u8],
) -> Result<[Outcome; 4], RecorderError> {
    Ok([
        intent(lines),
        end(lines, run),
        deny(lines, run),
        tape_check(log, left)?,
    ])
}

/// What the ledger says of the beginning.
pub(super) fn started(lines: &[Line]) -> Option<&Started> {
    lines.iter().find_map(|line| {
        if let Entry::EpisodeStarted(started) = &line.entry {
            Some(started)
        } else {
            None
        }
    })
}

/// What the ledger says of the end.
pub(super) fn ended(lines: &[Line]) -> Option<&Ended> {
    lines.iter().find_map(|line| {
        if let Entry::EpisodeEnded(ended) = &line.entry {
            Some(ended)
        } else {
            None
        }
    })
}

/// What is wrong with a file of an episode.
pub(super) fn broken(file: &str, what: &str) -> RecorderError {
    RecorderError::new(Fault::Violation, format!("{file}: {what}"))
}

/// The tape of the log.
///
/// # Errors
/// `adapter_protocol_violation` if the log cannot be converted.
pub fn tape(log: &[u8]) -> Result<Vec<u8>, RecorderError> {
    let log = std::str::from_utf8(log).map_err(|error| broken(LOG, &error.to_string()))?;
    let (options, mut tape) = (Options::default(), Vec::new());
    let input = Input::in_memory(log, options.limits);
    engram_adapters::ingest(input, &options, &mut JsonLines::new(&mut tape))
        .map_err(|error| broken(LOG, &error.to_string()))?;
    Ok(tape)
}

fn intent(lines: &[Line]) -> Outcome {
    let count = |is: fn(&Entry) -> bool| lines.iter().filter(|line| is(&line.entry)).count();
    let asked = count(|entry| matches!(entry, Entry::ToolRequested(_)));
    match count(|entry| matches!(entry, Entry::ToolExecuted(_))) {
        0 => Outcome::failed(
            INTENT,
            "ADAPTER_PROTOCOL_VIOLATION/no_intent",
            format!("{asked} requests, none executed"),
        ),
        executed => Outcome::of(
            INTENT,
            Verdict::Passed,
            format!("{asked} requests, {executed} executed"),
        ),
    }
}

fn end(lines: &[Line], run: &Run) -> Outcome {
    const CODE: &str = "ADAPTER_PROTOCOL_VIOLATION/end";
    let status = ended(lines).map(|end| end.status);
    let survivors: u64 = run.runs.iter().map(|run| run.survivors).sum();
    let is_zero = |run: &super::evidence::RunOfAgent| run.end == Some(End::Exit(0));
    if status != Some(EndStatus::Completed) || !run.runs.iter().all(is_zero) || run.runs.is_empty()
    {
        let why = run.reason.as_deref().unwrap_or("a run did not end with 0");
        return Outcome::failed(END, CODE, why);
    }
    if survivors > 0 {
        return Outcome::failed(END, CODE, format!("{survivors} processes are left"));
    }
    Outcome::of(END, Verdict::Passed, format!("{} runs", run.runs.len()))
}

fn deny(lines: &[Line], run: &Run) -> Outcome {
    const CODE: &str = "ADAPTER_PROTOCOL_VIOLATION/deny";
    let is_denial = |line: &&Line| matches!(&line.entry, Entry::ToolDecided(decided) if decided.decision == Decision::Deny);
    // That no denial has an execution is a rule of the ledger.
    let denied = lines.iter().filter(is_denial).count() as u64;
    if denied == 0 {
        return Outcome::of(DENY, Verdict::Skipped, "nothing was denied");
    }
    if run.denials_unheard > 0 {
        return Outcome::failed(
            DENY,
            CODE,
            format!(
                "{} of {denied} denials did not reach the model",
                run.denials_unheard
            ),
        );
    }
    if run.denials_unseen > 0 {
        let what = format!(
            "{} of {denied} denials could not be told: the agent asked no model after them",
            run.denials_unseen
        );
        return Outcome::of(DENY, Verdict::Skipped, what);
    }
    Outcome::of(
        DENY,
        Verdict::Passed,
        format!("{denied} denied, none executed, all told"),
    )
}

/// P10: converts the log again. It fails if the tape breaks the format, lacks a text of the log, or differs from the kept tape.
fn tape_check(log: &[u8], kept: &[u8]) -> Result<Outcome, RecorderError> {
    let failed =
        |what: String| Outcome::failed(TAPE_CHECK, "ADAPTER_PROTOCOL_VIOLATION/tape", what);
    let bytes = match tape(log) {
        Err(error) if error.fault == Fault::Violation => return Ok(failed(error.what)),
        other => other?,
    };
    let mut violations = Vec::new();
    check_stream(bytes.as_slice(), &mut |violation| {
        violations.push(violation.to_string())
    })
    .map_err(|error| RecorderError::new(Fault::Io, error))?;
    if let Some(first) = violations.first() {
        return Ok(failed(first.clone()));
    }
    let registry = engram_adapters::Registry::builtin();
    let adapter = registry
        .by_id("tool-intent")
        .map_err(|error| RecorderError::new(Fault::Misconfigured, error))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match audit(log, &text, &adapter.descriptor()) {
        Ok(report) if report.holds() => {}
        Ok(report) => {
            let what = format!("{} strings are left over", report.left_over.strings);
            return Ok(failed(what));
        }
        Err(error) => return Ok(failed(format!("{error:?}"))),
    }
    // It was made from the log before, so this is the second time.
    if bytes != kept {
        return Ok(failed("the same log gives another tape".to_owned()));
    }
    Ok(Outcome::of(
        TAPE_CHECK,
        Verdict::Passed,
        format!("{} bytes, nothing is left over", bytes.len()),
    ))
}

#[cfg(test)]
mod tests {
    use engram_profiles::episode::Ids;
    use engram_profiles::nonce::Nonce;
    use engram_profiles::registry;
    use engram_profiles::wrap::wrap;

    use super::*;

    /// The verdict on a log with this line behind its header, and on its own tape or this one.
    fn verdict(line: &str, other: Option<&str>) -> Outcome {
        let shipped = registry::all().next().unwrap();
        let ids = Ids {
            work_id: "w".into(),
            episode_id: "e".into(),
            session_id: "s".into(),
            adapter_profile_hash: shipped.hash.clone(),
        };
        let log = wrap("hello\n", &Nonce::scripted("s", "e"), &shipped.profile, ids).unwrap();
        let log = format!("{log}{line}");
        let own = tape(log.as_bytes()).unwrap();
        let left = other.map_or(own, |other| other.as_bytes().to_vec());
        tape_check(log.as_bytes(), &left).unwrap()
    }

    #[test]
    fn tape_that_leaves_something_out_or_is_another_one_fails() {
        assert_eq!(verdict("", None).verdict, Verdict::Passed);
        let failed = Some("ADAPTER_PROTOCOL_VIOLATION/tape");
        let more = verdict(
            "{\"from\":\"agent\",\"text\":\"x\",\"more\":\"lost\"}\n",
            None,
        );
        assert_eq!(
            (more.verdict, more.code),
            (Verdict::Failed, failed),
            "{more:?}"
        );
        assert_eq!(verdict("", Some("x\n")).code, failed);
    }
}
