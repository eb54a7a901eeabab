//! Which tables of a database have a session: those of 1.x, or those of 2.x, which an upgrade adds beside them.
//!
//! An upgrade copies sessions to new tables and never writes the old ones again. The old ones have more of what came before, so a session
//! that 2.x has not continued is read from there.

use engram_core::error::{AdapterError, ErrorCode};

use crate::open::database::DatabaseFile;
use crate::open::sqlite::{self, refused};
use crate::opencode::revisions::{is_known_migration, is_newer_migration};

/// Columns without which a session cannot be read (all versions have them).
const REQUIRED_COLUMNS: [(&str, &[&str]); 4] = [
    ("session", &["id", "version", "time_created", "time_updated"]),
    ("message", &["id", "session_id", "time_created", "data"]),
    ("part", &["id", "message_id", "session_id", "data"]),
    ("session_v2", &["id", "directory", "time_created", "time_updated"]),
];

/// Columns of `session_message`. 1.14 to 1.16 have it without an order, with nothing but switches in it.
const STEP_COLUMNS: [&str; 6] = ["id", "session_id", "type", "seq", "time_created", "data"];

/// Tables of which a database must have one group. Betas of 2.x have their messages beside the table `session` of 1.x.
const GROUPS: [&[&str]; 3] = [&["session", "message", "part"], &["session_v2", "session_message"], &["session", "session_message"]];

/// Names of tables of sessions. A later version may add a number to them, as 2.x did.
const NUMBERED_TABLES: [&str; 4] = ["session_v", "message_v", "part_v", "session_message_v"];

/// True for messages of 2.x. 1.15.3 and later have switches in the same table, which their own messages state too.
macro_rules! is_step {
    () => {
        "type IN ('user', 'assistant', 'shell', 'compaction')"
    };
}

/// The tables of a database.
#[derive(Debug, Default)]
pub(super) struct Generations {
    has_sessions: bool,
    has_parts: bool,
    has_steps: bool,
    has_sessions_v2: bool,
    /// `session` has a column that only betas of 2.x have.
    is_beta: bool,
    /// The schema is one that no tested version has: for sessions of 1.x, and for those of 2.x.
    is_unknown: [bool; 2],
    unknown_tables: Vec<String>,
}

/// Where and in which form a database has a session.
pub(super) struct Form {
    /// The table of the session's own record.
    pub table: &'static str,
    /// One row per message (2.x), not messages and parts (1.x).
    pub is_steps: bool,
}

impl Generations {
    /// True for a database with the tables of some version.
    pub fn has_tables(file: &DatabaseFile<'_>) -> bool {
        GROUPS.iter().any(|tables| tables.iter().all(|table| file.has(table)))
    }

    /// Examines a database.
    ///
    /// # Errors
    /// `unknown_harness_version` if a column is missing that every known version has, or an error of the database.
    pub fn of(store: &sqlite::Store, tables: &[String]) -> Result<Generations, AdapterError> {
        let has = |table: &str| tables.iter().any(|known| known == table);
        for (table, required) in REQUIRED_COLUMNS.into_iter().filter(|(table, _)| has(table)) {
            if let Some(missing) = missing_column(store, table, required)? {
                return Err(AdapterError::new(ErrorCode::UnknownHarnessVersion).expected(format!("a column {missing} of table {table}")));
            }
        }
        let mut found = Generations {
            has_sessions: has("session"),
            has_parts: has("message") && has("part"),
            has_steps: has("session_message") && missing_column(store, "session_message", &STEP_COLUMNS)?.is_none(),
            has_sessions_v2: has("session_v2"),
            is_beta: has("session") && missing_column(store, "session", &["fork_session_id"])?.is_none(),
            ..Generations::default()
        };
        for table in tables.iter().filter(|table| is_numbered(table) && *table != "session_v2") {
            if exists(store, &format!("SELECT 1 FROM \"{table}\""), [])? {
                found.unknown_tables.push(table.clone());
            }
        }
        let migrations = migrations(store, tables)?;
        let unknown = |migration: &&String| !is_known_migration(migration);
        // 2.x never writes the tables of 1.x: its migrations do not change them.
        let of_parts = migrations.iter().filter(unknown).any(|migration| !found.has_sessions_v2 || !is_newer_migration(migration));
        let is_queue_filled = !found.has_sessions_v2 && has("session_input") && exists(store, "SELECT 1 FROM session_input", [])?;
        // If the table lacks the columns, no tested version made it either.
        let is_foreign = has("session_message")
            && !found.has_steps
            && exists(store, concat!("SELECT 1 FROM session_message WHERE ", is_step!()), []).unwrap_or(true);
        found.is_unknown = [
            migrations.is_empty() || of_parts || is_queue_filled || is_foreign,
            !found.unknown_tables.is_empty() || migrations.iter().any(|migration| !is_known_migration(migration)),
        ];
        Ok(found)
    }

    /// True if the schema is one that no tested version has.
    pub fn is_unknown(&self, is_steps: bool) -> bool {
        self.is_unknown[usize::from(is_steps)]
    }

    /// Tables with rows that look like sessions of a later version.
    pub fn unknown_tables(&self) -> &[String] {
        &self.unknown_tables
    }

    pub fn has_parts(&self) -> bool {
        self.has_parts
    }

    pub fn has_steps(&self) -> bool {
        self.has_steps
    }

    /// Where and in which form the database has this session.
    pub fn form(&self, store: &sqlite::Store, session_id: &str) -> Result<Form, AdapterError> {
        let is_there = |is_table: bool, sql: &str| Ok::<_, AdapterError>(is_table && exists(store, sql, [session_id])?);
        let in_v2 = is_there(self.has_sessions_v2, "SELECT 1 FROM session_v2 WHERE id = ?1")?;
        let in_v1 = is_there(self.has_sessions, "SELECT 1 FROM session WHERE id = ?1")?;
        let is_steps = if !self.has_steps {
            false
        } else if !in_v1 || !self.has_parts || is_there(true, OWN_STEPS)? {
            true
        } else {
            self.is_beta && !is_there(true, "SELECT 1 FROM message WHERE session_id = ?1")?
        };
        Ok(Form { table: if is_steps && in_v2 || !in_v1 { "session_v2" } else { "session" }, is_steps })
    }

    /// The ids of all sessions.
    pub fn session_ids(&self) -> &'static str {
        match (self.has_sessions, self.has_sessions_v2) {
            (_, false) => "SELECT CAST(id AS TEXT) FROM session ORDER BY id",
            (false, true) => "SELECT CAST(id AS TEXT) FROM session_v2 ORDER BY id",
            (true, true) => {
                "SELECT CAST(id AS TEXT) FROM session UNION ALL
                 SELECT CAST(id AS TEXT) FROM session_v2 WHERE NOT EXISTS (SELECT 1 FROM session WHERE id = session_v2.id) ORDER BY 1"
            }
        }
    }

    /// The ids of deleted sessions that still have messages or parts.
    pub fn ids_without_session(&self) -> String {
        let parts = "SELECT session_id FROM message UNION SELECT session_id FROM part";
        let steps = concat!("SELECT session_id FROM session_message WHERE ", is_step!());
        let named: Vec<&str> =
            [(self.has_parts, parts), (self.has_steps, steps)].into_iter().filter(|(has, _)| *has).map(|(_, sql)| sql).collect();
        let tables = [(self.has_sessions, "session"), (self.has_sessions_v2, "session_v2")];
        let missing = |(_, table)| format!(" AND NOT EXISTS (SELECT 1 FROM {table} WHERE id = named.session_id)");
        let missing: String = tables.into_iter().filter(|(has, _)| *has).map(missing).collect();
        format!(
            "SELECT CAST(session_id AS TEXT) FROM (SELECT DISTINCT session_id FROM ({})) AS named WHERE 1{missing}",
            named.join(" UNION ")
        )
    }

    /// The ids of sessions that 1.x continued after 2.x had.
    pub fn ids_continued_twice(&self) -> Option<&'static str> {
        let sql = concat!(
            "SELECT CAST(session_id AS TEXT) FROM (SELECT session_id, MIN(time_created) AS since FROM session_message AS step WHERE ",
            is_step!(),
            " AND NOT EXISTS (SELECT 1 FROM message WHERE id = step.id) GROUP BY session_id) AS own
              WHERE EXISTS (SELECT 1 FROM message WHERE session_id = own.session_id AND time_created > own.since
                AND NOT EXISTS (SELECT 1 FROM session_message WHERE id = message.id)) ORDER BY 1"
        );
        (self.has_steps && self.has_parts).then_some(sql)
    }
}

/// Messages of 2.x that are not copies of messages of 1.x.
const OWN_STEPS: &str = concat!(
    "SELECT 1 FROM session_message AS step WHERE session_id = ?1 AND ",
    is_step!(),
    " AND NOT EXISTS (SELECT 1 FROM message WHERE id = step.id)"
);

fn is_numbered(table: &str) -> bool {
    NUMBERED_TABLES
        .iter()
        .any(|name| table.strip_prefix(name).is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())))
}

fn missing_column(store: &sqlite::Store, table: &str, required: &[&'static str]) -> Result<Option<&'static str>, AdapterError> {
    let columns = store.columns(table)?;
    Ok(required.iter().find(|column| !columns.iter().any(|known| known == *column)).copied())
}

fn exists<P: rusqlite::Params>(store: &sqlite::Store, sql: &str, params: P) -> Result<bool, AdapterError> {
    let mut statement = store.connection().prepare(sql).map_err(refused)?;
    statement.exists(params).map_err(refused)
}

/// Every migration that the database lists: by name since 1.17.11, by time before.
fn migrations(store: &sqlite::Store, tables: &[String]) -> Result<Vec<String>, AdapterError> {
    let sources = [
        ("migration", "SELECT id FROM migration"),
        ("__drizzle_migrations", "SELECT strftime('%Y%m%d%H%M%S', created_at / 1000, 'unixepoch') FROM __drizzle_migrations"),
    ];
    let mut found = Vec::new();
    for (table, sql) in sources.iter().filter(|(table, _)| tables.iter().any(|known| known == table)) {
        let mut statement = store.connection().prepare(sql).map_err(refused)?;
        let rows = statement.query_map([], |row| row.get::<_, Option<String>>(0)).map_err(refused)?;
        for name in rows {
            found.push(name.map_err(refused)?.unwrap_or_else(|| format!("a row of {table} without a name")));
        }
    }
    Ok(found)
}
