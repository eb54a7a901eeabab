//! `opencode.db`: the tables `session`, `message` and `part` (1.2.1 and later), one session at a time.

use std::collections::BTreeMap;

use engram_core::adapter::SideInfo;
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::limits::Limits;
use rusqlite::types::ValueRef;
use rusqlite::{Row, Rows};

use super::export_writer::{ExportWriter, push_string};
use super::parent_call::starting_call_in;
use crate::open::database::DatabaseFile;
use crate::open::sqlite::{self, refused};
use crate::open::store::Export;
use crate::opencode::revisions::is_known_migration;

/// Columns without which a session cannot be read (all versions have them).
const REQUIRED_COLUMNS: [(&str, &[&str]); 3] = [
    ("session", &["id", "version", "time_created", "time_updated"]),
    ("message", &["id", "session_id", "time_created", "data"]),
    ("part", &["id", "message_id", "session_id", "data"]),
];

/// Tables of later versions, and a query for rows that no tested version writes: messages in another form. 1.15.3 writes only switches of
/// agent and model there, which its messages state too.
const UNKNOWN_ROWS: [(&str, &str); 2] = [
    ("session_message", "SELECT EXISTS (SELECT 1 FROM session_message WHERE type NOT IN ('agent-switched', 'model-switched'))"),
    ("session_input", "SELECT EXISTS (SELECT 1 FROM session_input)"),
];

/// A database that is open for reading.
pub(super) struct Database {
    store: sqlite::Store,
    limits: Limits,
    /// It names a migration that no tested version has, or contains messages in a form that none writes.
    unknown_schema: bool,
}

impl Database {
    /// True for a database with the tables that every version has.
    pub fn has_tables(file: &DatabaseFile<'_>) -> bool {
        REQUIRED_COLUMNS.iter().all(|(table, _)| file.has(table))
    }

    /// Opens a database with these tables.
    ///
    /// # Errors
    /// `unknown_harness_version` if a column is missing that every known version has, or an error of the database.
    pub fn new(file: DatabaseFile<'_>) -> Result<Database, AdapterError> {
        let DatabaseFile { path, limits, store, tables } = file;
        for (table, required) in REQUIRED_COLUMNS {
            let columns = store.columns(table)?;
            if let Some(missing) = required.iter().find(|column| !columns.iter().any(|known| known == *column)) {
                let error = AdapterError::new(ErrorCode::UnknownHarnessVersion).expected(format!("a column {missing} of table {table}"));
                return Err(error.path(path.to_string_lossy()));
            }
        }
        let migrations = migrations(&store, &tables)?;
        let mut unknown_schema = migrations.is_empty() || !migrations.iter().all(|migration| is_known_migration(migration));
        for (_, sql) in UNKNOWN_ROWS.iter().filter(|(table, _)| tables.iter().any(|known| known == table)) {
            // If the table lacks the columns, no tested version made it either.
            unknown_schema |= store.connection().query_row(sql, [], |row| row.get::<_, bool>(0)).unwrap_or(true);
        }
        Ok(Database { store, limits, unknown_schema })
    }

    /// The ids of all sessions, with repetitions. None for a session without an id.
    pub fn session_ids(&self) -> Result<Vec<Option<String>>, AdapterError> {
        self.ids("SELECT CAST(id AS TEXT) FROM session ORDER BY id", [])
    }

    /// The ids of deleted sessions that still have messages or parts.
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
        let mut export = ExportWriter::new(self.limits, info(&columns).as_bytes(), session_id);
        drop(rows);
        self.messages(session_id, &mut export)?;
        self.parts_without_message(session_id, &mut export)?;
        let parent_call_id = match parent {
            Some(parent) => self.parent_call(&parent, session_id)?,
            None => None,
        };
        let context = SideInfo { parent_call_id, unknown_schema: self.unknown_schema, ..SideInfo::default() };
        Ok(Export { text: export.finish(), context })
    }

    fn messages(&self, session_id: &str, export: &mut ExportWriter) -> Result<(), AdapterError> {
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

    /// Adds parts whose message is missing, under a message with nothing but its id, which the adapter then reports as malformed.
    fn parts_without_message(&self, session_id: &str, export: &mut ExportWriter) -> Result<(), AdapterError> {
        let sql = "SELECT DISTINCT CAST(message_id AS TEXT) FROM part WHERE session_id = ?1 AND NOT EXISTS
                   (SELECT 1 FROM message WHERE id = part.message_id AND session_id = ?1) ORDER BY message_id";
        let orphans = "SELECT id, data FROM part WHERE message_id IS ?1 AND session_id = ?2 ORDER BY id";
        let mut parts = self.store.connection().prepare(orphans).map_err(refused)?;
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
            if let Some(call) = std::str::from_utf8(bytes(part)).ok().and_then(|part| starting_call_in(part, session_id)) {
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

fn add_parts(mut rows: Rows<'_>, session_id: &str, message_id: &str, export: &mut ExportWriter) -> Result<(), AdapterError> {
    while let Some(row) = rows.next().map_err(refused)? {
        let id = id(row)?;
        let ids = [("id", &*id), ("sessionID", session_id), ("messageID", message_id)];
        export.part(bytes(row.get_ref(1).map_err(refused)?), &ids)?;
    }
    Ok(())
}

/// The id in the first column. Empty if there is none.
fn id(row: &Row<'_>) -> Result<String, AdapterError> {
    Ok(match row.get_ref(0).map_err(refused)? {
        ValueRef::Null => String::new(),
        id => String::from_utf8_lossy(bytes(id)).into_owned(),
    })
}

/// The bytes of a text column. `null` for a value of another type.
fn bytes(value: ValueRef<'_>) -> &[u8] {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => b"null",
    }
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

fn columns<'r>(row: &'r Row<'_>) -> BTreeMap<String, ValueRef<'r>> {
    let names: Vec<String> = row.as_ref().column_names().map(str::to_owned).collect();
    names.into_iter().enumerate().filter_map(|(n, name)| Some((name, row.get_ref(n).ok()?))).collect()
}

/// How the session's record represents a column.
enum ColumnForm {
    /// As a string or a number.
    Value,
    /// As the JSON that the column contains.
    Json,
}

/// The fields of a session's record in the order of the export: path, column, form.
const FIELDS: &[(&[&str], &str, ColumnForm)] = &[
    (&["id"], "id", ColumnForm::Value),
    (&["slug"], "slug", ColumnForm::Value),
    (&["projectID"], "project_id", ColumnForm::Value),
    (&["workspaceID"], "workspace_id", ColumnForm::Value),
    (&["directory"], "directory", ColumnForm::Value),
    (&["path"], "path", ColumnForm::Value),
    (&["parentID"], "parent_id", ColumnForm::Value),
    (&["title"], "title", ColumnForm::Value),
    (&["agent"], "agent", ColumnForm::Value),
    (&["model"], "model", ColumnForm::Json),
    (&["version"], "version", ColumnForm::Value),
    (&["summary", "additions"], "summary_additions", ColumnForm::Value),
    (&["summary", "deletions"], "summary_deletions", ColumnForm::Value),
    (&["summary", "files"], "summary_files", ColumnForm::Value),
    (&["summary", "diffs"], "summary_diffs", ColumnForm::Json),
    (&["cost"], "cost", ColumnForm::Value),
    (&["tokens", "input"], "tokens_input", ColumnForm::Value),
    (&["tokens", "output"], "tokens_output", ColumnForm::Value),
    (&["tokens", "reasoning"], "tokens_reasoning", ColumnForm::Value),
    (&["tokens", "cache", "read"], "tokens_cache_read", ColumnForm::Value),
    (&["tokens", "cache", "write"], "tokens_cache_write", ColumnForm::Value),
    (&["share", "url"], "share_url", ColumnForm::Value),
    (&["metadata"], "metadata", ColumnForm::Json),
    (&["revert"], "revert", ColumnForm::Json),
    (&["permission"], "permission", ColumnForm::Json),
    (&["time", "created"], "time_created", ColumnForm::Value),
    (&["time", "updated"], "time_updated", ColumnForm::Value),
    (&["time", "compacting"], "time_compacting", ColumnForm::Value),
    (&["time", "archived"], "time_archived", ColumnForm::Value),
];

/// The session's own record, in the form of the export.
fn info(columns: &BTreeMap<String, ValueRef<'_>>) -> String {
    let mut out = String::from("{");
    let mut open_objects: &[&str] = &[];
    for (path, column, form) in FIELDS {
        let Some(value) = columns.get(*column).and_then(|value| json(*value, form)) else { continue };
        let Some((name, objects)) = path.split_last() else { continue };
        let shared = open_objects.iter().zip(objects).take_while(|(one, other)| one == other).count();
        out.push_str(&"}".repeat(open_objects.len() - shared));
        for object in &objects[shared..] {
            push_key(&mut out, object);
            out.push('{');
        }
        push_key(&mut out, name);
        out.push_str(&value);
        open_objects = objects;
    }
    out.push_str(&"}".repeat(open_objects.len() + 1));
    out
}

fn push_key(out: &mut String, key: &str) {
    if !out.ends_with('{') {
        out.push(',');
    }
    push_string(out, key);
    out.push(':');
}

/// A column's value as JSON. None for NULL, which the export omits.
fn json(value: ValueRef<'_>, form: &ColumnForm) -> Option<String> {
    let mut out = String::new();
    match (value, form) {
        (ValueRef::Null, _) => return None,
        (ValueRef::Integer(number), _) => out = number.to_string(),
        // JavaScript writes a whole number without a fraction.
        (ValueRef::Real(number), _) if number.fract() == 0.0 && number.abs() < 1e15 => out = format!("{number:.0}"),
        (ValueRef::Real(number), _) => out = serde_json::to_string(&number).ok()?,
        (ValueRef::Text(text) | ValueRef::Blob(text), form) => {
            let text = String::from_utf8_lossy(text);
            match form {
                ColumnForm::Json if serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok() => out.push_str(&text),
                _ => push_string(&mut out, &text),
            }
        }
    }
    Some(out)
}
