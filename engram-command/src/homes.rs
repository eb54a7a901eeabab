//! The homes of harnesses on this machine, for commands that name no path.

use std::path::{Path, PathBuf};
use std::{env, iter};

use engram_adapters::Registry;
use engram_adapters::homes::{Surroundings, System, homes};
use walkdir::{DirEntry, WalkDir};

use crate::report::{Reporter, shown};

/// The paths that a command is about: those that it names, else every home that is there.
///
/// With `-v`, and where there is none, it prints which homes were looked at. One that is missing is no error. A search does not leave a directory by a link, but the homes belong
/// to the person who runs the command: directories that they moved elsewhere and linked are searched too.
pub fn paths(named: &[PathBuf], registry: &Registry, report: &Reporter) -> Vec<PathBuf> {
    if !named.is_empty() {
        return named.to_vec();
    }
    let variable = |name: &str| env::var_os(name);
    let all = homes(
        registry,
        &Surroundings {
            system: System::current(),
            variable: &variable,
        },
    );
    let (there, missing): (Vec<_>, Vec<_>) = all.into_iter().partition(|home| home.path.exists());
    for (word, homes) in [("looking in", &there), ("not there", &missing)] {
        let list: Vec<String> = homes.iter().map(|home| in_short(&home.path)).collect();
        if !list.is_empty() {
            let line = format!("{word:<11} {}", list.join(", "));
            if there.is_empty() {
                report.note(&line)
            } else {
                report.detail(&line)
            }
        }
    }
    let unread = unread_programs();
    if !unread.is_empty() {
        let line = format!("not read    {}", unread.join(", "));
        if there.is_empty() {
            report.note(&line)
        } else {
            report.detail(&line)
        }
    }
    there
        .into_iter()
        .map(|home| home.path)
        .flat_map(|home| iter::once(home.clone()).chain(linked_directories(&home)))
        .collect()
}

/// Programs of this machine that have sessions which engram does not read: `Pi (~/.pi/agent/sessions)`.
pub fn unread_programs() -> Vec<String> {
    let found = crate::places::home().map(|home| engram_adapters::homes::unread_programs(&home));
    let found = found.unwrap_or_default();
    found
        .into_iter()
        .map(|(name, path)| format!("{name} ({})", in_short(&path)))
        .collect()
}

/// How deep linked directories are looked for: `projects`, and the directories of projects in it.
const LINK_DEPTH: usize = 2;

/// Links in a home that lead to directories.
fn linked_directories(home: &Path) -> Vec<PathBuf> {
    let entries = WalkDir::new(home)
        .max_depth(LINK_DEPTH)
        .sort_by_file_name()
        .into_iter()
        .filter_map(Result::ok);
    let links = entries
        .filter(|entry| entry.depth() > 0 && entry.path_is_symlink() && entry.path().is_dir());
    links.map(DirEntry::into_path).collect()
}

/// A path below the person's home directory begins with `~`.
pub fn in_short(path: &Path) -> String {
    let home = env::var_os(if cfg!(windows) { "USERPROFILE" } else { "HOME" }).map(PathBuf::from);
    let below = home
        .as_deref()
        .filter(|home| home.is_absolute())
        .and_then(|home| path.strip_prefix(home).ok());
    below.map_or_else(
        || shown(path).into_owned(),
        |below| format!("~/{}", shown(below)),
    )
}
