//! Opening files: snapshots of growing files, compressed streams, databases, and the types of stores.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

pub use engram_core::bounds;
use engram_core::error::AdapterError;
use engram_core::limits::Limits;
use engram_core::pipeline::{Input, Reader, Source, Spool};

#[cfg(feature = "sqlite")]
mod copies;
pub mod database;
mod database_header;
#[cfg(feature = "gzip")]
mod gzip_stream;
#[cfg(feature = "sqlite")]
mod journal;
pub mod lines;
mod regular;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(feature = "sqlite")]
mod sqlite_copy;
#[cfg(feature = "sqlite")]
mod sqlite_index;
pub mod store;
pub mod table;
pub mod tables;
pub mod text;
mod utf16_stream;
#[cfg(feature = "zstd")]
mod zstd_stream;

#[cfg(feature = "sqlite")]
pub use copies::{discard_abandoned_copies, discard_copies};
pub use database_header::{beginning, is_database, may_be_database};
#[cfg(feature = "gzip")]
use gzip_stream::GzipStream;
#[cfg(all(unix, feature = "side-files"))]
pub(crate) use regular::NO_WAITING;
pub use regular::regular;
use utf16_stream::{Utf16Stream, is_utf16};
#[cfg(feature = "zstd")]
use zstd_stream::ZstdStream;

/// Opens the artifact at `path`, and decompresses or decodes it as its content needs.
///
/// # Errors
/// `io`, with the path.
pub fn artifact(
    path: &Path,
    limits: Limits,
) -> Result<Input<Reader<Content<Snapshot>>>, AdapterError> {
    let content = file(path)
        .and_then(rewinding)
        .map_err(|error| AdapterError::from(error).path(path.to_string_lossy()))?;
    Ok(Input::of_source(content, limits))
}

/// Opens a file that somebody has named for readings of what it contains now. It may be a pipe, which is waited for.
///
/// # Errors
/// As the file system gives them; `FileTooLarge` for a file over [`bounds::SOURCE_BYTES`].
pub fn file(path: &Path) -> io::Result<Snapshot> {
    snapshot(File::open(path)?)
}

/// As [`file()`], of a file that a search has found: only a [`regular`] one.
///
/// # Errors
/// As [`file()`] and [`regular`].
pub fn found(path: &Path) -> io::Result<Snapshot> {
    snapshot(regular(path)?)
}

fn snapshot(file: File) -> io::Result<Snapshot> {
    let metadata = file.metadata()?;
    // Pipes and the like have no length. The kernel's own files report the length 0.
    let length = Some(metadata.len()).filter(|length| metadata.is_file() && *length > 0);
    bounds::refuse_large(length.unwrap_or_default())?;
    let source = match length {
        Some(length) => Bytes::File {
            file,
            length,
            position: 0,
        },
        None => Bytes::Stream(Spool::new(file)),
    };
    Ok(Snapshot { source, metadata })
}

/// A file as long as it was when it was opened: what a running harness appends meanwhile is left for the next conversion.
#[derive(Debug)]
pub struct Snapshot {
    source: Bytes,
    metadata: Metadata,
}

#[derive(Debug)]
enum Bytes {
    File {
        file: File,
        length: u64,
        position: u64,
    },
    /// It can be read once only.
    Stream(Spool<File>),
}

impl Snapshot {
    /// The length when it was opened, where there is one.
    pub fn length(&self) -> Option<u64> {
        match &self.source {
            Bytes::File { length, .. } => Some(*length),
            Bytes::Stream(_) => None,
        }
    }
}

impl Read for Snapshot {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (file, length, position) = match &mut self.source {
            Bytes::Stream(stream) => return stream.read(buffer),
            Bytes::File {
                file,
                length,
                position,
            } => (file, length, position),
        };
        let missing = *length - *position;
        let read = file.take(missing).read(buffer)?;
        if read == 0 && !buffer.is_empty() && missing > 0 {
            let reason = format!("the file lost {missing} bytes while it was read");
            return Err(io::Error::new(ErrorKind::UnexpectedEof, reason));
        }
        *position += read as u64;
        Ok(read)
    }
}

impl Seek for Snapshot {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.source {
            Bytes::Stream(stream) => stream.seek(to),
            Bytes::File {
                file,
                length,
                position,
            } => {
                *position = file.seek(to)?.min(*length);
                Ok(*position)
            }
        }
    }
}

impl Source for Snapshot {
    fn may_have_changed(&mut self) -> bool {
        let Bytes::File { file, .. } = &self.source else {
            return false;
        };
        let is_same = |now: Metadata| {
            now.len() == self.metadata.len() && now.modified().ok() == self.metadata.modified().ok()
        };
        !file.metadata().is_ok_and(is_same)
    }
}

/// The bytes of an artifact, decompressed or decoded to UTF-8 where needed.
pub enum Content<R: Source> {
    /// As it was.
    Plain(R),
    /// Decoded from UTF-16.
    Utf16(Spool<Utf16Stream<R>>),
    /// Decompressed from gzip.
    #[cfg(feature = "gzip")]
    Gzip(Spool<GzipStream<R>>),
    /// Decompressed from zstd.
    #[cfg(feature = "zstd")]
    Zstd(Spool<ZstdStream<R>>),
}

/// What a gzip member begins with: its mark, and the only method of compression.
const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

/// What a zstd frame begins with.
const ZSTD_MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();

/// The content of a stream that is read once, decompressed if it is compressed.
///
/// # Errors
/// As [`rewinding`].
pub fn content<R: Read>(reader: R) -> io::Result<Content<Spool<R>>> {
    let mut reader = Spool::of_beginning(reader);
    let first = first_bytes(&mut reader)?;
    decompressed(&first, reader)
}

/// The content of an artifact: decompressed if it is compressed, as UTF-8 if it is UTF-16. The first bytes decide; the name is not asked.
///
/// # Errors
/// When the reader fails, or the decoder cannot be set up.
pub fn rewinding<R: Source>(mut reader: R) -> io::Result<Content<R>> {
    let first = first_bytes(&mut reader)?;
    if is_utf16(&first) {
        return Ok(Content::Utf16(Spool::new(Utf16Stream::new(&first, reader))));
    }
    decompressed(&first, reader)
}

/// The first bytes of a source, which is then at its start again.
fn first_bytes<R: Source>(reader: &mut R) -> io::Result<Vec<u8>> {
    let mut first = Vec::with_capacity(ZSTD_MAGIC.len());
    reader
        .by_ref()
        .take(ZSTD_MAGIC.len() as u64)
        .read_to_end(&mut first)?;
    reader.seek(SeekFrom::Start(0))?;
    Ok(first)
}

fn decompressed<R: Source>(first: &[u8], reader: R) -> io::Result<Content<R>> {
    if first == ZSTD_MAGIC {
        from_zstd(reader)
    } else if first.starts_with(&GZIP_MAGIC) {
        from_gzip(reader)
    } else {
        Ok(Content::Plain(reader))
    }
}

#[cfg(feature = "zstd")]
fn from_zstd<R: Source>(whole: R) -> io::Result<Content<R>> {
    Ok(Content::Zstd(Spool::new(ZstdStream::new(whole)?)))
}

#[cfg(not(feature = "zstd"))]
fn from_zstd<R: Source>(_whole: R) -> io::Result<Content<R>> {
    Err(missing_feature(
        "a file that is compressed with zstd",
        "zstd",
    ))
}

#[cfg(feature = "gzip")]
fn from_gzip<R: Source>(whole: R) -> io::Result<Content<R>> {
    Ok(Content::Gzip(Spool::new(GzipStream::new(whole))))
}

#[cfg(not(feature = "gzip"))]
fn from_gzip<R: Source>(_whole: R) -> io::Result<Content<R>> {
    Err(missing_feature(
        "a file that is compressed with gzip",
        "gzip",
    ))
}

/// The content of a value of a store that is compressed with zstd, or what is wrong with the value.
///
/// # Errors
/// `limit_exceeded` if it is larger than a record may be.
#[cfg(all(feature = "sqlite", feature = "pi", feature = "zstd"))]
pub(crate) fn zstd_bytes(bytes: &[u8], limits: Limits) -> Result<Vec<u8>, AdapterError> {
    use engram_core::error::ErrorCode;

    let mut content = Vec::new();
    let stream = ZstdStream::new(bytes)?;
    let most = limits.record_bytes.saturating_add(1);
    match stream.take(most).read_to_end(&mut content) {
        Ok(read) if read as u64 == most => {
            let expected = format!("a value of at most {} bytes", limits.record_bytes);
            Err(AdapterError::new(ErrorCode::LimitExceeded).expected(expected))
        }
        Ok(_) => Ok(content),
        Err(error) => Ok(error.to_string().into_bytes()),
    }
}

/// Without the feature `zstd` such a value is an error.
///
/// # Errors
/// `io`.
#[cfg(all(feature = "sqlite", feature = "pi", not(feature = "zstd")))]
pub(crate) fn zstd_bytes(_bytes: &[u8], _limits: Limits) -> Result<Vec<u8>, AdapterError> {
    Err(missing_feature("a value that is compressed with zstd", "zstd").into())
}

/// Input that this build cannot read.
#[cfg(any(not(feature = "gzip"), not(feature = "zstd"), not(feature = "sqlite")))]
fn missing_feature(what: &str, feature: &str) -> io::Error {
    io::Error::new(
        ErrorKind::Unsupported,
        format!("{what}; build engram-adapters with the feature `{feature}` to read it"),
    )
}

impl<R: Source> Read for Content<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Content::Plain(reader) => reader.read(buffer),
            Content::Utf16(reader) => reader.read(buffer),
            #[cfg(feature = "gzip")]
            Content::Gzip(reader) => reader.read(buffer),
            #[cfg(feature = "zstd")]
            Content::Zstd(reader) => reader.read(buffer),
        }
    }
}

impl<R: Source> Seek for Content<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Content::Plain(reader) => reader.seek(to),
            Content::Utf16(reader) => reader.seek(to),
            #[cfg(feature = "gzip")]
            Content::Gzip(reader) => reader.seek(to),
            #[cfg(feature = "zstd")]
            Content::Zstd(reader) => reader.seek(to),
        }
    }
}

impl<R: Source> Source for Content<R> {
    fn may_have_changed(&mut self) -> bool {
        match self {
            Content::Plain(reader) => reader.may_have_changed(),
            // What is decompressed or decoded is stored.
            _ => false,
        }
    }
}

/// The part of a source that is read for the first time: what is read again is not counted and not copied again.
#[derive(Debug, Default)]
pub struct FirstReading {
    position: u64,
    /// The bytes up to here were read before.
    end: u64,
}

impl FirstReading {
    /// How many of the bytes that were just read were read before.
    pub fn advance(&mut self, read: usize) -> usize {
        let before = self.end.saturating_sub(self.position).min(read as u64);
        self.position += read as u64;
        self.end = self.end.max(self.position);
        before as usize
    }

    /// The source goes on at this position.
    pub fn go_to(&mut self, position: u64) {
        self.position = position;
    }
}

#[cfg(test)]
mod tests {
    use engram_core::error::ErrorCode;
    use engram_core::pipeline::Options;
    use engram_core::policy::Policy;
    use engram_core::tape::JsonLines;

    use super::*;

    fn read_all(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        content(io::Cursor::new(bytes))?.read_to_end(&mut all)?;
        Ok(all)
    }

    #[test]
    fn plain_bytes_pass_however_few() {
        for bytes in [&b""[..], b"{", b"{}\n", b"{\"a\":1}\n"] {
            assert_eq!(read_all(bytes).unwrap(), bytes);
        }
    }

    #[test]
    fn frames_are_decompressed_one_after_the_other() {
        let mut frames = zstd::encode_all(&b"one\n"[..], 0).unwrap();
        frames.extend(zstd::encode_all(&b"two\n"[..], 0).unwrap());
        assert_eq!(read_all(&frames).unwrap(), b"one\ntwo\n");
    }

    #[test]
    fn a_cut_frame_says_that_it_is_cut_and_a_damaged_one_that_it_is_corrupt() {
        let text: Vec<u8> = (0..100_000u32)
            .flat_map(|n| (n.wrapping_mul(2_654_435_761)).to_le_bytes())
            .collect();
        let frame = zstd::encode_all(&text[..], 0).unwrap();
        assert_eq!(
            read_all(&frame[..frame.len() / 2]).unwrap_err().kind(),
            ErrorKind::UnexpectedEof
        );
        let mut damaged = frame;
        damaged[8] ^= 0xff;
        assert_eq!(
            read_all(&damaged).unwrap_err().kind(),
            ErrorKind::InvalidData
        );
    }

    #[cfg(feature = "gzip")]
    #[test]
    fn gzip_is_decompressed_and_its_faults_are_those_of_the_input() {
        use flate2::Compression;
        use flate2::read::GzEncoder;

        let compressed = |text: &[u8]| {
            let mut bytes = Vec::new();
            GzEncoder::new(text, Compression::fast())
                .read_to_end(&mut bytes)
                .unwrap();
            bytes
        };
        let members = [compressed(b"one\n"), compressed(b"two\n")].concat();
        assert_eq!(read_all(&members).unwrap(), b"one\ntwo\n");
        let text: Vec<u8> = (0..10_000u32)
            .flat_map(|n| (n.wrapping_mul(2_654_435_761)).to_le_bytes())
            .collect();
        let whole = compressed(&text);
        assert_eq!(
            read_all(&whole[..whole.len() / 2]).unwrap_err().kind(),
            ErrorKind::UnexpectedEof
        );
        let mut damaged = whole;
        let middle = damaged.len() / 2;
        damaged[middle..middle + 8].fill(0xff);
        assert_eq!(
            read_all(&damaged).unwrap_err().kind(),
            ErrorKind::InvalidData
        );
    }

    #[test]
    fn a_file_that_grows_is_read_as_it_was_and_one_that_shrinks_is_cut() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        std::fs::write(&path, "first\n").unwrap();
        let mut grown = file(&path).unwrap();
        std::fs::write(&path, "first\nsecond\n").unwrap();
        assert_eq!(io::read_to_string(&mut grown).unwrap(), "first\n");
        assert!(grown.may_have_changed());
        grown.seek(SeekFrom::Start(2)).unwrap();
        assert_eq!(io::read_to_string(&mut grown).unwrap(), "rst\n");
        let mut shrunk = file(&path).unwrap();
        assert!(!shrunk.may_have_changed());
        std::fs::write(&path, "fir").unwrap();
        assert_eq!(
            io::read_to_string(&mut shrunk).unwrap_err().kind(),
            ErrorKind::UnexpectedEof
        );
    }

    #[test]
    fn a_log_in_utf_16_gives_the_events_of_the_same_log_in_utf_8() {
        let logs = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/");
        for log in [
            "claude-code/2.1.329/a_qa/session/.claude/projects/-home-dev-proj/a1b4a766-80c8-49fe-8160-a44929b36ca0.jsonl",
            "claude-code/2.0.32/n_hooks/stdout/run2.jsonl",
        ] {
            let text = std::fs::read_to_string(format!("{logs}{log}")).unwrap();
            let marked = format!("\u{feff}{text}");
            let tape = |bytes: &[u8]| {
                let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
                std::fs::write(&path, bytes).unwrap();
                let options = Options {
                    policy: Policy::Strict,
                    ..Options::default()
                };
                let mut tape = Vec::new();
                let input = artifact(&path, options.limits).unwrap();
                crate::ingest(input, &options, &mut JsonLines::new(&mut tape)).unwrap();
                String::from_utf8(tape).unwrap()
            };
            let of_utf8 = tape(marked.as_bytes());
            for bytes_of in [u16::to_le_bytes, u16::to_be_bytes] {
                let bytes: Vec<u8> = marked.encode_utf16().flat_map(bytes_of).collect();
                assert!(tape(&bytes) == of_utf8, "{log}");
            }
        }
    }

    #[test]
    fn a_log_that_shrinks_gives_what_was_read_or_an_error() {
        let shrunk = |policy| {
            let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
            let log = concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../fixtures/codex/0.169.0/main/session/.codex/sessions/2026/11/21/"
            );
            let log = std::fs::read_dir(log)
                .unwrap()
                .next()
                .unwrap()
                .unwrap()
                .path();
            std::fs::copy(log, &path).unwrap();
            let options = Options {
                policy,
                ..Options::default()
            };
            let input = artifact(&path, options.limits).unwrap();
            let half = path.metadata().unwrap().len() / 2;
            File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_len(half)
                .unwrap();
            crate::ingest(input, &options, &mut JsonLines::new(io::sink()))
        };
        let summary = shrunk(Policy::Permissive).unwrap();
        assert!(!summary.complete && summary.ledger.mapped > 0);
        assert_eq!(
            shrunk(Policy::Strict).unwrap_err().code,
            ErrorCode::TruncatedInput
        );
    }
}
