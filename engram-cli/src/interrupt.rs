//! Interrupts: they leave no half-written tape and no copy of a store, and a run reports what it has done.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::{Mutex, MutexGuard, PoisonError};

use engram_adapters::open::discard_copies;
use tempfile::NamedTempFile;

use crate::exit::Exit;

/// Temporary tapes. One is created only while the list is locked, so that an interrupt misses none.
static UNNAMED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
/// What to do before the command ends.
static AT_END: Mutex<Option<Box<dyn FnMut() + Send>>> = Mutex::new(None);

fn unnamed() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNNAMED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn at_end_now() -> MutexGuard<'static, Option<Box<dyn FnMut() + Send>>> {
    AT_END.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on, an interrupt or a request to terminate removes temporary tapes and copies of stores, and ends the command.
pub fn listen() {
    let end = || {
        if let Some(at_end) = at_end_now().as_mut() {
            at_end();
        }
        let unnamed = unnamed();
        for path in unnamed.iter() {
            // It may have been renamed just now.
            let _ = fs::remove_file(path);
        }
        discard_copies();
        exit(Exit::Interrupted as i32)
    };
    // If no handler can be set, an interrupt ends the command without cleaning up.
    let _ = ctrlc::set_handler(end);
}

/// Calls this once if the command is interrupted from now on, in place of what was to be called before.
pub fn at_end(call: impl FnMut() + Send + 'static) {
    *at_end_now() = Some(Box::new(call));
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

/// Stops tracking a temporary file, which was renamed or deleted.
pub fn forget(path: &Path) {
    unnamed().remove(path);
}
