//! Opens `state.vscdb` of the editor: conversations as rows (`cursorDiskKV`, 2026), or inline in one value (`ItemTable`, 2024).

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use engram_core::adapter::SideInfo;
use engram_core::error::AdapterError;
use engram_core::limits::Limits;
use rusqlite::OptionalExtension;
use serde::Deserialize;

use crate::cursor::source::store_kinds;
use crate::cursor::source::store_tables::EDITOR;
use crate::open::database::DatabaseFile;
use crate::open::lines::{Lines, json_or_text, quoted};
use crate::open::sqlite::{self, column, refused};
use crate::open::store::{Export, LostRecords, Opened, SkippedSession, Store, StoredSession};
use crate::shared::value::{StructuralIndex, Value, elements, parse, text};

/// Where the store keeps a conversation.
enum Location {
    /// `composerData:<id>` and `bubbleId:<id>:*`.
    Rows,
    /// An item of a list in a value of `ItemTable`, as JSON.
    Inline { record: &'static str, json: String },
}

/// An editor's store open for reading.
pub(in crate::cursor) struct EditorDatabase {
    store: Mutex<sqlite::Store>,
    limits: Limits,
    locations: BTreeMap<String, Location>,
    sessions: Vec<StoredSession>,
    skipped: Vec<SkippedSession>,
    lost: Vec<LostRecords>,
}

/// The table of conversations and messages as rows.
const ROWS: &str = "cursorDiskKV";
/// The table of values of the window.
const VALUES: &str = "ItemTable";
/// The key of the list of conversations that have rows.
const LIST_OF_ROWS: &str = "composer.composerHeaders";

/// What no conversation has.
struct Lost<'p> {
    path: &'p Path,
    found: Vec<LostRecords>,
}

impl Lost<'_> {
    fn add(&mut self, table: &str, records: u64, what: &'static str) {
        match self
            .found
            .iter_mut()
            .find(|lost| lost.table == table && lost.what == what)
        {
            _ if records == 0 => {}
            Some(known) => known.records += records,
            None => self.found.push(LostRecords {
                path: self.path.to_owned(),
                table: table.to_owned(),
                records,
                what,
            }),
        }
    }
}

/// The conversations in one value.
#[derive(Default)]
struct Inline {
    /// Those with messages: ids and records.
    conversations: Vec<(String, String)>,
    /// Those without an id, or the whole value if it is not JSON.
    unreadable: u64,
}

/// The values of `ItemTable` with conversations (2024): key, the member with the list, the record type of its items, and their id.
const INLINE: [(&str, &str, &str, &str); 2] = [
    (
        "composer.composerData",
        "allComposers",
        "inline_composer",
        "composerId",
    ),
    (
        "workbench.panel.aichat.view.aichat.chatdata",
        "tabs",
        "tab",
        "tabId",
    ),
];

/// The members of a conversation's record that are read. The others are state of the window.
const COMPOSER_MEMBERS: [&str; 12] = [
    "_v",
    "composerId",
    "tabId",
    "name",
    "chatTitle",
    "createdAt",
    "lastUpdatedAt",
    "lastSendTime",
    "unifiedMode",
    "modelConfig",
    "subagentInfo",
    "workspaceIdentifier",
];

/// An entry of the list of a conversation's messages, which gives their order.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    bubble_id: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ComposerData {
    #[serde(default)]
    full_conversation_headers_only: Vec<Header>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bubble {
    created_at: Option<String>,
    tool_former_data: Option<ToolFormerData>,
}

#[derive(Deserialize)]
struct ToolFormerData {
    result: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContentIds {
    before_content_id: Option<String>,
    after_content_id: Option<String>,
}

impl EditorDatabase {
    /// Opens an editor's store. None if it has no conversations.
    pub(in crate::cursor) fn open(database: DatabaseFile<'_>) -> Opened<EditorDatabase> {
        let (has_rows, has_values) = (database.has(ROWS), database.has(VALUES));
        let DatabaseFile {
            path,
            limits,
            store,
            tables,
        } = database;
        if has_values || !has_rows {
            EDITOR.require(path, &tables, VALUES)?;
        }
        if has_rows || value_of(&store, LIST_OF_ROWS)?.is_some() {
            EDITOR.require(path, &tables, ROWS)?;
        }
        let store = store.with_indexes(&[("cursorDiskKV", "key")]);
        let (mut locations, mut skipped, mut lost) = (
            BTreeMap::new(),
            Vec::new(),
            Lost {
                path,
                found: Vec::new(),
            },
        );
        let at = |id: &str| StoredSession {
            id: id.to_owned(),
            path: path.to_owned(),
        };
        if has_rows {
            let (with_messages, without_id) = ids_of_messages(&store)?;
            lost.add(ROWS, without_id, "messages whose keys name no conversation");
            let with_record: BTreeSet<String> = row_ids(&store)?.into_iter().collect();
            // A sub-agent's conversation has the id of its call, and no record.
            let has_record = |id: &String| with_record.contains(id) || id.starts_with("task-");
            let without_record = with_messages.iter().filter(|id| !has_record(id)).count();
            lost.add(
                ROWS,
                without_record as u64,
                "conversations without their record (title, order of messages)",
            );
            for id in with_record {
                if !with_messages.contains(&id) && !has_inline_messages(&store, &id)? {
                    lost.add(
                        ROWS,
                        u64::from(has_headers(&store, &id)?),
                        "conversations whose messages are gone",
                    );
                    skipped.push(SkippedSession {
                        session: at(&id),
                        reason: "a conversation without messages",
                    });
                } else {
                    locations.insert(id, Location::Rows);
                }
            }
            // Conversations of sub-agents, and deleted ones, have no record.
            for id in with_messages {
                locations.entry(id).or_insert(Location::Rows);
            }
        }
        if has_values {
            for (key, list, record, id_member) in INLINE {
                let found = inline(&store, key, list, id_member)?;
                lost.add(
                    VALUES,
                    found.unreadable,
                    "conversations that cannot be read",
                );
                for (id, json) in found.conversations {
                    match locations.entry(id) {
                        Entry::Occupied(known) => {
                            let is_rows = matches!(known.get(), Location::Rows);
                            let reason = if is_rows {
                                "an older copy of a conversation that has rows"
                            } else {
                                "another conversation of the same id"
                            };
                            skipped.push(SkippedSession {
                                session: at(known.key()),
                                reason,
                            });
                        }
                        Entry::Vacant(vacant) => {
                            vacant.insert(Location::Inline { record, json });
                        }
                    }
                }
            }
        }
        let sessions: Vec<StoredSession> = locations.keys().map(|id| at(id)).collect();
        let lost = lost.found;
        if sessions.is_empty() && skipped.is_empty() && lost.is_empty() {
            return Ok(None);
        }
        Ok(Some(EditorDatabase {
            store: Mutex::new(store),
            limits,
            locations,
            sessions,
            skipped,
            lost,
        }))
    }

    fn text(&self, id: &str) -> Result<String, AdapterError> {
        let mut lines = Lines::new(self.limits);
        match self.locations.get(id) {
            Some(Location::Inline { record, json }) => {
                push_composer(record, id, json, &mut lines)?;
                push_inline_bubbles(json, &mut lines)?;
            }
            Some(Location::Rows) => self.rows(id, &mut lines)?,
            None => {}
        }
        Ok(lines.end())
    }

    fn rows(&self, id: &str, lines: &mut Lines) -> Result<(), AdapterError> {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let record = value(&store, &format!("composerData:{id}"))?;
        let json = record.map_or_else(|| "{}".to_owned(), |record| json_or_text(&record));
        push_composer("composer", id, &json, lines)?;
        push_inline_bubbles(&json, lines)?;
        let data: ComposerData = serde_json::from_str(&json).unwrap_or_default();
        let position: BTreeMap<&str, usize> = data
            .full_conversation_headers_only
            .iter()
            .enumerate()
            .map(|(n, header)| (header.bubble_id.as_str(), n))
            .collect();
        // Rows that no header names come last, in the order of their times. Without headers nothing says which are listed.
        let mut order: Vec<(usize, String, String)> = Vec::new();
        for (bubble_id, bubble) in bubbles(&store, id)? {
            let at = position
                .get(bubble_id.as_str())
                .copied()
                .unwrap_or(usize::MAX);
            order.push((at, bubble.created_at.unwrap_or_default(), bubble_id));
        }
        order.sort();
        for (at, _, bubble_id) in order {
            let bytes = value(&store, &format!("bubbleId:{id}:{bubble_id}"))?.unwrap_or_default();
            let json = json_or_text(&bytes);
            let contents = contents(&store, &json)?;
            let mut members = vec![("store", "\"bubble\""), ("bubble", json.as_str())];
            if at == usize::MAX && !position.is_empty() {
                members.push(("unlisted", "true"));
            }
            members.extend(contents.iter().map(|(key, text)| (*key, text.as_str())));
            lines.line(&members)?;
        }
        Ok(())
    }
}

/// Writes the line of the conversation: the members of its record that are read. A record that is not an object is kept unchanged.
fn push_composer(
    record: &str,
    id: &str,
    json: &str,
    lines: &mut Lines,
) -> Result<(), AdapterError> {
    let mut index = StructuralIndex::default();
    let object = parse(json, &mut index)
        .ok()
        .filter(|object| object.is_object());
    let kept = |object: Value<'_>| {
        let members = object
            .members()
            .filter(|(name, _)| COMPOSER_MEMBERS.contains(name));
        members
            .map(|(name, value)| format!("\"{name}\":{}", value.raw()))
            .collect::<Vec<_>>()
            .join(",")
    };
    let composer = object.map_or_else(|| json.to_owned(), |object| format!("{{{}}}", kept(object)));
    lines.line(&[
        ("store", &quoted(record)),
        ("id", &quoted(id)),
        ("composer", &json_or_text(composer.as_bytes())),
    ])
}

/// Writes the messages that are in the conversation's record.
fn push_inline_bubbles(json: &str, lines: &mut Lines) -> Result<(), AdapterError> {
    let mut index = StructuralIndex::default();
    let Ok(record) = parse(json, &mut index) else {
        return Ok(());
    };
    let bubbles = ["conversation", "bubbles"]
        .iter()
        .filter_map(|list| record.member(list))
        .flat_map(Value::elements);
    for bubble in bubbles {
        lines.line(&[
            ("store", "\"bubble\""),
            ("bubble", &json_or_text(bubble.raw().as_bytes())),
        ])?;
    }
    Ok(())
}

/// The ids of the conversations that have a record. Values may be NULL.
fn row_ids(store: &sqlite::Store) -> Result<Vec<String>, AdapterError> {
    let sql = "SELECT substr(key, 14) FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;' AND value IS NOT NULL";
    let mut statement = store.connection().prepare(sql).map_err(refused)?;
    let rows = statement.query_map([], |row| row.get(0)).map_err(refused)?;
    rows.collect::<Result<_, _>>().map_err(refused)
}

/// The ids of the conversations that have message rows: `bubbleId:<conversation>:<message>`.
///
/// Returns how many rows name no conversation, too.
fn ids_of_messages(store: &sqlite::Store) -> Result<(BTreeSet<String>, u64), AdapterError> {
    let sql = "SELECT substr(key, 10) FROM cursorDiskKV WHERE key >= 'bubbleId:' AND key < 'bubbleId;' AND value IS NOT NULL";
    let mut statement = store.connection().prepare(sql).map_err(refused)?;
    let mut rows = statement.query([]).map_err(refused)?;
    let (mut ids, mut without_id) = (BTreeSet::new(), 0);
    while let Some(row) = rows.next().map_err(refused)? {
        let key: String = row.get(0).map_err(refused)?;
        match key.rsplit_once(':') {
            Some((id, _)) if ids.contains(id) => {}
            Some((id, _)) => drop(ids.insert(id.to_owned())),
            None => without_id += 1,
        }
    }
    Ok((ids, without_id))
}

/// True if a conversation's record lists messages.
fn has_headers(store: &sqlite::Store, id: &str) -> Result<bool, AdapterError> {
    let record = value(store, &format!("composerData:{id}"))?.unwrap_or_default();
    let data: ComposerData = serde_json::from_slice(&record).unwrap_or_default();
    Ok(!data.full_conversation_headers_only.is_empty())
}

/// True if a conversation's record has messages.
fn has_inline_messages(store: &sqlite::Store, id: &str) -> Result<bool, AdapterError> {
    let record = value(store, &format!("composerData:{id}"))?.unwrap_or_default();
    let mut index = StructuralIndex::default();
    let record = std::str::from_utf8(&record)
        .ok()
        .and_then(|json| parse(json, &mut index).ok());
    Ok(record
        .and_then(|record| record.member("conversation"))
        .is_some_and(|list| list.elements().next().is_some()))
}

/// The ids of a conversation's messages, with the fields that decide their order.
fn bubbles(store: &sqlite::Store, id: &str) -> Result<Vec<(String, Bubble)>, AdapterError> {
    let prefix = format!("bubbleId:{id}:");
    let sql = "SELECT key, value FROM cursorDiskKV WHERE key >= ?1 AND key < ?2 AND value IS NOT NULL ORDER BY key";
    let mut statement = store.connection().prepare(sql).map_err(refused)?;
    let mut rows = statement
        .query([prefix.clone(), format!("bubbleId:{id};")])
        .map_err(refused)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(refused)? {
        let key: String = row.get(0).map_err(refused)?;
        let bubble =
            serde_json::from_slice(&column(row.get_ref(1).map_err(refused)?)).unwrap_or_default();
        found.push((
            key.strip_prefix(&prefix).unwrap_or_default().to_owned(),
            bubble,
        ));
    }
    Ok(found)
}

/// The texts of the file before and after an edit. `edit_file_v2` refers to them by their hashes.
fn contents(
    store: &sqlite::Store,
    bubble: &str,
) -> Result<Vec<(&'static str, String)>, AdapterError> {
    let bubble: Bubble = serde_json::from_str(bubble).unwrap_or_default();
    let result = bubble
        .tool_former_data
        .and_then(|data| data.result)
        .unwrap_or_default();
    let ids: ContentIds = serde_json::from_str(&result).unwrap_or_default();
    let mut found = Vec::new();
    for (key, id) in [
        ("before", ids.before_content_id),
        ("after", ids.after_content_id),
    ] {
        let Some(id) = id else { continue };
        // The id is the whole key, or the part after its prefix.
        let bytes = match value(store, &id)? {
            Some(bytes) => Some(bytes),
            None => value(store, &format!("composer.content.{id}"))?,
        };
        found.extend(bytes.map(|bytes| (key, quoted(&String::from_utf8_lossy(&bytes)))));
    }
    Ok(found)
}

fn value(store: &sqlite::Store, key: &str) -> Result<Option<Vec<u8>>, AdapterError> {
    let sql = "SELECT value FROM cursorDiskKV WHERE key = ?1 AND value IS NOT NULL";
    store
        .connection()
        .query_row(sql, [key], |row| Ok(column(row.get_ref(0)?)))
        .optional()
        .map_err(refused)
}

/// A value of `ItemTable`. None if the database has no such table.
fn value_of(store: &sqlite::Store, key: &str) -> Result<Option<Vec<u8>>, AdapterError> {
    if !store
        .columns(VALUES)?
        .iter()
        .any(|column| column == "value")
    {
        return Ok(None);
    }
    let sql = "SELECT value FROM ItemTable WHERE key = ?1 AND value IS NOT NULL";
    store
        .connection()
        .query_row(sql, [key], |row| Ok(column(row.get_ref(0)?)))
        .optional()
        .map_err(refused)
}

/// The conversations in one value of `ItemTable`. Those without messages are left out.
fn inline(store: &sqlite::Store, key: &str, list: &str, id: &str) -> Result<Inline, AdapterError> {
    let mut found = Inline::default();
    let Some(bytes) = value_of(store, key)? else {
        return Ok(found);
    };
    let json = String::from_utf8(bytes).unwrap_or_default();
    let mut index = StructuralIndex::default();
    let Ok(value) = parse(&json, &mut index) else {
        return Ok(Inline {
            unreadable: 1,
            ..found
        });
    };
    for item in elements(value.member(list)) {
        let has = |list| {
            item.member(list)
                .is_some_and(|list| list.elements().next().is_some())
        };
        if has("conversation") || has("bubbles") {
            match text(item.member(id)) {
                Some(id) => found
                    .conversations
                    .push((id.decode_lossy().into_owned(), item.raw().to_owned())),
                None => found.unreadable += 1,
            }
        }
    }
    Ok(found)
}

impl Store for EditorDatabase {
    fn kind(&self) -> &'static str {
        store_kinds::EDITOR
    }

    fn sessions(&self) -> &[StoredSession] {
        &self.sessions
    }

    fn skipped(&self) -> &[SkippedSession] {
        &self.skipped
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
            context: SideInfo::default(),
        })
    }

    fn verify_unchanged(&self) -> Result<(), AdapterError> {
        self.store
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .verify_unchanged()
    }
}
