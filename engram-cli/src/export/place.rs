//! Where an export writes: beside its place, and under its name when it is complete. Nothing is overwritten.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use engram_command::interrupt;
use engram_command::output::{Claim, temporary_directory, temporary_file};
use engram_core::error::{AdapterError, ErrorCode};
use engram_export::losses::Losses;
use tempfile::TempDir;

/// A directory that gets its name when it is complete.
#[derive(Debug)]
pub struct NewDirectory {
    place: PathBuf,
    directory: TempDir,
    _claim: Claim,
}

impl NewDirectory {
    /// A directory beside `place`, which must not be there, or be empty.
    ///
    /// # Errors
    /// If there is something at the place, or as the file system gives them.
    pub fn beside(place: &Path) -> Result<NewDirectory, AdapterError> {
        let at = |error: io::Error| AdapterError::from(error).path(place.to_string_lossy());
        match fs::read_dir(place) {
            Ok(mut entries) => {
                if entries.next().is_some() {
                    return Err(taken(
                        place,
                        "a directory that is not there or is empty",
                        "files",
                    ));
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(at(error)),
        }
        fs::create_dir_all(parent(place)).map_err(at)?;
        let (directory, claim) = temporary_beside(place).map_err(at)?;
        Ok(NewDirectory {
            place: place.to_owned(),
            directory,
            _claim: claim,
        })
    }

    /// Where it is until it is complete.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// As the file system gives them.
    pub fn complete(self) -> Result<(), AdapterError> {
        fs::rename(self.directory.path(), &self.place)
            .map_err(|error| AdapterError::from(error).path(self.place.to_string_lossy()))?;
        // It has another name now, under which it is not removed.
        interrupt::forget(&self.directory.keep());
        Ok(())
    }
}

/// A directory beside `place`, which is removed when the command ends, however it ends.
///
/// # Errors
/// As the file system gives them.
pub fn temporary_beside(place: &Path) -> io::Result<(TempDir, Claim)> {
    temporary_directory(parent(place))
}

/// Writes a file that must not be there. It is complete before it gets its name.
///
/// # Errors
/// If it is there, those of `write`, or as the file system gives them.
pub fn new_file(
    place: &Path,
    write: impl FnOnce(&mut File) -> Result<(), AdapterError>,
) -> Result<(), AdapterError> {
    let at = |error: io::Error| AdapterError::from(error).path(place.to_string_lossy());
    if place.symlink_metadata().is_ok() {
        let found = if place.is_dir() {
            "a directory"
        } else {
            "a file"
        };
        return Err(taken(place, "a file that is not there", found));
    }
    let parent = parent(place);
    fs::create_dir_all(parent).map_err(at)?;
    let mut file = temporary_file(parent).map_err(at)?;
    let temporary = file.path().to_owned();
    let written = write(file.as_file_mut()).and_then(|()| {
        file.as_file().sync_all().map_err(at)?;
        file.persist_noclobber(place)
            .map(drop)
            .map_err(|error| at(error.error))
    });
    interrupt::forget(&temporary);
    written
}

/// Writes the report on losses, if it is asked for.
///
/// # Errors
/// As [`new_file`].
pub fn write_losses(file: Option<&Path>, losses: &Losses) -> Result<(), AdapterError> {
    let Some(file) = file else { return Ok(()) };
    new_file(file, |out| {
        out.write_all(losses.to_json().as_bytes())
            .map_err(|error| AdapterError::from(error).path(file.to_string_lossy()))
    })
}

fn taken(place: &Path, expected: &str, found: &str) -> AdapterError {
    AdapterError::new(ErrorCode::Io)
        .expected(expected)
        .found(found)
        .path(place.to_string_lossy())
}

fn parent(place: &Path) -> &Path {
    place
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}
