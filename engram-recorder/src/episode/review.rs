//! The review of an episode: the checks P5, P6, P8, P9 and P10, and the line of the ledger that they give. They fail closed.

use std::path::Path;

use engram_profiles::ledger::{self, Entry};
use engram_profiles::receipt::{Blocked, ReviewReceipt, Verdict};
use engram_profiles::{canonical, hash};

use super::checks::{self, DENY, END, INTENT, TAPE_CHECK, ended, tape};
use super::evidence::Run;
use super::job::{Plan, UNPROVEN, discard};
use super::journal::{LEDGER, LOG, RUN, SUMS, TAPE, close, keep, sums};
use super::verify::{contents, read};
use super::{hostile, powerless};
use crate::conform::Outcome;
use crate::error::{Fault, RecorderError};
use crate::sandbox::write;

const RECEIPT: &str = "P9 episode.receipt";
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
    let last_hash = ledger::last_hash(&read(&directory.join(LEDGER))?);
    let receipt = ReviewReceipt {
        profile_hash: plan.ids.adapter_profile_hash.clone(),
        version: plan.version.clone(),
        episode_hash: last_hash,
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
    let left = read(&directory.join(TAPE)).unwrap_or_default();
    let found = checks::all(&lines, &run, &read(&directory.join(LOG))?, &left)?;
    Ok(found.into_iter().chain([held]).collect())
}
