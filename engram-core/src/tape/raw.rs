//! Events with a typed envelope and raw fields, for the checker and the audit.

use std::str::SplitInclusive;

use super::error::{InvalidEvent, TapeError};
use super::object::{Member, Object, Value, word};
use crate::event::{EventSource, Kind, Origin, Pointer, Seq, TimeBasis};
use crate::json::StructuralIndex;
use crate::text::Text;
use crate::text::json::replace_lone_surrogates;

/// The members of every event.
const ENVELOPE: [&str; 8] = [
    "seq", "t", "k", "source", "parent", "t_basis", "origin", "replay",
];

/// What every event of a tape has.
#[derive(Debug, Clone)]
pub struct Envelope<'t> {
    /// The number of the event, from 0.
    pub seq: Seq,
    /// Time: RFC 3339, UTC, `Z`.
    pub t: &'t str,
    /// The kind.
    pub kind: Kind,
    /// The session.
    pub source: EventSource<'t>,
    /// `seq` of the event that caused this one.
    pub parent: Option<Seq>,
    /// Why `t` is not the own time of the record; `None` if it is.
    pub t_basis: Option<TimeBasis>,
    /// The location in the artifact.
    pub origin: Origin<'t>,
    /// True if the record repeats the history of another session.
    pub replay: bool,
}

/// One event of a tape. The fields of its kind are raw, in the order of the tape, and not checked.
#[derive(Debug, Clone)]
pub struct RawEvent<'t> {
    /// What every event has.
    pub envelope: Envelope<'t>,
    /// The fields of the kind.
    pub fields: Members<'t>,
}

impl<'t> RawEvent<'t> {
    fn of(object: Object<'t, '_>) -> Result<Self, InvalidEvent> {
        let (envelope, fields) = Envelope::read(object)?;
        let mut fields = Members::of_object(fields);
        fields.0.retain(|(name, _)| !ENVELOPE.contains(name));
        Ok(RawEvent { envelope, fields })
    }

    /// The label of a `meta` event.
    pub fn label(&self) -> Option<&'t str> {
        self.fields
            .word("label")
            .filter(|_| self.envelope.kind == Kind::Meta)
    }
}

impl<'t> Envelope<'t> {
    /// Reads it. The object that is returned begins with the first member of its own kind.
    pub(super) fn read<'n>(object: Object<'t, 'n>) -> Result<(Self, Object<'t, 'n>), InvalidEvent> {
        let (found, fields) = object.find_first(|n| ENVELOPE[n]);
        let [seq, t, k, source, parent, t_basis, origin, replay] = found;
        let wrong = |what| move || InvalidEvent::new(what);
        let envelope = Envelope {
            kind: k
                .value
                .and_then(Value::word)
                .and_then(Kind::from_name)
                .ok_or_else(wrong("`k` is not one of the eight kinds"))?,
            seq: seq
                .value
                .and_then(Value::count)
                .map(Seq)
                .ok_or_else(wrong("`seq` is not a number"))?,
            t: t.value
                .and_then(Value::word)
                .ok_or_else(wrong("`t` is not a string"))?,
            source: read_source(source).ok_or_else(wrong("`source` does not name a harness"))?,
            parent: parent.parsed("a number", Value::count)?.map(Seq),
            t_basis: t_basis.parsed("a basis", read_basis)?,
            origin: origin.parsed("an object", read_origin)?.unwrap_or_default(),
            replay: replay.json() == Some("true"),
        };
        Ok((envelope, fields))
    }
}

fn read_source<'t>(source: Member<'t, '_>) -> Option<EventSource<'t>> {
    let source = source.value?.object()?;
    let [harness, session_id, agent_id] = source.find(|n| ["harness", "session_id", "agent_id"][n]);
    Some(EventSource {
        harness: harness.value?.word()?,
        session_id: session_id.value.and_then(Value::text),
        agent_id: agent_id.value.and_then(Value::text),
    })
}

fn read_basis(value: Value<'_, '_>) -> Option<TimeBasis> {
    let word = value.word()?;
    TimeBasis::ALL
        .into_iter()
        .find(|basis| word == basis.as_str())
}

fn read_origin<'t>(value: Value<'t, '_>) -> Option<Origin<'t>> {
    let [line, part, pointer, id] = value
        .object()?
        .find(|n| ["line", "part", "pointer", "id"][n]);
    Some(Origin {
        line: line.value.and_then(Value::count),
        part: part.value.and_then(Value::count).unwrap_or_default(),
        pointer_prefix: Pointer::Root,
        pointer: pointer
            .value
            .and_then(Value::text)
            .map_or(Pointer::Root, Pointer::Read),
        id: id.value.and_then(Value::text),
    })
}

/// The events of a tape with raw fields. A line that is not an event gives an error, and the next line follows.
pub fn raw_events(tape: &str) -> RawEvents<'_> {
    RawEvents(Lines::of(tape))
}

/// Iterator over the raw events of a tape.
#[derive(Debug, Clone)]
pub struct RawEvents<'t>(Lines<'t>);

impl<'t> Iterator for RawEvents<'t> {
    type Item = Result<RawEvent<'t>, TapeError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(RawEvent::of)
    }
}

/// The lines of a tape, and the index of one of them.
#[derive(Debug, Clone)]
pub(super) struct Lines<'t> {
    lines: SplitInclusive<'t, char>,
    number: u64,
    index: StructuralIndex,
}

impl<'t> Lines<'t> {
    pub fn of(tape: &'t str) -> Self {
        Lines {
            lines: tape.split_inclusive('\n'),
            number: 0,
            index: StructuralIndex::of_tapes(),
        }
    }

    /// Reads the next line with `read`.
    pub fn next<T>(
        &mut self,
        read: impl FnOnce(Object<'t, '_>) -> Result<T, InvalidEvent>,
    ) -> Option<Result<T, TapeError>> {
        let line = self.lines.next()?;
        self.number += 1;
        let parsed = match line.strip_suffix('\n') {
            Some(line) => object_of(line, &mut self.index).and_then(read),
            None => Err(InvalidEvent::new("the last line has no line end")),
        };
        Some(parsed.map_err(|error| error.at(self.number)))
    }
}

/// The object that is this line.
pub(super) fn object_of<'t, 'n>(
    line: &'t str,
    index: &'n mut StructuralIndex,
) -> Result<Object<'t, 'n>, InvalidEvent> {
    Object::of_line(line, index)
        .map_err(|error| InvalidEvent::new(format!("not a JSON object: {error}")))
}

/// The members of a JSON object in their order, with values as they are written. The keys of a tape have no escapes, so they are borrowed.
#[derive(Debug, Clone, Default)]
pub struct Members<'t>(pub Vec<(&'t str, &'t str)>);

impl<'t> Members<'t> {
    /// Reads a JSON object.
    ///
    /// # Errors
    /// If `json` is not a JSON object, or one of its keys has escapes.
    pub fn of(json: &'t str) -> Result<Self, serde_json::Error> {
        Object::of_line(json, &mut StructuralIndex::of_tapes()).map(Members::of_object)
    }

    fn of_object(object: Object<'t, '_>) -> Self {
        Members(
            object
                .members()
                .map(|(name, value)| (name, value.raw()))
                .collect(),
        )
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&'t str> {
        self.0
            .iter()
            .find(|(name, _)| *name == key)
            .map(|(_, value)| *value)
    }

    /// The value of a key, if it is a string.
    pub fn text(&self, key: &str) -> Option<Text<'t>> {
        self.get(key).and_then(Text::of_str)
    }

    /// The value of a key, if it is a string without escapes. All names that the format defines are.
    pub fn word(&self, key: &str) -> Option<&'t str> {
        self.get(key).and_then(word)
    }

    /// The value of a key, if it is an integer of 0 or more.
    pub fn count(&self, key: &str) -> Option<u64> {
        self.get(key).and_then(|raw| raw.parse().ok())
    }

    /// The members of the object that is the value of a key.
    pub fn object(&self, key: &str) -> Option<Members<'t>> {
        self.get(key).and_then(|raw| Members::of(raw).ok())
    }
}

/// The JSON value of a line. A lone surrogate becomes U+FFFD.
pub(crate) fn to_value(line: &str) -> Result<serde_json::Value, serde_json::Error> {
    serde_json::from_str(&replace_lone_surrogates(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = concat!(
        r#"{"seq":7,"t":"2026-01-02T03:04:05.6Z","k":"tool.call","source":{"harness":"toy","session_id":"s\ud800","agent_id":"a"},"#,
        r#""tool":"Read","kind":"read","call_id":"c\"1","args":{"b":1.0,"a":[1e3,null,"\u0001 x"]},"parent":3,"t_basis":"inherited","#,
        r#""origin":{"line":4,"part":1,"pointer":"/a~1b/0","id":"é"},"replay":true}"#,
        "\n"
    );

    #[test]
    fn the_envelope_is_typed_and_fields_are_raw() {
        let RawEvent { envelope, fields } = raw_events(LINE).next().unwrap().unwrap();
        assert_eq!(
            (
                envelope.seq,
                envelope.kind,
                envelope.parent,
                envelope.replay
            ),
            (Seq(7), Kind::ToolCall, Some(Seq(3)), true)
        );
        assert_eq!(envelope.t_basis, Some(TimeBasis::Inherited));
        assert_eq!(fields.word("tool"), Some("Read"));
        assert_eq!(
            fields
                .text("call_id")
                .map(|id| id.decode_lossy().into_owned()),
            Some("c\"1".to_owned())
        );
        assert_eq!(
            (
                envelope.origin.line,
                envelope.origin.part,
                envelope.origin.pointer.to_string()
            ),
            (Some(4), 1, "/a~1b/0".to_owned())
        );
    }

    #[test]
    fn reading_goes_on_after_a_line_that_is_not_an_event() {
        let tape = format!("{LINE}not json\n{{\"seq\":1}}\n{LINE}{}", LINE.trim_end());
        let read: Vec<_> = raw_events(&tape)
            .map(|event| {
                event
                    .map(|event| event.envelope.seq.get())
                    .map_err(|error| error.line)
            })
            .collect();
        assert_eq!(read, [Ok(7), Err(2), Err(3), Ok(7), Err(5)]);
    }

    #[test]
    fn a_lone_surrogate_becomes_u_fffd() {
        assert_eq!(to_value(LINE).unwrap()["source"]["session_id"], "s\u{fffd}");
    }
}
