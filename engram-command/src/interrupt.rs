//! Interrupts: they leave no half-written tape and no copy of a store, and a run reports what it has done.
//!
//! Whoever holds a lock may never give it back, so nothing here waits for one without an end. The first signal starts a thread that cleans
//! up; a second one, or the end of a grace of five seconds, ends the process, whatever its threads do. What is left then, the next run removes.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use engram_adapters::open::discard_copies;
use tempfile::{NamedTempFile, TempDir};

use crate::exit::Exit;

/// After this, an interrupted process has ended.
const GRACE: Duration = Duration::from_secs(5);
/// How long a lock is asked for: whoever holds it may be just before the end of its work.
const PATIENCE: Duration = Duration::from_secs(2);
/// The pause before a lock is asked for again.
const PAUSE: Duration = Duration::from_millis(5);

/// True after the first signal.
static WAS_ASKED: AtomicBool = AtomicBool::new(false);
/// Temporary files and directories. One is created only while the list is locked, so that an interrupt misses none.
static UNNAMED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
/// What the first signal does instead, if the command ends by itself then.
static INSTEAD: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);
/// What to do before the command ends.
static AT_END: Mutex<Option<Box<dyn FnMut() + Send>>> = Mutex::new(None);

/// The value behind a lock, if the lock is free before long.
pub fn soon<T>(lock: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    let until = Instant::now() + PATIENCE;
    loop {
        match lock.try_lock() {
            Ok(value) => return Some(value),
            Err(TryLockError::Poisoned(value)) => return Some(value.into_inner()),
            Err(TryLockError::WouldBlock) if Instant::now() < until => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return None,
        }
    }
}

/// From now on, an interrupt or a request to terminate removes temporary files and copies of stores, and ends the command; a second one ends
/// it at once.
pub fn listen() {
    let hear = || {
        if WAS_ASKED.swap(true, Ordering::SeqCst) {
            leave();
        }
        let instead = soon(&INSTEAD).and_then(|mut instead| instead.take());
        if let Some(call) = instead {
            return call();
        }
        let (cleaner, clock) = (spawn(clean_up), spawn(|| thread::sleep(GRACE)));
        if cleaner.is_err() || clock.is_err() {
            leave();
        }
    };
    // If no handler can be set, an interrupt ends the command without cleaning up.
    let _ = ctrlc::set_handler(hear);
}

/// Runs this in a thread, and ends the process after it.
fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().spawn(|| {
        work();
        leave();
    })
}

fn clean_up() {
    // It is taken out, so that a run that ends meanwhile can put another one in its place.
    let at_end = soon(&AT_END).and_then(|mut at_end| at_end.take());
    if let Some(mut at_end) = at_end {
        at_end();
    }
    // No temporary file may appear any more.
    let unnamed = soon(&UNNAMED);
    for path in unnamed.iter().flat_map(|unnamed| unnamed.iter()) {
        remove(path);
    }
    discard_copies();
    std::mem::forget(unnamed);
}

/// Removes a file, or a directory into which threads may still write. It may have been renamed just now.
fn remove(path: &Path) {
    // Under another name no thread finds it any more.
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".removed-{}", std::process::id()));
    let path = match fs::rename(path, &aside) {
        Ok(()) => Path::new(&aside),
        Err(_) => path,
    };
    let until = Instant::now() + PATIENCE;
    loop {
        let removed = if path.is_dir() {
            fs::remove_dir_all(path)
        } else {
            fs::remove_file(path)
        };
        if removed.is_ok() || !path.exists() || Instant::now() >= until {
            return;
        }
        thread::sleep(PAUSE);
    }
}

fn leave() {
    exit(Exit::Interrupted as i32)
}

/// A file that may not grow any more (`ulimit -f`) is an error of its write, as a full disk is. By default it would end the process without
/// a word.
pub fn outlive_file_limit() {
    #[cfg(unix)]
    {
        let was_heard = std::sync::Arc::new(AtomicBool::new(false));
        // Without a handler it is as by default.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, was_heard);
    }
}

/// The first signal calls this, and the command ends by itself before long; a second one ends it at once.
pub fn stops_with(call: impl FnOnce() + Send + 'static) {
    *INSTEAD.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(call));
}

/// Calls this once if the command is interrupted from now on, in place of what was to be called before. It must not wait for a lock: it asks
/// for one with [`soon`].
pub fn at_end(call: impl FnMut() + Send + 'static) {
    *AT_END.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(call));
}

/// Creates a temporary file that an interrupt removes.
///
/// # Errors
/// Those of `make`.
pub fn temporary(make: impl FnOnce() -> io::Result<NamedTempFile>) -> io::Result<NamedTempFile> {
    let mut unnamed = unnamed();
    let file = make()?;
    unnamed.insert(file.path().to_owned());
    Ok(file)
}

/// As [`temporary`], a directory with all that is in it.
///
/// # Errors
/// Those of `make`.
pub fn temporary_directory(make: impl FnOnce() -> io::Result<TempDir>) -> io::Result<TempDir> {
    let mut unnamed = unnamed();
    let directory = make()?;
    unnamed.insert(directory.path().to_owned());
    Ok(directory)
}

/// Stops tracking a temporary file or directory, which was renamed or deleted.
pub fn forget(path: &Path) {
    unnamed().remove(path);
}

fn unnamed() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNNAMED.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_into_which_a_thread_still_writes_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("d");
        fs::create_dir(&directory).unwrap();
        let place = directory.clone();
        // It ends as an export does: when its directory is gone.
        let writer = thread::spawn(move || {
            (0..)
                .take_while(|n| fs::write(place.join(n.to_string()), "x").is_ok())
                .count()
        });
        while fs::read_dir(&directory).unwrap().next().is_none() {
            thread::yield_now();
        }
        remove(&directory);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
        assert!(writer.join().unwrap() > 0);
    }

    #[test]
    fn a_lock_is_got_if_it_becomes_free_and_not_waited_for_for_ever() {
        static LOCK: Mutex<u8> = Mutex::new(7);
        let (sender, is_held) = std::sync::mpsc::channel();
        let holder = thread::spawn(move || {
            let held = LOCK.lock().unwrap();
            sender.send(()).unwrap();
            thread::sleep(Duration::from_millis(50));
            drop(held);
        });
        is_held.recv().unwrap();
        assert_eq!(soon(&LOCK).map(|value| *value), Some(7));
        holder.join().unwrap();
        let own = LOCK.lock().unwrap();
        let began = Instant::now();
        assert!(thread::scope(|scope| scope
            .spawn(|| soon(&LOCK).is_none())
            .join()
            .unwrap()));
        assert!(began.elapsed() >= PATIENCE && began.elapsed() < GRACE);
        drop(own);
    }
}
