//! The directory itself: made for its owner only, locked by one run, cleared of what killed runs left.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use engram_command::interrupt;
use tempfile::NamedTempFile;

use super::files::{self, TEMPORARY, temporary_in};
use super::names::stem;

/// The file that a run locks.
const LOCK: &str = ".engram.lock";
/// How often the lock is looked for: another run may remove the directory, but not for ever.
const ATTEMPTS: usize = 100;

/// A directory of tapes that this run has locked. The lock ends with the value, or with the process.
#[derive(Debug)]
pub struct OutDir {
    root: PathBuf,
    is_new: bool,
    _lock: File,
}

impl OutDir {
    /// Makes the directory at `root` if it is not there, waits until no other run uses it, and removes what killed runs left. `wait` is
    /// called before waiting.
    ///
    /// # Errors
    /// As the file system gives them; `NotFound` if no file can be made there, as in a directory that was deleted.
    pub fn open(root: &Path, wait: impl FnOnce()) -> io::Result<OutDir> {
        let mut wait = Some(wait);
        let mut wait = || wait.take().into_iter().for_each(|wait| wait());
        let mut is_new = false;
        // A run that has nothing to write removes the directory, with the lock that others wait for.
        let mut attempts = 0..ATTEMPTS;
        let lock = loop {
            is_new |= make_directory(root)?;
            match lock(&root.join(LOCK), &mut wait) {
                Ok(Some(lock)) => break lock,
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ if attempts.next().is_none() => {
                    return Err(io::Error::new(
                        ErrorKind::NotFound,
                        "no file can be made in this directory; it may be deleted already",
                    ));
                }
                _ => {}
            }
        };
        let out = OutDir {
            root: root.to_owned(),
            is_new,
            _lock: lock,
        };
        out.remove_leftovers()?;
        Ok(out)
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Removes the directory if this run has made it and it has nothing but the lock.
    pub fn remove_if_new(&self) {
        if self.is_new && fs::remove_file(self.root.join(LOCK)).is_ok() {
            // It is not empty if somebody else uses it.
            let _ = fs::remove_dir(&self.root);
        }
    }

    /// The name of a harness's directory.
    pub fn directory_name(harness: &str) -> String {
        stem(harness)
    }

    /// The path of a file, from its path in this directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// A new temporary file in the directory of a harness. It is deleted when it is dropped and when the command is interrupted.
    ///
    /// # Errors
    /// As the file system gives them.
    pub fn temporary(&self, harness: &str) -> io::Result<NamedTempFile> {
        let directory = self.root.join(Self::directory_name(harness));
        make_own_directory(&directory)?;
        interrupt::temporary(|| temporary_in(&directory))
    }

    /// With the lock, no temporary file is anybody's.
    fn remove_leftovers(&self) -> io::Result<()> {
        remove_temporary(&self.root)?;
        for entry in fs::read_dir(&self.root)? {
            let entry = entry?;
            // The type of the entry itself: links are not followed.
            if entry.file_type()?.is_dir() {
                remove_temporary(&entry.path())?;
            }
        }
        Ok(())
    }
}

fn remove_temporary(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(TEMPORARY.0)
            && name.ends_with(TEMPORARY.1)
            && entry.file_type()?.is_file()
        {
            files::remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Makes a directory and those above it, for their owner only. True if it was not there.
fn make_directory(path: &Path) -> io::Result<bool> {
    match path.metadata() {
        Ok(found) if found.is_dir() => Ok(false),
        Ok(_) => Err(io::Error::new(
            ErrorKind::NotADirectory,
            "this is a file; tapes need a directory",
        )),
        Err(_) => files::make_directory(path, true).map(|()| true),
    }
}

/// Makes a directory inside the directory of tapes. A link is not followed.
fn make_own_directory(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(io::Error::new(
            ErrorKind::NotADirectory,
            "this is a link or a file; tapes need a real directory",
        )),
        Err(_) => match files::make_directory(path, false) {
            // Another thread made it.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            made => made,
        },
    }
}

/// Locks a file; `None` if it is not there any more when the lock is got.
fn lock(path: &Path, wait: &mut dyn FnMut()) -> io::Result<Option<File>> {
    if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::new(
            ErrorKind::InvalidInput,
            "the lock is not a regular file",
        ));
    }
    let mut options = File::options();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let lock = options.open(path)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            wait();
            lock.lock()?;
        }
        Err(TryLockError::Error(error)) => return Err(error),
    }
    Ok(is_at(&lock, path).then_some(lock))
}

/// True if this path still leads to this open file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |found: fs::Metadata| (found.dev(), found.ino());
    file.metadata().ok().map(identity) == path.symlink_metadata().ok().map(identity)
}

/// True if this path still leads to this open file. An open file cannot be removed here.
#[cfg(not(unix))]
fn is_at(_file: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_are_removed_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("codex");
        fs::create_dir(&directory).unwrap();
        for name in [
            ".engram-abc.tmp",
            "codex/.engram-abc.tmp",
            "codex/a.tape.jsonl",
            "codex/notes.tmp",
            ".engram-others.jsonl",
        ] {
            fs::write(root.path().join(name), "x").unwrap();
        }
        OutDir::open(root.path(), || ()).unwrap();
        let left: Vec<_> = fs::read_dir(&directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left.len(), 2, "{left:?}");
        assert!(
            root.path().join(".engram-others.jsonl").exists()
                && !root.path().join(".engram-abc.tmp").exists()
        );
    }

    #[test]
    fn one_run_at_a_time_has_the_lock() {
        let root = tempfile::tempdir().unwrap();
        let first = OutDir::open(root.path(), || panic!("nobody has it")).unwrap();
        let (sender, waits) = std::sync::mpsc::channel();
        let path = root.path().to_owned();
        let second =
            std::thread::spawn(move || OutDir::open(&path, || sender.send(()).unwrap()).map(drop));
        waits.recv().unwrap();
        drop(first);
        second.join().unwrap().unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_directory_that_takes_no_files_is_an_error() {
        let (sender, opened) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            sender.send(OutDir::open(Path::new("/proc/self"), || ()).map(drop))
        });
        let opened = opened
            .recv_timeout(std::time::Duration::from_secs(20))
            .expect("it ends");
        assert_eq!(opened.unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_that_was_removed_meanwhile_is_none() {
        let parent = tempfile::tempdir().unwrap();
        let root = parent.path().join("tapes");
        let first = OutDir::open(&root, || ()).unwrap();
        let (sender, waits) = std::sync::mpsc::channel();
        let path = root.clone();
        let second =
            std::thread::spawn(move || OutDir::open(&path, || sender.send(()).unwrap()).unwrap());
        waits.recv().unwrap();
        first.remove_if_new();
        assert!(!root.exists());
        drop(first);
        let second = second.join().unwrap();
        let lock = File::options().write(true).open(root.join(LOCK)).unwrap();
        assert!(
            matches!(lock.try_lock(), Err(TryLockError::WouldBlock)),
            "the second run has the lock that is there"
        );
        drop(second);
    }

    #[cfg(unix)]
    #[test]
    fn directories_are_for_their_owner_and_links_are_not_followed() {
        use std::os::unix::fs::PermissionsExt;
        let parent = tempfile::tempdir().unwrap();
        let root = parent.path().join("deep/tapes");
        let out = OutDir::open(&root, || ()).unwrap();
        let tape = out.temporary("codex").unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(
            [mode(&root), mode(&root.join("codex")), mode(tape.path())],
            [0o700, 0o700, 0o600]
        );
        fs::create_dir(parent.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(parent.path().join("elsewhere"), root.join("gemini")).unwrap();
        assert!(out.temporary("gemini").is_err());
        assert_eq!(
            fs::read_dir(parent.path().join("elsewhere"))
                .unwrap()
                .count(),
            0
        );
    }
}
