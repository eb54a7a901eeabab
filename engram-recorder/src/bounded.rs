//! Reads files whose content someone else chose: at most so many bytes.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Component, Path};

use engram_core::bounds::read_all;
use rustix::fs::{Mode, OFlags};

/// The bytes of a file that the caller named. It may be a pipe.
///
/// # Errors
/// Those of the file system; `FileTooLarge`.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    all(File::open(path)?, most)
}

/// The same as text.
///
/// # Errors
/// As [`read`]; `InvalidData` if it is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "no text in UTF-8"))
}

/// The bytes of a file that an agent may have left: a link is not followed, and nothing but a file is read.
///
/// # Errors
/// As [`read`]; `InvalidInput` if it is no file.
pub fn read_left(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    all(open_left(path)?, most)
}

/// The bytes of a file below a directory in which an agent may have changed everything: no link is followed on any part of the way.
///
/// # Errors
/// As [`read_left`]; `NotADirectory` if a part of the way is none.
pub fn read_below(root: &Path, below: &Path, most: u64) -> io::Result<Vec<u8>> {
    let parts = below.components().map(|part| match part {
        Component::Normal(name) => Ok(name),
        _ => Err(no_file()),
    });
    let parts = parts.collect::<io::Result<Vec<_>>>()?;
    let (name, above) = parts.split_last().ok_or_else(no_file)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut directory = rustix::fs::open(root, flags, Mode::empty())?;
    for part in above {
        directory = rustix::fs::openat(&directory, *part, flags, Mode::empty())?;
    }
    all(open_file(directory.as_fd(), Path::new(name))?, most)
}

/// Opens a file that an agent may have left.
///
/// # Errors
/// As [`read_left`].
pub fn open_left(path: &Path) -> io::Result<File> {
    open_file(rustix::fs::CWD, path)
}

fn open_file(directory: BorrowedFd<'_>, path: &Path) -> io::Result<File> {
    // A pipe without a writer is not waited for.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(directory, path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::LOOP) => return Err(no_file()),
        Err(error) => return Err(error.into()),
    };
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(no_file())
    }
}

fn no_file() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        "it is no file of its own: a link, a directory, a pipe or a device",
    )
}

fn all(file: File, most: u64) -> io::Result<Vec<u8>> {
    // The system knows that a file is too large before any of it is in memory.
    if file.metadata()?.len() > most {
        let what = format!("more than {most} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    read_all(file, most)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_files_are_read_and_only_so_much_of_them() {
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str| directory.path().join(name);
        std::fs::write(place("file"), "12345").unwrap();
        symlink(place("file"), place("link")).unwrap();
        assert_eq!(read_left(&place("file"), 5).unwrap(), b"12345");
        assert_eq!(read(&place("link"), 5).unwrap(), b"12345");
        assert_eq!(
            read_left(&place("file"), 4).unwrap_err().kind(),
            io::ErrorKind::FileTooLarge
        );
        assert_eq!(
            read(Path::new("/dev/zero"), 1000).unwrap_err().kind(),
            io::ErrorKind::FileTooLarge
        );
        std::fs::create_dir(place("d")).unwrap();
        std::fs::write(place("d/file"), "12345").unwrap();
        symlink(place("d"), place("way")).unwrap();
        let below = |name: &str| read_below(directory.path(), Path::new(name), 5);
        assert_eq!(below("d/file").unwrap(), b"12345");
        for name in ["way/file", "link", "d/../file", "/etc/passwd", "", "d"] {
            assert!(below(name).is_err(), "{name}");
        }
        rustix::fs::mkfifoat(rustix::fs::CWD, place("pipe"), Mode::RWXU).unwrap();
        for name in ["link", "pipe", "."] {
            assert_eq!(
                read_left(&place(name), 5).unwrap_err().kind(),
                io::ErrorKind::InvalidInput,
                "{name}"
            );
        }
        assert_eq!(
            read_left(&place("none"), 5).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }
}
