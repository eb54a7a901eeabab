//! `engram ingest --watch`: converts again whenever a log changes.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use engram_adapters::sessions::SessionOptions;
use engram_command::exit::Exit;
use engram_command::homes;
use engram_command::report::{Reporter, shown};
use engram_core::error::{AdapterError, ErrorCode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::run::once;
use crate::args::Ingest;

/// A change counts when nothing else has changed for this long,
const QUIET: Duration = Duration::from_millis(500);
/// or at the latest after this.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often everything is looked at without a change: file systems of networks report none, and a harness may be new.
const LOOK_ANYWAY: Duration = Duration::from_secs(60);

/// Runs until it is interrupted.
///
/// # Errors
/// Never; as the other commands.
pub fn run(
    args: &Ingest,
    out: &Path,
    paths: &[PathBuf],
    options: &SessionOptions,
    report: &Reporter,
) -> io::Result<Exit> {
    if args.paths.iter().any(|path| path.as_os_str() == "-") {
        return Ok(report.usage("standard input cannot be watched"));
    }
    let (sender, changes) = mpsc::channel();
    let own = out.to_owned();
    let is_foreign = move |event: &Event| is_foreign(&event.paths, &own);
    let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        // Reading is no change.
        if event
            .is_ok_and(|event| !matches!(event.kind, EventKind::Access(_)) && is_foreign(&event))
        {
            // The command may have ended.
            let _ = sender.send(());
        }
    });
    let mut watcher = match watcher {
        Ok(watcher) => Some(watcher),
        Err(error) => {
            report.note(&format!(
                "warning: changes are looked for once a minute only: {error}"
            ));
            None
        }
    };
    let mut watched = Vec::new();
    watch(&mut watcher, paths, &mut watched, report);
    let mut done = once(args, out, paths, options, report, None);
    if done.exit == Exit::Usage {
        return Ok(done.exit);
    }
    report.note("watching for changes; interrupt to end");
    loop {
        wait(&changes);
        let paths = homes::paths(&args.paths, options.registry(), &report.silenced());
        watch(&mut watcher, &paths, &mut watched, report);
        done = once(args, out, &paths, options, report, Some(done.errors));
    }
}

/// True if something else than this directory has changed. The paths of changes begin as the watched ones do, so what they lead to counts.
fn is_foreign(paths: &[PathBuf], own: &Path) -> bool {
    let own = real(own);
    paths.is_empty() || paths.iter().any(|path| !real(path).starts_with(&own))
}

/// The path without links and `..`. What is not there any more keeps its name.
fn real(path: &Path) -> PathBuf {
    let there = path
        .ancestors()
        .find_map(|part| Some((part, part.canonicalize().ok()?)));
    match there {
        Some((part, real)) => real.join(path.strip_prefix(part).unwrap_or(Path::new(""))),
        None => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
    }
}

/// Watches the paths that are not watched yet.
fn watch(
    watcher: &mut Option<RecommendedWatcher>,
    paths: &[PathBuf],
    watched: &mut Vec<PathBuf>,
    report: &Reporter,
) {
    let Some(watcher) = watcher else { return };
    for path in paths {
        if watched.contains(path) {
            continue;
        }
        watched.push(path.clone());
        if let Err(error) = watcher.watch(path, RecursiveMode::Recursive) {
            let error = AdapterError::new(ErrorCode::Io)
                .found(&error.to_string())
                .path(shown(path));
            report.note(&format!(
                "warning: looked at once a minute only: {}",
                engram_command::message::sentence(&error)
            ));
        }
    }
}

/// Waits for a change and until it is over, or until it is time to look anyway.
fn wait(changes: &Receiver<()>) {
    match changes.recv_timeout(LOOK_ANYWAY) {
        Ok(()) => {}
        Err(RecvTimeoutError::Timeout) => return,
        // Without a watcher there is nobody who could send.
        Err(RecvTimeoutError::Disconnected) => return std::thread::sleep(LOOK_ANYWAY),
    }
    let began = Instant::now();
    while began.elapsed() < PATIENCE && changes.recv_timeout(QUIET).is_ok() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn own_changes_are_known_by_the_place_and_not_by_the_path() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        std::fs::create_dir_all(at("logs/tapes/codex")).unwrap();
        std::os::unix::fs::symlink(at("logs/tapes"), at("link")).unwrap();
        std::os::unix::fs::symlink(at("logs"), at("home")).unwrap();
        for own in [
            at("logs/tapes"),
            at("link"),
            at("logs/../logs/tapes"),
            at("home/tapes"),
        ] {
            for path in [
                "logs/tapes/index.jsonl",
                "home/tapes/codex/gone.tmp",
                "logs/../home/tapes",
                "link/new/new",
            ] {
                assert!(
                    !is_foreign(&[at(path)], &own),
                    "{path} in {}",
                    own.display()
                );
            }
            assert!(
                is_foreign(&[at("logs/a.jsonl")], &own)
                    && is_foreign(&[at("logs/tapes2")], &own)
                    && is_foreign(&[], &own)
            );
        }
    }

    #[test]
    fn many_changes_are_waited_for_together() {
        let (sender, changes) = mpsc::channel();
        (0..1000).for_each(|_| sender.send(()).unwrap());
        let began = Instant::now();
        wait(&changes);
        assert!(began.elapsed() >= QUIET && began.elapsed() < PATIENCE);
        assert!(changes.try_recv().is_err());
    }
}
