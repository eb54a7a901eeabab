//! In a build without the feature `sqlite`, no database is open: opening one is an error.

use std::convert::Infallible;

use engram_core::error::AdapterError;

use crate::open::database::DatabaseFile;
use crate::open::store::{Export, LostRecords};

/// A database that is open for reading. There is none.
pub(super) struct Database(Infallible);

impl Database {
    pub fn has_tables(_file: &DatabaseFile<'_>) -> bool {
        false
    }

    pub fn family(file: &DatabaseFile<'_>) -> usize {
        match file.store {}
    }

    pub fn is_new(file: &DatabaseFile<'_>) -> Result<bool, AdapterError> {
        match file.store {}
    }

    pub fn new(file: DatabaseFile<'_>) -> Result<Database, AdapterError> {
        match file.store {}
    }

    pub fn session_ids(&self) -> Result<Vec<Option<String>>, AdapterError> {
        match self.0 {}
    }

    pub fn ids_continued_twice(&self) -> Result<Vec<Option<String>>, AdapterError> {
        match self.0 {}
    }

    pub fn lost(&self) -> &[LostRecords] {
        match self.0 {}
    }

    pub fn export(&mut self, _session_id: &str) -> Result<Export, AdapterError> {
        match self.0 {}
    }

    pub fn verify_unchanged(&self) -> Result<(), AdapterError> {
        match self.0 {}
    }
}
