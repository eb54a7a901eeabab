//! Stores at a path: which registered adapter opens them.

use std::path::Path;

use engram_core::error::AdapterError;
use engram_core::limits::Limits;

use crate::open::beginning;
use crate::open::database::DatabaseFile;
use crate::open::store::{Opened, Store};
use crate::registration::Registration;
use crate::registry::Registry;

/// An open store and the adapter that converts its sessions.
pub type RegisteredStore = (&'static Registration, Box<dyn Store>);

/// The adapter whose stores have their root at this directory. `None` if the directory is no root of a store.
pub fn store_at_root(registry: &Registry, directory: &Path) -> Option<&'static Registration> {
    registry
        .adapters()
        .find(|registration| (registration.store_opener().is_root)(directory))
}

/// Opens the store at `path`; `None` if it is not a store that an adapter knows.
///
/// # Errors
/// As the adapter's opener.
pub fn open_store(registry: &Registry, path: &Path, limits: Limits) -> Opened<RegisteredStore> {
    let of = |registration: &'static Registration, store: Option<Box<dyn Store>>| {
        store.map(|store| (registration, store))
    };
    if path.is_dir() {
        let Some(registration) = store_at_root(registry, path) else {
            return Ok(None);
        };
        return Ok(of(
            registration,
            (registration.store_opener().open_root)(path, limits)?,
        ));
    }
    if let Some(database) = DatabaseFile::open(path, limits)? {
        let mut adapters = registry.adapters();
        let Some(registration) =
            adapters.find(|registration| (registration.store_opener().has_tables)(&database))
        else {
            return Ok(None);
        };
        return Ok(of(
            registration,
            database.read_with(registration.store_opener().open_database)?,
        ));
    }
    let first =
        beginning(path).map_err(|error| AdapterError::from(error).path(path.to_string_lossy()))?;
    for registration in registry.adapters() {
        if let Some(store) = (registration.store_opener().open_text)(path, &first, limits)? {
            return Ok(Some((registration, store)));
        }
    }
    Ok(None)
}
