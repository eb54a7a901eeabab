//! Is it ours, and what does its head say? Named marks of content, never a file name.

use std::borrow::Cow;

use engram_core::adapter::{Evidence, Framing, Identity};
use engram_core::head::Head;
use engram_core::text::Text;
use serde::Deserialize;

use super::revisions::STREAM;
use super::schema::Time;
use crate::kit::json::{self, Raw, is_object, text};
use crate::kit::time::from_millis;

/// An export: a session's own record, then its messages.
const EXPORT: &str = "export.info.id=ses_+version,messages";
/// A line of `run --format json` that carries a part.
const STREAM_PART: &str = "run.sessionID=ses_+part.messageID=msg_";
/// A line of `run --format json` that carries an error.
const STREAM_ERROR: &str = "run.sessionID=ses_+error.name";

/// The names of all marks.
pub(super) fn marks() -> Vec<&'static str> {
    vec![EXPORT, STREAM_PART, STREAM_ERROR]
}

/// What detection looks at in an export.
#[derive(Deserialize)]
struct Info<'a> {
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    version: Raw<'a>,
    #[serde(rename = "parentID", borrow)]
    parent_id: Raw<'a>,
    #[serde(default)]
    time: Time,
}

/// What detection looks at in a line of a stream.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    timestamp: Option<i64>,
    #[serde(rename = "sessionID", borrow)]
    session_id: Raw<'a>,
    #[serde(borrow)]
    part: Option<Part<'a>>,
    #[serde(borrow)]
    error: Raw<'a>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(rename = "messageID", borrow)]
    message_id: Raw<'a>,
}

impl Line<'_> {
    fn mark(&self) -> Option<&'static str> {
        if !is_id(text(self.session_id), "ses_") || self.timestamp.is_none() {
            return None;
        }
        match &*self.kind {
            "error" => self.error.filter(|error| is_object(error)).map(|_| STREAM_ERROR),
            "step_start" | "step_finish" | "text" | "tool_use" | "reasoning" => {
                let part = self.part.as_ref()?;
                is_id(text(part.message_id), "msg_").then_some(STREAM_PART)
            }
            _ => None,
        }
    }
}

fn is_id(id: Option<Text<'_>>, prefix: &str) -> bool {
    id.is_some_and(|id| id.decode_lossy().starts_with(prefix))
}

/// The session's record that an export begins with, if the text is the beginning of an export.
fn export<'h>(head: &Head<'h>) -> Option<Info<'h>> {
    let rest = after(after(head.text(), "{")?, "\"info\"")?;
    let mut values = serde_json::Deserializer::from_str(after(rest, ":")?).into_iter::<Info<'h>>();
    let info = values.next()?.ok()?;
    let rest = after(rest, ":")?.get(values.byte_offset()..)?;
    after(after(rest, ",")?, "\"messages\"")?;
    (is_id(text(info.id), "ses_") && text(info.version).is_some()).then_some(info)
}

fn after<'t>(source: &'t str, token: &str) -> Option<&'t str> {
    source.trim_ascii_start().strip_prefix(token)
}

fn stream_lines<'h>(head: &Head<'h>) -> impl Iterator<Item = Line<'h>> + use<'h> {
    head.lines().filter_map(|line| json::parse(line).ok())
}

/// Yes when the head is that of an export, or a line is one of a stream.
pub(super) fn probe(head: &Head<'_>) -> Option<Evidence> {
    if export(head).is_some() {
        return Some(Evidence { marks: vec![EXPORT], framing: Framing::Document });
    }
    let mut marks: Vec<&'static str> = Vec::new();
    for mark in stream_lines(head).filter_map(|line| line.mark()) {
        if !marks.contains(&mark) {
            marks.push(mark);
        }
    }
    (!marks.is_empty()).then_some(Evidence { marks, framing: Framing::Lines })
}

/// The session, the version that created it, and when.
pub(super) fn identify(head: &Head<'_>) -> Identity {
    let owned = |text: Option<Text<'_>>| text.map(|text| text.decode_lossy().into_owned());
    if let Some(info) = export(head) {
        return Identity {
            version: owned(text(info.version)),
            session_id: owned(text(info.id)),
            start: info.time.created.and_then(from_millis),
            ..Identity::default()
        };
    }
    let Some(line) = stream_lines(head).find(|line| line.mark().is_some()) else { return Identity::default() };
    Identity {
        schema: Some(STREAM),
        session_id: owned(text(line.session_id)),
        start: line.timestamp.and_then(from_millis),
        ..Identity::default()
    }
}

/// The ids of an exported session and of its parent.
pub(super) fn family(head: &Head<'_>) -> Option<(String, String)> {
    let info = export(head)?;
    let owned = |raw| text(raw).map(|text| text.decode_lossy().into_owned());
    Some((owned(info.id)?, owned(info.parent_id)?))
}
