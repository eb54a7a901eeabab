//! Tapes as files: plain or compressed, read from the beginning or from a byte of their text.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

/// What a zstd frame begins with.
const ZSTD: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
const BUFFER: usize = 256 << 10;

/// Opens the text of a tape.
///
/// # Errors
/// As the file system gives them.
pub fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let mut file = File::open(path)?;
    let mut first = Vec::with_capacity(ZSTD.len());
    file.by_ref()
        .take(ZSTD.len() as u64)
        .read_to_end(&mut first)?;
    let is_compressed = first == ZSTD;
    let whole = Cursor::new(first).chain(file);
    Ok(if is_compressed {
        Box::new(BufReader::with_capacity(BUFFER, zstd::Decoder::new(whole)?))
    } else {
        Box::new(BufReader::with_capacity(BUFFER, whole))
    })
}

/// Opens the text of a tape at a byte.
///
/// # Errors
/// As the file system gives them.
pub fn open_at(path: &Path, offset: u64) -> io::Result<Box<dyn BufRead>> {
    let mut file = File::open(path)?;
    let mut first = [0; 4];
    let read = file.read(&mut first)?;
    if read == 4 && first == ZSTD {
        let mut text = open(path)?;
        io::copy(&mut text.by_ref().take(offset), &mut io::sink())?;
        return Ok(text);
    }
    file.seek(SeekFrom::Start(offset))?;
    // A window is small.
    Ok(Box::new(BufReader::with_capacity(16 << 10, file)))
}
