//! The truth gate: tapes against what really happened, as the model server and the file system saw it.

mod edits;
mod facts;
mod reads;
mod records;
mod spans;
mod tests;
mod unnamed;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use engram_core::event::Kind;
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::Value;
pub use unnamed::named;

use crate::report::Tally;
use crate::tape::{Event, events, tape_of};
use crate::tree::{Artifact, Case, Corpus};

/// What really happened in one case, known from outside the log.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Truth {
    prompts: Vec<String>,
    calls: Vec<Call>,
    results: Vec<Returned>,
    edits: Vec<RealEdit>,
}

/// A tool call as the model server sent it.
#[derive(Debug, Clone, Deserialize)]
struct Call {
    id: String,
    tool: String,
    args: Value,
    #[serde(default)]
    thread: Option<String>,
}

impl Call {
    /// True where the log gives the call an id. Truth has an empty one where it does not.
    fn has_id(&self) -> bool {
        !self.id.is_empty()
    }

    /// True for a call of the main session, as opposed to a sub-agent's.
    fn is_main(&self) -> bool {
        self.thread.as_deref().is_none_or(|thread| thread == "main")
    }
}

/// A tool result as the harness returned it to the model server.
#[derive(Debug, Clone, Deserialize)]
struct Returned {
    id: String,
    text: String,
    is_error: Option<bool>,
}

/// A file before and after the calls of one model turn.
#[derive(Debug, Clone, Deserialize)]
struct RealEdit {
    call_ids: Vec<String>,
    file: String,
    before: Option<String>,
    after: Option<String>,
    before_sha256: Option<String>,
    after_sha256: Option<String>,
}

/// One tape of a case, with the source that it was made of.
pub struct Side<'a> {
    name: &'a str,
    /// A line a record, whatever the source looks like.
    source: Cow<'a, [u8]>,
    /// The tape's events.
    pub events: Vec<Event>,
}

impl Side<'_> {
    /// True when the source holds these bytes.
    fn logs(&self, bytes: &[u8]) -> bool {
        memchr::memmem::find(&self.source, bytes).is_some()
    }

    /// True when one line of the source holds both a call's id and a text, spelled as a JSON string.
    fn logs_together(&self, id: &str, text: &str) -> bool {
        let text = escaped(text);
        self.records_of(id).any(|record| memchr::memmem::find(record, text.as_bytes()).is_some())
    }

    /// The lines of the source that hold a call's id.
    fn records_of(&self, id: &str) -> impl Iterator<Item = &[u8]> {
        memchr::memmem::find_iter(&self.source, id.as_bytes()).map(|at| line_around(&self.source, at))
    }

    /// The call ids by which truth may know the call of an event: its own, and those of the calls that it is nested in.
    fn roots(&self, event: &Event) -> Vec<&str> {
        let mut found = Vec::new();
        let call = event
            .text("call_id")
            .and_then(|id| self.events.iter().find(|call| call.is(Kind::ToolCall) && call.text("call_id") == Some(id)));
        let mut next = call;
        while let Some(call) = next {
            found.extend(call.text("call_id"));
            let parent = call.0.get("parent").and_then(Value::as_u64).and_then(|seq| usize::try_from(seq).ok());
            next = parent.and_then(|seq| self.events.get(seq)).filter(|parent| parent.is(Kind::ToolCall) && found.len() < 8);
        }
        found
    }
}

/// A case with its tapes, as the checks see it.
pub struct Scene<'a> {
    case: &'a Case,
    truth: &'a Truth,
    sides: &'a [Side<'a>],
    tally: Tally,
    findings: Vec<String>,
}

impl<'a> Scene<'a> {
    fn new(case: &'a Case, truth: &'a Truth, sides: &'a [Side<'a>]) -> Self {
        Scene { case, truth, sides, tally: Tally::default(), findings: Vec::new() }
    }

    fn find(&mut self, finding: impl std::fmt::Display) {
        self.findings.push(format!("{}: {finding}", self.case.name()));
    }

    /// True when any session file of the case holds the text, spelled as a JSON string.
    fn is_logged(&self, text: &str) -> bool {
        let spelled = escaped(text);
        self.sides.iter().any(|side| side.logs(spelled.as_bytes()))
    }

    /// True when a record is of this call. That of a call which started a session may repeat that session's calls.
    fn logs_call(&self, id: &str) -> bool {
        let repeats = |record: &[u8]| memchr::memmem::find(record, b"\"summary\":[{").is_some();
        self.sides.iter().any(|side| side.records_of(&escaped(id)).any(|record| !repeats(record)))
    }

    /// True when the case's version is at least this one.
    fn since(&self, version: &str) -> bool {
        let parse = |text: &str| semver::Version::parse(text).expect("folders are named by versions");
        parse(&self.case.version) >= parse(version)
    }

    fn call(&self, id: &str) -> Option<&'a Call> {
        self.truth.calls.iter().find(|call| call.id == id)
    }

    /// Events of a kind, replayed history aside.
    fn events(&self, kind: Kind) -> impl Iterator<Item = (&'a Side<'a>, &'a Event)> {
        self.sides.iter().flat_map(move |side| side.events.iter().filter(move |event| event.is(kind)).map(move |event| (side, event)))
    }

    /// How often each call id occurs among the events of a kind, by tape; replayed history aside.
    fn by_call(&self, kind: Kind) -> BTreeMap<&'a str, BTreeMap<&'a str, Vec<&'a Event>>> {
        let mut found: BTreeMap<&str, BTreeMap<&str, Vec<&Event>>> = BTreeMap::new();
        for (side, event) in self.events(kind).filter(|(_, event)| !event.is_replay()) {
            found.entry(event.text("call_id").unwrap_or_default()).or_default().entry(side.name).or_default().push(event);
        }
        found
    }
}

/// `text` as it stands inside a JSON string.
fn escaped(text: &str) -> String {
    let quoted = serde_json::to_string(text).expect("a string serializes");
    quoted[1..quoted.len() - 1].to_owned()
}

/// The line of the source that holds a place in it.
fn line_around(source: &[u8], at: usize) -> &[u8] {
    let start = memchr::memrchr(b'\n', &source[..at]).map_or(0, |found| found + 1);
    let end = memchr::memchr(b'\n', &source[at..]).map_or(source.len(), |found| at + found);
    &source[start..end]
}

/// At most this much of a text in a finding.
fn short(text: &str) -> String {
    engram_core::error::excerpt(text)
}

/// Checks one case.
fn check(case: &Case, truth: &Truth, sides: &[Side<'_>]) -> (Tally, Vec<String>) {
    let mut scene = Scene::new(case, truth, sides);
    facts::prompts(&mut scene);
    facts::calls(&mut scene);
    facts::calls_without_ids(&mut scene);
    facts::results(&mut scene);
    reads::check(&mut scene);
    edits::check(&mut scene);
    (scene.tally, scene.findings)
}

/// Checks all cases of a corpus.
pub fn findings(corpus: &'static Corpus) -> (Tally, Vec<String>) {
    let checked: Vec<(Tally, Vec<String>)> = corpus.cases.par_iter().map(|(case, artifacts)| check_case(case, artifacts)).collect();
    let mut all = (Tally::default(), Vec::new());
    for (tally, findings) in checked {
        all.0.add(&tally);
        all.1.extend(findings);
    }
    all
}

fn check_case(case: &Case, artifacts: &'static [Artifact]) -> (Tally, Vec<String>) {
    let sides = match sides(artifacts) {
        Ok(sides) => sides,
        Err(error) => return (Tally::default(), vec![error]),
    };
    let (truth, missing) = named(case.truth(), &sides);
    let truth: Truth = serde_json::from_value(truth).unwrap_or_else(|error| panic!("{}: {error}", case.name()));
    let (tally, mut findings) = check(case, &truth, &sides);
    findings.extend(missing.iter().map(|finding| format!("{}: {finding}", case.name())));
    (tally, findings)
}

/// The tapes of a case's sessions, each with its source.
pub fn sides(artifacts: &'static [Artifact]) -> Result<Vec<Side<'static>>, String> {
    let side = |artifact: &'static Artifact| {
        let tape = tape_of(artifact)?;
        Ok(Side { name: &artifact.name, source: records::one_a_line(&artifact.bytes), events: events(&tape.text) })
    };
    artifacts.iter().map(side).collect()
}

/// The names of the tapes in which a fact stands, for a finding.
fn names(tapes: &BTreeMap<&str, Vec<&Event>>) -> String {
    let names: BTreeSet<&str> = tapes.keys().copied().collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}
