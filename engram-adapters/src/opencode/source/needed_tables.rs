//! Which tables a database must have: those of 1.x, those of 2.x, or both after an upgrade.

use engram_core::error::AdapterError;

use crate::open::database::DatabaseFile;
use crate::open::store::{LostRecords, lost_records};
use crate::open::table::Table;
use crate::open::tables::{NeededTable, StoreTables};
use crate::opencode::family::FAMILIES;

/// Columns of `session_message` of 2.x. 1.14 to 1.16 have the table without an order, with nothing but switches in it.
pub(super) const STEP_COLUMNS: &[&str] =
    &["id", "session_id", "type", "seq", "time_created", "data"];

/// The tables of sessions and what lists the migrations. The columns are those that all known versions have.
pub(super) const TABLES: StoreTables = StoreTables {
    kind: "OpenCode database",
    is_file_name: |name| {
        let mut families = FAMILIES.iter();
        name.ends_with(".db") && families.any(|family| name.starts_with(family.databases))
    },
    tables: &[
        mark(
            "session",
            &["id", "version", "time_created", "time_updated"],
        ),
        mark("message", &["id", "session_id", "time_created", "data"]),
        mark("part", &["id", "message_id", "session_id", "data"]),
        mark(
            "session_v2",
            &["id", "directory", "time_created", "time_updated"],
        ),
        mark("session_message", STEP_COLUMNS),
        NeededTable {
            name: "migration",
            columns: &["id"],
            is_mark: false,
        },
        NeededTable {
            name: "__drizzle_migrations",
            columns: &["created_at"],
            is_mark: false,
        },
        NeededTable {
            name: "event",
            columns: &["aggregate_id", "seq", "type", "data"],
            is_mark: false,
        },
    ],
};

const fn mark(name: &'static str, columns: &'static [&'static str]) -> NeededTable {
    NeededTable {
        name,
        columns,
        is_mark: true,
    }
}

/// The tables of 1.x. Betas of 2.x have them too, an upgrade leaves them, and a new store of 2.x has none of them.
const OF_PARTS: [&str; 3] = ["session", "message", "part"];

/// True if `session` is that of a beta of 2.x, whose messages are in `session_message`.
pub(super) fn is_beta(tables: &[Table]) -> bool {
    tables
        .iter()
        .any(|table| table.name == "session" && table.has("fork_session_id"))
}

/// Requires the tables that belong to those that are there.
///
/// # Errors
/// `incomplete_store`.
pub(super) fn require(file: &DatabaseFile<'_>, has_own_steps: bool) -> Result<(), AdapterError> {
    let need = |name: &str| TABLES.require(file.path, &file.tables, name);
    if OF_PARTS.iter().any(|table| file.has(table)) {
        OF_PARTS.iter().try_for_each(|table| need(table))?;
    }
    if file.has("session_v2") || is_beta(&file.tables) {
        need("session_message")?;
    }
    if file.has("session_v2") || has_own_steps && !is_beta(&file.tables) || !file.has("session") {
        need("session_v2")?;
    }
    // A version with events counts them, too.
    if file.has("event_sequence") {
        need("event")?;
    }
    ["migration", "__drizzle_migrations", "event"]
        .iter()
        .filter(|table| file.has(table))
        .try_for_each(|table| need(table))
}

/// Rows that no session has, and sessions or messages whose content is gone.
pub(super) fn lost_rows(
    file: &DatabaseFile<'_>,
    has_steps: bool,
    is_step: &str,
) -> Result<Vec<LostRecords>, AdapterError> {
    const NO_SESSION: &str = "rows of no session";
    const NO_MESSAGES: &str = "sessions without messages (their table is empty)";
    const NO_PARTS: &str = "messages without parts (their table is empty)";
    let mut searches = Vec::new();
    if file.has("part") {
        let no_session = |id: &str| format!("NOT EXISTS (SELECT 1 FROM session WHERE id = {id})");
        let message = format!(
            "SELECT 1 FROM message WHERE id = part.message_id AND NOT {}",
            no_session("message.session_id")
        );
        let steps = if has_steps {
            format!(" AND NOT EXISTS (SELECT 1 FROM session_message WHERE {is_step})")
        } else {
            String::new()
        };
        searches.push(("message", no_session("message.session_id"), NO_SESSION));
        searches.push((
            "part",
            format!(
                "{} AND NOT EXISTS ({message})",
                no_session("part.session_id")
            ),
            NO_SESSION,
        ));
        searches.push((
            "message",
            "NOT EXISTS (SELECT 1 FROM part)".to_owned(),
            NO_PARTS,
        ));
        searches.push((
            "session",
            format!("NOT EXISTS (SELECT 1 FROM message){steps}"),
            NO_MESSAGES,
        ));
    }
    // An upgrade to 2.x empties the table.
    if file.has("event_sequence") && !file.has("session_v2") {
        searches.push((
            "event_sequence",
            "NOT EXISTS (SELECT 1 FROM event)".to_owned(),
            "sessions without events (their table is empty)",
        ));
    }
    if has_steps {
        let sessions = if file.has("session_v2") {
            "session_v2"
        } else {
            "session"
        };
        let of_none = format!(
            "{is_step} AND NOT EXISTS (SELECT 1 FROM {sessions} WHERE id = session_message.session_id)"
        );
        searches.push(("session_message", of_none, NO_SESSION));
    }
    if file.has("session_v2") {
        if file.has("part") {
            // 2.x does not change these tables. A session that it has not continued is read from them only if they are whole.
            searches.push((
                "part",
                "NOT EXISTS (SELECT 1 FROM message WHERE id = part.message_id)".to_owned(),
                "parts of no message",
            ));
        }
        let copied = if file.has("session") {
            " AND NOT EXISTS (SELECT 1 FROM session WHERE id = session_v2.id)"
        } else {
            ""
        };
        searches.push((
            "session_v2",
            format!("NOT EXISTS (SELECT 1 FROM session_message){copied}"),
            NO_MESSAGES,
        ));
    }
    lost_records(&file.store, file.path, searches)
}
