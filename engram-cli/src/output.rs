//! Files that the command writes beside tapes: a summary, a page.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

use crate::interrupt;
use crate::tape_dir::temporary_in;

/// Where the system has its devices and the open files of processes. What is written there is added to what is there already.
const STREAMS: [&str; 2] = ["/dev", "/proc"];

/// Writes a file for its owner only, completely or not at all. What is no regular file (a device, a pipe, a link) is written into: a file
/// that takes its name would be something else.
///
/// # Errors
/// As the file system gives them.
pub fn write(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(found) if !found.is_file() => write_into(path, write),
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => replace(path, write),
    }
}

fn write_into(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let is_stream = STREAMS.iter().any(|directory| path.starts_with(directory));
    let mut options = File::options();
    // A link may lead to nothing yet.
    options
        .write(true)
        .create(!is_stream)
        .append(is_stream)
        .truncate(!is_stream);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut out = BufWriter::new(options.open(path)?);
    write(&mut out)?;
    out.flush()
}

fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let directory = path
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut file = interrupt::temporary(|| temporary_in(directory))?;
    let temporary = file.path().to_owned();
    let mut out = BufWriter::new(file.as_file_mut());
    let written = write(&mut out).and_then(|()| out.flush());
    drop(out);
    let named = written.and_then(|()| file.persist(path).map_err(|error| error.error));
    interrupt::forget(&temporary);
    named.map(drop)
}

/// True if a file that is to be written is one of those that are read.
pub fn is_input<'p>(path: &Path, mut inputs: impl Iterator<Item = &'p Path>) -> bool {
    let Some(own) = identity(path) else {
        return false;
    };
    inputs.any(|input| identity(input).as_ref() == Some(&own))
}

/// True if standard output is one of the files that are read, as after `engram show log >> log`.
pub fn stdout_is_input<'p>(inputs: impl Iterator<Item = &'p Path>) -> bool {
    cfg!(unix) && is_input(Path::new("/dev/stdout"), inputs)
}

/// What tells a regular file from all others, without opening it.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path)
        .ok()
        .filter(fs::Metadata::is_file)
        .map(|found| (found.dev(), found.ino()))
}

/// What tells a regular file from all others, as far as paths do.
#[cfg(not(unix))]
fn identity(path: &Path) -> Option<std::path::PathBuf> {
    fs::canonicalize(path).ok().filter(|path| path.is_file())
}

/// What to say about such a file.
pub fn same_as_input(path: &Path) -> String {
    format!(
        "{} is read, so nothing can be written to it; name another file",
        path.to_string_lossy()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"hello\n")
    }

    fn broken(out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"half")?;
        Err(ErrorKind::Other.into())
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_or_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        write(&path, hello).unwrap();
        assert!(write(&path, broken).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "hello\n");
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_written_into() {
        use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        symlink("target", at("link")).unwrap();
        for _ in 0..2 {
            write(&at("link"), hello).unwrap();
            assert!(at("link").is_symlink());
            assert_eq!(fs::read_to_string(at("target")).unwrap(), "hello\n");
        }
        assert_eq!(
            at("target").metadata().unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert!(
            std::process::Command::new("mkfifo")
                .arg(at("pipe"))
                .status()
                .unwrap()
                .success()
        );
        let reader = std::thread::spawn({
            let pipe = at("pipe");
            move || fs::read_to_string(pipe).unwrap()
        });
        write(&at("pipe"), hello).unwrap();
        assert_eq!(reader.join().unwrap(), "hello\n");
        assert!(at("pipe").symlink_metadata().unwrap().file_type().is_fifo());
        let full = Path::new("/dev/full");
        if full.exists() {
            assert_eq!(
                write(full, hello).unwrap_err().kind(),
                ErrorKind::StorageFull
            );
            assert!(
                full.symlink_metadata()
                    .unwrap()
                    .file_type()
                    .is_char_device()
            );
        }
        assert!(write(directory.path(), hello).is_err());
    }

    #[test]
    fn an_input_is_known_by_any_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        fs::write(&path, "").unwrap();
        let other = directory.path().join(".").join("a");
        assert!(is_input(&other, [path.as_path()].into_iter()));
        assert!(!is_input(
            &directory.path().join("b"),
            [path.as_path()].into_iter()
        ));
    }
}
