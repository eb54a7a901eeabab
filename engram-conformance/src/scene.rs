//! One recording as the checks see it: its sessions, their tapes, and what really happened.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use engram_core::audit::{AuditReport, audit};
use engram_core::check::{Violation, check};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::event::Kind;

use crate::convert::{Subject, Trouble};
use crate::gaps;
use crate::options::{Form, Session};
use crate::recordings::Recording;
use crate::scenario;
use crate::tape::{Event, events};
use crate::truth::{Call, Truth, named, one_a_line};

/// One session with its tape.
pub struct Side {
    /// The session.
    pub session: Session,
    /// The tape's bytes.
    pub tape: String,
    /// The tape's events.
    pub events: Vec<Event>,
    /// The source, a line a record, whatever it looks like.
    records: Vec<u8>,
    violations: OnceLock<Vec<Violation>>,
    audit: OnceLock<Result<AuditReport, String>>,
}

impl Side {
    fn new(session: Session, tape: String) -> Side {
        let events = events(&tape);
        let records = one_a_line(&session.bytes).into_owned();
        Side { session, tape, events, records, violations: OnceLock::new(), audit: OnceLock::new() }
    }

    /// The rules of the format that the tape breaks.
    pub(crate) fn violations(&self) -> &[Violation] {
        self.violations.get_or_init(|| check(&self.tape))
    }

    /// What the accounting of the source against the tape finds.
    pub(crate) fn audit(&self, descriptor: &AdapterDescriptor) -> Result<&AuditReport, &str> {
        let made = self.audit.get_or_init(|| audit(self.source(), &self.tape, descriptor).map_err(|error| error.to_string()));
        made.as_ref().map_err(String::as_str)
    }

    /// The session's name.
    pub fn name(&self) -> &str {
        &self.session.name
    }

    /// The text that the tape was made of.
    pub fn source(&self) -> &[u8] {
        &self.session.bytes
    }

    /// True when the source holds these bytes.
    pub fn logs(&self, bytes: &[u8]) -> bool {
        memchr::memmem::find(&self.records, bytes).is_some()
    }

    /// True when one line of the source holds both a call's id and a text, spelled as a JSON string.
    pub fn logs_together(&self, id: &str, text: &str) -> bool {
        let text = escaped(text);
        self.records_of(id).any(|record| memchr::memmem::find(record, text.as_bytes()).is_some())
    }

    /// The records of the source that hold a call's id.
    pub fn records_of(&self, id: &str) -> impl Iterator<Item = &[u8]> {
        memchr::memmem::find_iter(&self.records, id.as_bytes()).map(|at| line_around(&self.records, at))
    }

    /// The call that an event belongs to, as the tape has it.
    pub fn call_of(&self, event: &Event) -> Option<&Event> {
        let id = event.text("call_id")?;
        self.events.iter().find(|call| call.is(Kind::ToolCall) && call.text("call_id") == Some(id))
    }

    /// True when the call of an event came back as failed, denied or cancelled.
    pub fn has_failed(&self, event: &Event) -> bool {
        let id = event.text("call_id");
        let of_call = self.events.iter().filter(|result| result.is(Kind::ToolResult) && id.is_some() && result.text("call_id") == id);
        of_call.filter_map(|result| result.text("status")).any(|status| matches!(status, "error" | "denied" | "cancelled"))
    }

    /// The call ids by which truth may know the call of an event: its own, and those of the calls that it is nested in.
    pub fn roots(&self, event: &Event) -> Vec<&str> {
        let mut found = Vec::new();
        let mut next = self.call_of(event);
        while let Some(call) = next {
            found.extend(call.text("call_id"));
            let parent = call.number("parent").and_then(|seq| usize::try_from(seq).ok());
            next = parent.and_then(|seq| self.events.get(seq)).filter(|parent| parent.is(Kind::ToolCall) && found.len() < 8);
        }
        found
    }
}

/// A recording with its tapes, in one of the forms that it holds its sessions in.
pub struct Scene<'a> {
    /// The adapter that made them.
    pub subject: &'a Subject<'a>,
    /// The recording.
    pub recording: &'a Recording,
    /// The sessions that have tapes.
    pub sides: Vec<Side>,
    /// The sessions that have none.
    pub troubles: Vec<(Session, Trouble)>,
    /// What could not even be opened.
    pub unopened: Option<String>,
    pub(crate) truth: Truth,
    /// Calls that the log holds and the tapes do not, found where truth has no ids.
    pub(crate) missing_calls: Vec<String>,
    /// Why truth cannot be used, if it cannot.
    pub(crate) bad_truth: Option<String>,
    /// The gaps that the recording shows.
    pub gaps: BTreeSet<&'static str>,
    /// The scenarios that the recording shows.
    pub shows: BTreeSet<&'static str>,
}

impl<'a> Scene<'a> {
    /// Opens the sessions of a recording and makes their tapes: a scene for each form that it holds them in.
    pub fn all(subject: &'a Subject<'a>, recording: &'a Recording) -> Vec<Scene<'a>> {
        let mut forms: BTreeMap<Form, Vec<Session>> = BTreeMap::new();
        let unopened = match subject.offered.open.sessions(&recording.folder) {
            Ok(sessions) => {
                sessions.into_iter().for_each(|session| forms.entry(session.form).or_default().push(session));
                None
            }
            Err(error) => Some(error),
        };
        if forms.is_empty() {
            forms.insert(Form::Kept, Vec::new());
        }
        let mut scenes: Vec<Scene<'_>> = forms.into_values().map(|sessions| Scene::set(subject, recording, sessions)).collect();
        scenes[0].unopened = unopened;
        // What one form shows, the recording shows.
        let shows: BTreeSet<&'static str> = scenes.iter().flat_map(|scene| scene.shows.iter().copied()).collect();
        scenes.iter_mut().for_each(|scene| scene.shows.clone_from(&shows));
        scenes
    }

    fn set(subject: &'a Subject<'a>, recording: &'a Recording, sessions: Vec<Session>) -> Scene<'a> {
        let mut scene = Scene {
            subject,
            recording,
            sides: Vec::new(),
            troubles: Vec::new(),
            unopened: None,
            truth: Truth::default(),
            missing_calls: Vec::new(),
            bad_truth: None,
            gaps: BTreeSet::new(),
            shows: BTreeSet::new(),
        };
        sessions.into_iter().for_each(|session| scene.take(session));
        let (truth, missing) = named(recording.truth.clone(), &scene.sides);
        scene.missing_calls = missing;
        match serde_json::from_value(truth) {
            Ok(truth) => scene.truth = truth,
            Err(error) => scene.bad_truth = Some(error.to_string()),
        }
        scene.gaps = gaps::shown_by(&scene);
        scene.shows = scenario::shown_by(&scene);
        scene
    }

    fn take(&mut self, session: Session) {
        match self.subject.tape(&session) {
            Ok(tape) => self.sides.push(Side::new(session, tape)),
            Err(trouble) => self.troubles.push((session, trouble)),
        }
    }

    /// `recording/session`.
    pub fn place(&self, side: &Side) -> String {
        format!("{}/{}", self.recording.name(), side.name())
    }

    /// `recording/session:line`.
    pub fn at(&self, side: &Side, event: &Event) -> String {
        let line = event.line().map(|line| format!(":{line}"));
        format!("{}{}", self.place(side), line.unwrap_or_default())
    }

    /// True when any session holds the text, spelled as a JSON string or as it stands.
    pub(crate) fn is_logged(&self, text: &str) -> bool {
        let spelled = escaped(text);
        self.sides.iter().any(|side| side.logs(spelled.as_bytes()) || (spelled != text && side.logs(text.as_bytes())))
    }

    /// True when a record is of this call. That of a call which started a session may repeat that session's calls.
    pub(crate) fn logs_call(&self, id: &str) -> bool {
        let repeats = |record: &[u8]| memchr::memmem::find(record, b"\"summary\":[{").is_some();
        self.sides.iter().any(|side| side.records_of(&escaped(id)).any(|record| !repeats(record)))
    }

    pub(crate) fn call(&self, id: &str) -> Option<&Call> {
        self.truth.calls.iter().find(|call| call.id == id)
    }

    /// The `tool.call` of that id, on whatever tape.
    pub(crate) fn said_call(&self, id: &str) -> Option<&Event> {
        self.events(Kind::ToolCall).map(|(_, event)| event).find(|event| event.text("call_id") == Some(id))
    }

    /// Events of a kind.
    pub fn events(&self, kind: Kind) -> impl Iterator<Item = (&Side, &Event)> {
        self.sides.iter().flat_map(move |side| side.events.iter().filter(move |event| event.is(kind)).map(move |event| (side, event)))
    }

    /// Events of a kind, replayed history aside.
    pub fn own_events(&self, kind: Kind) -> impl Iterator<Item = (&Side, &Event)> {
        self.events(kind).filter(|(_, event)| !event.is_replay())
    }

    /// The events of a kind by call id and tape, replayed history aside.
    pub(crate) fn by_call(&self, kind: Kind) -> BTreeMap<&str, BTreeMap<&str, Vec<&Event>>> {
        let mut found: BTreeMap<&str, BTreeMap<&str, Vec<&Event>>> = BTreeMap::new();
        for (side, event) in self.own_events(kind) {
            found.entry(event.text("call_id").unwrap_or_default()).or_default().entry(side.name()).or_default().push(event);
        }
        found
    }
}

/// `text` as it stands inside a JSON string.
pub(crate) fn escaped(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or_default().to_owned()
}

/// The line of the source that holds a place in it.
fn line_around(source: &[u8], at: usize) -> &[u8] {
    let start = memchr::memrchr(b'\n', &source[..at]).map_or(0, |found| found + 1);
    let end = memchr::memchr(b'\n', &source[at..]).map_or(source.len(), |found| at + found);
    &source[start..end]
}

/// At most this much of a text in a finding.
pub(crate) fn short(text: &str) -> String {
    engram_core::error::excerpt(text)
}
