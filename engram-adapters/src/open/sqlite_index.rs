//! Indexes for copies of stores that lack them. Without an index, a search for each message or session reads the whole table each time.

use std::hash::{BuildHasher, RandomState};

use rusqlite::Connection;

/// A column by which rows are searched: table and column.
pub type SearchedColumn = (&'static str, &'static str);

/// The columns that are there and have no index.
pub(super) fn without_index(
    connection: &Connection,
    columns: &[SearchedColumn],
) -> rusqlite::Result<Vec<SearchedColumn>> {
    let sql = "SELECT EXISTS (SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2) AND NOT EXISTS (
                 SELECT 1 FROM pragma_index_list(?1) AS entry, pragma_index_xinfo(entry.name) AS part
                 WHERE entry.partial = 0 AND part.seqno = 0 AND part.name = ?2 AND part.coll = 'BINARY')";
    let mut lacks = connection.prepare(sql)?;
    let mut found = Vec::new();
    for (table, column) in columns {
        if lacks.query_row([table, column], |row| row.get(0))? {
            found.push((*table, *column));
        }
    }
    Ok(found)
}

/// Creates an index on each column of a copy.
pub(super) fn create_indexes(
    copy: &Connection,
    columns: &[SearchedColumn],
) -> rusqlite::Result<()> {
    // A copy need not survive a crash.
    copy.execute_batch("PRAGMA query_only = OFF; PRAGMA synchronous = OFF;")?;
    let created = columns.iter().try_for_each(|(table, column)| {
        // No schema can have this name already.
        let name = RandomState::new().hash_one(column);
        copy.execute_batch(&format!(
            "CREATE INDEX \"engram_{name:016x}\" ON \"{table}\" (\"{column}\")"
        ))
    });
    copy.execute_batch("PRAGMA query_only = ON;")?;
    created
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    use engram_core::limits::Limits;

    use super::*;
    use crate::open::sqlite::Store;

    const SEARCHED: &[SearchedColumn] = &[
        ("note", "id"),
        ("note", "author"),
        ("note", "no such column"),
        ("no such table", "id"),
    ];

    /// How SQLite finds the notes of an author.
    fn plan(store: &Store) -> String {
        let sql = "EXPLAIN QUERY PLAN SELECT text FROM note WHERE author = ?1";
        store
            .connection()
            .query_row(sql, ["a"], |row| row.get("detail"))
            .unwrap()
    }

    #[test]
    fn a_store_without_an_index_gets_it_in_a_copy() {
        for (index, is_copied) in [
            ("", true),
            ("CREATE INDEX own ON note (author, text)", false),
            (
                "CREATE INDEX partial ON note (author) WHERE text > 'a'",
                true,
            ),
            ("CREATE INDEX second ON note (text, author)", true),
            ("CREATE INDEX other ON note (author COLLATE NOCASE)", true),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("store.db");
            let schema = "CREATE TABLE note (id TEXT PRIMARY KEY, author TEXT, text TEXT); INSERT INTO note VALUES ('1', 'a', 'first');";
            Connection::open(&path)
                .unwrap()
                .execute_batch(&format!("{schema} {index}"))
                .unwrap();
            File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_modified(SystemTime::now() - Duration::from_secs(3600))
                .unwrap();
            let before = fs::read(&path).unwrap();
            let open = || Store::open(&path, Limits::default()).unwrap();
            let is_searched = |store: &Store| plan(store).starts_with("SEARCH note USING");
            let found = open();
            assert_eq!(is_searched(&found), !is_copied, "{index}");
            let indexed = found.with_indexes(SEARCHED);
            assert!(is_searched(&indexed), "{index}: {}", plan(&indexed));
            assert_eq!(without_index(indexed.connection(), SEARCHED).unwrap(), []);
            assert!(
                indexed
                    .connection()
                    .execute_batch("DELETE FROM note")
                    .is_err(),
                "a copy is read-only, too"
            );
            assert_eq!(fs::read(&path).unwrap(), before);
            assert!(indexed.verify_unchanged().is_ok());
            assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
        }
    }
}
