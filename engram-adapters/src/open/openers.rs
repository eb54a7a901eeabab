//! Every harness's opener, and which of them opens a path.

use std::path::Path;

use engram_core::limits::Limits;

use super::store::{DatabaseFile, Opened, Opener, Store, beginning};
use crate::{claude_code, cursor, opencode};

/// Every opener.
pub const OPENERS: &[Opener] = &[opencode::store::OPENER, cursor::OPENER, claude_code::OPENER];

/// The opener of the store that has its root at this folder, if it is one.
pub fn root(path: &Path) -> Option<&'static Opener> {
    OPENERS.iter().find(|opener| (opener.is_root)(path))
}

/// Opens the store at `path`, if it is one: a database, or the root folder of a store.
///
/// # Errors
/// As the opener gives them. A database that no opener knows is none of ours, and no error.
pub fn open(path: &Path, limits: Limits) -> Opened<(&'static Opener, Box<dyn Store>)> {
    let known = |opener: &'static Opener, store: Option<Box<dyn Store>>| store.map(|store| (opener, store));
    if path.is_dir() {
        let Some(opener) = root(path) else { return Ok(None) };
        return Ok(known(opener, (opener.open_root)(path, limits)?));
    }
    if let Some(database) = DatabaseFile::open(path, limits)? {
        let Some(opener) = OPENERS.iter().find(|opener| (opener.has_tables)(&database)) else { return Ok(None) };
        return Ok(known(opener, (opener.open_database)(database)?));
    }
    let first = beginning(path);
    for opener in OPENERS {
        if let Some(store) = (opener.open_text)(path, &first, limits)? {
            return Ok(Some((opener, store)));
        }
    }
    Ok(None)
}
