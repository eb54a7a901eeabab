//! Whether an episode is whole: every hash, the chain, the receipts and the tape, from what is in its directory.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::Path;

use engram_profiles::episode::{EndStatus, Header, Ids};
use engram_profiles::ledger::{self, Entry, Line};
use engram_profiles::receipt::{Blocked, Ended, ReviewReceipt, Started, Verdict, hash_of};
use engram_profiles::{Profile, ProfileHash, canonical, hash};

use super::agree::{self, Witnesses};
use super::checks::{self, broken, ended, started, tape};
use super::evidence::Run;
use super::journal::{LEDGER, LOG, MAX_FILE, OBJECTS, RUN, SUMS, TAPE, object, sums};
use crate::bounded;
use crate::conform::Outcome;
use crate::error::{Fault, RecorderError};

/// An episode that is whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Its ids.
    pub ids: Ids,
    /// How many lines its ledger has.
    pub lines: usize,
    /// How many objects.
    pub objects: usize,
    /// What its ledger ends with.
    pub review: Review,
}

/// What the review of an episode said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Review {
    /// All checks hold.
    Receipt(Box<ReviewReceipt>),
    /// They do not, for this reason.
    Blocked(String),
}

/// Checks a whole episode: its ledger and its objects prove it, and every other file must be a copy of what they say.
///
/// # Errors
/// `adapter_protocol_violation` with the file that is wrong; `io`.
pub fn verify(directory: &Path) -> Result<Verified, RecorderError> {
    only_named(directory)?;
    if directory.join(SUMS).exists() {
        summed(directory)?;
    }
    let lines = contents(directory)?;
    let review = match lines.last().map(|line| &line.entry) {
        Some(Entry::ReviewReceiptRecorded(receipt)) => Review::Receipt(receipt.clone()),
        Some(Entry::ReviewBlockedRecorded(Blocked { reason })) => Review::Blocked(reason.clone()),
        _ => return Err(broken(LEDGER, "it has no review")),
    };
    let ids = lines
        .first()
        .map(|line| line.ids.clone())
        .ok_or_else(|| broken(LEDGER, "it is empty"))?;
    Ok(Verified {
        ids,
        lines: lines.len(),
        objects: names(directory).len(),
        review,
    })
}

/// Refuses a file, a folder and a link that no episode has.
fn only_named(directory: &Path) -> Result<(), RecorderError> {
    let is_digits =
        |name: &str| name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    for (place, folder) in [
        ("", directory.to_owned()),
        ("cas/", directory.join(OBJECTS)),
    ] {
        let io = |error: std::io::Error| RecorderError::io(&folder, &error);
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound && !place.is_empty() => continue,
            entries => entries.map_err(io)?,
        };
        for entry in entries {
            let entry = entry.map_err(io)?;
            let (name, kind) = (entry.file_name(), entry.file_type().map_err(io)?);
            let name = name.to_string_lossy();
            let is_known = match (place, &*name) {
                ("", OBJECTS) => kind.is_dir(),
                ("", name) => kind.is_file() && [LEDGER, LOG, RUN, SUMS, TAPE].contains(&name),
                (_, name) => kind.is_file() && is_digits(name),
            };
            if !is_known {
                let what = "an episode has no such file, folder or link";
                return Err(broken(&format!("{place}{name}"), what));
            }
        }
    }
    Ok(())
}

/// Each file is the one that the sums name.
fn summed(directory: &Path) -> Result<(), RecorderError> {
    let stated = read(&directory.join(SUMS))?;
    let stated = String::from_utf8_lossy(&stated);
    let stated: BTreeSet<&str> = stated.lines().collect();
    let found = sums(directory)?;
    let found: BTreeSet<&str> = found.lines().collect();
    let name = |line: &str| {
        line.split_once("  ")
            .map_or(SUMS, |(_, name)| name)
            .to_owned()
    };
    // A copy may be missing, and is named all the same.
    let is_missing = |line: &&&str| {
        let name = name(line);
        [LOG, RUN, TAPE].contains(&name.as_str()) && !directory.join(&name).exists()
    };
    if let Some(line) = found.difference(&stated).next() {
        return Err(broken(&name(line), "it is not the file that the sums name"));
    }
    match found
        .symmetric_difference(&stated)
        .find(|line| !is_missing(line))
    {
        None => Ok(()),
        Some(line) => Err(broken(
            SUMS,
            &format!("{}: there is no such file", name(line)),
        )),
    }
}

/// Checks everything that the ledger binds, also before the review.
///
/// # Errors
/// `adapter_protocol_violation`, `io`.
pub fn contents(directory: &Path) -> Result<Vec<Line>, RecorderError> {
    let bytes = read(&directory.join(LEDGER))?;
    let lines = ledger::verify(&bytes).map_err(|error| broken(LEDGER, &error.to_string()))?;
    let has_begun = started(&lines).is_some();
    if has_begun {
        let whole = Whole::read(directory, &lines)?;
        objects(directory, &lines, whole.as_ref())?;
        if let Some(whole) = &whole {
            whole.agrees(directory, &lines)?;
            whole.copies(directory)?;
            receipt(&lines, whole)?;
        }
    } else if [LOG, TAPE, RUN]
        .iter()
        .any(|name| directory.join(name).exists())
        || !names(directory).is_empty()
    {
        return Err(broken(
            LEDGER,
            "an episode that did not begin left something",
        ));
    }
    Ok(lines)
}

/// What an episode left that came to an end, from its objects.
struct Whole {
    ended: Ended,
    log: Vec<u8>,
    run: Run,
    run_bytes: Vec<u8>,
    /// The tape, made from the log; `None` if the log gives none.
    tape: Option<Vec<u8>>,
}

impl Whole {
    /// Reads it; `None` if the ledger has no end.
    fn read(directory: &Path, lines: &[Line]) -> Result<Option<Whole>, RecorderError> {
        let Some(ended) = ended(lines).cloned() else {
            return Ok(None);
        };
        let log = held(directory, &ended.log_hash)?;
        let run_bytes = held(directory, &ended.run_hash)?;
        let tape = match tape(&log) {
            Ok(tape) => Some(tape),
            Err(error) if error.fault == Fault::Violation => None,
            Err(error) => return Err(error),
        };
        Ok(Some(Whole {
            run: Run::parse(&run_bytes)?,
            ended,
            log,
            run_bytes,
            tape,
        }))
    }

    /// The hashes of all that it is made of.
    fn hashes(&self) -> impl Iterator<Item = String> {
        let tape = self.tape.as_deref().map(hash::of_bytes);
        let Ended {
            log_hash,
            tool_log_index_hash,
            run_hash,
            ..
        } = &self.ended;
        [log_hash, tool_log_index_hash, run_hash]
            .into_iter()
            .chain(self.run.kept().map(|evidence| &evidence.hash))
            .cloned()
            .chain(tape)
    }

    /// The log is that of the ledger, and so is all that the ledger says of profile and run.
    fn agrees(&self, directory: &Path, lines: &[Line]) -> Result<(), RecorderError> {
        let head = self.log.split(|byte| *byte == b'\n').next();
        let header: Header = canonical::read(head.unwrap_or_default())
            .map_err(|error| broken(LOG, &error.to_string()))?;
        let is_same = |started: &&Started| {
            started.nonce_hash == header.nonce_hash
                && started.harness == header.harness
                && Some(&started.version) == header.version.as_ref()
        };
        if lines.first().is_none_or(|line| line.ids != header.ids)
            || started(lines).filter(is_same).is_none()
        {
            return Err(broken(LOG, "its header is not that of the ledger"));
        }
        let index = ledger::index(lines)
            .and_then(|index| hash_of(&index))
            .map_err(|error| broken(LEDGER, &error.to_string()))?;
        if index != self.ended.tool_log_index_hash {
            return Err(broken(LEDGER, "its index of requests has another hash"));
        }
        let hash = header.ids.adapter_profile_hash.as_str();
        let (profile, _) = Profile::parse(&held(directory, hash)?)
            .map_err(|error| broken(&format!("{OBJECTS}/{hash}"), &error.to_string()))?;
        let witnesses = Witnesses {
            log: &self.log,
            header: &header,
            run: &self.run,
            profile: &profile,
        };
        agree::compare(lines, &witnesses, &|hash| held(directory, hash))?;
        match lines.last().map(|line| &line.entry) {
            Some(Entry::ReviewBlockedRecorded(blocked))
                if self
                    .run
                    .reason
                    .as_ref()
                    .is_some_and(|reason| *reason != blocked.reason) =>
            {
                Err(broken(LEDGER, "its reason is not that of the run"))
            }
            _ => Ok(()),
        }
    }

    /// The files beside the objects say the same.
    fn copies(&self, directory: &Path) -> Result<(), RecorderError> {
        let tape = self.tape.as_deref().unwrap_or_default();
        for (name, bytes) in [(LOG, &*self.log), (RUN, &*self.run_bytes), (TAPE, tape)] {
            let path = directory.join(name);
            if path.exists() && read(&path)? != bytes {
                return Err(broken(name, "it is not what the ledger binds"));
            }
        }
        Ok(())
    }
}

/// A file of an episode.
///
/// # Errors
/// `adapter_protocol_violation` if it is not there, no file, or too large; `io`.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, RecorderError> {
    bounded::read_left(path, MAX_FILE).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::InvalidInput | ErrorKind::FileTooLarge => {
            broken(&path.to_string_lossy(), &error.to_string())
        }
        _ => RecorderError::io(path, &error),
    })
}

/// An object. What is no hash leads nowhere.
fn held(directory: &Path, hash: &str) -> Result<Vec<u8>, RecorderError> {
    if !hash::is_hash(hash) {
        return Err(broken(LEDGER, "it names an object without a hash"));
    }
    read(&object(directory, hash))
}

/// The names of the objects that are there.
fn names(directory: &Path) -> BTreeSet<String> {
    let paths = engram_conformance::files(&directory.join(OBJECTS)).into_iter();
    paths
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect()
}

/// Every object has its hash, and the objects are those that the episode names.
fn objects(directory: &Path, lines: &[Line], whole: Option<&Whole>) -> Result<(), RecorderError> {
    let mut named: Vec<String> = Vec::new();
    for line in lines {
        match &line.entry {
            Entry::EpisodeStarted(_) => named.push(line.ids.adapter_profile_hash.to_string()),
            Entry::ToolRequested(requested) => named.push(requested.args_hash.clone()),
            Entry::ToolExecuted(receipt) => {
                let bytes = held(directory, &receipt.result_hash)?;
                if bytes.len() as u64 != receipt.result_bytes {
                    return Err(broken(
                        LEDGER,
                        &format!(
                            "the result of {} has {} bytes",
                            receipt.request_id,
                            bytes.len()
                        ),
                    ));
                }
                named.push(receipt.result_hash.clone());
            }
            _ => {}
        }
    }
    named.extend(whole.into_iter().flat_map(Whole::hashes));
    let named: BTreeSet<String> = named
        .iter()
        .map(|hash| hash.trim_start_matches("blake3:").to_owned())
        .collect();
    let found = names(directory);
    if let Some(missing) = named.difference(&found).next() {
        return Err(broken(&format!("{OBJECTS}/{missing}"), "it is not there"));
    }
    if let Some(more) = found.difference(&named).next() {
        return Err(broken(&format!("{OBJECTS}/{more}"), "nothing names it"));
    }
    let profile = lines
        .first()
        .map(|line| line.ids.adapter_profile_hash.as_str().to_owned());
    for name in found {
        let hash = format!("blake3:{name}");
        let bytes = held(directory, &hash)?;
        let is_profile = Some(&hash) == profile.as_ref();
        let is_own = if is_profile {
            ProfileHash::of(&bytes).as_str() == hash
        } else {
            hash::of_bytes(&bytes) == hash
        };
        if !is_own {
            return Err(broken(
                &format!("{OBJECTS}/{name}"),
                "its hash is another one",
            ));
        }
    }
    Ok(())
}

/// The checks that the evidence decides have the verdicts of the receipt.
fn is_proven(
    checks: &BTreeMap<String, Verdict>,
    lines: &[Line],
    whole: &Whole,
) -> Result<bool, RecorderError> {
    let tape = whole.tape.as_deref().unwrap_or_default();
    let found = checks::all(lines, &whole.run, &whole.log, tape)?;
    let is_same = |outcome: &Outcome| checks.get(outcome.id()) == Some(&outcome.verdict);
    Ok(whole.run.reason.is_none() && found.iter().all(is_same))
}

/// A receipt names all ten checks, and they hold. That of denials may have had nothing to look at.
fn has_all_checks(checks: &BTreeMap<String, Verdict>) -> bool {
    let is_known = |number: usize| match checks.get(&format!("P{number}")) {
        Some(Verdict::Passed) => true,
        // Nothing was denied, or the agent asked no model after it.
        Some(Verdict::Skipped) => number == 8,
        _ => false,
    };
    checks.len() == 10 && (1..=10).all(is_known)
}

/// The receipt of the review is about this episode.
fn receipt(lines: &[Line], whole: &Whole) -> Result<(), RecorderError> {
    let Some((line, receipt)) = lines.iter().find_map(|line| {
        if let Entry::ReviewReceiptRecorded(receipt) = &line.entry {
            Some((line, receipt))
        } else {
            None
        }
    }) else {
        return Ok(());
    };
    let tape_hash = whole.tape.as_deref().map(hash::of_bytes);
    let version = started(lines).map(|started| &started.version);
    let holds = receipt.profile_hash == line.ids.adapter_profile_hash
        && receipt.episode_hash == line.prev
        && receipt.tool_log_index_hash == whole.ended.tool_log_index_hash
        && Some(&receipt.tape_hash) == tape_hash.as_ref()
        && Some(&receipt.version) == version
        && receipt.egress == whole.run.egress
        && whole.ended.status == EndStatus::Completed
        && has_all_checks(&receipt.checks)
        && is_proven(&receipt.checks, lines, whole)?;
    if holds {
        Ok(())
    } else {
        Err(broken(LEDGER, "the receipt is not that of this episode"))
    }
}
