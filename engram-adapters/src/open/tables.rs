//! The tables of a kind of store: by them a database is recognised, and without one of them its sessions cannot be read.

use std::path::Path;

use engram_core::error::{AdapterError, ErrorCode};
use engram_core::policy::Policy;

use super::database::DatabaseFile;
use super::table::Table;

/// A table that the sessions of a store are read from.
#[derive(Debug, Clone, Copy)]
pub struct NeededTable {
    /// Its name.
    pub name: &'static str,
    /// The columns without which its rows cannot be read.
    pub columns: &'static [&'static str],
    /// True if no other product has a table with this name and these columns, as far as is known.
    pub is_mark: bool,
}

/// The tables of one kind of store.
#[derive(Debug, Clone, Copy)]
pub struct StoreTables {
    /// What it is, for people.
    pub kind: &'static str,
    /// True for the names that the harness gives to such a database.
    pub is_file_name: fn(&str) -> bool,
    /// All of its tables.
    pub tables: &'static [NeededTable],
}

impl NeededTable {
    /// The first column that a table lacks.
    pub fn missing_column(&self, found: &Table) -> Option<&'static str> {
        self.columns
            .iter()
            .copied()
            .find(|column| !found.has(column))
    }
}

impl StoreTables {
    /// True for a database of this kind, even if some of its tables are missing. Any of three facts proves the kind: it has tables of all
    /// names; it has a table whose columns only this harness uses; its file has the harness's name and it has at least one of the tables.
    pub fn are_in(&self, database: &DatabaseFile<'_>) -> bool {
        let is_there = |table: &NeededTable| database.has(table.name);
        let is_mark = |table: &NeededTable| {
            table.is_mark
                && database
                    .table(table.name)
                    .is_some_and(|found| table.missing_column(found).is_none())
        };
        self.tables.iter().all(is_there)
            || self.tables.iter().any(is_mark)
            || self.has_file_name(database.path) && self.tables.iter().any(is_there)
    }

    /// True if the file has a name that the harness gives to such a database.
    pub fn has_file_name(&self, path: &Path) -> bool {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(self.is_file_name)
    }

    /// Requires all tables, with their columns.
    ///
    /// # Errors
    /// `incomplete_store`, with the path and what is missing.
    pub fn require_all(&self, path: &Path, found: &[Table]) -> Result<(), AdapterError> {
        self.tables
            .iter()
            .try_for_each(|table| self.require(path, found, table.name))
    }

    /// Requires one of the tables, with its columns.
    ///
    /// # Errors
    /// As [`StoreTables::require_all`].
    pub fn require(&self, path: &Path, found: &[Table], name: &str) -> Result<(), AdapterError> {
        let Some(table) = found.iter().find(|table| table.name == name) else {
            let names = found
                .iter()
                .map(|table| table.name.as_str())
                .collect::<Vec<_>>()
                .join(", ");
            return Err(self.lacks(
                path,
                &format!("the table `{name}`"),
                &format!("the tables {names}"),
            ));
        };
        let missing = self
            .tables
            .iter()
            .find(|needed| needed.name == name)
            .and_then(|needed| needed.missing_column(table));
        match missing {
            None => Ok(()),
            Some(column) => {
                let columns = table.columns.join(", ");
                Err(self.lacks(
                    path,
                    &format!("the column `{column}` of the table `{name}`"),
                    &format!("the columns {columns}"),
                ))
            }
        }
    }

    /// The error of a database that lacks something.
    pub fn lacks(&self, path: &Path, what: &str, found: &str) -> AdapterError {
        let error = AdapterError::new(ErrorCode::IncompleteStore)
            .expected(format!("{what} in {} {}", article(self.kind), self.kind))
            .found(found);
        // No policy can convert what is not there.
        error.path(path.to_string_lossy()).under(Policy::Permissive)
    }
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['A', 'E', 'I', 'O', 'U']) {
        "an"
    } else {
        "a"
    }
}
