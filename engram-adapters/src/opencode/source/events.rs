//! The table `event` of a database: each state of a session, its messages and their parts, in the order in which they were written.

use std::collections::HashSet;

use engram_core::error::AdapterError;
use engram_core::keys::hash64;
use rusqlite::Connection;

use crate::open::sqlite::refused;
use crate::shared::value::{StructuralIndex, Value, parse, raw_str};
use crate::shared::view::view;

view! {
    /// What an event says.
    Event {
        /// The session or the message as it is now.
        info: "info" Object,
        /// The part as it is now.
        part: "part" Object,
        /// The message that is deleted, or that a deleted part was in.
        message_id: "messageID" String,
        /// The part that is deleted.
        part_id: "partID" String,
    }
}

/// A value that the session's own record had for some time.
pub(super) struct PastValue<T> {
    /// The value.
    pub value: T,
    /// The first message or part that was new after it.
    pub next: Option<String>,
}

/// The values that `value_of` takes from the session's own record, one after the other.
pub(super) fn values<T: PartialEq>(
    connection: &Connection,
    session_id: &str,
    value_of: impl Fn(Value<'_>) -> T,
) -> Result<Vec<PastValue<T>>, AdapterError> {
    let (mut seen, mut values) = (HashSet::new(), Vec::<PastValue<T>>::new());
    let condition = "type GLOB 'session.created.*' OR type GLOB 'session.updated.*' OR type GLOB 'message.updated.*' OR type GLOB 'message.part.updated.*'";
    each(connection, session_id, condition, |event| {
        let Some(changed) = event.part().or(event.info()) else {
            return Ok(());
        };
        let is_session = event.part().is_none() && changed.member("role").is_none();
        if is_session {
            let value = value_of(changed);
            if values.last().is_none_or(|last| last.value != value) {
                values.push(PastValue { value, next: None });
            }
            return Ok(());
        }
        let id = raw_str(changed.member("id"));
        if seen.insert(hash64(id))
            && let Some(last) = values.last_mut()
            && last.next.is_none()
        {
            last.next = Some(id.to_owned());
        }
        Ok(())
    })?;
    Ok(values)
}

/// Reads the events of a session that a condition selects, in their order. What is no JSON object is passed over.
pub(super) fn each(
    connection: &Connection,
    session_id: &str,
    condition: &str,
    mut read: impl FnMut(&Event<'_>) -> Result<(), AdapterError>,
) -> Result<(), AdapterError> {
    let sql =
        format!("SELECT data FROM event WHERE aggregate_id = ?1 AND ({condition}) ORDER BY seq");
    let mut events = connection.prepare(&sql).map_err(refused)?;
    let mut rows = events.query([session_id]).map_err(refused)?;
    let mut index = StructuralIndex::default();
    while let Some(row) = rows.next().map_err(refused)? {
        let data = row
            .get_ref(0)
            .map_err(refused)?
            .as_str()
            .unwrap_or_default();
        if let Ok(value) = parse(data, &mut index)
            && value.is_object()
        {
            read(&Event::lenient(value))?;
        }
    }
    Ok(())
}
