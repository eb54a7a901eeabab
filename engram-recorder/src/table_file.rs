//! Files of the matrix: read to a bound, and replaced whole. A directory of them may come from somebody else, so no link in it is followed.

use std::fs;
use std::io::{Error, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::bounded;
use crate::error::RecorderError;

/// The most bytes of such a file.
const MAX_BYTES: u64 = 64 << 20;

/// The text of a file; `None` if it is not there.
///
/// # Errors
/// `io`, also if it is no regular file or too large.
pub fn read(path: &Path) -> Result<Option<String>, RecorderError> {
    let io = |error: Error| RecorderError::io(path, &error);
    match bounded::read_left(path, MAX_BYTES) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io(error)),
        Ok(bytes) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| io(Error::new(ErrorKind::InvalidData, "no text in UTF-8"))),
    }
}

/// Puts a text in the place of a file, in one step. Whatever stood there is replaced, a link too. Directories above are made.
///
/// # Errors
/// `io`.
pub fn replace(path: &Path, text: &str) -> Result<(), RecorderError> {
    let io = |error: Error| RecorderError::io(path, &error);
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    let above = above.unwrap_or(Path::new("."));
    fs::create_dir_all(above).map_err(io)?;
    let mut staged = tempfile::Builder::new()
        .prefix(".engram-")
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(above)
        .map_err(io)?;
    staged.write_all(text.as_bytes()).map_err(io)?;
    staged
        .persist(path)
        .map(drop)
        .map_err(|error| io(error.error))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_and_pipes_are_replaced_and_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str| directory.path().join(name);
        fs::write(place("other"), "other").unwrap();
        symlink(place("other"), place("link")).unwrap();
        symlink(place("nowhere"), place("dangling")).unwrap();
        fs::hard_link(place("other"), place("hard")).unwrap();
        rustix::fs::mkfifoat(
            rustix::fs::CWD,
            place("pipe"),
            rustix::fs::Mode::from_raw_mode(0o600),
        )
        .unwrap();
        for name in ["link", "dangling", "pipe"] {
            assert!(read(&place(name)).is_err(), "{name}");
        }
        for name in ["link", "dangling", "hard", "pipe", "d/new"] {
            replace(&place(name), name).unwrap();
            assert_eq!(read(&place(name)).unwrap().as_deref(), Some(name));
        }
        assert_eq!(fs::read_to_string(place("other")).unwrap(), "other");
        assert!(!place("nowhere").exists());
        assert_eq!(read(&place("none")).unwrap(), None);
        fs::write(place("bytes"), b"\xff").unwrap();
        assert!(read(&place("bytes")).is_err());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 7);
    }
}
