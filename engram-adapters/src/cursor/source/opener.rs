//! How Cursor's stores are opened: databases into one line per record, in the order of the conversation; text transcripts into JSON.

use std::path::{Path, PathBuf};

use engram_core::limits::Limits;

#[cfg(feature = "sqlite")]
use crate::cursor::chat_store::db::ChatDatabase;
#[cfg(feature = "sqlite")]
use crate::cursor::ide::db::EditorDatabase;
use crate::cursor::run_store::files::{self, run_store_of};
#[cfg(feature = "sqlite")]
use crate::cursor::run_store::store::RunDatabase;
use crate::cursor::run_store::store::RunFiles;
use crate::cursor::source::store_tables::{CHAT, EDITOR, RUNS};
use crate::cursor::transcript::text_transcript::{TEXT_FORM, TextTranscript};
use crate::open::database::DatabaseFile;
use crate::open::store::{OpenedStore, Opener, Store};

/// Every chat and every window has a database of its own, so a directory of them is not a store. Run stores may be directories of text
/// files.
pub(crate) static OPENER: Opener = Opener {
    is_root: files::is_root,
    is_inside: files::is_inside,
    open_root,
    has_tables,
    open_database,
    read_with,
    begins_lines: Opener::NOTHING.begins_lines,
    open_text,
    text_form: Some(TEXT_FORM),
};

fn open_root(directory: &Path, limits: Limits) -> OpenedStore {
    Ok(RunFiles::open(directory, limits)?.map(|files| Box::new(files) as Box<dyn Store>))
}

/// A file with the name of the editor's store is one, whatever its tables are called.
fn is_editor(database: &DatabaseFile<'_>) -> bool {
    EDITOR.are_in(database) || EDITOR.has_file_name(database.path) && !database.tables.is_empty()
}

fn has_tables(database: &DatabaseFile<'_>) -> bool {
    CHAT.are_in(database) || RUNS.are_in(database) || is_editor(database)
}

#[cfg(feature = "sqlite")]
fn open_database(database: DatabaseFile<'_>) -> OpenedStore {
    if CHAT.are_in(&database) {
        return Ok(ChatDatabase::open(database)?.map(|chat| Box::new(chat) as Box<dyn Store>));
    }
    if RUNS.are_in(&database) {
        return Ok(Some(Box::new(RunDatabase::open(database)?)));
    }
    Ok(EditorDatabase::open(database)?.map(|editor| Box::new(editor) as Box<dyn Store>))
}

#[cfg(not(feature = "sqlite"))]
fn open_database(database: DatabaseFile<'_>) -> OpenedStore {
    match database.store {}
}

/// A chat is read with the run store that it belongs to.
fn read_with(chat: &Path) -> Vec<PathBuf> {
    let Some(index) = run_store_of(chat) else {
        return Vec::new();
    };
    let log = index.with_file_name("index.db-wal");
    vec![index, log]
}

/// A text transcript, or a file of a run store that was named alone.
fn open_text(path: &Path, first: &[u8], limits: Limits) -> OpenedStore {
    let is_inside = path
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(files::is_inside);
    if let Some(directory) = path
        .parent()
        .filter(|directory| is_inside && files::is_root(directory))
    {
        return open_root(directory, limits);
    }
    Ok(TextTranscript::open(path, first, limits)?
        .map(|transcript| Box::new(transcript) as Box<dyn Store>))
}
