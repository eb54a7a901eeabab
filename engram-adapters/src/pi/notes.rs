//! Step 1: checks each record, and notes its place in the tree.

use engram_core::emit::{Fault, Pointer};
use engram_core::keys::hash64;
use engram_core::steps::{Check, Record};
use engram_core::text::Text;

use super::format::EntryKind;
use super::readers::{Block, Entry, Header, Message};
use crate::shared::log::LogNotes;
use crate::shared::time::{millis, tape_time};
use crate::shared::value::{Field, Value, count, raw_str, required, text};

/// Where the blocks of a message are.
pub(super) const CONTENT: &str = "/message/content";

/// The type of a record.
///
/// # Errors
/// [`Fault::Unrecognized`] if the type is not known.
pub(super) fn kind_of(value: Value<'_>) -> Result<EntryKind, Fault> {
    let entry = raw_str(value.member("type"));
    let role = value
        .member("message")
        .and_then(|message| message.member("role"));
    let name = match role {
        Some(role) if entry == "message" => format!("message/{}", role.raw_str()),
        _ => entry.to_owned(),
    };
    EntryKind::named(&name).ok_or_else(|| Fault::unrecognized(&name))
}

/// What decides about an entry: its place in the tree, and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Note {
    /// The number of the record.
    pub number: usize,
    /// The key of its id; 0 if it has none.
    pub id: u64,
    /// The key of the entry that it continues, 0 for the root of a tree (`null`). None if the entry does not say.
    pub parent: Option<u64>,
    /// Its time in milliseconds.
    pub time: Option<i64>,
}

/// The notes of a session.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// The number of the header.
    pub header: Option<usize>,
    /// The time of the header in milliseconds, if the session was made of another one.
    pub copied_at: Option<i64>,
    /// The entries, in the order of the log.
    pub entries: Vec<Note>,
}

impl LogNotes for Notes {
    fn add(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        let is_header = record.number == 0 && record.value.member("cwd").is_some();
        let kind = match is_header {
            true => EntryKind::Session,
            false => kind_of(record.value)?,
        };
        if kind == EntryKind::Session {
            self.header(record)?;
        } else {
            let entry = Entry::strict(record.value, "")?;
            if let Some(message) = entry.message() {
                check_message(kind, &Message::strict(message, "/message")?, check)?;
            } else if let Some(content) = entry.content() {
                check_content(content, "/content", check)?;
            }
            // An entry of OpenClaw about where the session goes on is at the place of the entry that it names.
            let (id, parent) = match kind {
                EntryKind::Leaf => (entry.target(), record.value.member("targetId")),
                _ => (entry.id(), record.value.member("parentId")),
            };
            self.entries.push(Note {
                number: record.number,
                id: text(id).map_or(0, key),
                parent: parent.map(|parent| parent.text().map_or(0, key)),
                time: time_of(entry.timestamp()),
            });
        }
        check.members(kind.name(), record.value, Pointer::Root, &|_| None);
        if ["id", "timestamp"]
            .iter()
            .any(|name| text(record.value.member(name)).is_some())
        {
            check.identify();
        }
        Ok(())
    }
}

impl Notes {
    fn header(&mut self, record: &Record<'_>) -> Result<(), Fault> {
        if self.header.is_some() {
            return Err(Fault::malformed("", "one header", "a second one"));
        }
        let header = Header::strict(record.value, "")?;
        let found = |field: Field<'_>| field.map_or("nothing", Value::raw).to_owned();
        if raw_str(header.kind()) != EntryKind::Session.name() {
            return Err(Fault::malformed(
                "/type",
                "`session`",
                &found(header.kind()),
            ));
        }
        if count(header.version()).is_none() {
            return Err(Fault::malformed(
                "/version",
                "a count",
                &found(header.version()),
            ));
        }
        self.header = Some(record.number);
        self.copied_at = header.parent().and_then(|_| time_of(header.timestamp()));
        Ok(())
    }
}

fn key(id: Text<'_>) -> u64 {
    hash64(id.raw())
}

fn time_of(field: Field<'_>) -> Option<i64> {
    millis(&tape_time(field)?)
}

fn check_message(
    kind: EntryKind,
    message: &Message<'_>,
    check: &mut Check<'_>,
) -> Result<(), Fault> {
    if let Some(content) = message.content() {
        check_content(content, CONTENT, check)?;
    }
    match kind {
        EntryKind::MessageToolResult => required(message.call_id(), "/message/toolCallId"),
        EntryKind::MessageBashExecution => required(message.command(), "/message/command"),
        _ => Ok(()),
    }
}

/// The content of a message: a text, or a list of blocks.
fn check_content(content: Value<'_>, at: &'static str, check: &mut Check<'_>) -> Result<(), Fault> {
    if content.is_array() {
        for (n, block) in content.elements().enumerate() {
            check_block(block, check).map_err(|fault| fault.within(Pointer::Item(at, n)))?;
        }
        return Ok(());
    }
    match content.text() {
        Some(_) => Ok(()),
        None => Err(Fault::malformed(
            at,
            "text or a list of blocks",
            content.raw(),
        )),
    }
}

fn check_block(value: Value<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
    let block = Block::strict(value, "")?;
    match raw_str(block.kind()) {
        "text" => required(block.text(), "/text"),
        "image" => required(block.data(), "/data"),
        "thinking" => required(block.thinking(), "/thinking"),
        "toolCall" => required(block.id(), "/id").and(required(block.name(), "/name")),
        other => check.unknown_block(other),
    }
}
