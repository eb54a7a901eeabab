//! The project in which the harness works, and snapshots of its files.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::bounded;
use crate::error::{Fault, RecorderError};

/// Files up to this size are kept whole in a snapshot, others by their hash.
const WHOLE_BYTES: usize = 300_000;
/// So much of a file is read.
const MAX_BYTES: u64 = 64 << 20;
/// The most bytes of a file of `_sandbox.json`, and of that file itself.
const MAX_CONTENT: usize = 64 << 20;
/// The most files of a snapshot.
const MAX_FILES: usize = 10_000;
/// Author and time of the first commit: the same for every recording.
const IDENTITY: &[(&str, &str)] = &[
    ("GIT_AUTHOR_NAME", "Dev"),
    ("GIT_AUTHOR_EMAIL", "dev@example.invalid"),
    ("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z"),
    ("GIT_COMMITTER_NAME", "Dev"),
    ("GIT_COMMITTER_EMAIL", "dev@example.invalid"),
    ("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
];

/// The content of a file of the project, as `_sandbox.json` says it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Text.
    Text(String),
    /// Bytes.
    Base64(String),
    /// Many lines: `{n}` is the number of the line, in five digits.
    Lines {
        /// How many.
        count: u32,
        /// One of them, without its end.
        line: String,
    },
}

impl Content {
    fn bytes(&self) -> Result<Vec<u8>, String> {
        match self {
            Content::Text(text) => Ok(text.clone().into_bytes()),
            Content::Base64(text) => STANDARD.decode(text).map_err(|error| error.to_string()),
            Content::Lines { count, line }
                if (*count as usize).saturating_mul(line.len() + 8) > MAX_CONTENT =>
            {
                Err(format!("it has more than {MAX_CONTENT} bytes"))
            }
            Content::Lines { count, line } => Ok((1..=*count)
                .flat_map(|n| format!("{}\n", line.replace("{n}", &format!("{n:05}"))).into_bytes())
                .collect()),
        }
    }
}

/// Writes the files of `_sandbox.json` below a directory and commits them.
///
/// # Errors
/// If the file is wrong, or if `git` cannot be run.
pub fn make(description: &Path, project: &Path) -> Result<(), RecorderError> {
    let text = bounded::read_text(description, MAX_CONTENT as u64)
        .map_err(|error| RecorderError::io(description, &error))?;
    let bad = |what: String| {
        RecorderError::new(
            Fault::BadScenario,
            format!("{}: {what}", description.display()),
        )
    };
    let files: BTreeMap<String, Content> =
        serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
    for (name, content) in files {
        if !is_below(&name) {
            return Err(bad(format!("`{name}` is not below the project")));
        }
        write(
            &project.join(&name),
            &content
                .bytes()
                .map_err(|what| bad(format!("{name}: {what}")))?,
        )?;
    }
    for arguments in [
        &["init", "-q", "-b", "main"][..],
        &["add", "-A"],
        &["commit", "-q", "-m", "init"],
    ] {
        git(project, arguments)?;
    }
    Ok(())
}

/// Runs `git` in the project, without the caller's configuration.
fn git(project: &Path, arguments: &[&str]) -> Result<(), RecorderError> {
    let mut command = Command::new("git");
    command
        .args(arguments)
        .current_dir(project)
        .env_clear()
        .envs(IDENTITY.iter().copied())
        .stdin(Stdio::null());
    command
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", project);
    let output = command
        .output()
        .map_err(|error| RecorderError::io(Path::new("git"), &error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(RecorderError::new(
        Fault::Misconfigured,
        format!("git {}: {}", arguments.join(" "), said.trim()),
    ))
}

/// True for a path without `..` that does not begin at the root.
pub(crate) fn is_below(name: &str) -> bool {
    name.split('/').all(|part| !matches!(part, "" | "." | "..")) && !name.contains('\0')
}

/// Writes a file and the directories above it.
///
/// # Errors
/// Those of the file system.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), RecorderError> {
    let io = |error: std::io::Error| RecorderError::io(path, &error);
    path.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .map_err(io)?;
    fs::write(path, bytes).map_err(io)
}

/// A file at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileState {
    /// The SHA-256 of its bytes, in hex.
    pub sha256: String,
    /// Its text, if it is UTF-8 and not large.
    pub text: Option<Arc<str>>,
}

/// The files of a project at one moment, by their paths below it.
pub type Snapshot = BTreeMap<String, FileState>;

/// Reads the project, without `.git` and what is below a link. A file that vanishes meanwhile is not there.
pub fn snapshot(project: &Path) -> Snapshot {
    let mut found = Snapshot::new();
    let mut directories: Vec<PathBuf> = vec![project.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() && entry.file_name() != ".git" {
                directories.push(entry.path());
            } else if kind.is_file() && found.len() < MAX_FILES {
                let path = entry.path();
                let Ok(state) = state(&path) else { continue };
                let name = path
                    .strip_prefix(project)
                    .unwrap_or(&path)
                    .to_string_lossy()
                    .into_owned();
                found.insert(name, state);
            }
        }
    }
    found
}

/// Of a file that is too large to be read, the hash is that of its beginning and its size.
fn state(path: &Path) -> std::io::Result<FileState> {
    let file = bounded::open_left(path)?;
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    let mut hash = Sha256::new();
    hash.update(&bytes);
    if size > MAX_BYTES {
        hash.update(size.to_le_bytes());
    }
    let sha256 = hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let text = (bytes.len() <= WHOLE_BYTES)
        .then(|| String::from_utf8(bytes).ok())
        .flatten();
    Ok(FileState {
        sha256,
        text: text.map(Arc::from),
    })
}

/// The paths whose files differ.
pub fn differences<'s>(before: &'s Snapshot, after: &'s Snapshot) -> Vec<&'s str> {
    let mut names: Vec<&str> = before
        .keys()
        .chain(after.keys().filter(|name| !before.contains_key(*name)))
        .map(String::as_str)
        .collect();
    names.retain(|name| before.get(*name) != after.get(*name));
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshot_sees_what_changed_and_not_git() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        write(&root.join("a.txt"), b"one").unwrap();
        write(&root.join("d/b.txt"), b"two").unwrap();
        write(&root.join(".git/x"), b"x").unwrap();
        let before = snapshot(root);
        assert_eq!(before.keys().collect::<Vec<_>>(), ["a.txt", "d/b.txt"]);
        write(&root.join(".git/x"), b"y").unwrap();
        write(&root.join("a.txt"), b"\xff").unwrap();
        fs::remove_file(root.join("d/b.txt")).unwrap();
        write(&root.join("new"), b"").unwrap();
        let after = snapshot(root);
        assert_eq!(differences(&before, &after), ["a.txt", "d/b.txt", "new"]);
        assert_eq!(after["a.txt"].text, None);
    }
}
