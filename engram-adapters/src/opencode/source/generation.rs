//! Which tables of a database have a session: the tables of 1.x, or the tables of 2.x, which an upgrade adds.
//!
//! An upgrade copies sessions to the new tables and never writes the old tables again. The old tables have more facts about old sessions, so
//! a session that 2.x has not continued is read from the old tables.

use engram_core::error::AdapterError;

use super::needed_tables::{STEP_COLUMNS, is_beta, lost_rows, require};
use crate::open::database::DatabaseFile;
use crate::open::sqlite::{self, count, refused};
use crate::open::store::LostRecords;
use crate::open::table::Table;
use crate::opencode::revisions::{is_known_migration, is_newer_migration};

const UNKNOWN_TABLE: &str = "rows of a table that no known version has";

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
    has_unknown_tables: bool,
    lost: Vec<LostRecords>,
}

/// Where and in which form a database has a session.
pub(super) struct Form {
    /// The table of the session's own record.
    pub table: &'static str,
    /// One row per message (2.x), not messages and parts (1.x).
    pub is_steps: bool,
}

impl Generations {
    /// Examines a database.
    ///
    /// # Errors
    /// `incomplete_store` if a table or column is missing that every version with the others has, or an error of the database.
    pub fn of(file: &DatabaseFile<'_>) -> Result<Generations, AdapterError> {
        let DatabaseFile { store, tables, .. } = file;
        let has = |table: &str| file.has(table);
        let has_steps = file
            .table("session_message")
            .is_some_and(|table| STEP_COLUMNS.iter().all(|column| table.has(column)));
        let is_copied = if has("message") {
            " AND NOT EXISTS (SELECT 1 FROM message WHERE id = step.id)"
        } else {
            ""
        };
        let own_steps = format!(
            concat!(
                "SELECT 1 FROM session_message AS step WHERE ",
                is_step!(),
                "{}"
            ),
            is_copied
        );
        require(file, has_steps && exists(store, &own_steps, [])?)?;
        let mut found = Generations {
            has_sessions: has("session"),
            has_parts: has("message") && has("part"),
            has_steps,
            has_sessions_v2: has("session_v2"),
            is_beta: is_beta(tables),
            lost: lost_rows(file, has_steps, is_step!())?,
            ..Generations::default()
        };
        for table in tables
            .iter()
            .map(|table| &table.name)
            .filter(|table| is_numbered(table) && *table != "session_v2")
        {
            let records = count(store, &format!("SELECT count(*) FROM \"{table}\""))?;
            if records > 0 {
                found.has_unknown_tables = true;
                found.lost.push(LostRecords {
                    path: file.path.to_owned(),
                    table: table.clone(),
                    records,
                    what: UNKNOWN_TABLE,
                });
            }
        }
        let migrations = migrations(store, tables)?;
        let unknown = |migration: &&String| !is_known_migration(migration);
        // 2.x never writes the tables of 1.x: its migrations do not change them.
        let of_parts = migrations
            .iter()
            .filter(unknown)
            .any(|migration| !found.has_sessions_v2 || !is_newer_migration(migration));
        let is_queue_filled = !found.has_sessions_v2
            && has("session_input")
            && exists(store, "SELECT 1 FROM session_input", [])?;
        // If the table lacks the columns, no tested version made it either.
        let is_foreign = has("session_message")
            && !found.has_steps
            && exists(
                store,
                concat!("SELECT 1 FROM session_message WHERE ", is_step!()),
                [],
            )
            .unwrap_or(true);
        found.is_unknown = [
            migrations.is_empty() || of_parts || is_queue_filled || is_foreign,
            found.has_unknown_tables
                || migrations
                    .iter()
                    .any(|migration| !is_known_migration(migration)),
        ];
        Ok(found)
    }

    /// True if the schema is one that no tested version has.
    pub fn is_unknown(&self, is_steps: bool) -> bool {
        self.is_unknown[usize::from(is_steps)]
    }

    /// Rows that no session has.
    pub fn lost(&self) -> &[LostRecords] {
        &self.lost
    }

    pub fn has_parts(&self) -> bool {
        self.has_parts
    }

    pub fn has_steps(&self) -> bool {
        self.has_steps
    }

    /// Where and in which form the database has this session.
    pub fn form(&self, store: &sqlite::Store, session_id: &str) -> Result<Form, AdapterError> {
        let is_there = |is_table: bool, sql: &str| {
            Ok::<_, AdapterError>(is_table && exists(store, sql, [session_id])?)
        };
        let in_v2 = is_there(
            self.has_sessions_v2,
            "SELECT 1 FROM session_v2 WHERE id = ?1",
        )?;
        let in_v1 = is_there(self.has_sessions, "SELECT 1 FROM session WHERE id = ?1")?;
        let is_steps = if !self.has_steps {
            false
        } else if !in_v1 || !self.has_parts || is_there(true, OWN_STEPS)? {
            true
        } else {
            self.is_beta && !is_there(true, "SELECT 1 FROM message WHERE session_id = ?1")?
        };
        Ok(Form {
            table: if is_steps && in_v2 || !in_v1 {
                "session_v2"
            } else {
                "session"
            },
            is_steps,
        })
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
    NUMBERED_TABLES.iter().any(|name| {
        table.strip_prefix(name).is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    })
}

fn exists<P: rusqlite::Params>(
    store: &sqlite::Store,
    sql: &str,
    params: P,
) -> Result<bool, AdapterError> {
    let mut statement = store.connection().prepare(sql).map_err(refused)?;
    statement.exists(params).map_err(refused)
}

/// Every migration that the database lists: by name since 1.17.11, by time before.
fn migrations(store: &sqlite::Store, tables: &[Table]) -> Result<Vec<String>, AdapterError> {
    let sources = [
        ("migration", "SELECT id FROM migration"),
        (
            "__drizzle_migrations",
            "SELECT strftime('%Y%m%d%H%M%S', created_at / 1000, 'unixepoch') FROM __drizzle_migrations",
        ),
    ];
    let mut found = Vec::new();
    for (table, sql) in sources
        .iter()
        .filter(|(table, _)| tables.iter().any(|known| known.name == **table))
    {
        let mut statement = store.connection().prepare(sql).map_err(refused)?;
        let rows = statement
            .query_map([], |row| row.get::<_, Option<String>>(0))
            .map_err(refused)?;
        for name in rows {
            found.push(
                name.map_err(refused)?
                    .unwrap_or_else(|| format!("a row of {table} without a name")),
            );
        }
    }
    Ok(found)
}
