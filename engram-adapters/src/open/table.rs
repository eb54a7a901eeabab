//! A table of a database: its name and its columns.

/// A table of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// The names of its columns, in the order of the schema.
    pub columns: Vec<String>,
}

impl Table {
    /// True if it has that column. SQL does not tell upper from lower case.
    pub fn has(&self, column: &str) -> bool {
        self.columns
            .iter()
            .any(|known| known.eq_ignore_ascii_case(column))
    }
}
