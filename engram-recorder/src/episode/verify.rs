//! Whether an episode is whole: every hash, the chain, the receipts and the tape, from what is in its directory.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::Path;

use engram_core::pipeline::{Input, Options};
use engram_core::tape::JsonLines;
use engram_profiles::episode::{EndStatus, Header, Ids};
use engram_profiles::ledger::{self, Entry, Line};
use engram_profiles::receipt::{Blocked, Ended, ReviewReceipt, Started, Verdict, hash_of};
use engram_profiles::{ProfileHash, canonical, hash};

use super::evidence::Run;
use super::journal::{LEDGER, LOG, OBJECTS, RUN, SUMS, TAPE, object, sums};
use crate::bounded;
use crate::error::{Fault, RecorderError};

/// The most bytes of one file of an episode.
pub(super) const MAX_FILE: u64 = 1 << 30;

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

/// Checks a whole episode.
///
/// # Errors
/// `adapter_protocol_violation` with the file that is wrong; `io`.
pub fn verify(directory: &Path) -> Result<Verified, RecorderError> {
    let stated = bounded::read_left(&directory.join(SUMS), MAX_FILE)
        .map_err(|error| RecorderError::io(&directory.join(SUMS), &error))?;
    let found = sums(directory)?;
    if stated != found.as_bytes() {
        let stated = String::from_utf8_lossy(&stated).into_owned();
        let differs = found
            .lines()
            .find(|line| !stated.lines().any(|other| other == *line));
        let name = differs
            .and_then(|line| line.split_once("  "))
            .map_or(SUMS, |(_, name)| name);
        return Err(broken(name, "it is not the file that the sums name"));
    }
    if let Some(more) = found
        .lines()
        .filter_map(|line| line.split_once("  "))
        .map(|(_, name)| name)
        .find(|name| !is_named(name))
    {
        return Err(broken(more, "an episode has no such file"));
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

/// True for the name of a file that an episode can have.
fn is_named(name: &str) -> bool {
    let is_object =
        |name: &str| name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    [LEDGER, LOG, RUN, TAPE].contains(&name) || name.strip_prefix("cas/").is_some_and(is_object)
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
        objects(directory, &lines)?;
        log(directory, &lines)?;
        receipt(directory, &lines)?;
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

/// What the ledger says of the beginning.
fn started(lines: &[Line]) -> Option<&Started> {
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

fn broken(file: &str, what: &str) -> RecorderError {
    RecorderError::new(Fault::Violation, format!("{file}: {what}"))
}

fn read(path: &Path) -> Result<Vec<u8>, RecorderError> {
    bounded::read_left(path, MAX_FILE).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::InvalidInput | ErrorKind::FileTooLarge => {
            broken(&path.to_string_lossy(), &error.to_string())
        }
        _ => RecorderError::io(path, &error),
    })
}

/// The names of the objects that are there.
fn names(directory: &Path) -> BTreeSet<String> {
    let paths = engram_conformance::files(&directory.join(OBJECTS)).into_iter();
    paths
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect()
}

/// Every object has its hash, and the objects are those that the episode names.
fn objects(directory: &Path, lines: &[Line]) -> Result<(), RecorderError> {
    let mut named: Vec<String> = Vec::new();
    for line in lines {
        match &line.entry {
            Entry::EpisodeStarted(_) => named.push(line.ids.adapter_profile_hash.to_string()),
            Entry::ToolRequested(requested) => named.push(requested.args_hash.clone()),
            Entry::ToolExecuted(receipt) => {
                let bytes = read(&object(directory, &receipt.result_hash))?;
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
    if directory.join(RUN).exists() {
        named.extend(
            Run::read(directory)?
                .kept()
                .map(|evidence| evidence.hash.clone()),
        );
    }
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
        let bytes = read(&object(directory, &hash))?;
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

/// The log is that of the ledger, and the tape that of the log.
fn log(directory: &Path, lines: &[Line]) -> Result<(), RecorderError> {
    let Some(ended) = ended(lines) else {
        return Ok(());
    };
    let bytes = read(&directory.join(LOG))?;
    if hash::of_bytes(&bytes) != ended.log_hash {
        return Err(broken(LOG, "its hash is not that of the ledger"));
    }
    let head = bytes
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let header: Header = canonical::read(head).map_err(|error| broken(LOG, &error.to_string()))?;
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
    if index != ended.tool_log_index_hash {
        return Err(broken(LEDGER, "its index of requests has another hash"));
    }
    if directory.join(TAPE).exists() && tape(directory)? != read(&directory.join(TAPE))? {
        return Err(broken(TAPE, "the log gives another tape"));
    }
    Ok(())
}

/// The tape of the log.
///
/// # Errors
/// `adapter_protocol_violation` if the log cannot be converted, `io`.
pub fn tape(directory: &Path) -> Result<Vec<u8>, RecorderError> {
    let log = read(&directory.join(LOG))?;
    let log = std::str::from_utf8(&log).map_err(|error| broken(LOG, &error.to_string()))?;
    let (options, mut tape) = (Options::default(), Vec::new());
    let input = Input::in_memory(log, options.limits);
    engram_adapters::ingest(input, &options, &mut JsonLines::new(&mut tape))
        .map_err(|error| broken(LOG, &error.to_string()))?;
    Ok(tape)
}

/// A receipt names all ten checks. Those that every episode can make hold; another one may have had nothing to look at.
fn has_all_checks(checks: &BTreeMap<String, Verdict>) -> bool {
    let is_known = |number: usize| match checks.get(&format!("P{number}")) {
        Some(Verdict::Passed) => true,
        Some(Verdict::Skipped) => matches!(number, 4 | 7 | 8),
        _ => false,
    };
    checks.len() == 10 && (1..=10).all(is_known)
}

/// The receipt of the review is about this episode.
fn receipt(directory: &Path, lines: &[Line]) -> Result<(), RecorderError> {
    let Some((line, receipt)) = lines.iter().find_map(|line| {
        if let Entry::ReviewReceiptRecorded(receipt) = &line.entry {
            Some((line, receipt))
        } else {
            None
        }
    }) else {
        return Ok(());
    };
    let tape_hash = hash::of_bytes(&read(&directory.join(TAPE))?);
    let of_ledger = ended(lines).map(|ended| &ended.tool_log_index_hash);
    let version = started(lines).map(|started| &started.version);
    let holds = receipt.profile_hash == line.ids.adapter_profile_hash
        && receipt.episode_hash == line.prev
        && Some(&receipt.tool_log_index_hash) == of_ledger
        && receipt.tape_hash == tape_hash
        && Some(&receipt.version) == version
        && receipt.egress == Run::read(directory)?.egress
        && ended(lines).map(|ended| ended.status) == Some(EndStatus::Completed)
        && has_all_checks(&receipt.checks);
    if holds {
        Ok(())
    } else {
        Err(broken(LEDGER, "the receipt is not that of this episode"))
    }
}
