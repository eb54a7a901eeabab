//! `opencode.db`: the tables `session`, `message` and `part` (1.2.1 and later), one session at a time.

use std::collections::BTreeMap;

use engram_core::adapter::SideInfo;
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::limits::Limits;
use rusqlite::types::ValueRef;
use rusqlite::{Row, Rows};

use super::export::{ExportText, push_string};
use super::revisions::is_known_migration;
use super::surroundings::starts;
use crate::open::sqlite::{self, refused};
use crate::open::store::{DatabaseFile, Export};

/// Columns without which a session cannot be told (all versions have them).
const NEEDED: [(&str, &[&str]); 3] = [
    ("session", &["id", "version", "time_created", "time_updated"]),
    ("message", &["id", "session_id", "time_created", "data"]),
    ("part", &["id", "message_id", "session_id", "data"]),
];

/// Rows of messages in another form, which no tested version writes, in tables that later versions have. 1.15.3 notes there which agent and
/// model a session changed to, as its messages do too.
const OTHER_FORM: [(&str, &str); 2] = [
    ("session_message", "SELECT EXISTS (SELECT 1 FROM session_message WHERE type NOT IN ('agent-switched', 'model-switched'))"),
    ("session_input", "SELECT EXISTS (SELECT 1 FROM session_input)"),
];

/// A database that is open for reading.
pub(super) struct Database {
    store: sqlite::Store,
    limits: Limits,
    /// A migration has been at it that no tested version knows, or it holds messages in a form that none writes.
    unknown_schema: bool,
}

impl Database {
    /// True for a database with the tables that every version has.
    pub fn has_tables(file: &DatabaseFile<'_>) -> bool {
        NEEDED.iter().all(|(table, _)| file.has(table))
    }

    /// A database with these tables.
    ///
    /// # Errors
    /// `unknown_harness_version` when they lack columns that every known version has; else as the store's init.
    pub fn of(file: DatabaseFile<'_>) -> Result<Database, AdapterError> {
        let DatabaseFile { path, limits, store, tables } = file;
        for (table, needed) in NEEDED {
            let columns = store.columns(table)?;
            if let Some(missing) = needed.iter().find(|column| !columns.iter().any(|known| known == *column)) {
                let error = AdapterError::new(ErrorCode::UnknownHarnessVersion).expected(format!("a column {missing} of table {table}"));
                return Err(error.path(path.to_string_lossy()));
            }
        }
        let migrations = migrations(&store, &tables)?;
        let mut unknown_schema = migrations.is_empty() || !migrations.iter().all(|migration| is_known_migration(migration));
        for (_, sql) in OTHER_FORM.iter().filter(|(table, _)| tables.iter().any(|known| known == table)) {
            // A table of that name without the columns is of no tested version either.
            unknown_schema |= store.connection().query_row(sql, [], |row| row.get::<_, bool>(0)).unwrap_or(true);
        }
        Ok(Database { store, limits, unknown_schema })
    }

    /// The ids of all sessions. An id that stands twice comes twice; none stands for a session without one.
    pub fn session_ids(&self) -> Result<Vec<Option<String>>, AdapterError> {
        self.ids("SELECT CAST(id AS TEXT) FROM session ORDER BY id", [])
    }

    /// The ids of sessions of which only messages or parts are left.
    pub fn ids_without_session(&self) -> Result<Vec<Option<String>>, AdapterError> {
        let sql = "SELECT CAST(session_id AS TEXT) FROM
                   (SELECT DISTINCT session_id FROM message UNION SELECT DISTINCT session_id FROM part) AS named
                   WHERE NOT EXISTS (SELECT 1 FROM session WHERE id = named.session_id)";
        self.ids(sql, [])
    }

    /// One session as an export.
    pub fn export(&self, session_id: &str) -> Result<Export, AdapterError> {
        let connection = self.store.connection();
        let mut session = connection.prepare("SELECT * FROM session WHERE id = ?1 ORDER BY time_updated DESC LIMIT 1").map_err(refused)?;
        let mut rows = session.query([session_id]).map_err(refused)?;
        let Some(row) = rows.next().map_err(refused)? else {
            return Err(AdapterError::new(ErrorCode::Io).expected("a session of this store"));
        };
        let columns = columns(row);
        let parent = columns.get("parent_id").and_then(|parent| parent.as_str().ok()).map(str::to_owned);
        let mut export = ExportText::begin(self.limits, info(&columns).as_bytes(), session_id);
        drop(rows);
        self.messages(session_id, &mut export)?;
        self.parts_without_message(session_id, &mut export)?;
        let parent_call_id = match parent {
            Some(parent) => self.parent_call(&parent, session_id)?,
            None => None,
        };
        let context = SideInfo { parent_call_id, unknown_schema: self.unknown_schema, ..SideInfo::default() };
        Ok(Export { text: export.end(), context })
    }

    fn messages(&self, session_id: &str, export: &mut ExportText) -> Result<(), AdapterError> {
        let connection = self.store.connection();
        let mut messages =
            connection.prepare("SELECT id, data FROM message WHERE session_id = ?1 ORDER BY time_created, id").map_err(refused)?;
        let mut parts = connection.prepare("SELECT id, data FROM part WHERE message_id = ?1 ORDER BY id").map_err(refused)?;
        let mut rows = messages.query([session_id]).map_err(refused)?;
        while let Some(row) = rows.next().map_err(refused)? {
            let id = id(row)?;
            export.message(bytes(row.get_ref(1).map_err(refused)?), [("id", &id), ("sessionID", session_id)])?;
            add_parts(parts.query([&id]).map_err(refused)?, session_id, &id, export)?;
        }
        Ok(())
    }

    /// Parts whose message is gone. They follow under a message that says nothing but its id, which the adapter does not accept.
    fn parts_without_message(&self, session_id: &str, export: &mut ExportText) -> Result<(), AdapterError> {
        let sql = "SELECT DISTINCT CAST(message_id AS TEXT) FROM part WHERE session_id = ?1 AND NOT EXISTS
                   (SELECT 1 FROM message WHERE id = part.message_id AND session_id = ?1) ORDER BY message_id";
        let lost = "SELECT id, data FROM part WHERE message_id IS ?1 AND session_id = ?2 ORDER BY id";
        let mut parts = self.store.connection().prepare(lost).map_err(refused)?;
        for message in self.ids(sql, [session_id])? {
            let named = message.as_deref().unwrap_or_default();
            export.message(b"{}", [("id", named), ("sessionID", session_id)])?;
            add_parts(parts.query((&message, session_id)).map_err(refused)?, session_id, named, export)?;
        }
        Ok(())
    }

    /// The call of the parent session that started this one.
    fn parent_call(&self, parent: &str, session_id: &str) -> Result<Option<String>, AdapterError> {
        let sql = "SELECT data FROM part WHERE session_id = ?1 AND instr(data, ?2) > 0 ORDER BY id";
        let mut parts = self.store.connection().prepare(sql).map_err(refused)?;
        let mut rows = parts.query([parent, session_id]).map_err(refused)?;
        while let Some(row) = rows.next().map_err(refused)? {
            let part = row.get_ref(0).map_err(refused)?;
            if let Some(call) = std::str::from_utf8(bytes(part)).ok().and_then(|part| starts(part, session_id)) {
                return Ok(Some(call));
            }
        }
        Ok(None)
    }

    fn ids<P: rusqlite::Params>(&self, sql: &str, params: P) -> Result<Vec<Option<String>>, AdapterError> {
        let mut statement = self.store.connection().prepare(sql).map_err(refused)?;
        let rows = statement.query_map(params, |row| row.get(0)).map_err(refused)?;
        rows.collect::<Result<_, _>>().map_err(refused)
    }
}

fn add_parts(mut rows: Rows<'_>, session_id: &str, message_id: &str, export: &mut ExportText) -> Result<(), AdapterError> {
    while let Some(row) = rows.next().map_err(refused)? {
        let id = id(row)?;
        let ids = [("id", &*id), ("sessionID", session_id), ("messageID", message_id)];
        export.part(bytes(row.get_ref(1).map_err(refused)?), &ids)?;
    }
    Ok(())
}

/// The id in the first column; empty where there is none.
fn id(row: &Row<'_>) -> Result<String, AdapterError> {
    Ok(match row.get_ref(0).map_err(refused)? {
        ValueRef::Null => String::new(),
        id => String::from_utf8_lossy(bytes(id)).into_owned(),
    })
}

/// The bytes of a column that should hold text. What holds none is `null`.
fn bytes(value: ValueRef<'_>) -> &[u8] {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => b"null",
    }
}

/// Every migration that the database names: by name since 1.17.11, by time before.
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
            found.push(name.map_err(refused)?.unwrap_or_else(|| format!("a nameless row of {table}")));
        }
    }
    Ok(found)
}

fn columns<'r>(row: &'r Row<'_>) -> BTreeMap<String, ValueRef<'r>> {
    let names: Vec<String> = row.as_ref().column_names().map(str::to_owned).collect();
    names.into_iter().enumerate().filter_map(|(n, name)| Some((name, row.get_ref(n).ok()?))).collect()
}

/// How a column stands in the session's record.
enum Field {
    /// As text or as a number.
    Value,
    /// As the JSON that it holds.
    Json,
}

/// The fields of a session's record in the order of the export: path, column, and how it stands there.
const FIELDS: &[(&[&str], &str, Field)] = &[
    (&["id"], "id", Field::Value),
    (&["slug"], "slug", Field::Value),
    (&["projectID"], "project_id", Field::Value),
    (&["workspaceID"], "workspace_id", Field::Value),
    (&["directory"], "directory", Field::Value),
    (&["path"], "path", Field::Value),
    (&["parentID"], "parent_id", Field::Value),
    (&["title"], "title", Field::Value),
    (&["agent"], "agent", Field::Value),
    (&["model"], "model", Field::Json),
    (&["version"], "version", Field::Value),
    (&["summary", "additions"], "summary_additions", Field::Value),
    (&["summary", "deletions"], "summary_deletions", Field::Value),
    (&["summary", "files"], "summary_files", Field::Value),
    (&["summary", "diffs"], "summary_diffs", Field::Json),
    (&["cost"], "cost", Field::Value),
    (&["tokens", "input"], "tokens_input", Field::Value),
    (&["tokens", "output"], "tokens_output", Field::Value),
    (&["tokens", "reasoning"], "tokens_reasoning", Field::Value),
    (&["tokens", "cache", "read"], "tokens_cache_read", Field::Value),
    (&["tokens", "cache", "write"], "tokens_cache_write", Field::Value),
    (&["share", "url"], "share_url", Field::Value),
    (&["metadata"], "metadata", Field::Json),
    (&["revert"], "revert", Field::Json),
    (&["permission"], "permission", Field::Json),
    (&["time", "created"], "time_created", Field::Value),
    (&["time", "updated"], "time_updated", Field::Value),
    (&["time", "compacting"], "time_compacting", Field::Value),
    (&["time", "archived"], "time_archived", Field::Value),
];

/// The session's own record, as the export has it.
fn info(columns: &BTreeMap<String, ValueRef<'_>>) -> String {
    let mut out = String::from("{");
    let mut inside: &[&str] = &[];
    for (path, column, field) in FIELDS {
        let Some(value) = columns.get(*column).and_then(|value| json(*value, field)) else { continue };
        let Some((name, objects)) = path.split_last() else { continue };
        let shared = inside.iter().zip(objects).take_while(|(one, other)| one == other).count();
        out.push_str(&"}".repeat(inside.len() - shared));
        for object in &objects[shared..] {
            push_key(&mut out, object);
            out.push('{');
        }
        push_key(&mut out, name);
        out.push_str(&value);
        inside = objects;
    }
    out.push_str(&"}".repeat(inside.len() + 1));
    out
}

fn push_key(out: &mut String, key: &str) {
    if !out.ends_with('{') {
        out.push(',');
    }
    push_string(out, key);
    out.push(':');
}

/// A column's value as JSON; none for NULL, which the export leaves out.
fn json(value: ValueRef<'_>, field: &Field) -> Option<String> {
    let mut out = String::new();
    match (value, field) {
        (ValueRef::Null, _) => return None,
        (ValueRef::Integer(number), _) => out = number.to_string(),
        // As JavaScript spells numbers: no fraction where there is none.
        (ValueRef::Real(number), _) if number.fract() == 0.0 && number.abs() < 1e15 => out = format!("{number:.0}"),
        (ValueRef::Real(number), _) => out = serde_json::to_string(&number).ok()?,
        (ValueRef::Text(text) | ValueRef::Blob(text), field) => {
            let text = String::from_utf8_lossy(text);
            match field {
                Field::Json if serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok() => out.push_str(&text),
                _ => push_string(&mut out, &text),
            }
        }
    }
    Some(out)
}
