//! Values of events on their way to columns.

use std::fmt::Write;

use engram_core::event::*;
use engram_core::hash::Hash;
use engram_core::text::{Text, push_text};

use super::column::{Hashes, Ints, Texts, Words, int};
use super::nested::Ranges;
use crate::text::Decoder;

/// What every row of an event begins with.
pub(crate) struct Place<'p> {
    /// The name of the tape.
    pub(crate) tape: &'p str,
    /// The session of the event.
    pub(crate) session_id: Option<&'p str>,
    /// Its sub-agent.
    pub(crate) agent_id: Option<&'p str>,
    /// The key of both on this tape.
    pub(crate) session_key: &'p str,
    /// The turn.
    pub(crate) turn: Option<i64>,
    /// The time in nanoseconds.
    pub(crate) t: Option<i64>,
}

/// Names the project of a directory.
pub type Project = fn(&str) -> String;

/// The key of a session or sub-agent on a tape: 16 hex digits.
pub(crate) fn session_key(tape: &str, session_id: Option<&str>, agent_id: Option<&str>) -> String {
    let id = |id: Option<&str>| id.map_or_else(String::new, |id| format!("={id}"));
    let text = format!("{tape}\0{}\0{}", id(session_id), id(agent_id));
    let hash = Hash::of_bytes(text.as_bytes());
    hash.bytes()[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The label of a `meta` event.
pub(crate) fn label<'e>(event: &'e Event<'_>) -> Option<&'e str> {
    let Event::Meta(meta) = event else {
        return None;
    };
    Some(match meta {
        Meta::TapeStart(_) => "tape.start",
        Meta::Revision(_) => "revision",
        Meta::Unrecognized(_) => "unrecognized",
        Meta::TapeStop(_) => "tape.stop",
        Meta::Session(_) => "session",
        Meta::Episode(_) => "episode",
        Meta::Usage(_) => "usage",
        Meta::Rewind { .. } => "rewind",
        Meta::Compaction { .. } => "compaction",
        Meta::Error { .. } => "error",
        Meta::Interrupt { .. } => "interrupt",
        Meta::Permission(_) => "permission",
        Meta::Context(_) => "context",
        Meta::System { .. } => "system",
        Meta::Other(label) => label,
        // A label of a newer core: it has no columns, so nothing is in two places.
        _ => "other",
    })
}

pub(crate) fn push(column: &mut Texts, text: Option<Text<'_>>, decoder: &mut Decoder) {
    if let Some(text) = text {
        column.push(decoder.text(text));
    }
}

pub(crate) fn push_word(column: &mut Words, text: Option<Text<'_>>, decoder: &mut Decoder) {
    if let Some(text) = text {
        column.push(decoder.text(text));
    }
}

pub(crate) fn push_str(column: &mut Words, word: Option<&str>) {
    if let Some(word) = word {
        column.push(word);
    }
}

pub(crate) fn push_count(column: &mut Ints, count: Option<u64>) {
    if let Some(count) = count {
        column.push(int(count));
    }
}

pub(crate) fn push_hash(column: &mut Hashes, hash: Option<Hash>) {
    if let Some(hash) = hash {
        column.push(&hash);
    }
}

pub(crate) fn push_range(column: &mut Ranges, range: Option<Range>) {
    if let Some(range) = range {
        column.push(range);
    }
}

/// The attachments as a tape has them; `None` for none.
pub(crate) fn attachments_json(
    attachments: &[Attachment<'_>],
    decoder: &mut Decoder,
) -> Option<String> {
    if attachments.is_empty() {
        return None;
    }
    let mut json = String::from("[");
    for attachment in attachments {
        json.push_str(if json.len() > 1 { ",{" } else { "{" });
        push_members(
            &mut json,
            &[("media_type", attachment.media_type)],
            attachment.hash,
            attachment.bytes,
            &[("name", attachment.name)],
        );
        json.push('}');
    }
    json.push(']');
    Some(decoder.json(&json).into_owned())
}

/// The side file as a tape has it.
pub(crate) fn artifact_json(artifact: &SideFile<'_>, decoder: &mut Decoder) -> String {
    let mut json = String::from("{");
    push_members(
        &mut json,
        &[("path", Some(artifact.path))],
        artifact.hash,
        artifact.bytes,
        &[],
    );
    json.push('}');
    decoder.json(&json).into_owned()
}

pub(crate) fn push_json(column: &mut Texts, json: Option<String>) {
    if let Some(json) = json {
        column.push(&json);
    }
}

type Member<'t> = (&'static str, Option<Text<'t>>);

/// Appends the members of an object in the order of the format: texts, hash, bytes, texts.
fn push_members(
    json: &mut String,
    first: &[Member<'_>],
    hash: Option<Hash>,
    bytes: Option<u64>,
    last: &[Member<'_>],
) {
    let start = json.len();
    let key = |json: &mut String, key: &str| {
        let _ = write!(
            json,
            "{}\"{key}\":",
            if json.len() > start { "," } else { "" }
        );
    };
    let texts = |json: &mut String, members: &[Member<'_>]| {
        for (name, text) in members
            .iter()
            .filter_map(|(name, text)| Some((name, (*text)?)))
        {
            key(json, name);
            push_text(json, text);
        }
    };
    texts(json, first);
    if let Some(hash) = hash {
        key(json, "hash");
        let _ = write!(json, "\"{hash}\"");
    }
    if let Some(bytes) = bytes {
        key(json, "bytes");
        let _ = write!(json, "{bytes}");
    }
    texts(json, last);
}
