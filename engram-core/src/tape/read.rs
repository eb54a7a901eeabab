//! The reader: typed events from the lines of a tape.

use serde_json::value::RawValue;

use super::error::{InvalidEvent, TapeError};
use super::fields::Fields as _;
use super::object::Reader;
use super::raw::{RawEvent, RawEvents, raw_events};
use crate::event::*;
use crate::hash::Hash;
use crate::ledger::Ledger;
use crate::policy::Policy;
use crate::version::Support;

/// The events of a tape. A line that is not an event gives an error, and the next line follows.
pub fn events(tape: &str) -> Events<'_> {
    Events {
        raw: raw_events(tape),
        number: 0,
    }
}

/// Iterator over the events of a tape.
#[derive(Debug, Clone)]
pub struct Events<'t> {
    raw: RawEvents<'t>,
    number: u64,
}

impl<'t> Iterator for Events<'t> {
    type Item = Result<EventRecord<'t>, TapeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let raw = self.raw.next()?;
        self.number += 1;
        let line = self.number;
        Some(raw.and_then(|raw| EventRecord::from_raw(raw).map_err(|error| error.at(line))))
    }
}

impl<'t> EventRecord<'t> {
    /// Reads one line of a tape, given without its `\n`. Members that this version does not know are skipped.
    ///
    /// # Errors
    /// [`InvalidEvent`] if a required member is missing, or a value is not what the format allows.
    pub fn parse(line: &'t str) -> Result<Self, InvalidEvent> {
        EventRecord::from_raw(RawEvent::parse(line)?)
    }

    fn from_raw(raw: RawEvent<'t>) -> Result<Self, InvalidEvent> {
        let RawEvent {
            seq,
            t,
            kind,
            source,
            fields,
            parent,
            t_basis,
            origin,
            replay,
        } = raw;
        let event = event(kind, &Reader(fields))?;
        Ok(EventRecord {
            seq,
            t,
            t_basis,
            source,
            event,
            parent,
            origin,
            replay,
        })
    }
}

fn event<'t>(kind: Kind, fields: &Reader<'t>) -> Result<Event<'t>, InvalidEvent> {
    Ok(match kind {
        Kind::Meta => Event::Meta(meta(fields)?),
        Kind::MsgIn => Event::MsgIn(MsgIn::read(fields)?),
        Kind::MsgOut => Event::MsgOut(MsgOut::read(fields)?),
        Kind::ToolCall => Event::ToolCall(ToolCall::read(fields)?),
        Kind::ToolResult => Event::ToolResult(ToolResult::read(fields)?),
        Kind::CodeRead => Event::CodeRead(CodeRead::read(fields)?),
        Kind::CodeEdit => Event::CodeEdit(CodeEdit::read(fields)?),
        Kind::SpanLink => Event::SpanLink(SpanLink::read(fields)?),
    })
}

fn meta<'t>(fields: &Reader<'t>) -> Result<Meta<'t>, InvalidEvent> {
    Ok(match fields.word("label")? {
        "tape.start" => Meta::TapeStart(Box::new(tape_start(fields)?)),
        "revision" => Meta::Revision(Box::new(RevisionChange {
            harness: harness(fields)?,
            claims: claims(fields)?,
        })),
        "unrecognized" => Meta::Unrecognized(Unrecognized {
            name: fields.required_text("name")?,
            raw: fields.0.get("raw").map(RawValue::get),
            text: None,
            bytes: fields.count("bytes")?,
            hash: fields.hash("hash")?,
            lossy: fields.flag("lossy")?,
        }),
        "tape.stop" => Meta::TapeStop(Box::new(tape_stop(fields)?)),
        "session" => Meta::Session(SessionFacts::read(fields)?),
        "episode" => Meta::Episode(EpisodeFacts::read(fields)?),
        "usage" => Meta::Usage(Usage::read(fields)?),
        "rewind" => Meta::Rewind {
            to: Seq(fields.required("to", "a count", |raw| raw.parse().ok())?),
            files: fields.flag("files")?,
        },
        "compaction" => Meta::Compaction {
            text: fields.text("text")?,
            trigger: fields.text("trigger")?,
        },
        "error" => Meta::error(fields.text("code")?, fields.text("text")?),
        "interrupt" => Meta::Interrupt {
            text: fields.text("text")?,
        },
        "permission" => Meta::Permission(Permission::read(fields)?),
        "context" => Meta::Context(ImplicitInput::read(fields)?),
        "system" => Meta::system(fields.required_text("name")?, fields.text("text")?),
        other => Meta::Other(other),
    })
}

fn tape_start<'t>(fields: &Reader<'t>) -> Result<TapeStart<'t>, InvalidEvent> {
    let adapter = fields.object("adapter")?;
    Ok(TapeStart {
        schema: fields.word("schema")?,
        adapter_id: adapter.word("id")?,
        adapter_version: adapter.word("version")?,
        harness: harness(fields)?,
        policy: fields.one_of("policy", &Policy::ALL, Policy::as_str)?,
        anchors: fields.word("anchors")?,
        redaction: fields.maybe_word("redaction")?,
        unicode: fields.maybe_word("unicode")?,
        spans: fields.maybe_word("spans")?,
        claims: claims(fields)?,
    })
}

fn harness<'t>(fields: &Reader<'t>) -> Result<Harness<'t>, InvalidEvent> {
    let harness = fields.object("harness")?;
    Ok(Harness {
        family: harness.word("family")?,
        version: harness.text("version")?,
        schema: harness.maybe_word("schema")?,
    })
}

fn claims<'t>(fields: &Reader<'t>) -> Result<Claims<'t>, InvalidEvent> {
    let grades = fields.object("coverage")?;
    let mut coverage = [ClaimGrade::None; Kind::ALL.len()];
    for kind in Kind::ALL {
        coverage[kind as usize] =
            grades.one_of(kind.as_str(), &ClaimGrade::ALL, ClaimGrade::as_str)?;
    }
    let support = fields.one_of("support", &Support::ALL, Support::as_str)?;
    Ok(Claims {
        support,
        coverage,
        degraded: fields.required("degraded", "a list of names", |raw| {
            serde_json::from_str(raw).ok()
        })?,
    })
}

fn tape_stop(fields: &Reader<'_>) -> Result<TapeStop, InvalidEvent> {
    let (events, input) = (fields.object("counts")?, fields.object("input")?);
    let mut counts = KindCounts::default();
    for kind in Kind::ALL {
        counts.set(
            kind,
            events.required(kind.as_str(), "a count", |raw| raw.parse().ok())?,
        );
    }
    let ledger: Ledger =
        fields.required("ledger", "a ledger", |raw| serde_json::from_str(raw).ok())?;
    let input = InputDigest {
        hash: input.required("hash", "a hash", Hash::of_json)?,
        bytes: input.required("bytes", "a count", |raw| raw.parse().ok())?,
        beside: input
            .objects("beside")?
            .into_iter()
            .map(beside_file)
            .collect::<Result<_, _>>()?,
    };
    Ok(TapeStop {
        counts,
        ledger,
        input,
        complete: fields.required("complete", "a boolean", |raw| raw.parse().ok())?,
    })
}

fn beside_file(fields: Reader<'_>) -> Result<BesideFile, InvalidEvent> {
    let name = fields.required_text("name")?.decode_lossy().into_owned();
    let hash = fields.hash("hash")?;
    Ok(BesideFile {
        name,
        hash,
        bytes: fields.required("bytes", "a count", |raw| raw.parse().ok())?,
    })
}
