//! What every question needs: the index, up to date, and the file that is asked about.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use engram_adapters::Registry;
use engram_command::places;
use engram_command::report::Reporter;
use engram_command::small_file;
use engram_index::{Error, InRepo, Index, Query};

use super::args::Source;
use super::fresh;
use super::git::{Names, Repository, root_above};
use super::place::directory;

/// The first and the last line that are asked for.
type Lines = (usize, usize);

/// Largest file that is explained.
const MAX_FILE: u64 = 64 << 20;
/// Largest file of `git` that is read: its configuration, and where the directory of a worktree is.
const MAX_GIT: u64 = 1 << 20;

/// An index that can be asked.
pub struct Opened {
    pub index: Index,
    /// What a reader of the answer must know: why it may be older than the sessions.
    pub notes: Vec<String>,
}

/// Opens the index. The one at the default place first takes in what is new on this machine.
pub fn open(source: &Source, registry: &Registry, report: &Reporter) -> Result<Opened, Error> {
    let directory = directory(&source.place)?;
    let is_default = source.place.index.is_none();
    let mut notes = Vec::new();
    if let Some(tapes) = places::tapes_dir().filter(|_| is_default && !source.no_ingest) {
        fresh::convert(&tapes, registry, report);
        notes.extend(fresh::take_in(&directory, &tapes, report)?);
    }
    let index = Index::open(&directory)?;
    if source.no_ingest {
        notes.push(fresh::age(&index));
    }
    if index.is_empty()? {
        notes.push(
            "the index has no session; `engram ingest` says where it looks for them".to_owned(),
        );
    }
    Ok(Opened { index, notes })
}

/// A file that is asked about.
pub struct Asked {
    /// Its path as the command line has it.
    pub name: String,
    /// Its absolute paths: as given, and where links lead.
    pub paths: Vec<String>,
    /// The file in its repository.
    pub repo: Option<InRepo>,
    /// The root of the repository.
    pub root: Option<PathBuf>,
    /// The lines.
    pub range: Option<(usize, usize)>,
}

impl Asked {
    /// Splits `FILE[:LINES]` and finds the repository.
    pub fn new(argument: &str) -> Result<Asked, Error> {
        // A name may look as if it had lines.
        if Path::new(argument).is_file() {
            return Asked::at(argument, None);
        }
        let (name, range) = split(argument)?;
        if let Some((file, lines)) = name.rsplit_once(':')
            && Path::new(file).is_file()
        {
            return Err(bad_lines(file, lines));
        }
        Asked::at(name, range)
    }

    /// The same lines of a file that has another name.
    pub fn renamed(&self, path: &Path) -> Result<Asked, Error> {
        Asked::at(&path.to_string_lossy(), self.range)
    }

    /// A file by its name alone.
    pub fn at(name: &str, range: Option<Lines>) -> Result<Asked, Error> {
        let path = std::path::absolute(name).map_err(|source| Error::Io {
            path: name.into(),
            source,
        })?;
        let mut paths = vec![lexical(&path)];
        // The file may be gone; its directory may be a link.
        let real = path.canonicalize().or_else(|_| {
            let parent = path
                .parent()
                .map(Path::canonicalize)
                .transpose()?
                .unwrap_or_default();
            Ok::<_, std::io::Error>(parent.join(path.file_name().unwrap_or_default()))
        });
        if let Ok(real) = real {
            let real = real
                .to_string_lossy()
                .trim_start_matches("\\\\?\\")
                .to_owned();
            if !paths.contains(&real) {
                paths.push(real);
            }
        }
        let root = path.parent().and_then(root_above);
        let repo = root.as_ref().and_then(|root| in_repo(root, &path));
        Ok(Asked {
            name: name.to_owned(),
            paths,
            repo,
            root,
            range,
        })
    }

    /// The repository of the file.
    pub fn repository(&self) -> Result<Repository, Error> {
        let root = self.root.clone();
        root.map(Repository::at).ok_or_else(|| {
            Error::NotFound(format!("{}: the file is in no git repository", self.name))
        })
    }

    /// A question about a text of the file: that of a commit, or the one on disk, which comes after the last commit.
    pub fn query<'t>(
        &self,
        text: &'t str,
        repository: Option<&Repository>,
        revision: Option<&str>,
        notes: &mut Vec<String>,
    ) -> Query<'t> {
        let mut query = Query::new(text);
        (query.paths, query.repo, query.range) =
            (self.paths.clone(), self.repo.clone(), self.range);
        let of = |repository: &Repository, path: &str| {
            repository.earlier_names(revision.unwrap_or("HEAD"), path)
        };
        match repository.zip(self.repo.as_ref()).map(|(git, repo)| of(git, &repo.path)) {
            Some(Names::Known(names)) => query.earlier = names,
            Some(Names::TooSlow) => notes.push(format!(
                "{}: `git` took too long to follow renames; earlier names of the file were not looked at",
                self.name
            )),
            None => {}
        }
        query
    }

    /// The text of the file as it is on disk.
    pub fn text(&self) -> Result<String, Error> {
        let path = Path::new(&self.paths[0]);
        let io = |source: std::io::Error| match source.kind() {
            std::io::ErrorKind::NotFound => Error::NotFound(format!(
                "{}: no such file; `engram explain --history FILE` has what sessions did to one that is gone",
                self.name
            )),
            _ => Error::Io {
                path: path.to_owned(),
                source,
            },
        };
        let state = fs::metadata(path).map_err(io)?;
        if state.len() > MAX_FILE || !state.is_file() {
            return Err(Error::NotFound(format!(
                "{}: no file of less than 64 MiB",
                self.name
            )));
        }
        // Files of the system may be read without end, and have no size.
        let mut text = Vec::new();
        let file = File::open(path).map_err(io)?;
        file.take(state.len()).read_to_end(&mut text).map_err(io)?;
        String::from_utf8(text)
            .map_err(|_| Error::NotFound(format!("{}: the file is not UTF-8", self.name)))
    }
}

/// The path without `.` and `..`.
fn lexical(path: &Path) -> String {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(clean.pop()),
            std::path::Component::CurDir => {}
            part => clean.push(part),
        }
    }
    clean.to_string_lossy().into_owned()
}

fn split(argument: &str) -> Result<(&str, Option<Lines>), Error> {
    let Some((file, lines)) = argument
        .rsplit_once(':')
        .filter(|(file, lines)| !file.is_empty() && is_range(lines))
    else {
        return Ok((argument, None));
    };
    let number = |text: &str| text.parse().ok().filter(|line: &usize| *line > 0);
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok((file, Some((first, last)))),
        _ => Err(bad_lines(file, lines)),
    }
}

fn bad_lines(file: &str, lines: &str) -> Error {
    Error::BadQuery(format!(
        "`{lines}` are no lines; write `{file}:12` or `{file}:10-40`"
    ))
}

fn is_range(lines: &str) -> bool {
    !lines.is_empty()
        && lines
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'-')
}

fn in_repo(root: &Path, path: &Path) -> Option<InRepo> {
    let below = path
        .strip_prefix(root)
        .ok()?
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned());
    Some(InRepo {
        url: remote(root).unwrap_or_default(),
        path: below.collect::<Vec<_>>().join("/"),
    })
}

/// The address of the remote `origin`, from the configuration of the repository.
fn remote(root: &Path) -> Option<String> {
    let git = root.join(".git");
    let directory = if git.is_file() {
        // A worktree: its directory is in that of the repository.
        let named = small_file::found(&git, MAX_GIT).ok()?;
        let own = root.join(named.trim().strip_prefix("gitdir:")?.trim());
        let common = small_file::found(&own.join("commondir"), MAX_GIT);
        common.map_or(own.clone(), |common| own.join(common.trim()))
    } else {
        git
    };
    let config = small_file::found(&directory.join("config"), MAX_GIT).ok()?;
    let mut section = "";
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if section == "[remote \"origin\"]"
            && let Some(url) = line
                .strip_prefix("url")
                .map(str::trim_start)
                .and_then(|rest| rest.strip_prefix('='))
        {
            return Some(url.trim().to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_from_the_file() {
        assert_eq!(split("a.rs:12").unwrap(), ("a.rs", Some((12, 12))));
        assert_eq!(split("a.rs:10-40").unwrap(), ("a.rs", Some((10, 40))));
        assert_eq!(split("C:\\a.rs").unwrap(), ("C:\\a.rs", None));
        assert_eq!(split("a.rs").unwrap(), ("a.rs", None));
        assert!(split("a.rs:0").is_err() && split("a.rs:5-2").is_err() && split("a.rs:-").is_err());
    }

    #[test]
    fn a_path_has_no_dots() {
        assert_eq!(lexical(Path::new("/a/./b/../c")), "/a/c");
    }
}
