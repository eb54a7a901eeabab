//! `opencode.db`: the tables `session`, `message` and `part` (1.2.1 and later), and those of 2.x, one session at a time.

use engram_core::adapter::{ParentCall, SideInfo};
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::limits::Limits;
use rusqlite::types::ValueRef;
use rusqlite::{Row, Rows};
use std::collections::BTreeMap;

use super::export_writer::ExportWriter;
use super::generation::{Form, Generations};
use super::needed_tables::TABLES;
use super::parent_call::{
    CallsByChild, ParentCalls, call_in_event, call_in_part, calls_in_answer, side_info_of,
};
use super::session_columns::{columns, info, step_info};
use super::titles::with_titles;
use super::undone::{Removed, Undone};
use crate::open::database::DatabaseFile;
use crate::open::sqlite::{self, refused};
use crate::open::store::{Export, LostRecords};
use crate::opencode::family::{FAMILIES, Family, OF_OPENCODE};

/// The columns that are searched for each session or message.
const SEARCHED_COLUMNS: &[(&str, &str)] = &[
    ("session", "id"),
    ("session_v2", "id"),
    ("message", "id"),
    ("message", "session_id"),
    ("part", "message_id"),
    ("part", "session_id"),
    ("session_message", "id"),
    ("session_message", "session_id"),
    ("event", "aggregate_id"),
];

/// A database that is open for reading.
pub(super) struct Database {
    store: sqlite::Store,
    limits: Limits,
    generations: Generations,
    /// There is a table of events.
    has_events: bool,
    /// The calls in parts, and those in answers of 2.x.
    parent_calls: [ParentCalls; 3],
}

impl Database {
    /// True for a database with the tables of some version.
    pub fn has_tables(file: &DatabaseFile<'_>) -> bool {
        TABLES.are_in(file)
    }

    /// The place of the harness in [`FAMILIES`] that has made this database: a fork has tables with its name, or made one of the sessions.
    pub fn family(file: &DatabaseFile<'_>) -> usize {
        let has_table = |start: &str| {
            let mut tables = file.tables.iter();
            tables.any(|table| {
                table
                    .name
                    .strip_prefix(start)
                    .is_some_and(|rest| rest.starts_with('_'))
            })
        };
        let made_session = |major: u64| {
            let sql = format!("SELECT count(*) FROM session WHERE version LIKE '{major}.%'");
            sqlite::count(&file.store, &sql).is_ok_and(|sessions| sessions > 0)
        };
        let is_its = |family: &Family| {
            let major = family.major;
            major.is_some_and(|major| has_table(family.databases) || made_session(major))
        };
        FAMILIES.iter().position(is_its).unwrap_or(OF_OPENCODE)
    }

    /// True for a database in which no migration has made a table yet: it has nothing but the empty list of migrations.
    ///
    /// # Errors
    /// An error of the database.
    pub fn is_new(file: &DatabaseFile<'_>) -> Result<bool, AdapterError> {
        match &file.tables[..] {
            [table] if table.name == "migration" => {
                Ok(sqlite::count(&file.store, "SELECT count(*) FROM migration")? == 0)
            }
            _ => Ok(false),
        }
    }

    /// Opens a database with these tables.
    ///
    /// # Errors
    /// `incomplete_store` if a table or column is missing, or an error of the database.
    pub fn new(file: DatabaseFile<'_>) -> Result<Database, AdapterError> {
        let DatabaseFile {
            path,
            limits,
            store,
            tables,
        } = file;
        let file = DatabaseFile {
            path,
            limits,
            store: store.with_indexes(SEARCHED_COLUMNS),
            tables,
        };
        let generations =
            Generations::of(&file).map_err(|error| error.path(path.to_string_lossy()))?;
        let has_events = file.has("event");
        let store = file.store;
        Ok(Database {
            store,
            limits,
            generations,
            has_events,
            parent_calls: Default::default(),
        })
    }

    /// The ids of all sessions, with repetitions. None for a session without an id that can be read.
    pub fn session_ids(&self) -> Result<Vec<Option<String>>, AdapterError> {
        self.ids(self.generations.session_ids(), [])
    }

    /// The ids of sessions whose messages of 1.x were continued after 2.x had taken them over. The tape has those of 2.x.
    pub fn ids_continued_twice(&self) -> Result<Vec<Option<String>>, AdapterError> {
        self.generations
            .ids_continued_twice()
            .map_or(Ok(Vec::new()), |sql| self.ids(sql, []))
    }

    /// Rows that no session has.
    pub fn lost(&self) -> &[LostRecords] {
        self.generations.lost()
    }

    /// One session as an export.
    pub fn export(&mut self, session_id: &str) -> Result<Export, AdapterError> {
        let form = self.generations.form(&self.store, session_id)?;
        let sql = format!(
            "SELECT * FROM {} WHERE id = ?1 ORDER BY time_updated DESC LIMIT 1",
            form.table
        );
        let mut session = self.store.connection().prepare(&sql).map_err(refused)?;
        let mut rows = session.query([session_id]).map_err(refused)?;
        let Some(row) = rows.next().map_err(refused)? else {
            return Err(AdapterError::new(ErrorCode::Io).expected("a session of this store"));
        };
        let columns = columns(row);
        let parent = columns
            .get("parent_id")
            .and_then(|parent| parent.as_str().ok())
            .map(str::to_owned);
        let info = if form.is_steps {
            step_info(&columns)
        } else {
            info(&columns)
        };
        drop(rows);
        drop(session);
        let connection = self.store.connection();
        let (undone, info) = match self.has_events && !form.is_steps {
            true => (
                Undone::of(connection, session_id, self.limits)?,
                with_titles(info, connection, session_id, self.limits)?,
            ),
            false => (Undone::default(), info),
        };
        let mut export =
            ExportWriter::new(self.limits, undone.noted_in(info).as_bytes(), session_id);
        if form.is_steps {
            self.steps(session_id, &mut export)?;
        } else {
            self.messages(session_id, undone, &mut export)?;
            self.parts_without_message(session_id, &mut export)?;
        }
        let calls = match parent {
            Some(parent) => self.parent_calls(&parent, session_id)?,
            None => Vec::new(),
        };
        let context = SideInfo {
            unknown_schema: self.is_unknown(&form),
            ..side_info_of(calls)
        };
        Ok(Export {
            text: export.finish(),
            context,
        })
    }

    /// Fails if the database has changed since it was opened.
    pub fn verify_unchanged(&self) -> Result<(), AdapterError> {
        self.store.verify_unchanged()
    }

    fn is_unknown(&self, form: &Form) -> bool {
        self.generations.is_unknown(form.is_steps)
    }

    fn steps(&self, session_id: &str, export: &mut ExportWriter) -> Result<(), AdapterError> {
        let sql = "SELECT id, type, data FROM session_message WHERE session_id = ?1 ORDER BY seq, time_created, id";
        let mut steps = self.store.connection().prepare(sql).map_err(refused)?;
        let mut rows = steps.query([session_id]).map_err(refused)?;
        while let Some(row) = rows.next().map_err(refused)? {
            let kind =
                String::from_utf8_lossy(bytes(row.get_ref(1).map_err(refused)?)).into_owned();
            export.step(
                bytes(row.get_ref(2).map_err(refused)?),
                [("id", &id(row, 0)?), ("type", &kind)],
            )?;
        }
        Ok(())
    }

    fn messages(
        &self,
        session_id: &str,
        undone: Undone,
        export: &mut ExportWriter,
    ) -> Result<(), AdapterError> {
        let connection = self.store.connection();
        let Undone {
            messages: removed,
            parts: mut removed_parts,
            ..
        } = undone;
        let mut undone = removed.into_iter().peekable();
        let sql = "SELECT id, data, time_created FROM message WHERE session_id = ?1 ORDER BY time_created, id";
        let mut messages = connection.prepare(sql).map_err(refused)?;
        let mut parts = connection
            .prepare("SELECT id, data FROM part WHERE message_id = ?1 ORDER BY id")
            .map_err(refused)?;
        let mut rows = messages.query([session_id]).map_err(refused)?;
        while let Some(row) = rows.next().map_err(refused)? {
            let id = id(row, 0)?;
            let created = row
                .get_ref(2)
                .map_err(refused)?
                .as_i64()
                .unwrap_or_default();
            while let Some(removed) =
                undone.next_if(|removed| (removed.created, &*removed.id) < (created, &*id))
            {
                add_removed(&removed, session_id, export)?;
            }
            export.message(
                bytes(row.get_ref(1).map_err(refused)?),
                [("id", &id), ("sessionID", session_id)],
            )?;
            let removed = removed_parts.remove(&id).unwrap_or_default();
            add_parts(
                parts.query([&id]).map_err(refused)?,
                removed,
                (session_id, &id),
                export,
            )?;
        }
        undone.try_for_each(|removed| add_removed(&removed, session_id, export))
    }

    /// Adds parts whose message is missing, under a message with nothing but its id, which the adapter then reports as malformed.
    fn parts_without_message(
        &self,
        session_id: &str,
        export: &mut ExportWriter,
    ) -> Result<(), AdapterError> {
        let sql = "SELECT id, data, message_id FROM part WHERE session_id = ?1 AND NOT EXISTS
                   (SELECT 1 FROM message WHERE id = part.message_id AND (session_id = ?1) IS TRUE) ORDER BY message_id, id";
        let mut parts = self.store.connection().prepare(sql).map_err(refused)?;
        let mut rows = parts.query([session_id]).map_err(refused)?;
        let mut last = None;
        while let Some(row) = rows.next().map_err(refused)? {
            let (part, message) = (id(row, 0)?, id(row, 2)?);
            if last.as_deref() != Some(&*message) {
                export.message(b"{}", [("id", &message), ("sessionID", session_id)])?;
            }
            let ids = [
                ("id", &*part),
                ("sessionID", session_id),
                ("messageID", &*message),
            ];
            export.part(bytes(row.get_ref(1).map_err(refused)?), &ids)?;
            last = Some(message);
        }
        Ok(())
    }

    /// The calls of the parent session that gave this session its prompts.
    fn parent_calls(
        &mut self,
        parent: &str,
        session_id: &str,
    ) -> Result<Vec<ParentCall>, AdapterError> {
        type Add = fn(&mut CallsByChild, &str) -> Result<(), AdapterError>;
        // The name of a member may be escaped.
        let parts: (&str, Add) = (
            r"SELECT data FROM part WHERE session_id = ?1 AND (instr(data, 'sessionI') > 0 OR instr(data, '\u') > 0) ORDER BY id",
            |calls, part| calls.add(call_in_part(part)),
        );
        let steps: (&str, Add) = (
            r"SELECT data FROM session_message WHERE session_id = ?1 AND (instr(data, 'sessionI') > 0 OR instr(data, '\u') > 0) ORDER BY seq",
            |calls, answer| calls.add(calls_in_answer(answer)),
        );
        // The prompt with the call may have been taken back: then the table of events alone has it.
        let events: (&str, Add) = (
            r"SELECT data FROM event WHERE aggregate_id = ?1 AND type GLOB 'message.part.updated.*' AND (instr(data, 'sessionI') > 0 OR instr(data, '\u') > 0) ORDER BY seq",
            |calls, event| calls.add(call_in_event(event)),
        );
        let searches = [
            (self.generations.has_parts(), parts),
            (self.generations.has_steps(), steps),
            (self.has_events, events),
        ];
        for (known, (_, (sql, add))) in self
            .parent_calls
            .iter_mut()
            .zip(searches)
            .filter(|(_, (has_table, _))| *has_table)
        {
            let connection = self.store.connection();
            let calls = known.of(parent, session_id, |calls| {
                let mut records = connection.prepare(sql).map_err(refused)?;
                let mut rows = records.query([parent]).map_err(refused)?;
                while let Some(row) = rows.next().map_err(refused)? {
                    let record = row.get_ref(0).map_err(refused)?;
                    std::str::from_utf8(bytes(record))
                        .map_or(Ok(()), |record| add(calls, record))?;
                }
                Ok(())
            })?;
            if !calls.is_empty() {
                return Ok(calls);
            }
        }
        Ok(Vec::new())
    }

    fn ids<P: rusqlite::Params>(
        &self,
        sql: &str,
        params: P,
    ) -> Result<Vec<Option<String>>, AdapterError> {
        let mut statement = self.store.connection().prepare(sql).map_err(refused)?;
        // An id may be no text, or not UTF-8. Then only the session with this id cannot be converted.
        let rows = statement
            .query_map(params, |row| {
                Ok(row.get_ref(0)?.as_str().ok().map(str::to_owned))
            })
            .map_err(refused)?;
        rows.collect::<Result<_, _>>().map_err(refused)
    }
}

fn add_removed(
    removed: &Removed,
    session_id: &str,
    export: &mut ExportWriter,
) -> Result<(), AdapterError> {
    export.message(
        removed.info.as_bytes(),
        [("id", &removed.id), ("sessionID", session_id)],
    )?;
    for (id, part) in &removed.parts {
        export.part(
            part.as_bytes(),
            &[
                ("id", id),
                ("sessionID", session_id),
                ("messageID", &removed.id),
            ],
        )?;
    }
    Ok(())
}

/// Adds the parts of a message, and those that were taken back, by their ids.
fn add_parts(
    mut rows: Rows<'_>,
    removed: BTreeMap<String, String>,
    (session_id, message_id): (&str, &str),
    export: &mut ExportWriter,
) -> Result<(), AdapterError> {
    let add = |export: &mut ExportWriter, id: &str, part: &[u8]| {
        export.part(
            part,
            &[
                ("id", id),
                ("sessionID", session_id),
                ("messageID", message_id),
            ],
        )
    };
    let mut removed = removed.iter().peekable();
    while let Some(row) = rows.next().map_err(refused)? {
        let id = id(row, 0)?;
        while let Some((before, part)) = removed.next_if(|(before, _)| **before < id) {
            add(export, before, part.as_bytes())?;
        }
        add(export, &id, bytes(row.get_ref(1).map_err(refused)?))?;
    }
    removed.try_for_each(|(id, part)| add(export, id, part.as_bytes()))
}

/// The id in a column. Empty if there is none.
fn id(row: &Row<'_>, column: usize) -> Result<String, AdapterError> {
    Ok(match row.get_ref(column).map_err(refused)? {
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
