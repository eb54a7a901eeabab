//! Rollback journals beside databases. One is input like the database: it can name a second journal, a *super-journal*, anywhere in the
//! file system, and SQLite would open that. So a journal is looked at before SQLite sees it.
//!
//! The format: sqlite.org/fileformat.html, section 3; the record of a super-journal is described in SQLite's `pager.c`.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use engram_core::error::{AdapterError, ErrorCode};

use super::regular::regular;

/// What a journal begins with, and what the record of a super-journal ends with.
const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
/// The bytes of a header that have a meaning.
const HEADER: usize = 28;
/// Bytes that a journal may have beyond twice the size of its database: each page is in it once, with a number and a checksum.
const SPARE: u64 = 64 << 20;

/// The most bytes of a journal beside a database of this size.
pub(super) fn most(database: u64) -> u64 {
    database.saturating_mul(2).saturating_add(SPARE)
}

/// What a file in the place of a journal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Journal {
    /// Nothing that SQLite would roll back.
    Idle,
    /// A journal of a database that had this many bytes before the transaction.
    Hot { database: u64 },
}

/// Looks at a journal.
///
/// # Errors
/// `incomplete_store` if it names a super-journal; `io` if it cannot be read.
pub(super) fn look(path: &Path) -> Result<Journal, AdapterError> {
    let mut file = regular(path)?;
    let mut header = Vec::with_capacity(HEADER);
    file.by_ref().take(HEADER as u64).read_to_end(&mut header)?;
    // A transaction that has ended leaves a header of zeros, or an empty file.
    if !header.starts_with(&MAGIC) || header.len() < HEADER {
        return Ok(Journal::Idle);
    }
    if ends_with_magic(&mut file)? {
        let error = AdapterError::new(ErrorCode::IncompleteStore)
            .expected("a rollback journal of one database");
        return Err(error.found(
            "a journal that names a super-journal, in a transaction over several databases",
        ));
    }
    let number = |at: usize| {
        u64::from(u32::from_be_bytes([
            header[at],
            header[at + 1],
            header[at + 2],
            header[at + 3],
        ]))
    };
    Ok(Journal::Hot {
        database: number(16).saturating_mul(number(24)),
    })
}

fn ends_with_magic(file: &mut File) -> io::Result<bool> {
    let mut last = [0; MAGIC.len()];
    file.seek(SeekFrom::End(-(MAGIC.len() as i64)))?;
    file.read_exact(&mut last)?;
    Ok(last == MAGIC)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look_at(bytes: &[u8]) -> Result<Journal, ErrorCode> {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        std::fs::write(&path, bytes).unwrap();
        look(&path).map_err(|error| error.code)
    }

    #[test]
    fn a_journal_is_hot_or_idle_and_one_that_names_another_is_refused() {
        let mut hot = [
            &MAGIC[..],
            &1_u32.to_be_bytes(),
            &7_u32.to_be_bytes(),
            &3_u32.to_be_bytes(),
        ]
        .concat();
        hot.extend([512_u32.to_be_bytes(), 4096_u32.to_be_bytes()].concat());
        assert_eq!(look_at(&hot), Ok(Journal::Hot { database: 3 * 4096 }));
        hot.resize(512, 0);
        assert_eq!(look_at(&hot), Ok(Journal::Hot { database: 3 * 4096 }));
        for idle in [
            &b""[..],
            &[0; 512],
            b"some other text that is long enough",
            &hot[..20],
        ] {
            assert_eq!(look_at(idle), Ok(Journal::Idle));
        }
        hot.extend(b"/tmp/other-journal");
        hot.extend(MAGIC);
        assert_eq!(look_at(&hot), Err(ErrorCode::IncompleteStore));
    }
}
