//! The first bytes of a file, and whether they are those of a database.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// What every SQLite database begins with (sqlite.org/fileformat.html, section 1.3).
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// True if the bytes are the beginning of an SQLite database.
pub fn is_database(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// How many bytes of a file show whether it is a database, or a text of a known form.
pub(super) const HEAD_BYTES: u64 = 64;

/// The first bytes of a regular file. Empty for anything else.
///
/// # Errors
/// If the file cannot be read: then nobody knows what it is.
pub fn beginning(path: &Path) -> io::Result<Vec<u8>> {
    let mut first = Vec::new();
    if path.metadata()?.is_file() {
        File::open(path)?.take(HEAD_BYTES).read_to_end(&mut first)?;
    }
    Ok(first)
}

/// True if the file begins as a database. True also if it cannot be read: opening it then says why.
pub fn may_be_database(path: &Path) -> bool {
    beginning(path).map_or_else(|error| error.kind() != ErrorKind::NotFound, |first| is_database(&first))
}
