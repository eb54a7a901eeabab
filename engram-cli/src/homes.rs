//! The homes of harnesses on this machine, for commands that name no path.

use std::env;
use std::path::PathBuf;

use engram_adapters::Registry;
use engram_adapters::homes::{Surroundings, System, homes};

use crate::report::{Reporter, shown};

/// The paths that a command is about: those that it names, else every home that is there.
///
/// Prints which homes were looked at. One that is missing is no error.
pub fn paths(named: &[PathBuf], registry: &Registry, report: &Reporter) -> Vec<PathBuf> {
    if !named.is_empty() {
        return named.to_vec();
    }
    let variable = |name: &str| env::var_os(name);
    let all = homes(registry, &Surroundings { system: System::current(), variable: &variable });
    let (there, missing): (Vec<_>, Vec<_>) = all.into_iter().partition(|home| home.path.exists());
    for (word, homes) in [("looking in", &there), ("not there", &missing)] {
        let list: Vec<String> = homes.iter().map(|home| in_short(&home.path)).collect();
        if !list.is_empty() {
            report.note(&format!("{word:<11} {}", list.join(", ")));
        }
    }
    there.into_iter().map(|home| home.path).collect()
}

/// A path below the person's home folder begins with `~`.
fn in_short(path: &std::path::Path) -> String {
    let home = env::var_os(if cfg!(windows) { "USERPROFILE" } else { "HOME" }).map(PathBuf::from);
    let below = home.as_deref().filter(|home| home.is_absolute()).and_then(|home| path.strip_prefix(home).ok());
    below.map_or_else(|| shown(path).into_owned(), |below| format!("~/{}", shown(below)))
}
