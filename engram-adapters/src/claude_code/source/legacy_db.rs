//! `~/.claude/__store.db` (0.2.96 to 0.2.100): sessions as rows of a database, exported as the JSON lines that the next version writes.

use std::sync::{Mutex, PoisonError};

use engram_core::adapter::SideInfo;
use engram_core::error::AdapterError;
use engram_core::limits::Limits;
use rusqlite::Row;
use rusqlite::types::ValueRef;

use crate::open::database::DatabaseFile;
use crate::open::lines::{Lines, json_or_text, quoted};
use crate::open::sqlite::{self, column, refused};
use crate::open::store::{
    Export, LostRecords, OpenedStore, Opener, Store, StoredSession, lost_records,
};
use crate::open::tables::{NeededTable, StoreTables};
use crate::shared::time::from_seconds;

/// The opener. The database's directory also has logs of later versions, so it is not a store root.
pub(crate) static OPENER: Opener = Opener {
    has_tables,
    open_database,
    ..Opener::NOTHING
};

/// The kind of store.
pub(super) const KIND: &str = "Claude Code database";

/// The tables of sessions, as 0.2.96 and 0.2.100 have them.
const TABLES: StoreTables = StoreTables {
    kind: KIND,
    is_file_name: |name| name == "__store.db",
    tables: &[
        mark(
            "base_messages",
            &[
                "uuid",
                "parent_uuid",
                "session_id",
                "timestamp",
                "message_type",
                "cwd",
                "user_type",
                "version",
                "isSidechain",
            ],
        ),
        mark("user_messages", &["uuid", "message", "tool_use_result"]),
        mark(
            "assistant_messages",
            &[
                "uuid",
                "cost_usd",
                "duration_ms",
                "message",
                "is_api_error_message",
            ],
        ),
        mark(
            "conversation_summaries",
            &["leaf_uuid", "summary", "updated_at"],
        ),
    ],
};

const fn mark(name: &'static str, columns: &'static [&'static str]) -> NeededTable {
    NeededTable {
        name,
        columns,
        is_mark: true,
    }
}

/// The hashes of the known schema migrations (0.2.96 has all three).
pub const MIGRATIONS: [&str; 3] = [
    "37cec4aa92ebab87c1dafd0a486e0b00732b8ae46bb424e5574bb455053586f6",
    "c5dbda254265e6b64ea5965838d65630bb2ecefc315f179cf7b3d82e4de1a2fe",
    "751eeb4a5cd4650b09ba7b65f109267ad9ac67e4f5605422a29f6faf6732e8f6",
];

/// The messages of a session in the order in which they were written.
const MESSAGES: &str = "
    SELECT base.parent_uuid AS parentUuid, base.isSidechain = 1 AS isSidechain, base.user_type AS userType, base.cwd AS cwd,
           base.session_id AS sessionId, base.version AS version, base.message_type AS type,
           coalesce(user.message, assistant.message) AS message, user.tool_use_result AS toolUseResult,
           assistant.cost_usd AS costUSD, assistant.duration_ms AS durationMs,
           nullif(assistant.is_api_error_message = 1, 0) AS isApiErrorMessage, base.uuid AS uuid, base.timestamp AS timestamp
    FROM base_messages base
    LEFT JOIN user_messages user ON user.uuid = base.uuid
    LEFT JOIN assistant_messages assistant ON assistant.uuid = base.uuid
    WHERE base.session_id = ?1 ORDER BY base.rowid";

/// The titles of a session, the latest one last.
const SUMMARIES: &str = "
    SELECT 'summary' AS type, summary AS summary, leaf_uuid AS leafUuid
    FROM conversation_summaries JOIN base_messages base ON base.uuid = leaf_uuid
    WHERE base.session_id = ?1 ORDER BY updated_at, leaf_uuid";

/// Rows that no session has: table, condition.
const LOST: [(&str, &str); 4] = [
    ("base_messages", "session_id IS NULL"),
    (
        "user_messages",
        "NOT EXISTS (SELECT 1 FROM base_messages WHERE uuid = user_messages.uuid)",
    ),
    (
        "assistant_messages",
        "NOT EXISTS (SELECT 1 FROM base_messages WHERE uuid = assistant_messages.uuid)",
    ),
    (
        "conversation_summaries",
        "NOT EXISTS (SELECT 1 FROM base_messages WHERE uuid = leaf_uuid)",
    ),
];

/// The columns that are searched for each session or message. 0.2.96 itself has no index of the sessions.
const SEARCHED_COLUMNS: &[(&str, &str)] = &[
    ("base_messages", "session_id"),
    ("base_messages", "uuid"),
    ("user_messages", "uuid"),
    ("assistant_messages", "uuid"),
    ("conversation_summaries", "leaf_uuid"),
];

struct Database {
    store: Mutex<sqlite::Store>,
    limits: Limits,
    sessions: Vec<StoredSession>,
    lost: Vec<LostRecords>,
    unknown_schema: bool,
}

fn has_tables(database: &DatabaseFile<'_>) -> bool {
    TABLES.are_in(database)
}

fn open_database(database: DatabaseFile<'_>) -> OpenedStore {
    let has_migrations = database
        .table("__drizzle_migrations")
        .is_some_and(|table| table.has("hash"));
    let DatabaseFile {
        path,
        limits,
        store,
        tables,
    } = database;
    TABLES.require_all(path, &tables)?;
    let store = store.with_indexes(SEARCHED_COLUMNS);
    let at = |id: String| StoredSession {
        id,
        path: path.to_owned(),
    };
    let sessions = strings(
        &store,
        "SELECT DISTINCT session_id FROM base_messages WHERE session_id IS NOT NULL ORDER BY session_id",
    )?;
    let migrations = if has_migrations {
        strings(&store, "SELECT hash FROM __drizzle_migrations")?
    } else {
        Vec::new()
    };
    let searches = LOST.map(|(table, condition)| (table, condition, "rows of no session"));
    Ok(Some(Box::new(Database {
        sessions: sessions.into_iter().map(at).collect(),
        lost: lost_records(&store, path, searches)?,
        unknown_schema: migrations.is_empty()
            || migrations
                .iter()
                .any(|hash| !MIGRATIONS.contains(&hash.as_str())),
        store: Mutex::new(store),
        limits,
    })))
}

fn strings(store: &sqlite::Store, sql: &str) -> Result<Vec<String>, AdapterError> {
    let mut statement = store.connection().prepare(sql).map_err(refused)?;
    let text = |row: &Row<'_>| Ok(String::from_utf8_lossy(&column(row.get_ref(0)?)).into_owned());
    let rows = statement.query_map([], text).map_err(refused)?;
    rows.collect::<Result<_, _>>().map_err(refused)
}

impl Database {
    fn text(&self, session_id: &str) -> Result<String, AdapterError> {
        // The database is only read, so a panic in another thread leaves it intact.
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = Lines::new(self.limits);
        for sql in [MESSAGES, SUMMARIES] {
            let mut statement = store.connection().prepare(sql).map_err(refused)?;
            let mut rows = statement.query([session_id]).map_err(refused)?;
            while let Some(row) = rows.next().map_err(refused)? {
                let members = members(row).map_err(refused)?;
                lines.line(
                    &members
                        .iter()
                        .map(|(name, value)| (name.as_str(), value.as_str()))
                        .collect::<Vec<_>>(),
                )?;
            }
        }
        Ok(lines.end())
    }
}

/// The columns of a row as members of its line. Only `parentUuid` may be `null` in a line.
fn members(row: &Row<'_>) -> rusqlite::Result<Vec<(String, String)>> {
    let names: Vec<String> = row.as_ref().column_names().map(str::to_owned).collect();
    let mut members = Vec::with_capacity(names.len());
    for (n, name) in names.into_iter().enumerate() {
        if let Some(value) = json(&name, row.get_ref(n)?) {
            members.push((name, value));
        }
    }
    Ok(members)
}

/// A column's value as JSON.
fn json(name: &str, value: ValueRef<'_>) -> Option<String> {
    Some(match (name, value) {
        ("parentUuid", ValueRef::Null) => "null".to_owned(),
        (_, ValueRef::Null) => return None,
        ("isSidechain" | "isApiErrorMessage", ValueRef::Integer(flag)) => (flag != 0).to_string(),
        ("timestamp", ValueRef::Integer(seconds)) => quoted(&from_seconds(seconds)?),
        (_, ValueRef::Integer(number)) => number.to_string(),
        (_, ValueRef::Real(number)) => serde_json::Number::from_f64(number)?.to_string(),
        ("message" | "toolUseResult", value) => json_or_text(&column(value)),
        (_, value) => quoted(&String::from_utf8_lossy(&column(value))),
    })
}

impl Store for Database {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn sessions(&self) -> &[StoredSession] {
        &self.sessions
    }

    fn lost(&self) -> &[LostRecords] {
        &self.lost
    }

    fn export(&self, session: &StoredSession) -> Result<Export, AdapterError> {
        let text = self
            .text(&session.id)
            .map_err(|error| error.path(session.path.to_string_lossy()))?;
        Ok(Export {
            text,
            context: SideInfo {
                unknown_schema: self.unknown_schema,
                ..SideInfo::default()
            },
        })
    }

    fn verify_unchanged(&self) -> Result<(), AdapterError> {
        self.store
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .verify_unchanged()
    }
}
