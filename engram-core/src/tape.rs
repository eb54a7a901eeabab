//! Reading a tape: each line as a borrowed event, which can be written again byte for byte.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::buffer::Buffer;
use crate::event::Kind;
use crate::json::push_json;
use crate::members::key;
use crate::text::Text;

/// A line that is no event of a tape. [`crate::check`] says in full what is wrong with a tape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the tape: {what}")]
pub struct TapeError {
    /// The 1-based line.
    pub line: u64,
    /// What is wrong.
    pub what: String,
}

/// Why `t` is not the record's own time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeBasis {
    /// It is that of the nearest earlier record, or of the session's header.
    Inherited,
    /// Nothing in the artifact has a time.
    Absent,
}

impl TimeBasis {
    /// The name that stands in a tape.
    pub const fn as_str(self) -> &'static str {
        match self {
            TimeBasis::Inherited => "inherited",
            TimeBasis::Absent => "absent",
        }
    }
}

/// Which session an event belongs to.
#[derive(Debug, Clone, Copy)]
pub struct EventSource<'t> {
    /// The harness.
    pub harness: &'t str,
    /// The session's id, where the source gives one.
    pub session_id: Option<Text<'t>>,
    /// The sub-agent's id, in the tape of a sub-agent.
    pub agent_id: Option<Text<'t>>,
}

/// Where in the artifact an event comes from.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'t> {
    /// 1-based physical line, for line formats.
    pub line: Option<u64>,
    /// 0-based index among the JSON values of that line.
    pub part: u64,
    /// Place inside the record, or from the document's root (RFC 6901).
    pub pointer: Option<Text<'t>>,
    /// The record's own id.
    pub id: Option<Text<'t>>,
}

/// One event of a tape. The kind's own fields are raw JSON, in the order of the tape.
#[derive(Debug, Clone)]
pub struct TapeEvent<'t> {
    /// Place in the tape, from 0.
    pub seq: u64,
    /// Time: RFC 3339, UTC, `Z`.
    pub t: &'t str,
    /// The kind.
    pub kind: Kind,
    /// The session.
    pub source: EventSource<'t>,
    /// The kind's own fields.
    pub fields: Members<'t>,
    /// `seq` of the event that caused this one.
    pub parent: Option<u64>,
    /// Why `t` is not the record's own, if it is not.
    pub t_basis: Option<TimeBasis>,
    /// Where in the artifact.
    pub origin: Option<Origin<'t>>,
    /// True when the record repeats another session's history.
    pub replay: bool,
}

impl<'t> TapeEvent<'t> {
    /// Reads one line, given without its `\n`.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the envelope. The kind's own fields are not looked at.
    pub fn parse(line: &'t str) -> Result<Self, String> {
        let members = Members::of(line).map_err(|error| format!("not a JSON object: {error}"))?;
        let (envelope, fields): (Vec<_>, Vec<_>) = members.0.into_iter().partition(|(key, _)| is_envelope(key));
        let envelope = Members(envelope);
        let kind = envelope.word("k").and_then(Kind::from_name).ok_or("`k` is none of the eight kinds")?;
        Ok(TapeEvent {
            seq: envelope.count("seq").ok_or("`seq` is no number")?,
            t: envelope.word("t").ok_or("`t` is no string")?,
            kind,
            source: read_source(envelope.get("source")).ok_or("`source` names no harness")?,
            fields: Members(fields),
            parent: envelope.get("parent").map(|_| envelope.count("parent").ok_or("`parent` is no number")).transpose()?,
            t_basis: envelope.get("t_basis").map(|_| read_basis(&envelope).ok_or("`t_basis` is no basis")).transpose()?,
            origin: envelope.get("origin").map(|raw| read_origin(raw).ok_or("`origin` is no origin")).transpose()?,
            replay: envelope.get("replay").is_some_and(|raw| raw.get() == "true"),
        })
    }

    /// The label of a `meta` event.
    pub fn label(&self) -> Option<&'t str> {
        self.fields.word("label").filter(|_| self.kind == Kind::Meta)
    }

    /// Writes the event in canonical form, with its `\n`. An event read from a valid tape gives the bytes it was read from.
    pub fn write(&self, out: &mut String) {
        let mut line = Buffer::default();
        line.number(key!("seq"), Some(self.seq));
        line.word(key!("t"), self.t);
        line.word(key!("k"), self.kind.as_str());
        line.object(key!("source"), |source| {
            source.word(key!("harness"), self.source.harness);
            source.text_if(key!("session_id"), &self.source.session_id);
            source.text_if(key!("agent_id"), &self.source.agent_id);
        });
        for (key, value) in &self.fields.0 {
            // Without a bound on nesting, nothing is refused.
            let _ = push_json(line.named(key), value.get(), usize::MAX);
        }
        line.number(key!("parent"), self.parent);
        if let Some(basis) = self.t_basis {
            line.word(key!("t_basis"), basis.as_str());
        }
        if let Some(origin) = &self.origin {
            line.object(key!("origin"), |inner| {
                inner.number(key!("line"), origin.line);
                inner.number(key!("part"), (origin.part > 0).then_some(origin.part));
                inner.text_if(key!("pointer"), &origin.pointer);
                inner.text_if(key!("id"), &origin.id);
            });
        }
        line.flag(key!("replay"), self.replay, false);
        line.brace(0);
        out.push_str(line.to_str());
        out.push('\n');
    }
}

/// The events of a tape, line by line.
pub fn events(tape: &str) -> Events<'_> {
    Events { lines: tape.split_inclusive('\n'), number: 0 }
}

/// Iterator over the events of a tape. Goes on after a line that is no event.
#[derive(Debug, Clone)]
pub struct Events<'t> {
    lines: std::str::SplitInclusive<'t, char>,
    number: u64,
}

impl<'t> Iterator for Events<'t> {
    type Item = Result<TapeEvent<'t>, TapeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.lines.next()?;
        self.number += 1;
        let parsed = match line.strip_suffix('\n') {
            Some(line) => TapeEvent::parse(line),
            None => Err("the last line has no line end".to_owned()),
        };
        Some(parsed.map_err(|what| TapeError { line: self.number, what }))
    }
}

/// The members of a JSON object in their order, values raw. Keys of a tape need no escapes, so they are borrowed.
#[derive(Debug, Clone, Default)]
pub struct Members<'t>(pub Vec<(&'t str, &'t RawValue)>);

impl<'t> Members<'t> {
    /// The members of the object that `json` is.
    ///
    /// # Errors
    /// When it is no JSON object, or one of its own keys is escaped.
    pub fn of(json: &'t str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&'t RawValue> {
        self.0.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    /// The value of a key, if it is a string.
    pub fn text(&self, key: &str) -> Option<Text<'t>> {
        self.get(key).and_then(Text::of)
    }

    /// The value of a key, if it is a string without escapes, as every name in a tape that is not the source's is.
    pub fn word(&self, key: &str) -> Option<&'t str> {
        self.get(key).and_then(word)
    }

    /// The value of a key, if it is a number that counts something.
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
                while let Some(key) = map.next_key::<&'de str>().map_err(|_| A::Error::custom("expected a key without escapes"))? {
                    members.push((key, map.next_value()?));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// The string that a raw value is, if it has no escapes.
pub(crate) fn word(raw: &RawValue) -> Option<&str> {
    raw.get().strip_prefix('"')?.strip_suffix('"').filter(|word| !word.contains('\\'))
}

/// The number that a raw value is, if it is written as a whole number without sign.
pub(crate) fn count(raw: &RawValue) -> Option<u64> {
    raw.get().parse().ok().filter(|_| raw.get().bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_envelope(key: &str) -> bool {
    matches!(key, "seq" | "t" | "k" | "source" | "parent" | "t_basis" | "origin" | "replay")
}

fn read_source(raw: Option<&RawValue>) -> Option<EventSource<'_>> {
    let source = Members::of(raw?.get()).ok()?;
    Some(EventSource { harness: source.word("harness")?, session_id: source.text("session_id"), agent_id: source.text("agent_id") })
}

fn read_basis(envelope: &Members<'_>) -> Option<TimeBasis> {
    [TimeBasis::Inherited, TimeBasis::Absent].into_iter().find(|basis| envelope.word("t_basis") == Some(basis.as_str()))
}

fn read_origin(raw: &RawValue) -> Option<Origin<'_>> {
    let origin = Members::of(raw.get()).ok()?;
    let (line, part) = (origin.count("line"), origin.count("part").unwrap_or_default());
    Some(Origin { line, part, pointer: origin.text("pointer"), id: origin.text("id") })
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
    fn an_event_is_written_as_it_was_read() {
        let event = events(LINE).next().unwrap().unwrap();
        let mut out = String::new();
        event.write(&mut out);
        assert_eq!(out, LINE);
    }

    #[test]
    fn an_event_is_typed() {
        let event = events(LINE).next().unwrap().unwrap();
        assert_eq!((event.seq, event.kind, event.parent, event.replay), (7, Kind::ToolCall, Some(3), true));
        assert_eq!(event.t_basis, Some(TimeBasis::Inherited));
        assert_eq!(event.fields.word("tool"), Some("Read"));
        assert_eq!(event.fields.text("call_id").map(|id| id.decode_lossy().into_owned()), Some("c\"1".to_owned()));
        let origin = event.origin.unwrap();
        assert_eq!((origin.line, origin.part), (Some(4), 1));
    }

    #[test]
    fn a_line_that_is_no_event_is_an_error_and_the_rest_is_read() {
        let tape = format!("{LINE}not json\n{{\"seq\":1}}\n{LINE}{}", LINE.trim_end());
        let read: Vec<_> = events(&tape).map(|event| event.map(|event| event.seq).map_err(|error| error.line)).collect();
        assert_eq!(read, [Ok(7), Err(2), Err(3), Ok(7), Err(5)]);
    }
}
