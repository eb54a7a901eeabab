//! Step 1: checks each record, and finds lines that break the grammar. The reason of a denial is in a later record than the denial, so it is kept here for step 3.

use std::collections::HashMap;

use engram_core::emit::{Fault, Pointer};
use engram_core::policy::Policy;
use engram_core::steps::{Check, Record};
use engram_profiles::grammar::Answer;

use super::detect::SCHEMAS;
use super::format::{EventKind, SaidKind};
use super::readers::{Event, Header, Output, Said};
use super::transcript::{Part, Transcript, decoded};
use crate::shared::value::{raw_str, text};

/// The type of a record.
pub(super) enum RecordType {
    /// The header.
    Header,
    /// A text.
    Said(SaidKind),
    /// An event.
    Event(EventKind),
}

/// The type of a record.
///
/// # Errors
/// [`Fault::Unrecognized`] if the type is not known.
pub(super) fn record_type(record: &Record<'_>) -> Result<RecordType, Fault> {
    let name = |member: &str| raw_str(record.value.member(member));
    if record.value.member("schema").is_some() {
        return Ok(RecordType::Header);
    }
    let (from, event) = (name("from"), name("event"));
    let known = match (from, event) {
        (from, "") => SaidKind::named(from).map(RecordType::Said),
        ("driver", event) => EventKind::named(event).map(RecordType::Event),
        _ => None,
    };
    known.ok_or_else(|| Fault::unrecognized(if event.is_empty() { from } else { event }))
}

/// Checks the records of an episode.
#[derive(Default)]
pub(super) struct Notes {
    transcript: Option<Transcript>,
    /// Why requests were denied, by their ids: the answer has the reason, and the decision stands before it.
    pub reasons: HashMap<String, String>,
}

impl Notes {
    /// Checks a record.
    pub fn add(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        if record.value.member("t").is_some() {
            check.identify();
        }
        match record_type(record)? {
            RecordType::Header => self.header(record, check),
            RecordType::Said(kind) => self.said(kind, record, check),
            RecordType::Event(kind) => {
                event(kind, &Event::strict(record.value, "")?)?;
                check.members(kind.name(), record.value, Pointer::Root, &|_| None);
                Ok(())
            }
        }
    }

    fn header(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        if self.transcript.is_some() {
            return Err(Fault::malformed("", "one header", "a second one"));
        }
        let header = Header::strict(record.value, "")?;
        let schema = raw_str(header.schema());
        if !schema.starts_with(SCHEMAS) {
            return Err(Fault::malformed(
                "/schema",
                "the name of this log and its version",
                schema,
            ));
        }
        self.transcript = Some(Transcript::new(&header)?);
        check.members(schema, record.value, Pointer::Root, &|_| None);
        Ok(())
    }

    fn said(
        &mut self,
        kind: SaidKind,
        record: &Record<'_>,
        check: &mut Check<'_>,
    ) -> Result<(), Fault> {
        let said = Said::strict(record.value, "")?;
        let Some(words) = text(said.text()) else {
            return Err(Fault::malformed("/text", "text", "none"));
        };
        let transcript = self
            .transcript
            .as_mut()
            .ok_or_else(|| Fault::malformed("", "a header before it", "none"))?;
        let parts = match kind {
            SaidKind::Agent => transcript.agent(&words.decode_lossy()),
            SaidKind::Driver => transcript.driver(&words.decode_lossy()),
        };
        for part in &parts {
            if let Part::Response(response, _) = part
                && let Answer::Denied(reason) = &response.answer
            {
                self.reasons.insert(response.id.clone(), reason.clone());
            }
            if let Part::Violation(line, violation) = part
                && check.policy() == Policy::Strict
            {
                return Err(Fault::malformed(
                    "/text",
                    "text, or a frame of the grammar",
                    &format!("{}: {line}", violation.code()),
                ));
            }
        }
        if let Some(result) = said.result() {
            let answers = parts
                .iter()
                .filter(|part| matches!(part, Part::Response(..)))
                .count();
            if answers != 1 {
                return Err(Fault::malformed(
                    "/result",
                    "a result beside one answer",
                    result.raw(),
                ));
            }
            let output = Output::strict(result, "/result")?;
            if !matches!(raw_str(output.status()), "ok" | "error") {
                return Err(Fault::malformed(
                    "/result/status",
                    "`ok` or `error`",
                    &decoded(output.status()),
                ));
            }
        }
        check.members(kind.name(), record.value, Pointer::Root, &|_| None);
        Ok(())
    }
}

fn event(kind: EventKind, event: &Event<'_>) -> Result<(), Fault> {
    if kind == EventKind::ToolDecided && !matches!(raw_str(event.decision()), "allow" | "deny") {
        return Err(Fault::malformed(
            "/decision",
            "`allow` or `deny`",
            &decoded(event.decision()),
        ));
    }
    Ok(())
}
