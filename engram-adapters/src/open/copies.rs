//! Temporary copies of databases, deleted when dropped or when the run is interrupted. A later run deletes those of a killed one.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use tempfile::TempDir;

/// How the names of all copies begin.
const PREFIX: &str = "engram-copy-";
/// A file in the directory of a copy. It is locked as long as the copy is in use.
const LOCK: &str = ".lock";
/// A directory that was made just now may not have its lock yet.
const UNLOCKED_FOR: Duration = Duration::from_secs(600);

/// How long a run that ends early waits for a thread that makes or removes a copy just now.
const PATIENCE: Duration = Duration::from_millis(500);

/// The directories that contain copies now.
static DIRECTORIES: Directories = Directories::new();

/// Removes all copies of stores, for a run that ends early: nothing that was opened may be used any more. It never waits for long: a later
/// run removes what is left.
pub fn discard_copies() {
    DIRECTORIES.discard();
}

/// Removes the copies of runs that were killed: those that no process has locked.
pub fn discard_abandoned_copies() {
    discard_abandoned_in(&std::env::temp_dir());
}

fn discard_abandoned_in(directory: &Path) {
    for entry in fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
    {
        let is_copy = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_copy && is_abandoned(&entry.path()) {
            // Directories of other people cannot be removed.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// True for a copy whose process has ended. The directory may be anybody's, so nothing but a regular file is opened in it.
fn is_abandoned(directory: &Path) -> bool {
    let lock = directory.join(LOCK);
    if !lock.symlink_metadata().is_ok_and(|found| found.is_file()) {
        let age = directory
            .metadata()
            .and_then(|found| found.modified())
            .map(|time| SystemTime::now().duration_since(time));
        return age.is_ok_and(|age| age.is_ok_and(|age| age > UNLOCKED_FOR));
    }
    File::options()
        .write(true)
        .open(lock)
        .is_ok_and(|lock| lock.try_lock().is_ok())
}

/// The temporary directory of one copy, which is gone when this is dropped.
#[derive(Debug)]
pub(super) struct CopyDirectory {
    /// Closed before the directory is removed.
    _lock: File,
    directory: TempDir,
    among: &'static Directories,
}

impl CopyDirectory {
    /// A new one.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn new() -> io::Result<CopyDirectory> {
        DIRECTORIES.add()
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for CopyDirectory {
    fn drop(&mut self) {
        self.among.paths().remove(self.directory.path());
    }
}

/// A new file for its owner only.
///
/// # Errors
/// Those of the file system.
pub(super) fn new_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[derive(Debug)]
struct Directories(Mutex<BTreeSet<PathBuf>>);

impl Directories {
    const fn new() -> Self {
        Directories(Mutex::new(BTreeSet::new()))
    }

    fn paths(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A directory is made only while the list is locked, so that each is on it.
    fn add(&'static self) -> io::Result<CopyDirectory> {
        let mut paths = self.paths();
        let mut builder = tempfile::Builder::new();
        // A store may be for its owner only, so its copy is.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let directory = builder.prefix(PREFIX).tempdir()?;
        let lock = new_file(&directory.path().join(LOCK))?;
        lock.lock()?;
        paths.insert(directory.path().to_owned());
        Ok(CopyDirectory {
            _lock: lock,
            directory,
            among: self,
        })
    }

    /// The list, if no thread keeps it.
    fn paths_soon(&self) -> Option<MutexGuard<'_, BTreeSet<PathBuf>>> {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.0.try_lock() {
                Ok(paths) => return Some(paths),
                Err(TryLockError::Poisoned(paths)) => return Some(paths.into_inner()),
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    thread::sleep(Duration::from_millis(5))
                }
                Err(TryLockError::WouldBlock) => return None,
            }
        }
    }

    fn discard(&self) {
        let paths = self
            .paths_soon()
            .map(|mut paths| std::mem::take(&mut *paths));
        for path in paths.into_iter().flatten() {
            // It may just have been dropped.
            let _ = fs::remove_dir_all(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_killed_runs_are_removed_and_those_in_use_are_not() {
        let temporary = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let directory = temporary.path().join(name);
            fs::create_dir(&directory).unwrap();
            fs::write(directory.join("store.db"), "a copy").unwrap();
            directory
        };
        let [used, abandoned, new, other] =
            ["engram-copy-1", "engram-copy-2", "engram-copy-3", "other"].map(make);
        let lock = File::create(used.join(LOCK)).unwrap();
        lock.lock().unwrap();
        File::create(abandoned.join(LOCK)).unwrap();
        File::create(other.join(LOCK)).unwrap();
        discard_abandoned_in(temporary.path());
        assert_eq!(
            [&used, &abandoned, &new, &other].map(|directory| directory.exists()),
            [true, false, true, true]
        );
        drop(lock);
        discard_abandoned_in(temporary.path());
        assert!(!used.exists());
    }

    #[test]
    fn copies_are_gone_when_they_are_dropped_or_discarded() {
        static OWN: Directories = Directories::new();
        let [dropped, discarded] = [OWN.add().unwrap(), OWN.add().unwrap()];
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(
                dropped.path().metadata().unwrap().permissions().mode() & 0o777,
                0o700
            );
        }
        let paths = [&dropped, &discarded].map(|directory| directory.path().to_owned());
        fs::write(discarded.path().join("store.db"), "a copy").unwrap();
        drop(dropped);
        assert_eq!(paths.each_ref().map(|path| path.exists()), [false, true]);
        // Whoever keeps the list may wait for the one who ends the run.
        let kept = OWN.paths();
        OWN.discard();
        assert!(paths[1].exists());
        drop(kept);
        OWN.discard();
        assert!(!paths[1].exists() && OWN.paths().is_empty());
    }
}
