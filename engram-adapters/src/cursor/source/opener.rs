//! How Cursor's stores are opened: databases into one line per record, in the order of the conversation; text transcripts into JSON.

use std::path::Path;

use engram_core::limits::Limits;

#[cfg(feature = "sqlite")]
use crate::cursor::chat_store::db::ChatDatabase;
#[cfg(feature = "sqlite")]
use crate::cursor::ide::db::EditorDatabase;
use crate::cursor::transcript::text_transcript::TextTranscript;
use crate::open::database::DatabaseFile;
use crate::open::store::{OpenedStore, Opener, Store};

/// Every chat and every window has a database of its own, so a folder of them is not a store.
pub(crate) static OPENER: Opener = Opener { has_tables, open_database, open_text, ..Opener::NOTHING };

fn is_chat(database: &DatabaseFile<'_>) -> bool {
    database.has("blobs") && database.has("meta")
}

fn has_tables(database: &DatabaseFile<'_>) -> bool {
    is_chat(database) || database.has("cursorDiskKV") || database.has("ItemTable")
}

#[cfg(feature = "sqlite")]
fn open_database(database: DatabaseFile<'_>) -> OpenedStore {
    if is_chat(&database) {
        return Ok(ChatDatabase::open(database)?.map(|chat| Box::new(chat) as Box<dyn Store>));
    }
    Ok(EditorDatabase::open(database)?.map(|editor| Box::new(editor) as Box<dyn Store>))
}

#[cfg(not(feature = "sqlite"))]
fn open_database(database: DatabaseFile<'_>) -> OpenedStore {
    match database.store {}
}

fn open_text(path: &Path, first: &[u8], limits: Limits) -> OpenedStore {
    Ok(TextTranscript::open(path, first, limits)?.map(|transcript| Box::new(transcript) as Box<dyn Store>))
}
