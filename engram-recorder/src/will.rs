//! What is done if this process ends without a word, by KILL too: a shell waits for its end.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::error::{Fault, RecorderError};

/// Ends the group that the first line names.
const END_GROUP: &str = "read -r group && { read -r _ || { kill -s TERM -- -$group; sleep 2; kill -s KILL -- -$group; }; }";
/// Removes a directory, after those who write into it have ended.
const REMOVE: &str = "read -r _ || { sleep 3; chmod -R u+rwx -- \"$1\"; rm -rf -- \"$1\"; }";

/// A shell that does something unless it hears that nothing is left to do. It sees the end of this process as the end of its input.
#[derive(Debug)]
pub(crate) struct Will(Child);

impl Will {
    /// Ends a group that will be named: TERM, two seconds, KILL.
    pub(crate) fn for_group() -> io::Result<Will> {
        Will::new(END_GROUP, OsStr::new(""))
    }

    fn new(script: &str, argument: &OsStr) -> io::Result<Will> {
        let mut command = Command::new("/bin/sh");
        // In a group of its own: an interrupt from the terminal is not for it.
        command
            .args(["-c", script, "sh"])
            .arg(argument)
            .current_dir("/")
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .process_group(0);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map(Will)
    }

    /// Does it now.
    fn carry_out(&mut self) {
        // The shell sees the end of its input, and no word.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }

    /// Names the group.
    pub(crate) fn names(&mut self, group: u32) -> io::Result<()> {
        self.0
            .stdin
            .as_mut()
            .map_or(Ok(()), |stdin| writeln!(stdin, "{group}"))
    }
}

impl Drop for Will {
    /// Nothing is left to do.
    fn drop(&mut self) {
        if let Some(mut stdin) = self.0.stdin.take() {
            // Two lines: a shell that waits for the name of a group reads both.
            let _ = stdin.write_all(b"\n\n");
        }
        let _ = self.0.wait();
    }
}

/// A new directory below that for temporary files. It goes away with this process, however that ends.
#[derive(Debug)]
pub(crate) struct WorkFolder {
    directory: TempDir,
    will: Will,
}

impl WorkFolder {
    /// Makes one below the directory for temporary files, or below this one.
    ///
    /// # Errors
    /// `io`.
    pub(crate) fn make(prefix: &str, parent: Option<&Path>) -> Result<WorkFolder, RecorderError> {
        let parent: PathBuf = parent.map_or_else(std::env::temp_dir, Path::to_owned);
        let io = |error: io::Error| RecorderError::io(&parent, &error);
        let directory = tempfile::Builder::new()
            .prefix(prefix)
            .tempdir_in(&parent)
            .map_err(io)?;
        let absolute = std::path::absolute(directory.path()).map_err(io)?;
        let will = Will::new(REMOVE, absolute.as_os_str())
            .map_err(|error| RecorderError::new(Fault::Io, format!("/bin/sh: {error}")))?;
        Ok(WorkFolder { directory, will })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for WorkFolder {
    /// What an agent left may be too deep for one open directory a level, or closed to its owner. The shell gets along with both.
    fn drop(&mut self) {
        let removed = std::fs::remove_dir_all(self.path());
        if removed.is_err_and(|error| error.kind() != io::ErrorKind::NotFound) {
            self.will.carry_out();
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{Mode, OFlags};

    use super::*;

    #[test]
    fn end_of_this_process_ends_the_group_and_removes_the_folder() {
        let mut sleeper = Command::new("sleep")
            .arg("60")
            .process_group(0)
            .spawn()
            .unwrap();
        let mut will = Will::for_group().unwrap();
        will.names(sleeper.id()).unwrap();
        will.carry_out();
        assert!(!sleeper.wait().unwrap().success());
        let mut folder = WorkFolder::make("engram-test-", None).unwrap();
        std::fs::write(folder.path().join("a"), "x").unwrap();
        folder.will.carry_out();
        assert!(!folder.path().exists());
    }

    #[test]
    fn folder_goes_away_however_deep_it_is() {
        let folder = WorkFolder::make("engram-test-", None).unwrap();
        let path = folder.path().to_owned();
        let open = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let Some(levels) = open.filter(|open| *open < 3000) else {
            eprintln!("skipped: so many files may be open that a deeper folder takes too long");
            return;
        };
        let mut at = rustix::fs::open(&path, OFlags::DIRECTORY, Mode::empty()).unwrap();
        for _ in 0..=levels {
            rustix::fs::mkdirat(&at, "d", Mode::RWXU).unwrap();
            at = rustix::fs::openat(&at, "d", OFlags::DIRECTORY, Mode::empty()).unwrap();
        }
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn nothing_is_done_if_this_process_says_so() {
        let mut sleeper = Command::new("sleep")
            .arg("60")
            .process_group(0)
            .spawn()
            .unwrap();
        let mut will = Will::for_group().unwrap();
        will.names(sleeper.id()).unwrap();
        drop(will);
        // A name that never comes is not waited for.
        drop(Will::for_group().unwrap());
        assert!(sleeper.try_wait().unwrap().is_none());
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
    }
}
