//! Processes that a harness leaves outside of its group, and their end.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::isolation::HOME;

/// How long a process that got KILL may still be there.
const SHORT: Duration = Duration::from_millis(30);
/// The most rounds in which processes are ended: one that starts others faster is not caught.
const ROUNDS: usize = 20;

/// Whether this process is the first one in private mounts: then every other one is of the harness.
fn is_first(home: &Path) -> bool {
    home == Path::new(HOME) && std::process::id() == 1
}

/// Ends every process that belongs to this home, by its id: a harness may leave some outside of its group. Returns their names.
pub(crate) fn end_left(home: &Path) -> Vec<String> {
    let is_first = is_first(home);
    let mut names = Vec::new();
    for _ in 0..ROUNDS {
        let found = left(home, is_first);
        if found.is_empty() {
            break;
        }
        for (pid, name) in found {
            names.push(name);
            // It may have ended by itself.
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        // A process that got KILL is still there for a moment.
        thread::sleep(SHORT);
    }
    if is_first {
        // All at once: none can start another one meanwhile, and none is missed since it cannot be seen.
        let _ = rustix::process::kill_process_group(Pid::INIT, Signal::KILL);
    }
    names.sort();
    names
}

/// The processes that have this home, work below it, or have a file below it or beside it open; or all but this one.
fn left(home: &Path, is_all: bool) -> Vec<(Pid, String)> {
    let mark = format!("HOME={}\0", home.display());
    let around = home
        .parent()
        .filter(|above| above.parent().is_some())
        .unwrap_or(home);
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let id = entry.file_name().to_string_lossy().into_owned();
        let Some(pid) = id
            .parse()
            .ok()
            .and_then(Pid::from_raw)
            .filter(|_| id != own)
        else {
            continue;
        };
        let process = entry.path();
        let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
        if stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .trim_start()
            .starts_with(['Z', 'X'])
        {
            continue;
        }
        let leads_here =
            |link: &Path| fs::read_link(link).is_ok_and(|target| target.starts_with(around));
        let has_home = || {
            fs::read(process.join("environ"))
                .is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(&mark))
        };
        let has_file = || {
            fs::read_dir(process.join("fd"))
                .into_iter()
                .flatten()
                .flatten()
                .any(|file| leads_here(&file.path()))
        };
        if is_all || has_home() || leads_here(&process.join("cwd")) || has_file() {
            found.push((
                pid,
                fs::read_to_string(process.join("comm"))
                    .unwrap_or_default()
                    .trim()
                    .to_owned(),
            ));
        }
    }
    found
}
