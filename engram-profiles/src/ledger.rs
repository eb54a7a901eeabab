//! The ledger of an episode: canonical lines, each with the hash of the line before it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::canonical;
use crate::episode::{Decision, Ids};
use crate::error::ProfileError;
use crate::receipt::{
    Blocked, Decided, Ended, Requested, ReviewReceipt, Started, ToolLogEntry, ToolLogIndex,
    ToolReceipt, ToolStart, hash_of,
};

/// What stands for the hash before the first line.
pub const FIRST: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// The most bytes of a line.
const MAX_LINE: usize = 1 << 20;

/// A line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Its number, from 0.
    pub seq: u64,
    /// When; absent in a scripted episode that is to be the same whenever it is repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub t: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub entry: Entry,
    /// The ids.
    #[serde(flatten)]
    pub ids: Ids,
    /// The BLAKE3 of the line before, in hexadecimal digits; [`FIRST`] in the first line.
    pub prev: String,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "body")]
pub enum Entry {
    /// The episode began.
    EpisodeStarted(Started),
    /// The agent asked for a tool.
    ToolRequested(Requested),
    /// The driver allowed or denied it.
    ToolDecided(Decided),
    /// The tool begins. A tool that was denied has no such line.
    ToolStarted(ToolStart),
    /// The tool ran.
    ToolExecuted(ToolReceipt),
    /// The episode ended.
    EpisodeEnded(Ended),
    /// All checks hold.
    ReviewReceiptRecorded(Box<ReviewReceipt>),
    /// A check does not hold.
    ReviewBlockedRecorded(Blocked),
}

/// Why a ledger is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct LedgerError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

/// Writes a ledger, line by line.
#[derive(Debug)]
pub struct Ledger {
    ids: Ids,
    next: u64,
    prev: String,
}

impl Ledger {
    /// An empty ledger of an episode.
    pub fn new(ids: Ids) -> Ledger {
        Ledger {
            ids,
            next: 0,
            prev: FIRST.to_owned(),
        }
    }

    /// Goes on with a ledger.
    ///
    /// # Errors
    /// The first line that is wrong.
    pub fn resume(bytes: &[u8]) -> Result<Ledger, LedgerError> {
        let lines = verify(bytes)?;
        let Some(last) = lines.last() else {
            return Err(LedgerError {
                line: 1,
                what: "it is empty".to_owned(),
            });
        };
        Ok(Ledger {
            ids: last.ids.clone(),
            next: last.seq + 1,
            prev: last_hash(bytes),
        })
    }

    /// The next line, with its end.
    ///
    /// # Errors
    /// `profile_invalid` if the entry cannot be written as JSON.
    pub fn line(&mut self, t: Option<&str>, entry: Entry) -> Result<String, ProfileError> {
        let line = Line {
            seq: self.next,
            t: t.map(str::to_owned),
            entry,
            ids: self.ids.clone(),
            prev: self.prev.clone(),
        };
        let bytes = canonical::to_vec(&line)?;
        self.prev = blake3::hash(&bytes).to_hex().to_string();
        self.next += 1;
        let mut text =
            String::from_utf8(bytes).map_err(|error| ProfileError::invalid("", error))?;
        text.push('\n');
        Ok(text)
    }

    /// The number of the next line.
    pub fn next_seq(&self) -> u64 {
        self.next
    }

    /// The hash of the last line; [`FIRST`] before the first.
    pub fn last_hash(&self) -> &str {
        &self.prev
    }
}

/// Reads a ledger, and checks that it is whole: canonical lines with rising numbers, chained, of one episode, in an order that an episode
/// can have; each request decided once, and with one receipt.
///
/// # Errors
/// The first line that is wrong.
pub fn verify(bytes: &[u8]) -> Result<Vec<Line>, LedgerError> {
    let mut lines: Vec<Line> = Vec::new();
    let mut prev = FIRST.to_owned();
    let mut state = State::default();
    for (at, text) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let fault = |what: String| LedgerError { line: at + 1, what };
        let text = text
            .strip_suffix(b"\n")
            .ok_or_else(|| fault("it has no end".to_owned()))?;
        let line = read(text).map_err(|error| fault(error.to_string()))?;
        let is_next = line.seq == at as u64 && line.prev == prev;
        if !is_next {
            return Err(fault(
                "its number or the hash of the line before is wrong".to_owned(),
            ));
        }
        if lines.first().is_some_and(|first| first.ids != line.ids) {
            return Err(fault("its ids are not those of the first line".to_owned()));
        }
        state.next(&line.entry).map_err(fault)?;
        prev = blake3::hash(text).to_hex().to_string();
        lines.push(line);
    }
    match state.place {
        Place::Before => Err(LedgerError {
            line: 1,
            what: "it is empty".to_owned(),
        }),
        _ => Ok(lines),
    }
}

/// The hash of the last line of a ledger, to which the next one chains.
pub fn last_hash(bytes: &[u8]) -> String {
    let last = bytes
        .strip_suffix(b"\n")
        .unwrap_or(bytes)
        .rsplit(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    blake3::hash(last).to_hex().to_string()
}

/// One line. Written again, it must have the same bytes: so it has no member that its type does not name.
fn read(text: &[u8]) -> Result<Line, ProfileError> {
    if text.len() > MAX_LINE {
        return Err(ProfileError::invalid(
            "",
            format!("a line has at most {MAX_LINE} bytes"),
        ));
    }
    canonical::parse_exact(text)?;
    let line: Line = canonical::read(text)?;
    if canonical::to_vec(&line)? == text {
        Ok(line)
    } else {
        Err(ProfileError::invalid(
            "",
            "it has members that nothing names",
        ))
    }
}

/// The index of the requests in a ledger.
///
/// # Errors
/// `profile_invalid` if a receipt cannot be written as JSON.
pub fn index(lines: &[Line]) -> Result<ToolLogIndex, ProfileError> {
    let mut entries: Vec<ToolLogEntry> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for line in lines {
        let mut end = |id: &str, hash: String| {
            if let Some(entry) = places.get(id).and_then(|at| entries.get_mut(*at)) {
                (entry.result_seq, entry.receipt_hash) = (line.seq, hash);
            }
        };
        match &line.entry {
            Entry::ToolRequested(Requested { request_id, .. }) => {
                places.insert(request_id, entries.len());
                let receipt_hash = String::new();
                entries.push(ToolLogEntry {
                    request_id: request_id.clone(),
                    intent_seq: line.seq,
                    result_seq: line.seq,
                    receipt_hash,
                });
            }
            Entry::ToolDecided(decided) if decided.decision == Decision::Deny => {
                end(&decided.request_id, hash_of(decided)?)
            }
            Entry::ToolExecuted(receipt) => end(&receipt.request_id, hash_of(receipt)?),
            _ => {}
        }
    }
    // A request that an end cut off has neither receipt nor denial.
    entries.retain(|entry| !entry.receipt_hash.is_empty());
    Ok(ToolLogIndex { entries })
}

/// Where in an episode a ledger is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Before,
    Runs,
    Ended,
    Reviewed,
}

/// How far a request is.
enum Request {
    Asked(Requested),
    Allowed(Requested),
    Started(Requested, ToolStart),
    Done,
}

#[derive(Default)]
struct State {
    place: Place,
    requests: BTreeMap<String, Request>,
}

impl State {
    fn next(&mut self, entry: &Entry) -> Result<(), String> {
        self.place = match (self.place, entry) {
            (Place::Before, Entry::EpisodeStarted(_)) => Place::Runs,
            (
                Place::Runs,
                Entry::ToolRequested(_)
                | Entry::ToolDecided(_)
                | Entry::ToolStarted(_)
                | Entry::ToolExecuted(_),
            ) => Place::Runs,
            (Place::Runs, Entry::EpisodeEnded(_)) => Place::Ended,
            (Place::Ended, Entry::ReviewReceiptRecorded(_)) => Place::Reviewed,
            // An agent that cannot be run has no beginning, and one that is stopped early no end.
            (Place::Before | Place::Runs | Place::Ended, Entry::ReviewBlockedRecorded(_)) => {
                Place::Reviewed
            }
            _ => return Err("it cannot follow the line before".to_owned()),
        };
        match entry {
            Entry::ToolRequested(requested) => self.asked(requested),
            Entry::ToolDecided(decided) => self.decided(decided),
            Entry::ToolStarted(start) => self.started(start),
            Entry::ToolExecuted(receipt) => self.executed(receipt),
            _ => Ok(()),
        }
    }

    fn asked(&mut self, requested: &Requested) -> Result<(), String> {
        match self.requests.insert(
            requested.request_id.clone(),
            Request::Asked(requested.clone()),
        ) {
            None => Ok(()),
            Some(_) => Err(format!(
                "the request {} is there twice",
                requested.request_id
            )),
        }
    }

    fn decided(&mut self, decided: &Decided) -> Result<(), String> {
        let Some(Request::Asked(requested)) = self.requests.get(&decided.request_id) else {
            return Err(format!("no open request is called {}", decided.request_id));
        };
        if (decided.decision == Decision::Deny) != decided.reason.is_some() {
            return Err("a denial has a reason, and nothing else has one".to_owned());
        }
        let request = match decided.decision {
            Decision::Allow => Request::Allowed(requested.clone()),
            Decision::Deny => Request::Done,
        };
        self.requests.insert(decided.request_id.clone(), request);
        Ok(())
    }

    fn started(&mut self, start: &ToolStart) -> Result<(), String> {
        let id = &start.request_id;
        let Some(Request::Allowed(requested)) = self.requests.get(id) else {
            return Err(format!("no allowed request is called {id}"));
        };
        let begun = Request::Started(requested.clone(), start.clone());
        self.requests.insert(id.clone(), begun);
        Ok(())
    }

    fn executed(&mut self, receipt: &ToolReceipt) -> Result<(), String> {
        let id = &receipt.request_id;
        let Some(Request::Started(requested, start)) = self.requests.get(id) else {
            return Err(format!("no request that was started is called {id}"));
        };
        if (&requested.tool, &requested.args_hash, Decision::Allow)
            != (&receipt.tool, &receipt.args_hash, receipt.decision)
        {
            return Err("the receipt is not that of the request and the decision".to_owned());
        }
        if (&start.executed_by, &start.execution_env, &start.sandbox)
            != (
                &receipt.executed_by,
                &receipt.execution_env,
                &receipt.sandbox,
            )
        {
            return Err("the receipt is not that of the start".to_owned());
        }
        self.requests
            .insert(receipt.request_id.clone(), Request::Done);
        Ok(())
    }
}
