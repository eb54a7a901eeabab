//! Tapes as files: plain or compressed, read from the beginning or from a byte of their text.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use engram_core::bounds::{self, BoundedLines, Counted, Expansion};
use engram_core::hash::StreamHasher;

use crate::rows::{Digest, digest};

/// What a zstd frame begins with.
const ZSTD: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
const BUFFER: usize = 256 << 10;

/// Opens the text of a tape, with the bounds of what is read of tapes ([`bounds`]).
///
/// # Errors
/// As the file system gives them; `FileTooLarge` for a tape over a limit, also while it is read.
pub fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let size = size(path)?;
    bounds::refuse_large(size)?;
    // Files of the system may be read without end, and have no size.
    let mut file = File::open(path)?.take(size);
    let mut first = Vec::with_capacity(ZSTD.len());
    file.by_ref()
        .take(ZSTD.len() as u64)
        .read_to_end(&mut first)?;
    let is_compressed = first == ZSTD;
    let whole = Cursor::new(first).chain(file);
    let text: Box<dyn Read> = if is_compressed {
        Box::new(Compressed {
            decoder: zstd::Decoder::new(Counted::new(whole))?,
            expansion: Expansion::default(),
        })
    } else {
        Box::new(whole)
    };
    Ok(Box::new(BufReader::with_capacity(
        BUFFER,
        BoundedLines::new(text),
    )))
}

/// The size of a file. What is no regular file is refused before it is opened: a pipe would be waited for.
///
/// # Errors
/// As the file system gives them; `InvalidInput` for what is no regular file.
fn size(path: &Path) -> io::Result<u64> {
    let found = path.metadata()?;
    match found.is_file() {
        true => Ok(found.len()),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no regular file",
        )),
    }
}

/// True if a file is there and its text has this hash.
pub fn is_tape(path: &Path, hash: &Digest) -> bool {
    hash_of(path).is_ok_and(|found| found == *hash)
}

/// A file with its state: whatever is written to it or put in its place, its time of change is another one, which nobody can set.
type State = [u64; 7];

/// Hashes that are remembered.
const MAX_HASHES: usize = 4096;

thread_local! {
    static HASHES: RefCell<HashMap<State, Digest>> = RefCell::default();
}

/// The hash of the text of a tape. An answer names the same tape many times: it is read once, as long as its state is the same.
fn hash_of(path: &Path) -> io::Result<Digest> {
    let Some(state) = state(path)? else {
        return read_hash(path);
    };
    if let Some(known) = HASHES.with_borrow(|known| known.get(&state).copied()) {
        return Ok(known);
    }
    let hash = read_hash(path)?;
    HASHES.with_borrow_mut(|known| {
        if known.len() >= MAX_HASHES {
            known.clear();
        }
        known.insert(state, hash)
    });
    Ok(hash)
}

#[cfg(unix)]
fn state(path: &Path) -> io::Result<Option<State>> {
    use std::os::unix::fs::MetadataExt;
    let found = path.metadata()?;
    let times = [
        found.mtime(),
        found.mtime_nsec(),
        found.ctime(),
        found.ctime_nsec(),
    ];
    let [mtime, mtime_nsec, ctime, ctime_nsec] = times.map(i64::cast_unsigned);
    Ok(Some([
        found.dev(),
        found.ino(),
        found.size(),
        mtime,
        mtime_nsec,
        ctime,
        ctime_nsec,
    ]))
}

#[cfg(not(unix))]
fn state(_: &Path) -> io::Result<Option<State>> {
    Ok(None)
}

fn read_hash(path: &Path) -> io::Result<Digest> {
    let (mut text, mut hasher) = (open(path)?, StreamHasher::default());
    loop {
        let part = text.fill_buf()?;
        if part.is_empty() {
            return Ok(digest(&hasher.finish().0));
        }
        hasher.update(part);
        let count = part.len();
        text.consume(count);
    }
}

/// A tape that is decompressed as it is read.
struct Compressed<R: Read> {
    decoder: zstd::Decoder<'static, BufReader<Counted<R>>>,
    expansion: Expansion,
}

impl<R: Read> Read for Compressed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.decoder.read(buffer)?;
        self.expansion.add(read, self.decoder.get_ref().get_ref())?;
        Ok(read)
    }
}

/// Opens the text of a tape at a byte.
///
/// # Errors
/// As the file system gives them.
pub fn open_at(path: &Path, offset: u64) -> io::Result<Box<dyn BufRead>> {
    size(path)?;
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
    let text = BoundedLines::new(file);
    Ok(Box::new(BufReader::with_capacity(16 << 10, text)))
}
