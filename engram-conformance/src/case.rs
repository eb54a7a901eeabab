//! One recording as the checks see it: its sessions, their tapes, and the ground truth.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use engram_core::event::Kind;

use crate::convert::ConversionError;
use crate::converted_session::{ConvertedSession, escaped};
use crate::ground_truth::match_without_ids::with_ids;
use crate::ground_truth::{Call, Truth, is_formatted};
use crate::recording::Recording;
use crate::session::Session;
use crate::tape::Event;

/// A recording with its tapes, in one of the forms in which it contains its sessions.
pub struct Case<'a> {
    /// The recording.
    pub recording: &'a Recording,
    /// The sessions that converted.
    pub sessions: Vec<ConvertedSession>,
    /// The sessions that did not convert.
    pub failures: Vec<(Session, ConversionError)>,
    /// Why sessions could not be opened, if they could not.
    pub open_error: Option<String>,
    /// The gaps that the recording exhibits.
    pub gaps: BTreeSet<&'static str>,
    /// The gaps that the sessions of each schema exhibit.
    pub(crate) gaps_by_schema: BTreeMap<String, BTreeSet<&'static str>>,
    /// The scenarios that the recording shows.
    pub scenarios: BTreeSet<&'static str>,
    /// The calls that changed a file and behind which a hook ran, as one of the recording's forms says.
    pub(crate) hooked_calls: BTreeSet<String>,
    /// What really happened.
    pub truth: Truth,
    /// Calls that the log has and the tapes lack. Filled only where the ground truth has no call ids.
    pub(crate) missing_calls: Vec<String>,
    /// Why the ground truth cannot be used, if it cannot.
    pub(crate) truth_error: Option<String>,
}

impl fmt::Debug for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case")
            .field("sessions", &self.sessions.len())
            .field("failures", &self.failures.len())
            .finish_non_exhaustive()
    }
}

impl<'a> Case<'a> {
    /// A case whose gaps and scenarios are not known yet.
    pub(crate) fn new(
        recording: &'a Recording,
        sessions: Vec<ConvertedSession>,
        failures: Vec<(Session, ConversionError)>,
    ) -> Case<'a> {
        let (truth, missing_calls) = with_ids(recording.truth.clone(), &sessions);
        let (mut truth, truth_error) = match serde_json::from_value::<Truth>(truth) {
            Ok(truth) => (truth, None),
            Err(error) => (Truth::default(), Some(error.to_string())),
        };
        if is_formatted(&recording.scenario) {
            truth
                .edits
                .iter_mut()
                .for_each(|real| real.formatted = real.after.take());
        }
        let (gaps, gaps_by_schema, scenarios) = (BTreeSet::new(), BTreeMap::new(), BTreeSet::new());
        let hooked_calls = BTreeSet::new();
        Case {
            recording,
            sessions,
            failures,
            open_error: None,
            gaps,
            gaps_by_schema,
            scenarios,
            hooked_calls,
            truth,
            missing_calls,
            truth_error,
        }
    }

    /// True if hooks or formatters change files: then nobody knows what a call left, only what was there before the next turn.
    pub(crate) fn is_formatted(&self) -> bool {
        is_formatted(&self.recording.scenario)
    }

    /// `recording/session`.
    pub fn place(&self, session: &ConvertedSession) -> String {
        format!("{}/{}", self.recording.name(), session.name())
    }

    /// `recording/session:line`, with the source line of the event if it has one.
    pub fn place_of(&self, session: &ConvertedSession, event: &Event) -> String {
        let line = event.line().map(|line| format!(":{line}"));
        format!("{}{}", self.place(session), line.unwrap_or_default())
    }

    /// True if any session contains the text, as JSON spells it or literally.
    pub(crate) fn is_logged(&self, text: &str) -> bool {
        let spelled = escaped(text);
        self.sessions.iter().any(|session| {
            session.contains(spelled.as_bytes())
                || (spelled != text && session.contains(text.as_bytes()))
        })
    }

    /// True if any session has a record of this call. The record of a call that started a sub-agent's session may list that session's
    /// calls as a summary; such a list is no record of them.
    pub(crate) fn logs_call(&self, id: &str) -> bool {
        let is_summary = |record: &[u8]| memchr::memmem::find(record, b"\"summary\":[{").is_some();
        self.sessions.iter().any(|session| {
            session
                .records_with(&escaped(id))
                .any(|record| !is_summary(record))
        })
    }

    /// True if a record with the id of a call also has the name of its tool and the names of its arguments. A record that only mentions the
    /// call, as its result or one of a task that it started, does not. The log may have a namespace apart from the name.
    pub(crate) fn has_call(&self, call: &Call) -> bool {
        let has =
            |record: &[u8], text: &str| memchr::memmem::find(record, text.as_bytes()).is_some();
        let tool = escaped(call.tool.rsplit("__").next().unwrap_or(&call.tool));
        let args = call.args.as_object().into_iter().flatten();
        // Arguments may be JSON in a string.
        let names: Vec<String> = args.map(|(name, _)| escaped(name)).collect();
        let is_there = |record: &[u8], name: &String| {
            has(record, &format!("\"{name}\"")) || has(record, &format!("\"{name}\\\""))
        };
        let is_call =
            |record: &[u8]| has(record, &tool) && names.iter().all(|name| is_there(record, name));
        let id = escaped(&call.id);
        self.sessions
            .iter()
            .any(|session| session.records_with(&id).any(is_call))
    }

    /// The real call with this id.
    pub(crate) fn call(&self, id: &str) -> Option<&Call> {
        self.truth.calls.iter().find(|call| call.id == id)
    }

    /// The `tool.call` with this id, on any tape.
    pub fn tool_call(&self, id: &str) -> Option<&Event> {
        self.events(Kind::ToolCall)
            .map(|(_, event)| event)
            .find(|event| event.text("call_id") == Some(id))
    }

    /// The events of a kind.
    pub fn events(&self, kind: Kind) -> impl Iterator<Item = (&ConvertedSession, &Event)> {
        self.sessions.iter().flat_map(move |session| {
            session
                .events
                .iter()
                .filter(move |event| event.is(kind))
                .map(move |event| (session, event))
        })
    }

    /// The events of a kind, without replayed history.
    pub fn own_events(&self, kind: Kind) -> impl Iterator<Item = (&ConvertedSession, &Event)> {
        self.events(kind).filter(|(_, event)| !event.is_replay())
    }

    /// The events of a kind by call id, then by tape; without replayed history.
    pub(crate) fn by_call(&self, kind: Kind) -> BTreeMap<&str, BTreeMap<&str, Vec<&Event>>> {
        let mut calls: BTreeMap<&str, BTreeMap<&str, Vec<&Event>>> = BTreeMap::new();
        for (session, event) in self.own_events(kind) {
            calls
                .entry(event.text("call_id").unwrap_or_default())
                .or_default()
                .entry(session.name())
                .or_default()
                .push(event);
        }
        calls
    }
}
