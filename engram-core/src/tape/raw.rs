//! Events with a typed envelope and raw fields, for the checker and the audit.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::error::{InvalidEvent, TapeError};
use crate::event::{EventSource, Kind, Origin, Pointer, Seq, TimeBasis};
use crate::text::Text;
use crate::text::json::replace_lone_surrogates;

/// One event of a tape. The fields of its kind are raw, in the order of the tape.
#[derive(Debug, Clone)]
pub struct RawEvent<'t> {
    /// The number of the event, from 0.
    pub seq: Seq,
    /// Time: RFC 3339, UTC, `Z`.
    pub t: &'t str,
    /// The kind.
    pub kind: Kind,
    /// The session.
    pub source: EventSource<'t>,
    /// The fields of the kind.
    pub fields: Members<'t>,
    /// `seq` of the event that caused this one.
    pub parent: Option<Seq>,
    /// Why `t` is not the own time of the record; `None` if it is.
    pub t_basis: Option<TimeBasis>,
    /// The location in the artifact.
    pub origin: Origin<'t>,
    /// True if the record repeats the history of another session.
    pub replay: bool,
}

impl<'t> RawEvent<'t> {
    /// Reads one line, given without its `\n`.
    ///
    /// # Errors
    /// [`InvalidEvent`] if the envelope is wrong. The fields of the kind are not checked.
    pub fn parse(line: &'t str) -> Result<Self, InvalidEvent> {
        let members = Members::of(line)
            .map_err(|error| InvalidEvent::new(format!("not a JSON object: {error}")))?;
        let kind = members
            .word("k")
            .and_then(Kind::from_name)
            .ok_or_else(|| InvalidEvent::new("`k` is not one of the eight kinds"))?;
        Ok(RawEvent {
            seq: members
                .count("seq")
                .map(Seq)
                .ok_or_else(|| InvalidEvent::new("`seq` is not a number"))?,
            t: members
                .word("t")
                .ok_or_else(|| InvalidEvent::new("`t` is not a string"))?,
            kind,
            source: read_source(members.get("source"))
                .ok_or_else(|| InvalidEvent::new("`source` does not name a harness"))?,
            parent: members
                .get("parent")
                .map(|_| {
                    members
                        .count("parent")
                        .map(Seq)
                        .ok_or_else(|| InvalidEvent::new("`parent` is not a number"))
                })
                .transpose()?,
            t_basis: members
                .get("t_basis")
                .map(|_| {
                    read_basis(&members)
                        .ok_or_else(|| InvalidEvent::new("`t_basis` is not a basis"))
                })
                .transpose()?,
            origin: members
                .get("origin")
                .map(|raw| {
                    read_origin(raw).ok_or_else(|| InvalidEvent::new("`origin` is not an object"))
                })
                .transpose()?
                .unwrap_or_default(),
            replay: members.get("replay").is_some_and(|raw| raw.get() == "true"),
            fields: without_envelope(members),
        })
    }

    /// The label of a `meta` event.
    pub fn label(&self) -> Option<&'t str> {
        self.fields
            .word("label")
            .filter(|_| self.kind == Kind::Meta)
    }
}

/// The events of a tape with raw fields. A line that is not an event gives an error, and the next line follows.
pub fn raw_events(tape: &str) -> RawEvents<'_> {
    RawEvents {
        lines: tape.split_inclusive('\n'),
        number: 0,
    }
}

/// Iterator over the raw events of a tape.
#[derive(Debug, Clone)]
pub struct RawEvents<'t> {
    lines: std::str::SplitInclusive<'t, char>,
    number: u64,
}

impl<'t> Iterator for RawEvents<'t> {
    type Item = Result<RawEvent<'t>, TapeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.lines.next()?;
        self.number += 1;
        let parsed = match line.strip_suffix('\n') {
            Some(line) => RawEvent::parse(line),
            None => Err(InvalidEvent::new("the last line has no line end")),
        };
        Some(parsed.map_err(|error| error.at(self.number)))
    }
}

/// The members of a JSON object in their order, with raw values. The keys of a tape have no escapes, so they are borrowed.
#[derive(Debug, Clone, Default)]
pub struct Members<'t>(pub Vec<(&'t str, &'t RawValue)>);

impl<'t> Members<'t> {
    /// Reads a JSON object.
    ///
    /// # Errors
    /// If `json` is not a JSON object, or one of its keys has escapes.
    pub fn of(json: &'t str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&'t RawValue> {
        self.0
            .iter()
            .find(|(name, _)| *name == key)
            .map(|(_, value)| *value)
    }

    /// The value of a key, if it is a string.
    pub fn text(&self, key: &str) -> Option<Text<'t>> {
        self.get(key).and_then(Text::of)
    }

    /// The value of a key, if it is a string without escapes. All names that the format defines are.
    pub fn word(&self, key: &str) -> Option<&'t str> {
        self.get(key).and_then(word)
    }

    /// The value of a key, if it is an integer of 0 or more.
    pub fn count(&self, key: &str) -> Option<u64> {
        self.get(key).and_then(count)
    }

    /// The members of the object that is the value of a key.
    pub fn object(&self, key: &str) -> Option<Members<'t>> {
        self.get(key).and_then(|raw| Members::of(raw.get()).ok())
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::with_capacity(16);
                while let Some(key) = map
                    .next_key::<&'de str>()
                    .map_err(|_| A::Error::custom("expected a key without escapes"))?
                {
                    members.push((key, map.next_value()?));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// The string in a raw value, if it is one without escapes.
pub(crate) fn word(raw: &RawValue) -> Option<&str> {
    raw.get()
        .strip_prefix('"')?
        .strip_suffix('"')
        .filter(|word| !word.contains('\\'))
}

/// The number in a raw value, if it is an integer without sign.
pub(crate) fn count(raw: &RawValue) -> Option<u64> {
    raw.get()
        .parse()
        .ok()
        .filter(|_| raw.get().bytes().all(|byte| byte.is_ascii_digit()))
}

fn without_envelope(mut members: Members<'_>) -> Members<'_> {
    members.0.retain(|(key, _)| {
        !matches!(
            *key,
            "seq" | "t" | "k" | "source" | "parent" | "t_basis" | "origin" | "replay"
        )
    });
    members
}

fn read_source(raw: Option<&RawValue>) -> Option<EventSource<'_>> {
    let source = Members::of(raw?.get()).ok()?;
    Some(EventSource {
        harness: source.word("harness")?,
        session_id: source.text("session_id"),
        agent_id: source.text("agent_id"),
    })
}

fn read_basis(envelope: &Members<'_>) -> Option<TimeBasis> {
    TimeBasis::ALL
        .into_iter()
        .find(|basis| envelope.word("t_basis") == Some(basis.as_str()))
}

fn read_origin(raw: &RawValue) -> Option<Origin<'_>> {
    let origin = Members::of(raw.get()).ok()?;
    let (line, part) = (
        origin.count("line"),
        origin.count("part").unwrap_or_default(),
    );
    let pointer = origin.text("pointer").map_or(Pointer::Root, Pointer::Read);
    Some(Origin {
        line,
        part,
        pointer_prefix: Pointer::Root,
        pointer,
        id: origin.text("id"),
    })
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
        let event = raw_events(LINE).next().unwrap().unwrap();
        assert_eq!(
            (event.seq, event.kind, event.parent, event.replay),
            (Seq(7), Kind::ToolCall, Some(Seq(3)), true)
        );
        assert_eq!(event.t_basis, Some(TimeBasis::Inherited));
        assert_eq!(event.fields.word("tool"), Some("Read"));
        assert_eq!(
            event
                .fields
                .text("call_id")
                .map(|id| id.decode_lossy().into_owned()),
            Some("c\"1".to_owned())
        );
        assert_eq!(
            (
                event.origin.line,
                event.origin.part,
                event.origin.pointer.to_string()
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
                    .map(|event| event.seq.get())
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
