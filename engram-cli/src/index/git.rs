//! Commits, read by `git` as a process: nothing is written, and no hook, pager or configuration of the user takes part.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use engram_index::Error;

use super::ask::Asked;

/// Files, each with the runs of lines that a commit adds to it.
type AddedLines = Vec<(String, Vec<[usize; 2]>)>;

/// A repository.
pub struct Repository {
    /// Its root.
    pub root: PathBuf,
}

impl Repository {
    /// The repository of a file.
    pub fn of(asked: &Asked) -> Result<Repository, Error> {
        let root = asked.root.clone();
        root.map(|root| Repository { root }).ok_or_else(|| {
            Error::NotFound(format!("{}: the file is in no git repository", asked.name))
        })
    }

    /// The repository of the current directory.
    pub fn here() -> Result<Repository, Error> {
        let here = std::env::current_dir().map_err(|source| Error::Io {
            path: ".".into(),
            source,
        })?;
        let root = here
            .ancestors()
            .find(|directory| directory.join(".git").exists())
            .map(Path::to_owned);
        root.map(|root| Repository { root })
            .ok_or_else(|| Error::NotFound("this is no git repository".to_owned()))
    }

    /// The text of a file in a commit.
    pub fn text(&self, revision: &str, path: &str) -> Result<String, Error> {
        let bytes = self.git(&[
            "cat-file",
            "blob",
            &format!("{}:{path}", self.commit(revision)?),
        ])?;
        String::from_utf8(bytes)
            .map_err(|_| Error::NotFound(format!("{path} in {revision} is not UTF-8")))
    }

    /// When a commit was made, in milliseconds since 1970.
    pub fn time(&self, revision: &str) -> Result<i64, Error> {
        let out = self.git(&["log", "-1", "--format=%ct", &self.commit(revision)?])?;
        let seconds: Option<i64> = String::from_utf8_lossy(&out).trim().parse().ok();
        seconds
            .map(|seconds| seconds * 1000 + 999)
            .ok_or_else(|| Error::NotFound(format!("{revision} has no time")))
    }

    /// The lines that a commit adds to its first parent, by file.
    pub fn added_lines(&self, revision: &str) -> Result<AddedLines, Error> {
        let commit = self.commit(revision)?;
        let options = [
            "diff-tree",
            "-r",
            "--root",
            "-p",
            "-U0",
            "--no-color",
            "--no-ext-diff",
            "--no-renames",
            "--no-commit-id",
        ];
        let trees = match self.commit(&format!("{commit}^1")) {
            Ok(parent) => vec![parent, commit],
            Err(_) => vec![commit],
        };
        let arguments: Vec<&str> = options
            .into_iter()
            .chain(trees.iter().map(String::as_str))
            .collect();
        Ok(added_lines(&String::from_utf8_lossy(
            &self.git(&arguments)?,
        )))
    }

    /// The number of a commit. So a revision is never read as an option.
    fn commit(&self, revision: &str) -> Result<String, Error> {
        let out = self.git(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &format!("{revision}^{{commit}}"),
        ]);
        let out = out.map_err(|_| {
            Error::NotFound(format!(
                "{revision} is no commit of {}",
                self.root.display()
            ))
        })?;
        Ok(String::from_utf8_lossy(&out).trim().to_owned())
    }

    fn git(&self, arguments: &[&str]) -> Result<Vec<u8>, Error> {
        let mut command = Command::new("git");
        command.arg("--no-pager").arg("--no-optional-locks").args([
            "-c",
            "core.hooksPath=",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.quotePath=false",
        ]);
        command
            .args(arguments)
            .current_dir(&self.root)
            .stdin(Stdio::null());
        command.env("GIT_CONFIG_NOSYSTEM", "1").env(
            "GIT_CONFIG_GLOBAL",
            if cfg!(windows) { "NUL" } else { "/dev/null" },
        );
        command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
        let out = command.output().map_err(|source| Error::Io {
            path: "git".into(),
            source,
        })?;
        if !out.status.success() {
            let what = String::from_utf8_lossy(&out.stderr)
                .lines()
                .next()
                .unwrap_or("git failed")
                .to_owned();
            return Err(Error::NotFound(what));
        }
        Ok(out.stdout)
    }
}

/// Reads the files and new lines of a diff without context.
fn added_lines(diff: &str) -> AddedLines {
    let mut files: AddedLines = Vec::new();
    let mut rest = 0;
    for line in diff.lines() {
        if rest > 0 && line.starts_with(['+', '-', '\\']) && !line.starts_with("\\ ") {
            rest -= 1;
        } else if let Some(name) = line.strip_prefix("+++ ") {
            let name = name.trim_end_matches('\t').trim_matches('"');
            if let Some(name) = name.strip_prefix("b/") {
                files.push((name.to_owned(), Vec::new()));
            }
        } else if let Some((old, new)) = line
            .strip_prefix("@@ -")
            .and_then(|rest| rest.split_once(" @@"))
            .and_then(|(both, _)| both.split_once(" +"))
        {
            let pair = |part: &str| {
                let (first, count) = part.split_once(',').unwrap_or((part, "1"));
                Some((first.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
            };
            if let (Some((_, removed)), Some((first, count))) = (pair(old), pair(new)) {
                rest = removed + count;
                if let (Some((_, lines)), true) = (files.last_mut(), count > 0) {
                    lines.push([first, first + count - 1]);
                }
            }
        }
    }
    files.retain(|(_, lines)| !lines.is_empty());
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_lines_are_those_after_the_plus() {
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1 @@ fn\n-a\n-b\n++++ b/no\n@@ -9,0 +8,3 @@\n+1\n+2\n+3\ndiff --git a/y b/y\n--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
        assert_eq!(added_lines(diff), [("x".to_owned(), vec![[1, 1], [8, 10]])]);
    }
}
