//! Turns that a person took back. The next prompt deletes their messages; the table `event` still has them.

use std::collections::BTreeMap;
use std::fmt::Write;

use engram_core::error::{AdapterError, ErrorCode};
use engram_core::limits::Limits;
use rusqlite::Connection;

use super::export_writer::push_string;
use crate::open::sqlite::refused;
use crate::shared::value::{StructuralIndex, integer, parse, raw_str, text};
use crate::shared::view::view;

view! {
    /// What an event states.
    Event {
        /// The session or the message as it is now.
        info: "info" Object,
        /// The part as it is now.
        part: "part" Object,
        /// The message that is deleted.
        message_id: "messageID" String,
    }
}

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
    /// The first message that was taken back.
    message_id: String,
    has_files: bool,
    removed: Vec<String>,
}

/// The turns of a session that were taken back.
#[derive(Default)]
pub(super) struct Undone {
    reverts: Vec<Revert>,
    /// Their messages, in the order of messages.
    pub messages: Vec<Removed>,
}

impl Undone {
    /// Reads the events of a session.
    ///
    /// # Errors
    /// An error of the database, or `limit_exceeded` if the messages are longer than a record may be.
    pub fn of(connection: &Connection, session_id: &str, limits: Limits) -> Result<Undone, AdapterError> {
        let mut undone = Undone::default();
        let mut current: Option<(String, bool)> = None;
        each(connection, session_id, "type GLOB 'session.updated.*' OR type GLOB 'message.removed.*'", |event| {
            if let Some(info) = event.info() {
                let revert = info.member("revert").filter(|revert| revert.is_object());
                current = revert.map(|revert| (raw_str(revert.member("messageID")).to_owned(), revert.member("snapshot").is_some()));
            } else if let (Some(id), Some((first, has_files))) = (text(event.message_id()), &current) {
                undone.remove(id.decode_lossy().into_owned(), first, *has_files);
            }
            Ok(())
        })?;
        if !undone.reverts.is_empty() {
            undone.messages = removed_messages(connection, session_id, &undone.reverts, limits)?;
            let is_known = |id: &String| undone.messages.iter().any(|message| message.id == *id);
            undone.reverts.iter_mut().for_each(|revert| revert.removed.retain(is_known));
            undone.reverts.retain(|revert| !revert.removed.is_empty());
        }
        Ok(undone)
    }

    fn remove(&mut self, id: String, first: &str, has_files: bool) {
        match self.reverts.last_mut().filter(|revert| revert.message_id == first) {
            Some(revert) => revert.removed.push(id),
            None => self.reverts.push(Revert { message_id: first.to_owned(), has_files, removed: vec![id] }),
        }
    }

    /// The session's own record with the points to which a person went back.
    pub fn noted_in(&self, info: String) -> String {
        let Some(body) = info.strip_suffix('}').filter(|_| !self.messages.is_empty()) else { return info };
        let mut noted = format!("{body},\"reverts\":[");
        for (n, revert) in self.reverts.iter().enumerate() {
            noted.push_str(if n == 0 { "{\"messageIDs\":[" } else { ",{\"messageIDs\":[" });
            for (n, id) in revert.removed.iter().enumerate() {
                noted.push_str(if n == 0 { "" } else { "," });
                push_string(&mut noted, id);
            }
            let _ = write!(noted, "],\"files\":{}}}", revert.has_files);
        }
        noted + "]}"
    }
}

/// The last states of the messages that were removed.
fn removed_messages(connection: &Connection, session_id: &str, reverts: &[Revert], limits: Limits) -> Result<Vec<Removed>, AdapterError> {
    let ids = reverts.iter().flat_map(|revert| &revert.removed);
    let mut removed: BTreeMap<&str, Removed> = ids.map(|id| (id.as_str(), Removed { id: id.clone(), ..Removed::default() })).collect();
    let mut bytes = 0;
    each(connection, session_id, "type GLOB 'message.updated.*' OR type GLOB 'message.part.updated.*'", |event| {
        let (kept, is_part) = match (event.info(), event.part()) {
            (Some(info), _) => (info, false),
            (None, Some(part)) => (part, true),
            (None, None) => return Ok(()),
        };
        let Some(message) = removed.get_mut(raw_str(kept.member(if is_part { "messageID" } else { "id" }))) else { return Ok(()) };
        bytes += kept.raw().len();
        if is_part {
            let id = raw_str(kept.member("id")).to_owned();
            bytes -= message.parts.insert(id, kept.raw().to_owned()).map_or(0, |older| older.len());
        } else {
            message.created = integer(kept.member("time").and_then(|time| time.member("created"))).unwrap_or_default();
            bytes -= std::mem::replace(&mut message.info, kept.raw().to_owned()).len();
        }
        let is_too_long = bytes as u64 > limits.record_bytes;
        if is_too_long { Err(AdapterError::new(ErrorCode::LimitExceeded).expected("a session within the limit")) } else { Ok(()) }
    })?;
    let mut messages: Vec<Removed> = removed.into_values().filter(|message| !message.info.is_empty()).collect();
    messages.sort_by(|one, other| (one.created, &one.id).cmp(&(other.created, &other.id)));
    Ok(messages)
}

/// Reads the events of a session that a condition selects, in their order. What is no JSON object is passed over.
fn each(
    connection: &Connection,
    session_id: &str,
    condition: &str,
    mut read: impl FnMut(&Event<'_>) -> Result<(), AdapterError>,
) -> Result<(), AdapterError> {
    let sql = format!("SELECT data FROM event WHERE aggregate_id = ?1 AND ({condition}) ORDER BY seq");
    let mut events = connection.prepare(&sql).map_err(refused)?;
    let mut rows = events.query([session_id]).map_err(refused)?;
    let mut index = StructuralIndex::default();
    while let Some(row) = rows.next().map_err(refused)? {
        let data = row.get_ref(0).map_err(refused)?.as_str().unwrap_or_default();
        if let Ok(value) = parse(data, &mut index)
            && value.is_object()
        {
            read(&Event::lenient(value))?;
        }
    }
    Ok(())
}
