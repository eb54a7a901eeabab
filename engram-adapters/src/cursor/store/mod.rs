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

use std::fs::File;
use std::io::Read;
use std::path::Path;

use engram_core::error::AdapterError;
use engram_core::limits::Limits;

use crate::open::sqlite;
use crate::open::store::{Opener, Store};

/// The row of the opener.
pub(crate) const OPENER: Opener = Opener { adapter_id: "cursor", is_root: |_| false, is_inside: |_| false, open };

/// What is looked at to tell a store.
const HEAD_BYTES: u64 = 64;

/// Every chat and every window has a database of its own, so a folder of them is no store.
fn open(path: &Path, limits: Limits) -> Result<Option<Box<dyn Store>>, AdapterError> {
    let mut first = Vec::new();
    if path.is_dir() || File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut first)).is_err() {
        return Ok(None);
    }
    if !sqlite::is_database(&first) {
        let transcript = text::Transcript::open(path, &first).filter(|_| text::fits(path, limits));
        return Ok(transcript.map(|transcript| Box::new(transcript) as Box<dyn Store>));
    }
    let store = sqlite::Store::open(path, limits)?;
    let tables = store.tables()?;
    let has = |name: &str| tables.iter().any(|table| table == name);
    if has("blobs") && has("meta") {
        return Ok(chat_db::Chat::open(store, path, limits)?.map(|chat| Box::new(chat) as Box<dyn Store>));
    }
    if has("cursorDiskKV") || has("ItemTable") {
        return Ok(ide_db::Editor::open(store, &tables, path, limits)?.map(|editor| Box::new(editor) as Box<dyn Store>));
    }
    Ok(None)
}
