//! Temporary copies of databases. They are deleted when they are dropped, or when the run is interrupted.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;

/// Where copies lie now.
static FOLDERS: Folders = Folders::new();

/// Removes all copies of stores, for a run that ends early: nothing that was opened may be used any more.
pub fn discard_copies() {
    FOLDERS.discard();
}

/// The temporary folder of one copy, which is gone when this is dropped.
#[derive(Debug)]
pub(super) struct CopyFolder {
    folder: TempDir,
    among: &'static Folders,
}

impl CopyFolder {
    /// A new one.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn new() -> io::Result<CopyFolder> {
        FOLDERS.add()
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for CopyFolder {
    fn drop(&mut self) {
        self.among.paths().remove(self.folder.path());
    }
}

#[derive(Debug)]
struct Folders(Mutex<BTreeSet<PathBuf>>);

impl Folders {
    const fn new() -> Self {
        Folders(Mutex::new(BTreeSet::new()))
    }

    fn paths(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A folder is made only by who holds the list, so that each is on it.
    fn add(&'static self) -> io::Result<CopyFolder> {
        let mut paths = self.paths();
        let folder = tempfile::Builder::new().prefix("engram-").tempdir()?;
        paths.insert(folder.path().to_owned());
        Ok(CopyFolder { folder, among: self })
    }

    fn discard(&self) {
        for path in std::mem::take(&mut *self.paths()) {
            // It may just have been dropped.
            let _ = fs::remove_dir_all(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_gone_when_they_are_dropped_or_discarded() {
        static OWN: Folders = Folders::new();
        let [dropped, discarded] = [OWN.add().unwrap(), OWN.add().unwrap()];
        let paths = [&dropped, &discarded].map(|folder| folder.path().to_owned());
        fs::write(discarded.path().join("store.db"), "a copy").unwrap();
        drop(dropped);
        assert_eq!(paths.each_ref().map(|path| path.exists()), [false, true]);
        OWN.discard();
        assert!(!paths[1].exists() && OWN.paths().is_empty());
    }
}
