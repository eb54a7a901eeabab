//! Tapes that the command line names, plain or compressed.

use std::io::{self, BufRead, BufReader, Read, stdin};
use std::path::{Path, PathBuf};

use engram_adapters::open;
use engram_core::bounds::BoundedLines;
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::policy::Policy;
use walkdir::WalkDir;

/// Name endings of tapes.
const TAPE_ENDINGS: [&str; 2] = [".tape.jsonl", ".tape.jsonl.zst"];

/// The beginning of every tape.
pub const FIRST_BYTES: &[u8] = br#"{"seq":0,"t":""#;

/// The tape at `path`, or the tapes in that directory, in the order of their names. A directory without tapes is an error, since
/// nothing would be read.
pub fn tapes_at(path: &Path) -> Vec<Result<PathBuf, AdapterError>> {
    if !path.is_dir() {
        return vec![Ok(path.to_owned())];
    }
    let found = tapes_in(path);
    if found.is_empty() {
        let error = AdapterError::new(ErrorCode::NotFound)
            .expected("tapes, named `*.tape.jsonl` or `*.tape.jsonl.zst`")
            .found("none");
        return vec![Err(error.path(path.to_string_lossy()))];
    }
    found
}

/// The tapes in a directory, in the order of their names.
pub fn tapes_in(directory: &Path) -> Vec<Result<PathBuf, AdapterError>> {
    let entries = WalkDir::new(directory).sort_by_file_name().into_iter();
    entries
        .filter_map(|entry| match entry {
            Ok(entry) if entry.file_type().is_file() && has_tape_name(entry.path()) => {
                Some(Ok(entry.into_path()))
            }
            Ok(_) => None,
            Err(error) => Some(Err(
                AdapterError::from(io::Error::from(error)).path(directory.to_string_lossy())
            )),
        })
        .collect()
}

/// The tapes that the paths name or, for a directory, that `tapes_of` finds there; and the paths that name none.
pub fn tapes_among(
    paths: &[PathBuf],
    tapes_of: impl Fn(&Path) -> Vec<Result<PathBuf, AdapterError>>,
) -> (Vec<Result<PathBuf, AdapterError>>, Vec<PathBuf>) {
    let (mut found, mut others) = (Vec::new(), Vec::new());
    for path in paths {
        let tapes = if path.is_dir() {
            tapes_of(path)
        } else {
            Vec::new()
        };
        if is_tape(path) {
            found.push(Ok(path.clone()));
        } else if tapes.is_empty() {
            others.push(path.clone());
        } else {
            found.extend(tapes);
        }
    }
    (found, others)
}

fn has_tape_name(path: &Path) -> bool {
    let name = path.to_string_lossy();
    TAPE_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Opens a tape; `-` is standard input. A line, a file or a compressed file over its limit ([`engram_core::bounds`]) is an error while it is read.
///
/// # Errors
/// As the file system reports them.
pub fn open_tape(path: &Path) -> io::Result<BufReader<impl Read>> {
    let reader: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(stdin())
    } else {
        Box::new(open::file(path)?)
    };
    bounded(reader)
}

/// As [`open_tape`], for a tape that was found: only a regular file, and not through a link.
///
/// # Errors
/// As [`open_tape`].
pub fn open_found_tape(path: &Path) -> io::Result<BufReader<impl Read>> {
    bounded(open::regular(path)?)
}

/// The text of a tape, with the bounds of what is read of tapes.
fn bounded<R: Read>(reader: R) -> io::Result<BufReader<BoundedLines<impl Read>>> {
    let text = BoundedLines::new(open::content(reader)?);
    Ok(BufReader::with_capacity(256 << 10, text))
}

/// What went wrong with a tape. No policy reads a tape another way, so none is recommended.
pub fn tape_error(path: &Path, error: io::Error) -> AdapterError {
    AdapterError::from(error)
        .under(Policy::Permissive)
        .path(path.to_string_lossy())
}

/// True if the bytes that come next are those of a tape, or of something that was one: the rest of the first line does not count.
///
/// # Errors
/// When the reader fails.
pub fn begins_as_tape(tape: &mut impl BufRead) -> io::Result<bool> {
    let mark = &FIRST_BYTES[..7];
    let first = tape.fill_buf()?;
    Ok(first.starts_with(mark)
        || (first.len() < mark.len() && mark.starts_with(first) && !first.is_empty()))
}

/// True if the file is a tape by its content.
pub fn is_tape(path: &Path) -> bool {
    let first_bytes = |tape: BufReader<_>| {
        let mut bytes = Vec::new();
        tape.take(FIRST_BYTES.len() as u64)
            .read_to_end(&mut bytes)
            .map(|_| bytes)
    };
    open::found(path)
        .and_then(open::content)
        .map(BufReader::new)
        .and_then(first_bytes)
        .is_ok_and(|bytes| bytes == FIRST_BYTES)
}
