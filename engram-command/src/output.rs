//! What a command writes beside tapes: standard output, and files such as a summary or a page.

use std::fs::{self, DirBuilder, File};
use std::io::{self, BufWriter, ErrorKind, Write, stdout};
use std::path::Path;
use std::time::Duration;

use tempfile::{Builder, NamedTempFile, TempDir};

use crate::exit::Exit;
use crate::interrupt;

/// How names of what is not complete begin and end. The directory of tapes has other names, and a lock for all of them.
const TEMPORARY: (&str, &str) = (".engram-out-", ".tmp");
/// What is younger may not have its lock yet.
const SETTLED: Duration = Duration::from_secs(10);
/// Where the system has the open files of processes. What is written there is added to what is there already.
const STREAMS: [&str; 4] = ["/dev/fd", "/dev/stdout", "/dev/stderr", "/proc"];

/// Prints a text.
///
/// # Errors
/// When standard output cannot be written to.
pub fn print(text: &str) -> io::Result<Exit> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(Exit::Success)
}

/// Writes a file for its owner only, completely or not at all. A device or a pipe is written into; a link is replaced, never followed, but
/// for those with which the system names devices and open files.
///
/// # Errors
/// As the file system gives them.
pub fn write(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let is_device = |path: &Path| {
        path.metadata()
            .is_ok_and(|found| !found.is_file() && !found.is_dir())
    };
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(_) if is_stream(path) || is_device(path) => write_into(path, write),
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => replace(path, write),
    }
}

/// Makes a directory for its owner only.
///
/// # Errors
/// As the file system gives them.
pub fn make_directory(path: &Path, with_parents: bool) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(with_parents).create(path)
}

/// Makes a file for its owner only, in a directory that the command has made: no file may be there.
///
/// # Errors
/// As the file system gives them.
pub fn create(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// As [`create`], with the whole content, and the directories above it.
///
/// # Errors
/// As the file system gives them, and those of `write`.
pub fn create_with<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> io::Result<T> {
    if let Some(directory) = path.parent().filter(|directory| !directory.is_dir()) {
        make_directory(directory, true)?;
    }
    let mut out = BufWriter::new(create(path)?);
    let written = write(&mut out)?;
    out.flush().map(|()| written)
}

/// A new directory for its owner only, which is removed when the command ends, however it ends. What a killed command left in its place is
/// removed, too.
///
/// # Errors
/// As the file system gives them.
pub fn temporary_directory(parent: &Path) -> io::Result<(TempDir, Claim)> {
    remove_leftovers(parent);
    let directory = interrupt::temporary_directory(|| {
        let mut builder = builder();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        builder.tempdir_in(parent)
    })?;
    let claim = Claim::on(directory.path());
    Ok((directory, claim))
}

/// As [`temporary_directory`], a file.
///
/// # Errors
/// As the file system gives them.
pub fn temporary_file(parent: &Path) -> io::Result<NamedTempFile> {
    remove_leftovers(parent);
    let file = interrupt::temporary(|| builder().tempfile_in(parent))?;
    // Where it cannot be locked, it is only never taken for a leftover of others that can lock it.
    let _ = file.as_file().try_lock();
    Ok(file)
}

/// Says of a directory that a process that runs has it.
#[derive(Debug)]
pub struct Claim {
    _lock: Option<File>,
}

impl Claim {
    fn on(directory: &Path) -> Claim {
        let lock = File::open(directory).ok();
        Claim {
            _lock: lock.filter(|lock| lock.try_lock().is_ok()),
        }
    }
}

fn builder() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(TEMPORARY.0).suffix(TEMPORARY.1);
    builder
}

/// Removes what killed commands left in a directory: nobody has a lock on it, and it is not just being made.
fn remove_leftovers(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let is_ours = |name: &str| name.starts_with(TEMPORARY.0) && name.ends_with(TEMPORARY.1);
    for entry in entries.filter(|entry| is_ours(&entry.file_name().to_string_lossy())) {
        let (path, Ok(found)) = (entry.path(), entry.metadata()) else {
            continue;
        };
        let age = found.modified().ok().and_then(|time| time.elapsed().ok());
        let is_ours = found.is_file() || found.is_dir();
        if !is_ours || age.is_none_or(|age| age < SETTLED) {
            continue;
        }
        let is_free = File::open(&path).is_ok_and(|file| file.try_lock().is_ok());
        // Another command may remove it just now.
        let _ = match is_free {
            true if found.is_dir() => fs::remove_dir_all(&path),
            true => fs::remove_file(&path),
            false => Ok(()),
        };
    }
}

fn is_stream(path: &Path) -> bool {
    STREAMS.iter().any(|directory| path.starts_with(directory))
}

fn write_into(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).append(is_stream(path));
    let mut out = BufWriter::new(options.open(path)?);
    write(&mut out)?;
    out.flush()
}

fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let directory = path
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut file = temporary_file(directory)?;
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
    fn a_link_is_replaced_and_what_is_no_regular_file_is_written_into() {
        use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("target"), "kept").unwrap();
        for to in ["target", "nothing"] {
            symlink(to, at("link")).unwrap();
            write(&at("link"), hello).unwrap();
            let found = at("link").symlink_metadata().unwrap();
            assert!(found.is_file() && found.permissions().mode() & 0o777 == 0o600);
            fs::remove_file(at("link")).unwrap();
        }
        assert_eq!(fs::read_to_string(at("target")).unwrap(), "kept");
        assert!(!at("nothing").exists());
        create_with(&at("new/file"), hello).unwrap();
        for (name, mode) in [("new", 0o700), ("new/file", 0o600)] {
            assert_eq!(
                at(name).metadata().unwrap().permissions().mode() & 0o777,
                mode
            );
        }
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

    #[cfg(unix)]
    #[test]
    fn what_a_killed_command_left_is_removed_and_what_a_running_one_has_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let (running, _claim) = temporary_directory(parent.path()).unwrap();
        let file = temporary_file(parent.path()).unwrap();
        let left = [".engram-out-1.tmp", ".engram-out-2.tmp", "other.tmp"];
        let left = left.map(|name| parent.path().join(name));
        fs::create_dir(&left[0]).unwrap();
        fs::write(left[0].join("text"), "").unwrap();
        fs::write(&left[1], "").unwrap();
        fs::write(&left[2], "").unwrap();
        remove_leftovers(parent.path());
        assert!(left[0].exists(), "it may be just being made");
        let old = std::time::SystemTime::now() - 2 * SETTLED;
        for path in [running.path(), file.path()]
            .into_iter()
            .chain(left.iter().map(|at| &**at))
        {
            File::open(path).unwrap().set_modified(old).unwrap();
        }
        remove_leftovers(parent.path());
        assert!(running.path().exists() && file.path().exists());
        assert_eq!(left.map(|path| path.exists()), [false, false, true]);
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
