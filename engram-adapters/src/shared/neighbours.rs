//! Files beside an artifact: opened below one directory only, bounded, and recorded for `tape.stop`.
//!
//! A log can name any path, and a directory that somebody sends can contain links to anywhere. So all adapters read neighbouring files
//! through [`Neighbours`]: no `..` and no link leads out of its directory, and only regular files are opened.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Take};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use engram_core::adapter::SideFiles;
use engram_core::event::BesideFile;
use engram_core::hash::{Hash, StreamHasher};

use super::below::{Directory, Facts};
use super::remembered::{FileState, LineFacts, Remembered, absolute};

/// The largest file that is read as text, in bytes.
const MAX_TEXT_BYTES: u64 = 64 << 20;
/// The longest line that is searched, in bytes. Longer ones are only hashed.
const MAX_LINE_BYTES: usize = 64 << 20;
/// The largest file that is hashed or searched, in bytes.
const MAX_FILE_BYTES: u64 = 4 << 30;
/// The most entries of a directory that are listed.
const MAX_ENTRIES: usize = 10_000;
/// The most records of a directory of a store that are listed.
const MAX_RECORDS: usize = 1 << 20;

/// The most bytes at the beginning of a file that are looked at, where many files are.
const MAX_BEGINNING_BYTES: u64 = 32 << 10;

/// The files of a directory by what their beginnings say.
#[derive(Debug)]
pub struct Beginnings {
    key: fn(&[u8]) -> Option<u64>,
    names: Remembered<HashMap<u64, Vec<String>>>,
}

impl Beginnings {
    /// The files by a key of the beginning of each: the last line may be cut off.
    pub const fn new(key: fn(&[u8]) -> Option<u64>) -> Self {
        Beginnings {
            key,
            names: Remembered::new(),
        }
    }
}

/// The names in directories that many artifacts ask for.
static NAMES: Remembered<Vec<String>> = Remembered::new();

/// The files below one directory, and what was read of them.
#[derive(Debug)]
pub struct Neighbours {
    directory: Directory,
    /// The directory's absolute path.
    path: PathBuf,
    /// The artifact's own directory, from `directory`.
    artifact: PathBuf,
    read: Mutex<BTreeMap<PathBuf, Option<(Hash, u64)>>>,
}

impl Neighbours {
    /// The files below `directory`, which contains the artifact. `None` if it cannot be opened or does not contain it.
    pub fn open(directory: &Path, artifact: &Path) -> Option<Neighbours> {
        // The empty path is the current directory.
        let directory = if directory.as_os_str().is_empty() {
            Path::new(".")
        } else {
            directory
        };
        let artifact = artifact.parent()?;
        let artifact = artifact
            .strip_prefix(directory)
            .ok()
            .or_else(|| (directory == Path::new(".")).then_some(artifact))?;
        let artifact = artifact.to_owned();
        let path = absolute(directory);
        let directory = Directory::open(directory)?;
        Some(Neighbours {
            directory,
            path,
            artifact,
            read: Mutex::default(),
        })
    }

    /// True for a regular file with this path from the directory.
    pub fn is_file(&self, path: &Path) -> bool {
        is_plain(path)
            && self
                .directory
                .facts(path)
                .is_some_and(|found| found.is_file)
    }

    /// True for a directory with this path from the directory.
    pub fn is_directory(&self, path: &Path) -> bool {
        is_plain(path)
            && self
                .directory
                .facts(path)
                .is_some_and(|found| found.is_directory)
    }

    /// The names of the files in a directory, sorted, up to a limit. Names that are not UTF-8 are left out.
    pub fn names(&self, path: &Path) -> Vec<String> {
        self.names_up_to(path, MAX_ENTRIES).unwrap_or_default()
    }

    /// The names of the files in a directory that end like this, sorted. Many artifacts of one directory can ask for it.
    pub fn names_ending(&self, path: &Path, ending: &str) -> Vec<String> {
        let own = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        let state = self
            .directory
            .facts(own)
            .and_then(|found| FileState::of_directory(self.path.join(path), &found));
        let names = NAMES
            .get(state, Vec::len, || Some(self.names(path)))
            .unwrap_or_default();
        names
            .iter()
            .filter(|name| name.ends_with(ending))
            .cloned()
            .collect()
    }

    /// As [`Neighbours::names`], of the records of a store: there may be many of them. A directory that is not there has none.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn record_names(&self, path: &Path) -> io::Result<Vec<String>> {
        match self.names_up_to(path, MAX_RECORDS) {
            Err(error)
                if !matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Err(error)
            }
            names => Ok(names.unwrap_or_default()),
        }
    }

    fn names_up_to(&self, path: &Path, limit: usize) -> io::Result<Vec<String>> {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        let mut names = self.directory.names(path, limit)?;
        names.sort_unstable();
        Ok(names)
    }

    /// The first bytes of a file of a store. They are part of the artifact, so they are not recorded as read beside it.
    ///
    /// # Errors
    /// If there is no such regular file below the directory, or if it cannot be read.
    pub fn bytes(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        let not_found = || {
            io::Error::new(
                io::ErrorKind::NotFound,
                "no regular file below the directory of the store",
            )
        };
        let mut bytes = Vec::new();
        self.reader(path, limit)
            .ok_or_else(not_found)?
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The text of a file, if it is UTF-8 and not too large.
    pub fn text(&self, path: &Path) -> Option<String> {
        let mut bytes = Vec::new();
        self.reader(path, MAX_TEXT_BYTES)?
            .read_to_end(&mut bytes)
            .ok()?;
        if bytes.len() as u64 >= MAX_TEXT_BYTES {
            return None;
        }
        self.record(path, Some((Hash::of_bytes(&bytes), bytes.len() as u64)));
        String::from_utf8(bytes).ok()
    }

    /// A reader of a regular file. It is not recorded as read: for files that are the artifact itself.
    pub fn open_file(&self, path: &Path) -> Option<BufReader<Take<File>>> {
        self.reader(path, u64::MAX)
    }

    /// Hash and size of a file; `None` if it is too large. It is read once, however often it is asked for.
    pub fn digest(&self, path: &Path) -> Option<(Hash, u64)> {
        let known = self
            .read
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(path)
            .copied();
        known.unwrap_or_else(|| {
            let digest = self.whole(path).and_then(hash_file);
            self.record(path, digest);
            digest
        })
    }

    /// Passes each line of a file that is not too large to `visit`, and records the file as read.
    pub fn each_line(&self, path: &Path, visit: impl FnMut(&[u8])) {
        if let Some(digest) = self.whole(path).and_then(|reader| each_line(reader, visit)) {
            self.record(path, Some(digest));
        }
    }

    /// The fact with this key that a line of a file says. The file is read once for all artifacts beside it, and recorded as read.
    pub fn line_fact<T: Clone>(&self, path: &Path, facts: &LineFacts<T>, key: &str) -> Option<T> {
        let reader = self.whole(path)?;
        let found = Facts::of(reader.get_ref().get_ref())?;
        let state = FileState::of(self.path.join(path), &found);
        let facts = facts.of_file(state, |visit| each_line(reader, visit))?;
        self.record(path, Some(facts.digest));
        facts.get(key)
    }

    /// The names of the files in the directory that begin with this key and end like this, sorted.
    pub fn names_beginning(&self, beginnings: &Beginnings, key: u64, ending: &str) -> Vec<String> {
        let state = self
            .directory
            .facts(Path::new("."))
            .and_then(|found| FileState::of_directory(self.path.clone(), &found));
        let by_key = || {
            let mut by_key: HashMap<u64, Vec<String>> = HashMap::new();
            for name in self.names_ending(Path::new(""), ending) {
                let beginning = self
                    .bytes(Path::new(&name), MAX_BEGINNING_BYTES)
                    .unwrap_or_default();
                if let Some(key) = (beginnings.key)(&beginning) {
                    by_key.entry(key).or_default().push(name);
                }
            }
            Some(by_key)
        };
        let by_key = beginnings.names.get(state, HashMap::len, by_key);
        by_key
            .and_then(|by_key| by_key.get(&key).cloned())
            .unwrap_or_default()
    }

    /// What the lines of a file add up to. The file is read once for all artifacts beside it, and not recorded as read.
    #[allow(dead_code, reason = "not every adapter has copies of logs")]
    pub(crate) fn folded<T: Default>(
        &self,
        path: &Path,
        known: &Remembered<T>,
        size: fn(&T) -> usize,
        mut add: impl FnMut(&mut T, &[u8]),
    ) -> Option<Arc<T>> {
        let reader = self.whole(path)?;
        let found = Facts::of(reader.get_ref().get_ref())?;
        let state = FileState::of(self.path.join(path), &found);
        known.get(state, size, || {
            let mut value = T::default();
            each_line(reader, |line| add(&mut value, line)).map(|_| value)
        })
    }

    /// The files that were read, as in `tape.stop`.
    pub fn files_read(&self) -> Vec<BesideFile> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let file = |(path, digest): (&PathBuf, &Option<(Hash, u64)>)| {
            digest.map(|(hash, bytes)| BesideFile {
                name: self.name_from_artifact(path),
                hash: Some(hash),
                bytes,
            })
        };
        let mut files: Vec<BesideFile> = read.iter().filter_map(file).collect();
        files.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        files
    }

    fn record(&self, path: &Path, digest: Option<(Hash, u64)>) {
        self.read
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(path.to_owned(), digest);
    }

    /// A reader of a regular file of at most `limit` bytes. More of it is not read.
    fn reader(&self, path: &Path, limit: u64) -> Option<BufReader<Take<File>>> {
        let file = is_plain(path).then(|| self.directory.file(path))??;
        Some(BufReader::new(file.take(limit)))
    }

    /// A reader of a regular file that is not too large to be read to its end.
    fn whole(&self, path: &Path) -> Option<BufReader<Take<File>>> {
        let reader = self.reader(path, MAX_FILE_BYTES)?;
        let found = Facts::of(reader.get_ref().get_ref())?;
        (found.bytes <= MAX_FILE_BYTES).then_some(reader)
    }

    /// A path from the directory as a path from the artifact's own directory.
    pub fn name_from_artifact(&self, path: &Path) -> String {
        let shared = self
            .artifact
            .components()
            .zip(path.components())
            .take_while(|(one, other)| one == other)
            .count();
        let up = self.artifact.components().count() - shared;
        let down = path
            .components()
            .skip(shared)
            .map(|part| part.as_os_str().to_string_lossy().into_owned());
        std::iter::repeat_n("..".to_owned(), up)
            .chain(down)
            .collect::<Vec<_>>()
            .join("/")
    }
}

impl SideFiles for Neighbours {
    fn files_read(&self) -> Vec<BesideFile> {
        self.files_read()
    }
}

/// True if `path`, with its links resolved, is below the directory. For what is opened by its path, such as a database.
pub fn is_below(directory: &Path, path: &Path) -> bool {
    // What is not there needs no look at each part of its path: every directory of a deep tree is asked for.
    let real = |path: &Path| path.canonicalize().ok();
    path.symlink_metadata().is_ok()
        && real(directory)
            .zip(real(path))
            .is_some_and(|(directory, path)| path.starts_with(directory))
}

/// True for a relative path without `.` and `..`.
fn is_plain(path: &Path) -> bool {
    path.components()
        .all(|part| matches!(part, Component::Normal(_)))
}

/// Passes each line to `visit`, and returns hash and size of the file. None if it cannot be read.
fn each_line(
    mut reader: BufReader<impl Read>,
    mut visit: impl FnMut(&[u8]),
) -> Option<(Hash, u64)> {
    let (mut hasher, mut line) = (StreamHasher::default(), Vec::new());
    loop {
        line.clear();
        if reader
            .by_ref()
            .take(MAX_LINE_BYTES as u64)
            .read_until(b'\n', &mut line)
            .ok()?
            == 0
        {
            return Some(hasher.finish());
        }
        hasher.update(&line);
        visit(&line);
    }
}

/// Hash and size of a file.
fn hash_file(mut reader: BufReader<impl Read>) -> Option<(Hash, u64)> {
    let mut hasher = StreamHasher::default();
    loop {
        let chunk = reader.fill_buf().ok()?;
        if chunk.is_empty() {
            return Some(hasher.finish());
        }
        hasher.update(chunk);
        let length = chunk.len();
        reader.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn directory() -> (tempfile::TempDir, Neighbours) {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("project");
        fs::create_dir_all(project.join("session/subagents")).unwrap();
        fs::write(root.path().join("secret.txt"), "secret").unwrap();
        fs::write(
            project.join("parent.jsonl"),
            "{\"a\":1}\n{\"b\":\"mark\"}\n{\"c\":\"mark\"}\n",
        )
        .unwrap();
        fs::write(project.join("session/out.txt"), "output").unwrap();
        let neighbours =
            Neighbours::open(&project, &project.join("session/subagents/agent-1.jsonl")).unwrap();
        (root, neighbours)
    }

    #[test]
    fn a_file_that_is_too_large_has_no_hash_and_no_size() {
        let (root, neighbours) = directory();
        let path = Path::new("session/out.txt");
        fs::File::options()
            .write(true)
            .open(root.path().join("project").join(path))
            .unwrap()
            .set_len(MAX_FILE_BYTES + 1)
            .unwrap();
        neighbours.each_line(path, |_| panic!("it is not read"));
        assert_eq!(
            (neighbours.digest(path), neighbours.files_read().len()),
            (None, 0)
        );
    }

    #[test]
    fn files_are_read_and_recorded_once_with_names_from_the_artifact() {
        let (root, neighbours) = directory();
        static KEYS: LineFacts<usize> = LineFacts::new(&["mark"], |line, add| {
            add(line[2..3].to_owned(), line.len())
        });
        let fact = |key: &str| neighbours.line_fact(Path::new("parent.jsonl"), &KEYS, key);
        assert_eq!(
            [fact("a"), fact("b"), fact("c")],
            [None, Some(12), Some(12)]
        );
        let digest = Some((Hash::of_bytes(b"output"), 6));
        assert_eq!(
            [
                neighbours.digest(Path::new("session/out.txt")),
                neighbours.digest(Path::new("session/out.txt"))
            ],
            [digest; 2]
        );
        let names = || {
            neighbours
                .files_read()
                .into_iter()
                .map(|file| file.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names(), ["../../parent.jsonl", "../out.txt"]);
        let parent = fs::read(root.path().join("project/parent.jsonl")).unwrap();
        assert_eq!(
            neighbours.digest(Path::new("parent.jsonl")),
            Some((Hash::of_bytes(&parent), parent.len() as u64))
        );
        assert_eq!(neighbours.names(Path::new("")), ["parent.jsonl", "session"]);
    }

    #[test]
    fn a_file_that_was_searched_is_recorded() {
        let (_root, neighbours) = directory();
        static NONE: LineFacts<()> = LineFacts::new(&["none"], |_, add| add("none".to_owned(), ()));
        assert_eq!(
            neighbours.line_fact(Path::new("session/out.txt"), &NONE, "none"),
            None
        );
        assert_eq!(
            neighbours.line_fact(Path::new("none.txt"), &NONE, "none"),
            None
        );
        let read: Vec<_> = neighbours
            .files_read()
            .into_iter()
            .map(|file| (file.name, file.hash, file.bytes))
            .collect();
        assert_eq!(
            read,
            [("../out.txt".to_owned(), Some(Hash::of_bytes(b"output")), 6)]
        );
    }

    #[test]
    fn nothing_outside_the_directory_is_read() {
        let (root, neighbours) = directory();
        let outside = root.path().join("secret.txt");
        for path in [
            "../secret.txt",
            "session/../../secret.txt",
            "none.txt",
            "session",
            outside.to_str().unwrap(),
        ] {
            assert_eq!(
                (
                    neighbours.digest(Path::new(path)),
                    neighbours.text(Path::new(path))
                ),
                (None, None),
                "{path}"
            );
            assert!(neighbours.bytes(Path::new(path), 9).is_err(), "{path}");
        }
        assert_eq!(neighbours.files_read(), []);
    }

    #[cfg(unix)]
    #[test]
    fn links_that_lead_outside_and_pipes_are_not_opened() {
        let (root, neighbours) = directory();
        let project = root.path().join("project");
        std::os::unix::fs::symlink("../secret.txt", project.join("link.txt")).unwrap();
        std::os::unix::fs::symlink("session/out.txt", project.join("inside.txt")).unwrap();
        assert_eq!(neighbours.digest(Path::new("link.txt")), None);
        assert!(neighbours.bytes(Path::new("link.txt"), 9).is_err());
        assert_eq!(
            neighbours.bytes(Path::new("inside.txt"), 3).unwrap(),
            b"out"
        );
        assert_eq!(
            neighbours.text(Path::new("inside.txt")).as_deref(),
            Some("output")
        );
        assert!(
            is_below(&project, &project.join("inside.txt"))
                && !is_below(&project, &project.join("link.txt"))
        );
        let made = std::process::Command::new("mkfifo")
            .arg(project.join("pipe"))
            .status();
        if made.is_ok_and(|status| status.success()) {
            assert_eq!(neighbours.digest(Path::new("pipe")), None);
        }
    }
}
