//! Opens a file that a search has found, and refuses anything else that has taken its place since.
//!
//! Opening a named pipe waits for its other end, for ever if nobody comes. Between looking at a path and opening it, anybody who may write
//! to its directory can put one there. So the open does not wait, and what was opened is looked at again.

use std::fs::File;
use std::io;
use std::path::Path;

/// Opens a regular file, or what a link to one leads to.
///
/// # Errors
/// As the file system gives them; `InvalidInput` for anything that is no regular file.
pub fn regular(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, NO_WAITING);
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(not_regular())
    }
}

/// The flag with which an open does not wait. Reading a regular file is the same with it.
#[cfg(unix)]
pub(crate) const NO_WAITING: i32 = libc::O_NONBLOCK;

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn only_a_regular_file_is_opened_and_nothing_is_waited_for() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::write(at("file"), "text").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        assert!(
            Command::new("mkfifo")
                .arg(at("pipe"))
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(
            io::read_to_string(regular(&at("file")).unwrap()).unwrap(),
            "text"
        );
        assert_eq!(
            io::read_to_string(regular(&at("link")).unwrap()).unwrap(),
            "text"
        );
        let began = Instant::now();
        for other in [at("pipe"), root.path().to_owned(), "/dev/zero".into()] {
            assert_eq!(
                regular(&other).unwrap_err().kind(),
                io::ErrorKind::InvalidInput,
                "{}",
                other.display()
            );
        }
        assert_eq!(
            regular(&at("nothing")).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}
