//! The operations that change files in a directory of tapes. All go through here, so that a test can let each of them fail.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use engram_command::output;
use tempfile::{NamedTempFile, PathPersistError, TempPath};

#[cfg(test)]
use super::faults::step;

/// From so many files on, one request for all that is not on the disk takes less time than one for each.
#[cfg(target_os = "linux")]
const MANY: usize = 8;

/// How names of temporary files begin and end.
pub const TEMPORARY: (&str, &str) = (".engram-", ".tmp");

/// Fails if a test says so.
#[cfg(not(test))]
#[inline]
#[expect(clippy::unnecessary_wraps, reason = "it can fail in tests")]
fn step(_: &Path) -> io::Result<()> {
    Ok(())
}

/// A new temporary file in a directory, for its owner only.
///
/// # Errors
/// As the file system gives them, here and below.
pub fn temporary_in(directory: &Path) -> io::Result<NamedTempFile> {
    step(directory)?;
    tempfile::Builder::new()
        .prefix(TEMPORARY.0)
        .suffix(TEMPORARY.1)
        .tempfile_in(directory)
}

/// Writes to a temporary file.
pub struct Writer<'f>(pub &'f mut NamedTempFile);

impl Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        step(self.0.path())?;
        self.0.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_file_mut().flush()
    }
}

/// Waits until a file is on the disk.
pub fn sync(file: &NamedTempFile) -> io::Result<()> {
    step(file.path())?;
    file.as_file().sync_all()
}

/// Waits until the contents of files in a directory are on the disk. For many files the system is asked once.
pub fn sync_contents(directory: &Path, files: &[&Path]) -> io::Result<()> {
    for file in files {
        step(file)?;
    }
    #[cfg(target_os = "linux")]
    if files.len() >= MANY {
        return Ok(rustix::fs::syncfs(File::open(directory)?)?);
    }
    files.iter().try_for_each(|file| {
        // Some systems sync only what can be written.
        File::options().write(true).open(file)?.sync_all()
    })
}

/// Waits until the names in a directory are on the disk. Some systems have nothing of the kind.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    step(path)?;
    if cfg!(unix) {
        File::open(path)?.sync_all()
    } else {
        Ok(())
    }
}

/// Gives a file a name, in place of the file that has it.
pub fn replace(file: TempPath, path: &Path) -> io::Result<()> {
    step(path)?;
    file.persist(path).map_err(|error| error.error)
}

/// Gives a file a name that no other file has.
pub fn name_new(file: TempPath, path: &Path) -> Result<(), PathPersistError> {
    match step(path) {
        Ok(()) => file.persist_noclobber(path),
        Err(error) => Err(PathPersistError { error, path: file }),
    }
}

/// Removes a file.
pub fn remove(path: &Path) -> io::Result<()> {
    step(path)?;
    fs::remove_file(path)
}

/// Makes a directory for its owner only.
pub fn make_directory(path: &Path, with_parents: bool) -> io::Result<()> {
    step(path)?;
    output::make_directory(path, with_parents)
}
