//! A directory that no path leads out of, neither by `..` nor by a link. Without the feature `side-files` none can be opened, and a log is
//! converted as if it lay alone.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// What the system says of a file or directory.
pub(super) struct Facts {
    pub is_file: bool,
    pub is_directory: bool,
    pub bytes: u64,
    /// `None` if the system has no times.
    pub modified: Option<SystemTime>,
}

impl Facts {
    /// Of a file that is open.
    pub fn of(file: &File) -> Option<Facts> {
        let found = file.metadata().ok()?;
        Some(Facts {
            is_file: found.is_file(),
            is_directory: found.is_dir(),
            bytes: found.len(),
            modified: found.modified().ok(),
        })
    }
}

/// A directory that is open. Paths start there.
#[derive(Debug)]
#[cfg_attr(
    not(feature = "side-files"),
    allow(dead_code, reason = "none can be opened")
)]
pub(super) struct Directory(#[cfg(feature = "side-files")] cap_std::fs::Dir);

#[cfg(feature = "side-files")]
impl Directory {
    pub fn open(path: &Path) -> Option<Directory> {
        let directory = cap_std::fs::Dir::open_ambient_dir(path, cap_std::ambient_authority());
        directory.ok().map(Directory)
    }

    pub fn facts(&self, path: &Path) -> Option<Facts> {
        let found = self.0.metadata(path).ok()?;
        Some(Facts {
            is_file: found.is_file(),
            is_directory: found.is_dir(),
            bytes: found.len(),
            modified: found.modified().ok().map(|time| time.into_std()),
        })
    }

    /// Up to `limit` names in a directory, without those that are not UTF-8.
    pub fn names(&self, path: &Path, limit: usize) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in self.0.read_dir(path)?.take(limit) {
            names.extend(entry?.file_name().into_string().ok());
        }
        Ok(names)
    }

    /// Opens a regular file. What a pipe will have is not waited for.
    pub fn file(&self, path: &Path) -> Option<File> {
        // Opening a named pipe would wait for its other end.
        if !self.facts(path)?.is_file {
            return None;
        }
        let mut options = cap_std::fs::OpenOptions::new();
        options.read(true);
        // The pipe may be there only since the look at it.
        #[cfg(unix)]
        cap_std::fs::OpenOptionsExt::custom_flags(&mut options, crate::open::NO_WAITING);
        let file = self.0.open_with(path, &options).ok()?.into_std();
        Facts::of(&file)?.is_file.then_some(file)
    }
}

#[cfg(not(feature = "side-files"))]
impl Directory {
    pub fn open(_: &Path) -> Option<Directory> {
        None
    }

    pub fn facts(&self, _: &Path) -> Option<Facts> {
        None
    }

    pub fn names(&self, _: &Path, _: usize) -> io::Result<Vec<String>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn file(&self, _: &Path) -> Option<File> {
        None
    }
}
