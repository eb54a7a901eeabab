//! Sources that have tapes and cannot be read now: their tapes stay, and they are not taken for sources without these sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use engram_adapters::sessions::{SessionOptions, open_store, store_at_root};
use engram_adapters::{Registry, open};
use engram_command::inputs::{Inputs, SessionInput};
use engram_core::error::{AdapterError, ErrorCode};

use crate::tape_dir::{Entry, Failure, Index, source_of};

/// The sources of an index that could not be read, or not as a whole.
#[derive(Default)]
pub struct Unread {
    failures: BTreeMap<String, Failure>,
    /// What nobody has reported: the search for sessions has found nothing at these sources.
    new_errors: Vec<AdapterError>,
}

impl Unread {
    /// Compares the sources below `paths` that have tapes with what was found there.
    pub fn new(
        inputs: &Inputs,
        index: &Index,
        paths: &[PathBuf],
        options: &SessionOptions,
    ) -> Unread {
        let mut unread = Unread::default();
        let searched: Vec<String> = paths.iter().filter_map(|path| source_of(path)).collect();
        let errors: Vec<(PathBuf, Failure)> = inputs
            .sessions
            .iter()
            .filter_map(|input| input.as_ref().err())
            .filter_map(at_path)
            .collect();
        let read = read_sources(inputs);
        for (source, entry) in index.sources_with_tapes() {
            let path = Path::new(source);
            if !searched.iter().any(|searched| path.starts_with(searched)) {
                continue;
            }
            let is_read_with = |at: &Path| {
                let mut adapters = options.registry().adapters();
                adapters.any(|adapter| {
                    (adapter.store_opener().read_with)(path)
                        .iter()
                        .any(|other| other == at)
                })
            };
            let is_about =
                |at: &Path| at.starts_with(path) || path.starts_with(at) || is_read_with(at);
            if let Some((_, failure)) = errors.iter().find(|(at, _)| is_about(at)) {
                unread.failures.insert(source.to_owned(), failure.clone());
            } else if !read.contains(source)
                && let Err(error) = look_at(path, entry, options)
            {
                unread
                    .failures
                    .insert(source.to_owned(), Failure::of(&error));
                unread.new_errors.push(error);
            }
        }
        unread
    }

    /// Why this source, or a part of it, could not be read.
    pub fn why(&self, source: &str) -> Option<&Failure> {
        self.failures.get(source)
    }

    /// All of these sources.
    pub fn failures(&self) -> impl Iterator<Item = (&String, &Failure)> {
        self.failures.iter()
    }

    /// The errors that the search for sessions did not find.
    pub fn take_new_errors(&mut self) -> Vec<AdapterError> {
        std::mem::take(&mut self.new_errors)
    }
}

/// An error of a search, with its place.
fn at_path(error: &AdapterError) -> Option<(PathBuf, Failure)> {
    let path = source_of(Path::new(error.path.as_deref()?))?;
    Some((path.into(), Failure::of(error)))
}

/// The sources in which a session was found, or that have not changed.
fn read_sources(inputs: &Inputs) -> BTreeSet<String> {
    let opened = inputs
        .sessions
        .iter()
        .flatten()
        .filter_map(SessionInput::container);
    let others = inputs
        .other_forms
        .iter()
        .map(|other| other.location.container());
    opened
        .chain(others)
        .chain(inputs.unchanged.iter().map(PathBuf::as_path))
        .filter_map(source_of)
        .collect()
}

/// Fails for a source in which nothing was found though it is there: it is damaged, of an unknown form, or nobody may read it.
fn look_at(path: &Path, entry: &Entry, options: &SessionOptions) -> Result<(), AdapterError> {
    let at = |error: io::Error| AdapterError::from(error).path(path.to_string_lossy());
    let metadata = match path.metadata() {
        Ok(metadata) => metadata,
        // It was deleted or moved, or its volume is not there.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(());
        }
        Err(error) => return Err(at(error)),
    };
    match (metadata.is_dir(), &entry.session) {
        (true, _) => {
            let harness = entry
                .overview
                .as_ref()
                .map(|overview| &*overview.harness)
                .unwrap_or_default();
            let has_files = has_files_of_store(options.registry(), path, harness).map_err(at)?;
            if has_files && store_at_root(options.registry(), path).is_none() {
                Err(no_store(path))
            } else {
                Ok(())
            }
        }
        (false, None) => open::regular(path).map(drop).map_err(at),
        (false, Some(_)) => open_store(options.registry(), path, options.limits())?
            .map(drop)
            .ok_or_else(|| no_store(path)),
    }
}

/// True if a directory has something of a store of this harness in it.
fn has_files_of_store(registry: &Registry, directory: &Path, harness: &str) -> io::Result<bool> {
    let Some(adapter) = registry
        .adapters()
        .find(|adapter| adapter.descriptor().harness_family == harness)
    else {
        return Ok(false);
    };
    for entry in fs::read_dir(directory)? {
        if (adapter.store_opener().is_inside)(&entry?.file_name().to_string_lossy()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The error of a file or directory that was a store and is none now.
pub fn no_store(path: &Path) -> AdapterError {
    let error = AdapterError::new(ErrorCode::IncompleteStore)
        .expected("the store of sessions that was there");
    error
        .found("no database of a known kind")
        .path(path.to_string_lossy())
}
