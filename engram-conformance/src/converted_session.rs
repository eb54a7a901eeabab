//! A session together with its tape, and the queries that checks make on both.

use std::sync::OnceLock;

use engram_core::audit::{AuditReport, audit};
use engram_core::check::{Violation, check};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::error::AdapterError;
use engram_core::event::Kind;
use engram_core::policy::Policy;
use serde_json::Value;

use crate::ground_truth::records::one_record_per_line;
use crate::session::Session;
use crate::session_tape::SessionTape;
use crate::tape::{Event, events};

/// How many calls deep a call may be nested in others.
const MAX_CALL_DEPTH: usize = 8;

/// One session with its tape.
pub struct ConvertedSession {
    /// The session that was converted.
    pub input: Session,
    /// The bytes of the tape.
    pub tape: String,
    /// The events of the tape.
    pub events: Vec<Event>,
    /// Why strict policy refuses the session, if it does: then the tape is that of permissive policy.
    pub refusal: Option<Box<AdapterError>>,
    /// The source with one record per line, whatever its format.
    records: Vec<u8>,
    violations: OnceLock<Vec<Violation>>,
    audit: OnceLock<Result<AuditReport, String>>,
}

impl ConvertedSession {
    pub(crate) fn of(input: Session, tape: SessionTape) -> ConvertedSession {
        ConvertedSession {
            refusal: tape.refusal,
            ..ConvertedSession::new(input, tape.text)
        }
    }

    pub(crate) fn new(input: Session, tape: String) -> ConvertedSession {
        let events = events(&tape);
        let records = one_record_per_line(&input.bytes).into_owned();
        ConvertedSession {
            input,
            tape,
            events,
            refusal: None,
            records,
            violations: OnceLock::new(),
            audit: OnceLock::new(),
        }
    }

    /// The format rules that the tape breaks.
    pub(crate) fn violations(&self) -> &[Violation] {
        self.violations.get_or_init(|| check(&self.tape))
    }

    /// The audit of the source against the tape.
    pub(crate) fn audit(&self, descriptor: &AdapterDescriptor) -> Result<&AuditReport, &str> {
        let result = self.audit.get_or_init(|| {
            audit(self.source(), &self.tape, descriptor).map_err(|error| error.to_string())
        });
        result.as_ref().map_err(String::as_str)
    }

    /// The policy of the tape.
    pub(crate) fn policy(&self) -> Policy {
        let start = self.events.first();
        let named = start.and_then(|start| start.text("policy"));
        named.and_then(|name| name.parse().ok()).unwrap_or_default()
    }

    /// The session's name.
    pub fn name(&self) -> &str {
        &self.input.name
    }

    /// The bytes that the tape was made from.
    pub fn source(&self) -> &[u8] {
        &self.input.bytes
    }

    /// The schema that the tape names in its first event.
    pub(crate) fn schema(&self) -> Option<&str> {
        self.events.first()?.0.pointer("/harness/schema")?.as_str()
    }

    /// The id of the session that the tape names in its first event.
    pub(crate) fn session_id(&self) -> Option<&str> {
        self.events
            .first()?
            .0
            .pointer("/source/session_id")?
            .as_str()
    }

    /// The revision's claim for a kind of event, as the tape says it.
    pub(crate) fn claim(&self, kind: Kind) -> Option<&str> {
        self.events
            .first()?
            .0
            .pointer(&format!("/coverage/{}", kind.as_str()))
            .and_then(Value::as_str)
    }

    /// True if the source contains these bytes.
    pub fn contains(&self, bytes: &[u8]) -> bool {
        memchr::memmem::find(&self.records, bytes).is_some()
    }

    /// True if one record of the source contains both a call id and a text. The text is searched as JSON spells it.
    pub fn record_contains(&self, id: &str, text: &str) -> bool {
        let text = escaped(text);
        self.records_with(id)
            .any(|record| memchr::memmem::find(record, text.as_bytes()).is_some())
    }

    /// The records of the source that contain a call id.
    pub fn records_with(&self, id: &str) -> impl Iterator<Item = &[u8]> {
        memchr::memmem::find_iter(&self.records, id.as_bytes())
            .map(|at| line_around(&self.records, at))
    }

    /// The record of the source that an event comes from: its line, or in a document the first record with its id.
    pub(crate) fn record_of(&self, event: &Event) -> Option<&[u8]> {
        match event.line().and_then(|line| usize::try_from(line).ok()) {
            Some(line) => self
                .source()
                .split(|byte| *byte == b'\n')
                .nth(line.checked_sub(1)?),
            None => self
                .records_with(event.0.pointer("/origin/id")?.as_str()?)
                .next(),
        }
    }

    /// True if a person went back to a point before the event, and files were restored, too.
    pub fn is_taken_back(&self, event: &Event) -> bool {
        let seq = event.number("seq");
        let restores = |other: &&Event| {
            other.label() == Some("rewind")
                && other.0.get("files") == Some(&serde_json::Value::Bool(true))
        };
        self.events
            .iter()
            .filter(restores)
            .any(|rewind| rewind.number("to") < seq && seq < rewind.number("seq"))
    }

    /// The `tool.call` that an event belongs to.
    pub fn call_of(&self, event: &Event) -> Option<&Event> {
        let id = event.text("call_id")?;
        self.events
            .iter()
            .find(|call| call.is(Kind::ToolCall) && call.text("call_id") == Some(id))
    }

    /// True if the call of an event failed, was denied or was cancelled.
    pub fn has_failed(&self, event: &Event) -> bool {
        let id = event.text("call_id");
        let of_call = self.events.iter().filter(|result| {
            result.is(Kind::ToolResult) && id.is_some() && result.text("call_id") == id
        });
        of_call
            .filter_map(|result| result.text("status"))
            .any(|status| matches!(status, "error" | "denied" | "cancelled"))
    }

    /// The id of an event's call, then those of the calls that contain it. The ground truth may know any of them.
    pub fn call_chain(&self, event: &Event) -> Vec<&str> {
        let mut ids = Vec::new();
        let mut next = self.call_of(event);
        while let Some(call) = next {
            ids.extend(call.text("call_id"));
            let parent = call
                .number("parent")
                .and_then(|seq| usize::try_from(seq).ok());
            next = parent
                .and_then(|seq| self.events.get(seq))
                .filter(|parent| parent.is(Kind::ToolCall) && ids.len() < MAX_CALL_DEPTH);
        }
        ids
    }

    /// True if some call is made while another one has no result yet.
    pub(crate) fn has_parallel_calls(&self) -> bool {
        let mut open: Vec<&str> = Vec::new();
        self.events.iter().any(|event| {
            let id = event.text("call_id").unwrap_or_default();
            if event.is(Kind::ToolResult) {
                open.retain(|call| *call != id);
            }
            // A nested call runs together with its parent, but not in parallel to it.
            let is_top_level = event.is(Kind::ToolCall) && !event.has("parent") && !id.is_empty();
            let is_parallel = is_top_level && !open.is_empty();
            if is_top_level {
                open.push(id);
            }
            is_parallel
                && self
                    .events
                    .iter()
                    .any(|result| result.is(Kind::ToolResult) && result.text("call_id") == Some(id))
        })
    }
}

/// A text as it is spelled inside a JSON string.
pub(crate) fn escaped(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    quoted
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or_default()
        .to_owned()
}

/// The line of the source around a byte offset.
fn line_around(source: &[u8], at: usize) -> &[u8] {
    let start = memchr::memrchr(b'\n', &source[..at]).map_or(0, |found| found + 1);
    let end = memchr::memchr(b'\n', &source[at..]).map_or(source.len(), |found| at + found);
    &source[start..end]
}
