//! Turns that a person took back. The next prompt deletes their messages; the table `event` still has them.

use std::collections::BTreeMap;
use std::fmt::Write;

use engram_core::error::{AdapterError, ErrorCode};
use engram_core::limits::Limits;
use engram_core::text::Text;
use rusqlite::Connection;

use super::events::{each, values};
use super::export_writer::push_string;
use crate::shared::value::{Value, integer, raw_str, text};

/// A message that was deleted, in its last state.
#[derive(Default)]
pub(super) struct Removed {
    /// When it was created.
    pub created: i64,
    /// Its id.
    pub id: String,
    /// Its own record.
    pub info: String,
    /// Its parts, by their ids.
    pub parts: BTreeMap<String, String>,
}

/// A point to which a person went back.
struct Revert {
    /// The first message that was taken back, or whose last parts were.
    message_id: String,
    has_files: bool,
    messages: Vec<String>,
    /// Parts of the first message.
    parts: Vec<String>,
}

/// The turns of a session that were taken back.
#[derive(Default)]
pub(super) struct Undone {
    reverts: Vec<Revert>,
    /// Their messages, in the order of messages.
    pub messages: Vec<Removed>,
    /// Their parts of messages that are still there, by message and id.
    pub parts: BTreeMap<String, BTreeMap<String, String>>,
    /// The first message or part that was new after the revert that still stands.
    next: Option<String>,
}

impl Undone {
    /// Reads the events of a session.
    ///
    /// # Errors
    /// An error of the database, or `limit_exceeded` if the messages are longer than a record may be.
    pub fn of(
        connection: &Connection,
        session_id: &str,
        limits: Limits,
    ) -> Result<Undone, AdapterError> {
        let mut undone = Undone::default();
        let mut current: Option<(String, bool)> = None;
        let condition = "type GLOB 'session.updated.*' OR type GLOB 'message.removed.*' OR type GLOB 'message.part.removed.*'";
        each(connection, session_id, condition, |event| {
            if let Some(info) = event.info() {
                let revert = info.member("revert").filter(|revert| revert.is_object());
                current = revert.map(|revert| {
                    (
                        raw_str(revert.member("messageID")).to_owned(),
                        revert.member("snapshot").is_some(),
                    )
                });
            } else if let (Some(id), Some((first, has_files))) =
                (text(event.message_id()), &current)
            {
                undone.remove(&id.decode_lossy(), text(event.part_id()), first, *has_files);
            }
            Ok(())
        })?;
        if current.is_some() {
            undone.next = next_after_revert(connection, session_id)?;
        }
        if !undone.reverts.is_empty() {
            undone.read_removed(connection, session_id, limits)?;
            let (messages, parts) = (&undone.messages, &undone.parts);
            for revert in &mut undone.reverts {
                revert
                    .messages
                    .retain(|id| messages.iter().any(|message| message.id == *id));
                revert.parts.retain(|id| {
                    parts
                        .values()
                        .any(|parts| parts.get(id).is_some_and(|part| !part.is_empty()))
                });
            }
            undone
                .reverts
                .retain(|revert| !revert.messages.is_empty() || !revert.parts.is_empty());
        }
        Ok(undone)
    }

    fn remove(
        &mut self,
        message_id: &str,
        part_id: Option<Text<'_>>,
        first: &str,
        has_files: bool,
    ) {
        if self
            .reverts
            .last()
            .is_none_or(|revert| revert.message_id != first)
        {
            self.reverts.push(Revert {
                message_id: first.to_owned(),
                has_files,
                messages: Vec::new(),
                parts: Vec::new(),
            });
        }
        let Some(revert) = self.reverts.last_mut() else {
            return;
        };
        match part_id {
            None => revert.messages.push(message_id.to_owned()),
            Some(part_id) => {
                let part_id = part_id.decode_lossy().into_owned();
                self.parts
                    .entry(message_id.to_owned())
                    .or_default()
                    .insert(part_id.clone(), String::new());
                revert.parts.push(part_id);
            }
        }
    }

    /// Reads the last states of the messages and parts that were removed.
    fn read_removed(
        &mut self,
        connection: &Connection,
        session_id: &str,
        limits: Limits,
    ) -> Result<(), AdapterError> {
        let ids = self.reverts.iter().flat_map(|revert| &revert.messages);
        let mut removed: BTreeMap<&str, Removed> = ids
            .map(|id| {
                (
                    id.as_str(),
                    Removed {
                        id: id.clone(),
                        ..Removed::default()
                    },
                )
            })
            .collect();
        let parts = &mut self.parts;
        let mut bytes = 0;
        each(
            connection,
            session_id,
            "type GLOB 'message.updated.*' OR type GLOB 'message.part.updated.*'",
            |event| {
                let (kept, is_part) = match (event.info(), event.part()) {
                    (Some(info), _) => (info, false),
                    (None, Some(part)) => (part, true),
                    (None, None) => return Ok(()),
                };
                let id = raw_str(kept.member("id"));
                let message_id = if is_part {
                    raw_str(kept.member("messageID"))
                } else {
                    id
                };
                let older = match removed.get_mut(message_id) {
                    Some(message) if is_part => message
                        .parts
                        .insert(id.to_owned(), kept.raw().to_owned())
                        .unwrap_or_default(),
                    Some(message) => {
                        message.created =
                            integer(kept.member("time").and_then(|time| time.member("created")))
                                .unwrap_or_default();
                        std::mem::replace(&mut message.info, kept.raw().to_owned())
                    }
                    None => match parts
                        .get_mut(message_id)
                        .and_then(|parts| parts.get_mut(id))
                    {
                        Some(part) => std::mem::replace(part, kept.raw().to_owned()),
                        None => return Ok(()),
                    },
                };
                bytes = bytes + kept.raw().len() - older.len();
                let is_too_long = bytes as u64 > limits.record_bytes;
                if is_too_long {
                    Err(AdapterError::new(ErrorCode::LimitExceeded)
                        .expected("a session within the limit"))
                } else {
                    Ok(())
                }
            },
        )?;
        self.messages = removed
            .into_values()
            .filter(|message| !message.info.is_empty())
            .collect();
        self.messages
            .sort_by(|one, other| (one.created, &one.id).cmp(&(other.created, &other.id)));
        // The parts of a message that was deleted later are with it.
        let messages = &self.messages;
        self.parts
            .retain(|message_id, _| !messages.iter().any(|message| message.id == *message_id));
        self.parts
            .values_mut()
            .for_each(|parts| parts.retain(|_, part| !part.is_empty()));
        Ok(())
    }

    /// The session's own record with the points to which a person went back.
    pub fn noted_in(&self, info: String) -> String {
        if self.reverts.is_empty() && self.next.is_none() {
            return info;
        }
        let Some(body) = info.strip_suffix('}') else {
            return info;
        };
        let mut noted = body.to_owned();
        if let Some(next) = &self.next {
            noted.push_str(",\"revertBefore\":");
            push_string(&mut noted, next);
        }
        for (n, revert) in self.reverts.iter().enumerate() {
            noted.push_str(if n == 0 { ",\"reverts\":[{" } else { ",{" });
            push_ids(&mut noted, "messageIDs", &revert.messages);
            push_ids(&mut noted, "partIDs", &revert.parts);
            let _ = write!(noted, "\"files\":{}}}", revert.has_files);
        }
        noted.push_str(if self.reverts.is_empty() { "}" } else { "]}" });
        noted
    }
}

/// The first message or part that was new after the revert that stands at the end: a turn was still under way when a person went back.
fn next_after_revert(
    connection: &Connection,
    session_id: &str,
) -> Result<Option<String>, AdapterError> {
    let values = values(connection, session_id, |info| {
        let revert = info.member("revert").filter(|revert| revert.is_object());
        let id = |revert: Value<'_>, name| raw_str(revert.member(name)).to_owned();
        revert.map(|revert| (id(revert, "messageID"), id(revert, "partID")))
    })?;
    Ok(values
        .last()
        .filter(|last| last.value.is_some())
        .and_then(|last| last.next.clone()))
}

/// Adds a list of ids, if there are any.
fn push_ids(noted: &mut String, name: &str, ids: &[String]) {
    if ids.is_empty() {
        return;
    }
    let _ = write!(noted, "\"{name}\":[");
    for (n, id) in ids.iter().enumerate() {
        noted.push_str(if n == 0 { "" } else { "," });
        push_string(noted, id);
    }
    noted.push_str("],");
}
