//! The first bytes of a file, and whether they are those of a database.

use std::io::{self, ErrorKind, Read};
use std::path::Path;

use super::regular::regular;

/// What every SQLite database begins with (sqlite.org/fileformat.html, section 1.3).
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// True if the bytes are the beginning of an SQLite database.
pub fn is_database(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// Bytes of the header of a database.
#[cfg(feature = "sqlite")]
pub(super) const HEADER_BYTES: usize = 100;

/// Page size times page count, as in the header (fileformat.html, sections 1.3.2 and 1.3.8). `None` for a header that is cut.
#[cfg(feature = "sqlite")]
pub(super) fn stated_length(header: &[u8]) -> Option<u64> {
    let page_size = match u16::from_be_bytes(header.get(16..18)?.try_into().ok()?) {
        1 => 65_536,
        size => u64::from(size),
    };
    let pages = u32::from_be_bytes(header.get(28..32)?.try_into().ok()?);
    (header.len() == HEADER_BYTES).then_some(page_size * u64::from(pages))
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
        regular(path)?.take(HEAD_BYTES).read_to_end(&mut first)?;
    }
    Ok(first)
}

/// True if the file begins as a database. True also if it cannot be read: opening it then says why.
pub fn may_be_database(path: &Path) -> bool {
    beginning(path).map_or_else(
        |error| error.kind() != ErrorKind::NotFound,
        |first| is_database(&first),
    )
}
