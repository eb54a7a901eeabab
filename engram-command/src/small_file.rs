//! Small files. A person names them on the command line, or they lie in a repository, which may come from a stranger.

use std::fs::File;
use std::io;
use std::path::Path;

use engram_adapters::open::regular;
use engram_core::bounds;
use engram_core::error::{AdapterError, ErrorCode};

/// The bytes of a file that a person names. It may be a pipe.
///
/// # Errors
/// Those of the file system; `FileTooLarge` with more than so many bytes.
pub fn bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    bounds::read_all(File::open(path)?, most)
}

/// The text of a file that was found. What is no regular file is not opened: a pipe would be waited for, and a device may have no end.
///
/// # Errors
/// As [`bytes`]; `InvalidInput` for what is no regular file, `InvalidData` for a text that is not UTF-8.
pub fn found(path: &Path, most: u64) -> io::Result<String> {
    text(bounds::read_all(regular(path)?, most)?)
}

/// Bytes as text.
///
/// # Errors
/// `InvalidData` if they are not UTF-8.
pub fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// The error for a small file. It has no records, so the text does not advise what to do with damaged records.
pub fn error(error: io::Error, path: &Path) -> AdapterError {
    let error = match error.raw_os_error() {
        Some(_) => AdapterError::from(error),
        None => AdapterError::new(ErrorCode::Io).found(&error.to_string()),
    };
    error.path(path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_so_much_is_read_and_what_is_found_is_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "12345").unwrap();
        assert_eq!(found(&path, 5).unwrap(), "12345");
        let kind = |read: io::Result<String>| read.unwrap_err().kind();
        assert_eq!(kind(found(&path, 4)), io::ErrorKind::FileTooLarge);
        assert_eq!(
            kind(found(directory.path(), 4)),
            io::ErrorKind::InvalidInput
        );
        fs::write(&path, b"\xff").unwrap();
        assert_eq!(kind(found(&path, 4)), io::ErrorKind::InvalidData);
        #[cfg(unix)]
        {
            // Neither a pipe without a writer nor a device without an end.
            let pipe = directory.path().join("pipe");
            rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
            assert_eq!(kind(found(&pipe, 4)), io::ErrorKind::InvalidInput);
            let zeros = bytes(Path::new("/dev/zero"), 4).and_then(text);
            assert_eq!(kind(zeros), io::ErrorKind::FileTooLarge);
        }
    }
}
