//! Ending early: a run that is interrupted leaves no half-written tape behind, and no copy of a store.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::{Mutex, MutexGuard, PoisonError};

use engram_adapters::open::discard_copies;
use tempfile::NamedTempFile;

use crate::exit::Exit;

/// Tapes that have no name yet. One is made only by who holds the list, so that none comes up while the run ends.
static UNNAMED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn unnamed() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNNAMED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From here on, an interrupt (or a request to terminate) removes the tapes without a name and the copies of stores, and ends the
/// command.
pub fn listen() {
    let end = || {
        let unnamed = unnamed();
        for path in unnamed.iter() {
            // It may have got its name just now.
            let _ = fs::remove_file(path);
        }
        discard_copies();
        exit(Exit::Interrupted as i32)
    };
    // Where the system lets nobody listen, an interrupt ends the command as it always did.
    let _ = ctrlc::set_handler(end);
}

/// The temporary file that `make` makes, which an interrupt removes.
///
/// # Errors
/// Those of `make`.
pub fn temporary(make: impl FnOnce() -> io::Result<NamedTempFile>) -> io::Result<NamedTempFile> {
    let mut unnamed = unnamed();
    let file = make()?;
    unnamed.insert(file.path().to_owned());
    Ok(file)
}

/// The temporary file at `path` has got its name, or is gone.
pub fn settled(path: &Path) {
    unnamed().remove(path);
}
