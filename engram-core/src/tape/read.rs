//! The reader: typed events from the lines of a tape.

use super::error::{InvalidEvent, TapeError};
use super::fields::Fields as _;
use super::object::Object;
use super::raw::{Envelope, Lines, object_of};
use crate::event::*;
use crate::hash::Hash;
use crate::json::StructuralIndex;
use crate::ledger::Ledger;
use crate::policy::Policy;
use crate::version::Support;

/// The events of a tape. A line that is not an event gives an error, and the next line follows.
pub fn events(tape: &str) -> Events<'_> {
    Events(Lines::of(tape))
}

/// Iterator over the events of a tape.
#[derive(Debug, Clone)]
pub struct Events<'t>(Lines<'t>);

impl<'t> Iterator for Events<'t> {
    type Item = Result<EventRecord<'t>, TapeError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(EventRecord::of)
    }
}

impl<'t> EventRecord<'t> {
    /// Reads one line of a tape, given without its `\n`. Members that this version does not know are skipped.
    ///
    /// # Errors
    /// [`InvalidEvent`] if a required member is missing, or a value is not what the format allows.
    pub fn parse(line: &'t str) -> Result<Self, InvalidEvent> {
        EventRecord::read(line, &mut StructuralIndex::of_tapes())
    }

    /// As [`EventRecord::parse`], with an index that can be used again.
    ///
    /// # Errors
    /// As [`EventRecord::parse`].
    pub(super) fn read(line: &'t str, index: &mut StructuralIndex) -> Result<Self, InvalidEvent> {
        EventRecord::of(object_of(line, index)?)
    }

    fn of(object: Object<'t, '_>) -> Result<Self, InvalidEvent> {
        let (envelope, fields) = Envelope::read(object)?;
        Ok(EventRecord {
            seq: envelope.seq,
            t: envelope.t,
            t_basis: envelope.t_basis,
            source: envelope.source,
            event: event(envelope.kind, fields)?,
            parent: envelope.parent,
            origin: envelope.origin,
            replay: envelope.replay,
        })
    }
}

fn event<'t>(kind: Kind, fields: Object<'t, '_>) -> Result<Event<'t>, InvalidEvent> {
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

fn meta<'t>(fields: Object<'t, '_>) -> Result<Meta<'t>, InvalidEvent> {
    Ok(match fields.member("label").word()? {
        "tape.start" => Meta::TapeStart(Box::new(tape_start(fields)?)),
        "revision" => Meta::Revision(Box::new(RevisionChange {
            harness: harness(fields)?,
            claims: claims(fields)?,
        })),
        "unrecognized" => Meta::Unrecognized(Unrecognized {
            name: fields.member("name").required_text()?,
            raw: fields.member("raw").json(),
            text: None,
            bytes: fields.member("bytes").count()?,
            hash: fields.member("hash").hash()?,
            lossy: fields.member("lossy").flag()?,
        }),
        "tape.stop" => Meta::TapeStop(Box::new(tape_stop(fields)?)),
        "session" => Meta::Session(SessionFacts::read(fields)?),
        "episode" => Meta::Episode(EpisodeFacts::read(fields)?),
        "usage" => Meta::Usage(Usage::read(fields)?),
        "rewind" => Meta::Rewind {
            to: Seq(fields.member("to").required_count()?),
            files: fields.member("files").flag()?,
        },
        "compaction" => Meta::Compaction {
            text: fields.member("text").text()?,
            trigger: fields.member("trigger").text()?,
        },
        "error" => Meta::error(fields.member("code").text()?, fields.member("text").text()?),
        "interrupt" => Meta::Interrupt {
            text: fields.member("text").text()?,
        },
        "permission" => Meta::Permission(Permission::read(fields)?),
        "context" => Meta::Context(ImplicitInput::read(fields)?),
        "system" => Meta::system(
            fields.member("name").required_text()?,
            fields.member("text").text()?,
        ),
        other => Meta::Other(other),
    })
}

fn tape_start<'t>(fields: Object<'t, '_>) -> Result<TapeStart<'t>, InvalidEvent> {
    let adapter = fields.member("adapter").object()?;
    Ok(TapeStart {
        schema: fields.member("schema").word()?,
        adapter_id: adapter.member("id").word()?,
        adapter_version: adapter.member("version").word()?,
        harness: harness(fields)?,
        policy: fields
            .member("policy")
            .one_of(&Policy::ALL, Policy::as_str)?,
        anchors: fields.member("anchors").word()?,
        redaction: fields.member("redaction").maybe_word()?,
        unicode: fields.member("unicode").maybe_word()?,
        spans: fields.member("spans").maybe_word()?,
        claims: claims(fields)?,
    })
}

fn harness<'t>(fields: Object<'t, '_>) -> Result<Harness<'t>, InvalidEvent> {
    let harness = fields.member("harness").object()?;
    Ok(Harness {
        family: harness.member("family").word()?,
        version: harness.member("version").text()?,
        schema: harness.member("schema").maybe_word()?,
    })
}

fn claims<'t>(fields: Object<'t, '_>) -> Result<Claims<'t>, InvalidEvent> {
    let grades = fields.member("coverage").object()?;
    let mut coverage = [ClaimGrade::None; Kind::ALL.len()];
    for kind in Kind::ALL {
        coverage[kind as usize] = grades
            .member(kind.as_str())
            .one_of(&ClaimGrade::ALL, ClaimGrade::as_str)?;
    }
    let support = fields
        .member("support")
        .one_of(&Support::ALL, Support::as_str)?;
    Ok(Claims {
        support,
        coverage,
        degraded: fields
            .member("degraded")
            .required("a list of names", |value| {
                serde_json::from_str(value.raw()).ok()
            })?,
    })
}

fn tape_stop(fields: Object<'_, '_>) -> Result<TapeStop, InvalidEvent> {
    let (events, input) = (
        fields.member("counts").object()?,
        fields.member("input").object()?,
    );
    let mut counts = KindCounts::default();
    for kind in Kind::ALL {
        counts.set(kind, events.member(kind.as_str()).required_count()?);
    }
    let ledger: Ledger = fields
        .member("ledger")
        .required("a ledger", |value| serde_json::from_str(value.raw()).ok())?;
    let input = InputDigest {
        hash: input
            .member("hash")
            .required("a hash", |value| Hash::of_json(value.raw()))?,
        bytes: input.member("bytes").required_count()?,
        beside: input
            .member("beside")
            .objects()?
            .into_iter()
            .map(beside_file)
            .collect::<Result<_, _>>()?,
    };
    Ok(TapeStop {
        counts,
        ledger,
        input,
        complete: fields
            .member("complete")
            .required("a boolean", |value| value.raw().parse().ok())?,
    })
}

fn beside_file(fields: Object<'_, '_>) -> Result<BesideFile, InvalidEvent> {
    let name = fields
        .member("name")
        .required_text()?
        .decode_lossy()
        .into_owned();
    let hash = fields.member("hash").hash()?;
    Ok(BesideFile {
        name,
        hash,
        bytes: fields.member("bytes").required_count()?,
    })
}
