//! Tells databases from other files by their first bytes.

/// What every SQLite database begins with (sqlite.org/fileformat.html, section 1.3).
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// True if the bytes are the beginning of an SQLite database.
pub fn is_database(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}
