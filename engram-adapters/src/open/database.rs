//! A database that may be a store of some harness. Without the feature `sqlite`, opening one is an error.

use std::path::Path;

use engram_core::error::AdapterError;
use engram_core::limits::Limits;

use super::database_header::{beginning, is_database};
#[cfg(feature = "sqlite")]
use super::sqlite;
use super::table::Table;

/// A store or a database, if the path leads to one.
pub type Opened<S> = Result<Option<S>, AdapterError>;

/// The open database. Without the feature `sqlite` there is none.
#[cfg(feature = "sqlite")]
type OpenDatabase = sqlite::Store;
/// The open database. Without the feature `sqlite` there is none.
#[cfg(not(feature = "sqlite"))]
type OpenDatabase = std::convert::Infallible;

/// A database that may be a store. It is opened once, before its harness is known.
pub struct DatabaseFile<'p> {
    /// Its path.
    pub path: &'p Path,
    /// The bounds that it is read with.
    pub limits: Limits,
    /// The open database.
    pub store: OpenDatabase,
    /// Its tables.
    pub tables: Vec<Table>,
}

impl<'p> DatabaseFile<'p> {
    /// Opens the file at `path`; `None` if it is not a database.
    ///
    /// # Errors
    /// `unknown_harness` for an encrypted database, `malformed_record` for a damaged one, `truncated_input` for one that is cut
    /// off, `io` if it cannot be read. Without the feature `sqlite`: `io` for every database.
    pub fn open(path: &'p Path, limits: Limits) -> Opened<DatabaseFile<'p>> {
        let first = beginning(path)
            .map_err(|error| AdapterError::from(error).path(path.to_string_lossy()))?;
        if is_database(&first) {
            Self::open_database(path, limits).map(Some)
        } else {
            Ok(None)
        }
    }

    #[cfg(feature = "sqlite")]
    fn open_database(path: &'p Path, limits: Limits) -> Result<DatabaseFile<'p>, AdapterError> {
        let store = sqlite::Store::open(path, limits)?;
        let tables = store
            .tables()
            .or_else(|error| store.verify_unchanged().and(Err(error)));
        let tables = tables.map_err(|error| error.path(path.to_string_lossy()))?;
        Ok(DatabaseFile {
            path,
            limits,
            store,
            tables,
        })
    }

    #[cfg(not(feature = "sqlite"))]
    fn open_database(path: &'p Path, _limits: Limits) -> Result<DatabaseFile<'p>, AdapterError> {
        let error = super::missing_feature("an SQLite database", "sqlite");
        Err(AdapterError::from(error).path(path.to_string_lossy()))
    }

    /// Reads it with `read`. If that fails, and another process has changed the database meanwhile, the change is the error.
    ///
    /// # Errors
    /// As `read`; `io` for a change.
    #[cfg(feature = "sqlite")]
    pub fn read_with<T>(
        self,
        read: impl FnOnce(Self) -> Result<T, AdapterError>,
    ) -> Result<T, AdapterError> {
        let in_place = self.store.in_place().cloned();
        read(self).or_else(|error| {
            in_place
                .map_or(Ok(()), |in_place| in_place.verify_unchanged())
                .and(Err(error))
        })
    }

    /// Without the feature `sqlite` there is nothing to read.
    ///
    /// # Errors
    /// As `read`.
    #[cfg(not(feature = "sqlite"))]
    pub fn read_with<T>(
        self,
        read: impl FnOnce(Self) -> Result<T, AdapterError>,
    ) -> Result<T, AdapterError> {
        read(self)
    }

    /// True if it has that table.
    pub fn has(&self, table: &str) -> bool {
        self.table(table).is_some()
    }

    /// The table of that name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }
}
