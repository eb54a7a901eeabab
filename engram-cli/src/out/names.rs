//! The folder of tapes: safe file names, and files that are never overwritten.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use engram_core::hash::Hash;
use tempfile::{NamedTempFile, TempPath};

use crate::interrupt;

/// The longest stem of a file name, in bytes. With ending and number it stays well below the common limit of 255.
const STEM_BYTES: usize = 160;

/// Names that some systems reserve, with any ending.
const RESERVED: &[&str] = &["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Where a tape is.
#[derive(Debug, PartialEq, Eq)]
pub enum Placed {
    /// In a new file.
    Written(PathBuf),
    /// In this file, which already had the same bytes.
    Unchanged(PathBuf),
}

/// The folder of tapes, and the names that are used in it.
#[derive(Debug, Clone)]
pub struct OutDir {
    root: PathBuf,
    /// Per folder, names in lower case (some file systems treat `A` as `a`) and their files.
    taken: HashMap<PathBuf, HashMap<String, PathBuf>>,
}

impl OutDir {
    /// The folder at `root`, which may not exist yet.
    pub fn new(root: &Path) -> Self {
        OutDir { root: root.to_owned(), taken: HashMap::new() }
    }

    /// The folder of a harness.
    pub fn folder(&self, harness: &str) -> PathBuf {
        self.root.join(stem(harness))
    }

    /// A new temporary file in the folder of the tape. It is deleted when it is dropped and when the command is interrupted.
    ///
    /// # Errors
    /// As the file system gives them.
    pub fn temporary(&self, harness: &str) -> io::Result<NamedTempFile> {
        let folder = self.folder(harness);
        fs::create_dir_all(&folder)?;
        interrupt::temporary(|| tempfile::Builder::new().prefix(".engram-").suffix(".tmp").tempfile_in(folder))
    }

    /// Renames a finished tape to the first free name: `stem`, `stem-2`, `stem-3`. If a file of one of these names has the
    /// same bytes, that file is the tape.
    ///
    /// # Errors
    /// As the file system gives them. The temporary file is removed.
    pub fn place(&mut self, tape: TempPath, harness: &str, stem: &str, ending: &str) -> io::Result<Placed> {
        let temporary = tape.to_path_buf();
        let placed = self.name(tape, harness, stem, ending);
        interrupt::forget(&temporary);
        placed
    }

    fn name(&mut self, mut tape: TempPath, harness: &str, stem: &str, ending: &str) -> io::Result<Placed> {
        let folder = self.folder(harness);
        let taken = match self.taken.entry(folder.clone()) {
            std::collections::hash_map::Entry::Occupied(names) => names.into_mut(),
            std::collections::hash_map::Entry::Vacant(names) => names.insert(names_in(&folder)?),
        };
        for number in 1u64.. {
            let name = if number == 1 { format!("{stem}{ending}") } else { format!("{stem}-{number}{ending}") };
            let file = folder.join(&name);
            if let Some(there) = taken.get(&name.to_lowercase()) {
                if same_bytes(there, &tape)? {
                    return Ok(Placed::Unchanged(there.clone()));
                }
                continue;
            }
            taken.insert(name.to_lowercase(), file.clone());
            match tape.persist_noclobber(&file) {
                Ok(()) => return Ok(Placed::Written(file)),
                // Another process created it meanwhile, perhaps a run over the same sessions.
                Err(refused) if refused.error.kind() == ErrorKind::AlreadyExists => {
                    tape = refused.path;
                    if same_bytes(&file, &tape)? {
                        return Ok(Placed::Unchanged(file));
                    }
                }
                Err(refused) => return Err(refused.error),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }
}

fn names_in(folder: &Path) -> io::Result<HashMap<String, PathBuf>> {
    let named = |entry: fs::DirEntry| (entry.file_name().to_string_lossy().to_lowercase(), entry.path());
    fs::read_dir(folder)?.map(|entry| entry.map(named)).collect()
}

/// True when both are files with the same bytes.
fn same_bytes(there: &Path, tape: &Path) -> io::Result<bool> {
    let metadata = match there.metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    if !metadata.is_file() || metadata.len() != tape.metadata()?.len() {
        return Ok(false);
    }
    let (mut one, mut other) = (BufReader::new(File::open(there)?), BufReader::new(File::open(tape)?));
    let (mut left, mut right) = ([0; 8 << 10], [0; 8 << 10]);
    loop {
        let read = one.read(&mut left)?;
        if read == 0 {
            return Ok(true);
        }
        other.read_exact(&mut right[..read])?;
        if left[..read] != right[..read] {
            return Ok(false);
        }
    }
}

/// An id as the stem of a file name: ASCII letters, digits, `_` and `-` are kept, and every other byte becomes `%` and two
/// digits. So does the first letter of a reserved name. An overlong id is cut and ends with a part of its hash.
pub fn stem(id: &str) -> String {
    let is_kept = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let mut name = String::with_capacity(id.len());
    for (at, byte) in id.bytes().enumerate() {
        if is_kept(byte) && !(at == 0 && is_reserved(id)) {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02X}"));
        }
    }
    if name.len() > STEM_BYTES {
        let hash = Hash::of_bytes(id.as_bytes()).to_string();
        let digits: String = hash.chars().skip_while(|c| *c != ':').skip(1).take(16).collect();
        name.truncate(STEM_BYTES - digits.len() - 1);
        name.push('-');
        name.push_str(&digits);
    }
    name
}

fn is_reserved(id: &str) -> bool {
    let id = id.to_ascii_lowercase();
    let numbered = |port: &str| id.strip_prefix(port).is_some_and(|number| number.len() == 1 && number.as_bytes()[0].is_ascii_digit());
    RESERVED.contains(&id.as_str()) || numbered("com") || numbered("lpt")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn place(out: &mut OutDir, stem: &str, text: &str) -> Placed {
        let mut file = out.temporary("toy").unwrap();
        file.write_all(text.as_bytes()).unwrap();
        out.place(file.into_temp_path(), "toy", stem, ".tape.jsonl").unwrap()
    }

    #[test]
    fn stems_are_names_inside_the_folder() {
        assert_eq!(stem("019a-Bc_1"), "019a-Bc_1");
        assert_eq!(stem("../../x"), "%2E%2E%2F%2E%2E%2Fx");
        assert_eq!(stem("a\0b\\c:é"), "a%00b%5Cc%3A%C3%A9");
        assert_eq!(stem("NUL"), "%4EUL");
        assert_eq!(stem("com1"), "%63om1");
        assert_eq!(stem("nully"), "nully");
    }

    #[test]
    fn overlong_ids_are_cut_and_stay_apart() {
        let (one, other) = (stem(&"x".repeat(5000)), stem(&"x".repeat(5001)));
        assert_eq!(one.len(), STEM_BYTES);
        assert_ne!(one, other);
    }

    #[test]
    fn tapes_of_one_name_are_numbered_and_equal_ones_recognised() {
        let root = tempfile::tempdir().unwrap();
        let file = |name: &str| root.path().join("toy").join(name);
        let mut out = OutDir::new(root.path());
        assert_eq!(place(&mut out, "a", "one"), Placed::Written(file("a.tape.jsonl")));
        assert_eq!(place(&mut out, "a", "two"), Placed::Written(file("a-2.tape.jsonl")));
        assert_eq!(place(&mut out, "A", "three"), Placed::Written(file("A-3.tape.jsonl")));
        let mut later = OutDir::new(root.path());
        assert_eq!(place(&mut later, "a", "two"), Placed::Unchanged(file("a-2.tape.jsonl")));
        assert_eq!(fs::read_to_string(file("a.tape.jsonl")).unwrap(), "one");
        assert_eq!(fs::read_dir(root.path().join("toy")).unwrap().count(), 3, "no temporary file is left");
    }

    #[test]
    fn a_file_that_appears_meanwhile_is_not_overwritten() {
        let root = tempfile::tempdir().unwrap();
        let mut out = OutDir::new(root.path());
        place(&mut out, "a", "one");
        let stranger = root.path().join("toy/b.tape.jsonl");
        fs::write(&stranger, "mine").unwrap();
        assert_eq!(place(&mut out, "b", "two"), Placed::Written(root.path().join("toy/b-2.tape.jsonl")));
        assert_eq!(fs::read_to_string(stranger).unwrap(), "mine");
        let twin = root.path().join("toy/c.tape.jsonl");
        fs::write(&twin, "three").unwrap();
        assert_eq!(place(&mut out, "c", "three"), Placed::Unchanged(twin), "another run has written the same tape");
    }
}
