//! The table `tapes`: the first and the last event of each tape, flattened.

use engram_core::event::*;

use super::column::*;
use super::nested::Lists;
use super::rows::{Rows, rows};
use crate::text::owned;

rows! {
    /// Rows of `tapes`.
    TapeRows {
        "the name of the tape" tape: Names,
        "the harness" harness: Names,
        "the session" session_id: Words,
        "the sub-agent" agent_id: Words,
        "the version of the harness, as the log begins" version: Words,
        "the schema of the log" schema: Words,
        "the adapter" adapter: Words,
        "its version" adapter_version: Words,
        "`strict` or `permissive`" policy: Words,
        "how well the version is known" support: Words,
        "the grade of each kind, JSON" coverage: Texts,
        "why claims were lowered, from any place of the tape" degraded: Lists,
        "the scheme of the fingerprints" anchors: Words,
        "the rules by which secrets were replaced" redaction: Words,
        "the first time" first_t: Times,
        "the last time" last_t: Times,
        "the events" events: Counts,
        "the hash of the log" input_hash: Hashes,
        "the bytes of the log" input_bytes: Ints,
        "the files beside the log whose content is on the tape, JSON" beside: Texts,
        "false if the log ends inside a record; null if the tape has no end" complete: Bools,
        "the records of the log" records: Ints,
        "the records that gave an event" mapped: Ints,
        "the records that repeat another" duplicate: Ints,
        "the records without content" bookkeeping: Ints,
        "the records of an unknown type" unrecognized: Ints,
        "the records that could not be read" malformed: Ints,
        "the whole ledger, JSON" ledger: Texts,
        "the tape that its session is counted from, if it is not this one; then only `events` and `tapes` have rows of it" repeats: Words,
    }
}

/// What is known of the tape so far.
#[derive(Debug, Default)]
pub(crate) struct TapeFacts {
    harness: String,
    session_id: Option<String>,
    agent_id: Option<String>,
    start: Option<Start>,
    degraded: Vec<String>,
    first_t: Option<i64>,
    last_t: Option<i64>,
    events: u64,
    stop: Option<TapeStop>,
}

#[derive(Debug)]
struct Start {
    version: Option<String>,
    schema: Option<String>,
    adapter: String,
    adapter_version: String,
    policy: &'static str,
    support: &'static str,
    coverage: String,
    anchors: String,
    redaction: Option<String>,
}

impl TapeFacts {
    /// Takes the next event.
    pub(crate) fn note(&mut self, record: &EventRef<'_>, t: Option<i64>) {
        if self.events == 0 {
            self.harness = record.source.harness.to_owned();
            self.session_id = record.source.session_id.map(owned);
            self.agent_id = record.source.agent_id.map(owned);
        }
        self.events += 1;
        if !record.replay && record.t_basis.is_none() && t.is_some() {
            self.first_t = self.first_t.into_iter().chain(t).min();
            self.last_t = self.last_t.max(t);
        }
        match record.event {
            Event::Meta(Meta::TapeStart(start)) => {
                self.start = Some(Start::of(start));
                self.degrade(&start.claims);
            }
            Event::Meta(Meta::Revision(revision)) => self.degrade(&revision.claims),
            Event::Meta(Meta::TapeStop(stop)) => self.stop = Some((**stop).clone()),
            _ => {}
        }
    }

    /// The harness of the first event.
    pub(crate) fn harness(&self) -> &str {
        &self.harness
    }

    fn degrade(&mut self, claims: &Claims<'_>) {
        for reason in &claims.degraded {
            if !self.degraded.iter().any(|known| known == reason) {
                self.degraded.push((*reason).to_owned());
            }
        }
    }
}

impl Start {
    fn of(start: &TapeStart<'_>) -> Start {
        let grades: Vec<String> = Kind::ALL
            .iter()
            .map(|kind| {
                format!(
                    "\"{}\":\"{}\"",
                    kind.as_str(),
                    start.claims.grade(*kind).as_str()
                )
            })
            .collect();
        Start {
            version: start.harness.version.map(owned),
            schema: start.harness.schema.map(str::to_owned),
            adapter: start.adapter_id.to_owned(),
            adapter_version: start.adapter_version.to_owned(),
            policy: start.policy.as_str(),
            support: start.claims.support.as_str(),
            coverage: format!("{{{}}}", grades.join(",")),
            anchors: start.anchors.to_owned(),
            redaction: start.redaction.map(str::to_owned),
        }
    }
}

impl TapeRows {
    /// Appends a tape.
    pub(crate) fn push(&mut self, (tape, repeats): (&str, Option<&str>), facts: &TapeFacts) {
        self.tape.push(tape);
        if let Some(of) = repeats {
            self.repeats.push(of);
        }
        self.harness.push(&facts.harness);
        word(&mut self.session_id, &facts.session_id);
        word(&mut self.agent_id, &facts.agent_id);
        if let Some(start) = &facts.start {
            word(&mut self.version, &start.version);
            word(&mut self.schema, &start.schema);
            self.adapter.push(&start.adapter);
            self.adapter_version.push(&start.adapter_version);
            self.policy.push(start.policy);
            self.support.push(start.support);
            self.coverage.push(&start.coverage);
            self.anchors.push(&start.anchors);
            word(&mut self.redaction, &start.redaction);
        }
        self.degraded
            .push(facts.degraded.iter().map(String::as_str));
        facts.first_t.into_iter().for_each(|t| self.first_t.push(t));
        facts.last_t.into_iter().for_each(|t| self.last_t.push(t));
        self.events.push(int(facts.events));
        if let Some(stop) = &facts.stop {
            self.input_hash.push(&stop.input.hash);
            self.input_bytes.push(int(stop.input.bytes));
            if !stop.input.beside.is_empty() {
                self.beside.push(&beside(&stop.input.beside));
            }
            self.complete.push(stop.complete);
            self.records.push(int(stop.ledger.records));
            self.mapped.push(int(stop.ledger.mapped));
            self.duplicate.push(int(stop.ledger.duplicate));
            self.bookkeeping.push(int(stop.ledger.bookkeeping));
            self.unrecognized.push(int(stop.ledger.unrecognized));
            self.malformed.push(int(stop.ledger.malformed));
            self.ledger
                .push(&serde_json::to_string(&stop.ledger).unwrap_or_default());
        }
        self.end_row();
    }
}

fn beside(files: &[BesideFile]) -> String {
    let file = |file: &BesideFile| {
        let mut members = serde_json::Map::new();
        members.insert("name".to_owned(), file.name.clone().into());
        if let Some(hash) = file.hash {
            members.insert("hash".to_owned(), hash.to_string().into());
        }
        members.insert("bytes".to_owned(), file.bytes.into());
        serde_json::Value::Object(members)
    };
    serde_json::Value::Array(files.iter().map(file).collect()).to_string()
}

fn word(column: &mut Words, word: &Option<String>) {
    if let Some(word) = word {
        column.push(word);
    }
}
