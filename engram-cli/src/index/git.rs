//! Commits, read by `git` as a process: no hook, pager or configuration of the user takes part, and nothing is written but a note that the
//! user asks for.

use std::borrow::Cow;
use std::cell::Cell;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use engram_index::{Earlier, Error};

/// Files, each with the runs of lines that a commit adds to it.
pub type AddedLines = Vec<(String, Vec<[usize; 2]>)>;

/// Against which parents of a merge a line is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parents {
    /// The first: what the merge brought into its branch.
    First,
    /// All of them: what the merge itself made, as when it resolves a conflict.
    All,
}

/// How long one answer waits for `git` to follow renames: in a repository with very many commits that takes minutes.
const FOLLOWING: Duration = Duration::from_secs(5);
/// How long `git` may take for one question: a repository may have a pipe or a device in the place of a file.
const PATIENCE: Duration = Duration::from_secs(60);
/// Most bytes that it may print.
const MOST: u64 = 256 << 20;
/// Most names of one file that are followed.
const MAX_NAMES: &str = "--max-count=16";

/// The names that a file had in earlier commits.
#[derive(Debug, PartialEq, Eq)]
pub enum Names {
    /// All of them, the newest first.
    Known(Vec<Earlier>),
    /// It took too long to find them.
    TooSlow,
}

/// A repository.
pub struct Repository {
    /// Its root.
    pub root: PathBuf,
    /// What is left of [`FOLLOWING`].
    patience: Cell<Duration>,
    /// Whether a question took longer than [`PATIENCE`]: the next one would, too.
    is_stuck: Cell<bool>,
}

impl Repository {
    /// The repository with this root.
    pub fn at(root: PathBuf) -> Repository {
        Repository {
            root,
            patience: Cell::new(FOLLOWING),
            is_stuck: Cell::new(false),
        }
    }

    /// The repository of the current directory.
    pub fn here() -> Result<Repository, Error> {
        let here = std::env::current_dir().map_err(|source| Error::Io {
            path: ".".into(),
            source,
        })?;
        root_above(&here)
            .map(Repository::at)
            .ok_or_else(|| Error::NotFound("this is no git repository".to_owned()))
    }

    /// The names that a file of a commit had in the commits before. A repository without commits, and a machine without `git`, know none.
    pub fn earlier_names(&self, revision: &str, path: &str) -> Names {
        let Ok(commit) = self.commit(revision) else {
            return Names::Known(Vec::new());
        };
        let mut command = Repository::command(&["log", "--follow", "-M", "--diff-filter=R"]);
        command
            .args(["--name-status", "-z", "--format=%at", MAX_NAMES])
            .args([&commit, "--", path]);
        self.in_repository(&mut command);
        let began = Instant::now();
        let out = printed(command, None, self.patience.get());
        self.patience
            .set(self.patience.get().saturating_sub(began.elapsed()));
        match out {
            Ok(Some(out)) if out.status.success() => Names::Known(renames(&out.stdout)),
            Ok(None) => Names::TooSlow,
            Ok(Some(_)) | Err(_) => Names::Known(Vec::new()),
        }
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
        // Not `log`: how that prints depends on the configuration of the repository.
        let out = self.git(&[
            "rev-list",
            "--no-walk",
            "--timestamp",
            &self.commit(revision)?,
        ])?;
        let out = String::from_utf8_lossy(&out);
        let seconds = out.split(' ').next().and_then(|time| time.parse().ok());
        seconds
            .map(|seconds: i64| seconds * 1000 + 999)
            .ok_or_else(|| Error::NotFound(format!("{revision} has no time")))
    }

    /// The commits that a revision or a range names, the oldest first.
    pub fn commits(&self, revisions: &str) -> Result<Vec<String>, Error> {
        if !revisions.contains("..") {
            return Ok(vec![self.commit(revisions)?]);
        }
        let out = self.git(&["rev-list", "--reverse", "--end-of-options", revisions, "--"])?;
        Ok(String::from_utf8_lossy(&out)
            .lines()
            .map(str::to_owned)
            .collect())
    }

    /// The lines that a commit adds to its parents, by file.
    pub fn added_lines(&self, revision: &str, parents: Parents) -> Result<AddedLines, Error> {
        let commit = self.commit(revision)?;
        let out = self.git(&["rev-list", "--parents", "-1", &commit])?;
        let out = String::from_utf8_lossy(&out);
        let mut before: Vec<&str> = out.split_whitespace().skip(1).collect();
        if parents == Parents::First {
            before.truncate(1);
        }
        let Some((first, others)) = before.split_first() else {
            return self.difference(&[&commit]);
        };
        let mut added = self.difference(&[first, &commit])?;
        for other in others {
            let against_other = self.difference(&[other, &commit])?;
            for (path, lines) in &mut added {
                let other = against_other.iter().find(|(other, _)| other == path);
                *lines = common(lines, other.map_or(&[], |(_, lines)| lines));
            }
        }
        added.retain(|(_, lines)| !lines.is_empty());
        Ok(added)
    }

    /// The new lines between two trees, or of a commit without parents.
    fn difference(&self, trees: &[&str]) -> Result<AddedLines, Error> {
        let options = [
            "diff-tree",
            "-r",
            "--root",
            "-p",
            "-U0",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--src-prefix=a/",
            "--dst-prefix=b/",
            // Of a file that the commit renamed, only what it changed is new.
            "-M",
            "--no-commit-id",
        ];
        let arguments: Vec<&str> = options.into_iter().chain(trees.iter().copied()).collect();
        Ok(added_lines(&String::from_utf8_lossy(
            &self.git(&arguments)?,
        )))
    }

    /// The note of a commit, if it has one.
    pub fn note(&self, notes: &str, commit: &str) -> Result<Option<Vec<u8>>, Error> {
        let out = self.git(&["notes", "--ref", notes, "list", commit]);
        let Ok(out) = out else { return Ok(None) };
        let blob = String::from_utf8_lossy(&out).trim().to_owned();
        self.git(&["cat-file", "blob", &blob]).map(Some)
    }

    /// Makes a note of a commit that has none, in the name of the user. The text stays as it is, byte for byte.
    pub fn add_note(&self, notes: &str, commit: &str, text: &str) -> Result<(), Error> {
        let mut store = Command::new("git");
        store.args(["hash-object", "-w", "--stdin"]);
        let blob = self.run(store, Some(text))?;
        let blob = String::from_utf8_lossy(&blob).trim().to_owned();
        let mut add = Command::new("git");
        // The identity of the user is in their configuration.
        add.args([
            "-c",
            "core.hooksPath=",
            "notes",
            "--ref",
            notes,
            "add",
            "-C",
        ])
        .args([&blob, commit]);
        self.run(add, None).map(drop)
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
        let out = out.map_err(|error| match error {
            Error::NotFound(_) => Error::NotFound(format!(
                "{revision} is no commit of {}",
                self.root.display()
            )),
            other => other,
        })?;
        Ok(String::from_utf8_lossy(&out).trim().to_owned())
    }

    fn git(&self, arguments: &[&str]) -> Result<Vec<u8>, Error> {
        self.run(Repository::command(arguments), None)
    }

    /// A command that only reads: no configuration has it run another program or print in another way, a name of a file is a name and no
    /// pattern, and what a partial clone lacks is not fetched.
    fn command(arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.args([
            "--no-pager",
            "--no-optional-locks",
            "--literal-pathspecs",
            "-c",
            "core.hooksPath=",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.quotePath=false",
            "-c",
            "log.showSignature=false",
            "-c",
            "i18n.logOutputEncoding=UTF-8",
        ]);
        command.args(arguments);
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env(
                "GIT_CONFIG_GLOBAL",
                if cfg!(windows) { "NUL" } else { "/dev/null" },
            );
        command
    }

    /// Runs a command in the repository, and in a language that is known.
    fn in_repository(&self, command: &mut Command) {
        command
            .current_dir(&self.root)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C");
    }

    fn run(&self, mut command: Command, input: Option<&str>) -> Result<Vec<u8>, Error> {
        let failed = |source| Error::Io {
            path: "git".into(),
            source,
        };
        let too_slow = || {
            let what = format!("it took longer than {} seconds", PATIENCE.as_secs());
            failed(io::Error::new(ErrorKind::TimedOut, what))
        };
        if self.is_stuck.get() {
            return Err(too_slow());
        }
        self.in_repository(&mut command);
        let out = printed(command, input, PATIENCE).map_err(failed)?;
        let out = out.ok_or_else(|| {
            self.is_stuck.set(true);
            too_slow()
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

/// The root of the repository that this directory is in.
pub fn root_above(directory: &Path) -> Option<PathBuf> {
    let mut above = directory.ancestors();
    above
        .find(|directory| directory.join(".git").exists())
        .map(Path::to_owned)
}

/// What a command prints, and how it ends, if it ends so soon.
fn printed(
    mut command: Command,
    input: Option<&str>,
    most: Duration,
) -> io::Result<Option<Output>> {
    let began = Instant::now();
    command
        .stdin(if input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let (out, errors) = (read(child.stdout.take()), read(child.stderr.take()));
    if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input.map(str::to_owned)) {
        // It ends when the other end is closed, at the latest when the child is killed.
        thread::spawn(move || stdin.write_all(input.as_bytes()));
    }
    let left = || most.saturating_sub(began.elapsed());
    let both = out
        .recv_timeout(left())
        .and_then(|out| Ok((out, errors.recv_timeout(left())?)));
    let Ok((stdout, stderr)) = both else {
        child.kill()?;
        return child.wait().map(|_| None);
    };
    let status = child.wait()?;
    if stdout.len() as u64 > MOST {
        let what = format!("it prints more than {MOST} bytes");
        return Err(io::Error::new(ErrorKind::FileTooLarge, what));
    }
    Ok(Some(Output {
        status,
        stdout,
        stderr,
    }))
}

/// Reads to the end, or one byte more than [`MOST`], in a thread.
fn read(from: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let from = from.map(|from| from.take(MOST + 1));
        // What was read before an error is what there is. Nobody may wait for it any more.
        let _ = from.map(|mut from| from.read_to_end(&mut bytes));
        let _ = send.send(bytes);
    });
    receive
}

/// Reads renames with the times of their commits, the newest first: of each a time, the likeness, the old name and the new one.
fn renames(out: &[u8]) -> Vec<Earlier> {
    let fields: Vec<&[u8]> = out.split(|byte| *byte == 0).collect();
    let earlier = fields.chunks_exact(4).map_while(|fields| {
        let [time, _, old, _] = fields else {
            return None;
        };
        let seconds: i64 = str::from_utf8(time).ok()?.trim().parse().ok()?;
        Some(Earlier {
            path: str::from_utf8(old).ok()?.to_owned(),
            until: seconds * 1000 + 999,
        })
    });
    earlier.collect()
}

/// The lines that are in both lists of ranges.
pub fn common(lines: &[[usize; 2]], others: &[[usize; 2]]) -> Vec<[usize; 2]> {
    let both = |[first, last]: &[usize; 2]| {
        others
            .iter()
            .map(move |[from, to]| [*first.max(from), *last.min(to)])
            .collect::<Vec<_>>()
    };
    lines
        .iter()
        .flat_map(both)
        .filter(|[first, last]| first <= last)
        .collect()
}

/// Reads the files and new lines of a diff without context.
fn added_lines(diff: &str) -> AddedLines {
    let mut files: AddedLines = Vec::new();
    let mut rest = 0;
    for line in diff.lines() {
        if rest > 0 && line.starts_with(['+', '-', '\\']) && !line.starts_with("\\ ") {
            rest -= 1;
        } else if let Some(name) = line.strip_prefix("+++ ") {
            let name = unquoted(name.trim_end_matches('\t'));
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

/// The name of a file, from how `git` prints it. `git` puts a name with quotation marks, backslashes or control characters in quotation marks and
/// escapes it as C does.
fn unquoted(name: &str) -> Cow<'_, str> {
    let inner = name
        .strip_prefix('"')
        .and_then(|name| name.strip_suffix('"'));
    let Some(inner) = inner else {
        return Cow::Borrowed(name);
    };
    let (mut bytes, mut rest) = (Vec::new(), inner.bytes());
    while let Some(byte) = rest.next() {
        let escaped = if byte == b'\\' { rest.next() } else { None };
        bytes.push(match escaped {
            None => byte,
            Some(b'a') => 7,
            Some(b'b') => 8,
            Some(b't') => b'\t',
            Some(b'n') => b'\n',
            Some(b'v') => 11,
            Some(b'f') => 12,
            Some(b'r') => b'\r',
            Some(digit @ b'0'..=b'7') => rest
                .by_ref()
                .take(2)
                .fold(digit & 7, |sum, digit| sum << 3 | digit & 7),
            Some(other) => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_lists_are_common() {
        assert_eq!(
            common(&[[1, 5], [8, 9]], &[[2, 3], [5, 8]]),
            [[2, 3], [5, 5], [8, 8]]
        );
        assert_eq!(common(&[[1, 2]], &[[3, 4]]), [[0; 2]; 0]);
    }

    #[cfg(unix)]
    #[test]
    fn command_that_does_not_end_or_prints_too_much_is_given_up() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        let began = Instant::now();
        let soon = Duration::from_millis(200);
        assert_eq!(printed(shell("exec sleep 60"), None, soon).unwrap(), None);
        assert!(began.elapsed() < Duration::from_secs(30));
        let most = Duration::from_secs(60);
        let out = printed(shell("cat; echo e >&2; exit 3"), Some("in"), most);
        let out = out.unwrap().unwrap();
        assert_eq!(
            (&*out.stdout, &*out.stderr, out.status.code()),
            (&b"in"[..], &b"e\n"[..], Some(3))
        );
        let much = format!("head -c {} /dev/zero", MOST + 1);
        let error = printed(shell(&much), None, most).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    }

    #[test]
    fn names_in_quotation_marks_are_read_as_in_c() {
        assert_eq!(unquoted(r#""b/a\"\\\t\303\251""#), "b/a\"\\\t\u{e9}");
        assert_eq!(unquoted("b/a b"), "b/a b");
    }

    #[test]
    fn renames_have_the_old_name_and_the_time() {
        let out = b"20\0\nR080\0B\0d/C\x008\0\nR100\0A\0B\0";
        let earlier = |path: &str, until| Earlier {
            path: path.to_owned(),
            until,
        };
        assert_eq!(renames(out), [earlier("B", 20_999), earlier("A", 8_999)]);
        assert_eq!(renames(b""), []);
    }

    #[test]
    fn added_lines_are_those_after_the_plus() {
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1 @@ fn\n-a\n-b\n++++ b/no\n@@ -9,0 +8,3 @@\n+1\n+2\n+3\ndiff --git a/y b/y\n--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
        assert_eq!(added_lines(diff), [("x".to_owned(), vec![[1, 1], [8, 10]])]);
    }
}
