//! Whether log, profile and run of an episode say what its ledger says. Hashes prove only that they are the ones that the ledger names.

use std::collections::BTreeMap;

use engram_profiles::episode::{
    Decision, Driver, EndStatus, Envelope, Event, Header, Record, ToolLimits, ToolOutput,
};
use engram_profiles::grammar::{self, Answer, Limits, LineKind, Request, Response, Scanner};
use engram_profiles::ledger::{Entry, Line};
use engram_profiles::nonce::NonceHash;
use engram_profiles::receipt::{Decided, PolicySnapshot, Requested, ToolReceipt, ToolStart};
use engram_profiles::{Profile, canonical, hash};
use jiff::Timestamp;

use super::actuator::{self, wanted};
use super::checks::{broken, ended};
use super::command::model;
use super::driver::{mounts, reach};
use super::evidence::Run;
use super::journal::{LEDGER, LOG, OBJECTS, Times};
use crate::error::RecorderError;

/// What an episode has beside its ledger.
pub(super) struct Witnesses<'e> {
    /// The log.
    pub log: &'e [u8],
    /// Its first line.
    pub header: &'e Header,
    /// How the run went.
    pub run: &'e Run,
    /// The profile.
    pub profile: &'e Profile,
}

/// Compares all of them with the ledger. `object` reads the result with this hash.
///
/// # Errors
/// `adapter_protocol_violation` with the first thing that differs; those of `object`.
pub(super) fn compare(
    lines: &[Line],
    of: &Witnesses<'_>,
    object: &dyn Fn(&str) -> Result<Vec<u8>, RecorderError>,
) -> Result<(), RecorderError> {
    let limits = Limits::of(of.profile);
    let Header {
        harness,
        capability_map,
        tool_limits,
        model: named,
        nonce_hash,
        ..
    } = of.header;
    let is_same = harness == of.profile.harness.as_str()
        && *capability_map == of.profile.capability_map
        && *tool_limits == ToolLimits::from(limits)
        && named.as_deref() == model(of.profile);
    if !is_same {
        return Err(broken(LOG, "its header is not that of the profile"));
    }
    let nonce = NonceHash::parse(nonce_hash).ok_or_else(|| broken(LOG, "its nonce has no hash"))?;
    times(lines, of.run.times)?;
    let told = Told::read(of.log, limits, &nonce)?;
    let kept = Kept::of(lines);
    told.is_that_of(&kept, lines)?;
    let mut calls_left = of.profile.budget_defaults.tool_calls.get();
    for (request, decided) in told.requests.iter().zip(&kept.decided) {
        if !is_right(request, decided, of, calls_left) {
            let what = "is not that of the profile, the tier and the budget";
            let id = &decided.request_id;
            return Err(broken(LEDGER, &format!("the decision on {id} {what}")));
        }
        calls_left = calls_left.saturating_sub(u64::from(decided.decision == Decision::Allow));
    }
    for (answer, decided) in told.answers.iter().zip(&kept.decided) {
        answered(answer, decided, &kept, object)?;
    }
    acted(&kept, of)
}

/// What a ledger says of requests, in its order.
#[derive(Default)]
struct Kept<'l> {
    requested: Vec<&'l Requested>,
    decided: Vec<&'l Decided>,
    started: Vec<&'l ToolStart>,
    executed: BTreeMap<&'l str, &'l ToolReceipt>,
}

impl Kept<'_> {
    fn of(lines: &[Line]) -> Kept<'_> {
        let mut kept = Kept::default();
        for line in lines {
            match &line.entry {
                Entry::ToolRequested(requested) => kept.requested.push(requested),
                Entry::ToolDecided(decided) => kept.decided.push(decided),
                Entry::ToolStarted(start) => kept.started.push(start),
                Entry::ToolExecuted(receipt) => {
                    kept.executed.insert(&receipt.request_id, receipt);
                }
                _ => {}
            }
        }
        kept
    }
}

/// What a log says of requests, in its order.
#[derive(Default)]
struct Told {
    requests: Vec<Request>,
    decisions: Vec<(String, Decision)>,
    answers: Vec<(Response, Option<ToolOutput>)>,
    status: Option<EndStatus>,
}

impl Told {
    fn read(log: &[u8], limits: Limits, nonce: &NonceHash) -> Result<Told, RecorderError> {
        let mut told = Told::default();
        let mut scanner = Scanner::new(nonce.clone(), limits);
        let records = log.split(|byte| *byte == b'\n').skip(1);
        for record in records.filter(|record| !record.is_empty()) {
            let record: Record =
                serde_json::from_slice(record).map_err(|error| broken(LOG, &error.to_string()))?;
            if told.status.is_some() {
                return Err(broken(LOG, "it goes on behind its end"));
            }
            match record {
                Record::Agent(said) => {
                    let mut lines = Vec::new();
                    scanner.push(said.text.as_bytes(), &mut lines);
                    scanner.end_block(&mut lines);
                    told.requests
                        .extend(lines.into_iter().filter_map(|line| match line.kind {
                            LineKind::Request(request) => Some(request),
                            _ => None,
                        }));
                }
                Record::Driver(Driver::Event(Event::ToolDecided { id, decision, .. })) => {
                    told.decisions.push((id, decision));
                }
                Record::Driver(Driver::Event(Event::EpisodeEnded { status, .. })) => {
                    told.status = Some(status);
                }
                Record::Driver(Driver::Said(said)) if said.part.is_none() => {
                    let frame = said.text.strip_suffix('\n').unwrap_or(&said.text);
                    match grammar::response(frame, nonce) {
                        Some(Ok(response)) => told.answers.push((response, said.result)),
                        _ => return Err(broken(LOG, "the driver says what is no answer")),
                    }
                }
                Record::Driver(Driver::Said(_)) => {}
            }
        }
        Ok(told)
    }

    /// The same requests and decisions, and the same end. What was asked last may have no decision, if the episode did not come to its end.
    fn is_that_of(&self, kept: &Kept<'_>, lines: &[Line]) -> Result<(), RecorderError> {
        let status = ended(lines).map(|end| end.status);
        if self.status != status {
            return Err(broken(LOG, "its end is not that of the ledger"));
        }
        let is_asked = |(request, requested): (&Request, &&Requested)| {
            request.id == requested.request_id
                && request.tool == requested.tool
                && hash::of_bytes(request.args.as_bytes()) == requested.args_hash
        };
        let asked = kept.requested.len();
        let is_all = status != Some(EndStatus::Completed) || self.requests.len() == asked;
        if !is_all
            || self.requests.len() < asked
            || !self.requests.iter().zip(&kept.requested).all(is_asked)
        {
            return Err(broken(LOG, "its requests are not those of the ledger"));
        }
        let is_decided = |((id, decision), decided): (&(String, Decision), &&Decided)| {
            *id == decided.request_id && *decision == decided.decision
        };
        let counts = [asked, self.decisions.len(), self.answers.len()];
        if counts.iter().any(|count| *count != kept.decided.len())
            || !self.decisions.iter().zip(&kept.decided).all(is_decided)
        {
            return Err(broken(LOG, "its decisions are not those of the ledger"));
        }
        Ok(())
    }
}

/// Whether a decision is the one that the driver makes. What the sandbox was like, only the driver knew.
fn is_right(request: &Request, decided: &Decided, of: &Witnesses<'_>, calls_left: u64) -> bool {
    let policy = PolicySnapshot {
        tier: of.run.tier,
        tool_class: of.profile.tool_class(&request.tool).as_str().to_owned(),
        calls_left,
    };
    let is_same = decided.request_id == request.id && decided.policy_snapshot == policy;
    is_same
        && match (
            wanted(of.profile, of.run.tier, request),
            decided.reason.as_deref(),
        ) {
            (Err(why), reason) => reason == Some(why),
            (Ok(_), None) => calls_left > 0,
            (Ok(_), Some(actuator::BUDGET)) => calls_left == 0,
            (Ok(_), Some(reason)) => reason == actuator::OUTSIDE_SANDBOX,
        }
}

/// The answer to a request is the decision on it, or the result of what ran.
fn answered(
    (response, output): &(Response, Option<ToolOutput>),
    decided: &Decided,
    kept: &Kept<'_>,
    object: &dyn Fn(&str) -> Result<Vec<u8>, RecorderError>,
) -> Result<(), RecorderError> {
    let id = decided.request_id.as_str();
    let is_same = response.id == id
        && match (&response.answer, kept.executed.get(id), output) {
            (Answer::Denied(why), None, None) => decided.reason.as_ref() == Some(why),
            (Answer::Ok(hash), Some(receipt), Some(output)) => {
                let envelope: Envelope = canonical::read(&object(hash)?)
                    .map_err(|error| broken(&format!("{OBJECTS}/{hash}"), &error.to_string()))?;
                *hash == receipt.result_hash
                    && (output.bytes, output.status) == (receipt.result_bytes, receipt.status)
                    && envelope.status == output.status
                    && envelope.text.starts_with(&output.text)
                    && envelope.text.len() as u64 == output.text_bytes
            }
            _ => false,
        };
    if is_same {
        Ok(())
    } else {
        Err(broken(
            LOG,
            &format!("the answer to {id} is not that of the ledger"),
        ))
    }
}

/// What ran was in the sandbox of the run.
fn acted(kept: &Kept<'_>, of: &Witnesses<'_>) -> Result<(), RecorderError> {
    let reach = reach(of.run.tier, of.run.egress);
    let is_same = |start: &&&ToolStart| {
        start.sandbox == reach && start.execution_env.mounts == mounts(of.run.egress)
    };
    let is_kind = |receipt: &ToolReceipt| {
        receipt.tool_class == of.profile.tool_class(&receipt.tool).as_str()
            && receipt.duration_ms.is_some() == (of.run.times == Times::Kept)
    };
    if kept.started.iter().all(|start| is_same(&start))
        && kept.executed.values().all(|receipt| is_kind(receipt))
    {
        Ok(())
    } else {
        Err(broken(
            LEDGER,
            "what ran is not what the run and the profile have",
        ))
    }
}

/// Each line has a time behind that of the line before, or none has one. The clock of the review is another one.
fn times(lines: &[Line], times: Times) -> Result<(), RecorderError> {
    let mut before = None;
    for line in lines {
        let time = line.t.as_deref();
        let moment = time.and_then(|text| {
            let moment: Timestamp = text.parse().ok()?;
            (format!("{moment:.3}") == text).then_some(moment)
        });
        let is_review = matches!(
            line.entry,
            Entry::ReviewReceiptRecorded(_) | Entry::ReviewBlockedRecorded(_)
        );
        let is_right = match times {
            Times::LeftOut => time.is_none(),
            Times::Kept => moment.is_some() && (is_review || moment > before),
        };
        if !is_right {
            return Err(broken(
                LEDGER,
                &format!("the time of line {}", line.seq + 1),
            ));
        }
        before = moment;
    }
    Ok(())
}
