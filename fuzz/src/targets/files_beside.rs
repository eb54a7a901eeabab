//! The reader of files beside an artifact: whatever path a log names, nothing outside of the directory is read.

use std::fs;
use std::path::Path;

use engram_adapters::shared::neighbours::Neighbours;
use engram_core::keys::hash64;
use fastrand::Rng;
use tempfile::TempDir;

use crate::corpus::Corpus;
use crate::target::Target;

const SECRET: &str = "a text outside of the directory";

/// A directory with links to the outside.
pub struct FilesBeside {
    outside: TempDir,
    neighbours: Neighbours,
}

/// Parts of paths.
const PARTS: &[&str] = &[
    "..",
    ".",
    "",
    "a.txt",
    "inner",
    "link",
    "out",
    "secret.txt",
    "loop",
    "b.txt",
    "/",
    "//",
    "\0",
    "C:",
    "\\",
    "a.txt/..",
];

impl FilesBeside {
    pub fn new() -> FilesBeside {
        let outside = tempfile::tempdir().expect("a temporary directory");
        let directory = outside.path().join("folder");
        fs::create_dir_all(directory.join("inner")).expect("a directory");
        fs::write(outside.path().join("secret.txt"), SECRET).expect("a file");
        fs::write(directory.join("a.txt"), "inside").expect("a file");
        fs::write(directory.join("inner/b.txt"), "inside").expect("a file");
        link(&outside.path().join("secret.txt"), &directory.join("link"));
        link(
            Path::new("../secret.txt"),
            &directory.join("inner/secret.txt"),
        );
        link(Path::new(".."), &directory.join("out"));
        link(Path::new("."), &directory.join("loop"));
        let neighbours = Neighbours::open(&directory, &directory.join("a.txt"))
            .expect("a directory that can be opened");
        FilesBeside {
            outside,
            neighbours,
        }
    }
}

#[cfg(unix)]
fn link(to: &Path, at: &Path) {
    std::os::unix::fs::symlink(to, at).expect("a link");
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) {}

impl Target for FilesBeside {
    fn name(&self) -> &'static str {
        "files-beside"
    }

    fn seeds(&self) -> Vec<Vec<u8>> {
        let outside = self.outside.path().join("secret.txt");
        [
            "a.txt",
            "inner/b.txt",
            "../secret.txt",
            "link",
            &outside.to_string_lossy(),
        ]
        .map(|path| path.as_bytes().to_vec())
        .into()
    }

    fn mutate(&self, corpus: &mut Corpus, rng: &mut Rng) -> Vec<u8> {
        let mut path = String::from_utf8_lossy(corpus.any(rng)).into_owned();
        for _ in 0..rng.usize(1..=3) {
            let part = rng.choice(PARTS).unwrap_or(&"");
            path = if rng.bool() {
                format!("{path}/{part}")
            } else {
                format!("{part}/{path}")
            };
        }
        path.truncate(
            path.char_indices()
                .map(|(at, _)| at)
                .take_while(|at| *at <= 200)
                .last()
                .unwrap_or_default(),
        );
        path.into_bytes()
    }

    fn run(&mut self, input: &[u8]) -> Result<u64, String> {
        let Ok(path) = std::str::from_utf8(input).map(Path::new) else {
            return Ok(0);
        };
        let text = self.neighbours.text(path);
        if text.as_deref() == Some(SECRET)
            || self
                .neighbours
                .digest(path)
                .is_some_and(|(_, bytes)| bytes == SECRET.len() as u64)
        {
            return Err(format!("{} was read", path.display()));
        }
        Ok(hash64((
            text.is_some(),
            self.neighbours.is_file(path),
            self.neighbours.is_directory(path),
            path.components().count(),
        )))
    }
}
