//! The first bytes of a file, and whether they are those of a database.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// What every SQLite database begins with (sqlite.org/fileformat.html, section 1.3).
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// True if the bytes are the beginning of an SQLite database.
pub fn is_database(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// How many bytes of a file show whether it is a database, or a text of a known form.
pub(super) const HEAD_BYTES: u64 = 64;

/// The first bytes of a regular file. Empty for anything else, and for a file that cannot be read.
pub fn beginning(path: &Path) -> Vec<u8> {
    let mut first = Vec::new();
    if !path.is_file() {
        return first;
    }
    match File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut first)) {
        Ok(_) => first,
        Err(_) => Vec::new(),
    }
}
