//! The review of an episode: the checks P5, P6, P8, P9 and P10, and the line of the ledger that they give. They fail closed.

use std::fs;
use std::path::Path;

use engram_core::audit::audit;
use engram_core::check::check_stream;
use engram_profiles::episode::{Decision, EndStatus};
use engram_profiles::ledger::{self, Entry, Line};
use engram_profiles::receipt::{Blocked, ReviewReceipt, Verdict};
use engram_profiles::{canonical, hash};

use super::evidence::Run;
use super::job::{Plan, UNPROVEN, discard};
use super::journal::{LEDGER, LOG, RUN, SUMS, TAPE, close, keep, sums};
use super::verify::{contents, ended, read, tape};
use super::{hostile, powerless};
use crate::conform::Outcome;
use crate::error::{Fault, RecorderError};
use crate::process::End;
use crate::sandbox::write;

/// The check of requests.
pub const INTENT: &str = "P5 episode.intent";
/// The check of the end.
pub const END: &str = "P6 episode.end";
const DENY: &str = "P8 episode.deny";
const RECEIPT: &str = "P9 episode.receipt";
const TAPE_CHECK: &str = "P10 episode.tape";
/// Checks that need more than one episode.
pub const PROOFS: [&str; 2] = [powerless::CHECK, hostile::CHECK];

/// Makes the tape of an episode that has been driven, keeps what the ledger names, and judges all.
///
/// # Errors
/// `io`.
pub fn judged(directory: &Path) -> Result<Vec<Outcome>, RecorderError> {
    match keep_all(directory) {
        Ok(()) => {}
        // The checks say so, and the ledger with them.
        Err(error) if error.fault == Fault::Violation => {}
        Err(error) => return Err(error),
    }
    judge(directory)
}

/// Keeps log, run, index and tape among the objects: with the ledger these are all that a verification needs.
fn keep_all(directory: &Path) -> Result<(), RecorderError> {
    for name in [LOG, RUN] {
        keep(directory, &read(&directory.join(name))?)?;
    }
    let lines = ledger::verify(&read(&directory.join(LEDGER))?)
        .map_err(|error| RecorderError::new(Fault::Violation, error))?;
    let index = ledger::index(&lines).and_then(|index| canonical::to_vec(&index));
    keep(
        directory,
        &index.map_err(|error| RecorderError::new(Fault::Violation, error))?,
    )?;
    let bytes = tape(&read(&directory.join(LOG))?)?;
    keep(directory, &bytes)?;
    write(&directory.join(TAPE), &bytes)
}

/// Closes the ledger of an episode that has been judged: with a receipt if every check holds, else with the reason.
///
/// # Errors
/// `io`.
pub fn close_with(
    plan: &Plan,
    directory: &Path,
    reason: Option<String>,
    mut outcomes: Vec<Outcome>,
) -> Result<Vec<Outcome>, RecorderError> {
    outcomes.sort_by_key(|outcome| outcome.number());
    let first = |verdict| outcomes.iter().find(|outcome| outcome.verdict == verdict);
    let failed = first(Verdict::Failed).or_else(|| first(Verdict::Blocked));
    let is_proof = |outcome: &&Outcome| PROOFS.contains(&outcome.check);
    let unproven = outcomes
        .iter()
        .filter(|outcome| outcome.verdict == Verdict::Passed)
        .filter(is_proof)
        .count()
        < PROOFS.len();
    if first(Verdict::Failed).is_some_and(|outcome| outcome.check == RECEIPT) {
        // What is not whole proves nothing: only the reason is kept.
        discard(directory)?;
    }
    let of_check = |outcome: &Outcome| match outcome.code {
        Some(code) => code,
        None if is_proof(&outcome) => UNPROVEN,
        None => "ADAPTER_PROTOCOL_VIOLATION/blocked",
    };
    let why = reason
        .or_else(|| failed.map(|outcome| of_check(outcome).to_owned()))
        .or_else(|| unproven.then(|| UNPROVEN.to_owned()));
    match why {
        Some(reason) => blocked(plan, directory, &reason)?,
        None => receipt(plan, directory, &outcomes)?,
    }
    Ok(outcomes)
}

/// Says in the ledger why there is no receipt, before anything else is reported.
///
/// # Errors
/// `io`.
pub fn blocked(plan: &Plan, directory: &Path, reason: &str) -> Result<(), RecorderError> {
    let entry = Entry::ReviewBlockedRecorded(Blocked {
        reason: reason.to_owned(),
    });
    close(directory, &plan.ids, plan.times, entry)?;
    seal(directory)
}

fn receipt(plan: &Plan, directory: &Path, outcomes: &[Outcome]) -> Result<(), RecorderError> {
    let lines = contents(directory)?;
    let index = ended(&lines).map(|end| end.tool_log_index_hash.clone());
    let ledger = read(&directory.join(LEDGER))?;
    let last = ledger
        .strip_suffix(b"\n")
        .unwrap_or(&ledger)
        .rsplit(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let receipt = ReviewReceipt {
        profile_hash: plan.ids.adapter_profile_hash.clone(),
        version: plan.version.clone(),
        episode_hash: blake3::hash(last).to_hex().to_string(),
        tool_log_index_hash: index.ok_or_else(|| {
            RecorderError::new(Fault::Violation, format!("{LEDGER}: it has no end"))
        })?,
        tape_hash: hash::of_bytes(&read(&directory.join(TAPE))?),
        checks: outcomes
            .iter()
            .map(|outcome| (outcome.id().to_owned(), outcome.verdict))
            .collect(),
        egress: plan.egress,
    };
    close(
        directory,
        &plan.ids,
        plan.times,
        Entry::ReviewReceiptRecorded(Box::new(receipt)),
    )?;
    seal(directory)
}

fn seal(directory: &Path) -> Result<(), RecorderError> {
    write(&directory.join(SUMS), sums(directory)?.as_bytes())
}

/// The checks of one episode.
///
/// # Errors
/// `io`.
pub fn judge(directory: &Path) -> Result<Vec<Outcome>, RecorderError> {
    let lines = match contents(directory) {
        Ok(lines) => lines,
        Err(error) if error.fault == Fault::Io => return Err(error),
        Err(error) => {
            let blocked = |check| Outcome::of(check, Verdict::Blocked, "the episode is not whole");
            let failed = Outcome::failed(RECEIPT, "ADAPTER_PROTOCOL_VIOLATION/receipt", error.what);
            return Ok(vec![
                blocked(INTENT),
                blocked(END),
                blocked(DENY),
                failed,
                blocked(TAPE_CHECK),
            ]);
        }
    };
    let run = Run::read(directory)?;
    let held = Outcome::of(
        RECEIPT,
        Verdict::Passed,
        format!("{} lines with four ids", lines.len()),
    );
    Ok(vec![
        intent(&lines),
        end(&lines, &run),
        deny(&lines, &run),
        held,
        on_tape(directory)?,
    ])
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

fn on_tape(directory: &Path) -> Result<Outcome, RecorderError> {
    const CODE: &str = "ADAPTER_PROTOCOL_VIOLATION/tape";
    let io = |error: std::io::Error| RecorderError::io(&directory.join(TAPE), &error);
    let log = fs::read(directory.join(LOG)).map_err(io)?;
    let bytes = match tape(&log) {
        Err(error) if error.fault == Fault::Violation => {
            return Ok(Outcome::failed(TAPE_CHECK, CODE, error.what));
        }
        other => other?,
    };
    let mut violations = Vec::new();
    check_stream(bytes.as_slice(), &mut |violation| {
        violations.push(violation.to_string())
    })
    .map_err(io)?;
    if let Some(first) = violations.first() {
        return Ok(Outcome::failed(TAPE_CHECK, CODE, first.clone()));
    }
    let registry = engram_adapters::Registry::builtin();
    let adapter = registry
        .by_id("tool-intent")
        .map_err(|error| RecorderError::new(Fault::Misconfigured, error))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match audit(log.as_slice(), &text, &adapter.descriptor()) {
        Ok(report) if report.holds() => {}
        Ok(report) => {
            return Ok(Outcome::failed(
                TAPE_CHECK,
                CODE,
                format!("{} strings are left over", report.left_over.strings),
            ));
        }
        Err(error) => return Ok(Outcome::failed(TAPE_CHECK, CODE, format!("{error:?}"))),
    }
    if tape(&log)? != bytes || fs::read(directory.join(TAPE)).map_err(io)? != bytes {
        return Ok(Outcome::failed(
            TAPE_CHECK,
            CODE,
            "the same log gives another tape",
        ));
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
        let (shipped, directory) = (
            registry::all().next().unwrap(),
            tempfile::tempdir().unwrap(),
        );
        let ids = Ids {
            work_id: "w".into(),
            episode_id: "e".into(),
            session_id: "s".into(),
            adapter_profile_hash: shipped.hash.clone(),
        };
        let log = wrap("hello\n", &Nonce::scripted("s", "e"), &shipped.profile, ids).unwrap();
        fs::write(directory.path().join(LOG), format!("{log}{line}")).unwrap();
        let own = tape(&fs::read(directory.path().join(LOG)).unwrap()).unwrap();
        fs::write(
            directory.path().join(TAPE),
            other.map_or(own, |other| other.as_bytes().to_vec()),
        )
        .unwrap();
        on_tape(directory.path()).unwrap()
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
