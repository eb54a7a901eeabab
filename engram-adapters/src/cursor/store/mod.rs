//! Cursor's stores, opened into text: databases into a line a record, in the order of the conversation; text transcripts into JSON.

pub(super) mod chat;
mod chat_db;
pub(super) mod ide;
mod ide_db;
mod layout;
#[cfg(test)]
mod tests;
mod text;
mod turns;
mod wire;
mod words;

use std::path::Path;

use engram_core::limits::Limits;

use crate::open::store::{DatabaseFile, OpenedStore, Opener, Store};

/// The row of the opener. Every chat and every window has a database of its own, so a folder of them is no store.
pub(crate) const OPENER: Opener = Opener { adapter_id: "cursor", has_tables, open_database, open_text, ..Opener::NOTHING };

fn is_chat(database: &DatabaseFile<'_>) -> bool {
    database.has("blobs") && database.has("meta")
}

fn has_tables(database: &DatabaseFile<'_>) -> bool {
    is_chat(database) || database.has("cursorDiskKV") || database.has("ItemTable")
}

fn open_database(database: DatabaseFile<'_>) -> OpenedStore {
    if is_chat(&database) {
        return Ok(chat_db::Chat::open(database)?.map(|chat| Box::new(chat) as Box<dyn Store>));
    }
    Ok(ide_db::Editor::open(database)?.map(|editor| Box::new(editor) as Box<dyn Store>))
}

fn open_text(path: &Path, first: &[u8], limits: Limits) -> OpenedStore {
    Ok(text::Transcript::open(path, first, limits)?.map(|transcript| Box::new(transcript) as Box<dyn Store>))
}
