//! Tapes as files: plain or compressed, read from the beginning or from a byte of their text.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use engram_core::bounds::{self, BoundedLines, Counted, Expansion};

/// What a zstd frame begins with.
const ZSTD: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
const BUFFER: usize = 256 << 10;

/// Opens the text of a tape, with the bounds of what is read of tapes ([`bounds`]).
///
/// # Errors
/// As the file system gives them; `FileTooLarge` for a tape over a limit, also while it is read.
pub fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let mut file = File::open(path)?;
    bounds::refuse_large(file.metadata()?.len())?;
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
