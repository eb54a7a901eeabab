//! Gives a finished tape its name. It takes the place of an older tape only if nothing of that one is lost.

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use engram_core::hash::StreamHasher;
use tempfile::TempPath;

use super::contains::has_events_of;
use super::entry::{Entry, Key, State, Superseded};
use super::folder::OutDir;
use super::index::Index;
use super::names::numbered;
use crate::interrupt;

/// A tape that is written and has no name yet.
#[derive(Debug)]
pub struct Finished {
    /// The temporary file.
    pub file: TempPath,
    /// The hash of its bytes.
    pub hash: String,
    /// Its size.
    pub bytes: u64,
}

/// Which name a tape should have.
#[derive(Debug)]
pub struct Target<'t> {
    /// The source; `None` for one that has no entry.
    pub key: Option<&'t Key>,
    /// The harness.
    pub harness: &'t str,
    /// The name without number and ending.
    pub stem: &'t str,
    /// The ending.
    pub ending: &'static str,
    /// True if the text of the older tape's source is the beginning of this one's.
    pub extends_old: bool,
}

/// What became of a tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// It is in a new file.
    New,
    /// A file already had the same bytes.
    Unchanged,
    /// It took the place of an older tape.
    Replaced,
}

impl fmt::Display for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Placed::New => "new",
            Placed::Unchanged => "unchanged",
            Placed::Replaced => "replaced",
        })
    }
}

/// Where a tape is.
#[derive(Debug)]
pub struct Placement {
    /// What became of it.
    pub placed: Placed,
    /// Its path from the folder of tapes.
    pub tape: String,
    /// Older tapes of the same source that stay.
    pub supersedes: Vec<Superseded>,
}

/// The names that are used, by folder: in lower case (some file systems treat `A` as `a`), with the name of the file.
#[derive(Debug, Default)]
pub struct Placer {
    taken: HashMap<String, HashMap<String, String>>,
}

impl Placer {
    /// Gives the tape its name.
    ///
    /// # Errors
    /// As the file system gives them. The temporary file is removed.
    pub fn place(&mut self, out: &OutDir, index: &mut Index, tape: Finished, target: &Target<'_>) -> io::Result<Placement> {
        let temporary = tape.file.to_path_buf();
        let placed = self.placed(out, index, tape, target);
        interrupt::forget(&temporary);
        placed
    }

    fn placed(&mut self, out: &OutDir, index: &mut Index, tape: Finished, target: &Target<'_>) -> io::Result<Placement> {
        let old = target.key.and_then(|key| index.get(key)).cloned();
        let mut supersedes = old.as_ref().map(|old| old.supersedes.clone()).unwrap_or_default();
        let mut kept = None;
        if let Some((old, name)) = old.as_ref().and_then(|old| Some((old, old.tape.clone()?)))
            && has_name(&name, target)
            && is_file(&out.path(&name))
        {
            let (hash, _) = hash_of(&out.path(&name))?;
            if hash == tape.hash {
                return Ok(Placement { placed: Placed::Unchanged, tape: name, supersedes });
            }
            match why_not(out, index, old, (&name, &hash), &tape, target)? {
                None => {
                    tape.file.persist(out.path(&name)).map_err(|error| error.error)?;
                    return Ok(Placement { placed: Placed::Replaced, tape: name, supersedes });
                }
                Some(why) => {
                    kept = Some(name.clone());
                    supersedes.push(Superseded { tape: name, why: why.to_owned() });
                }
            }
        }
        let (placed, tape) = self.free_name(out, index, tape, target, kept.as_deref())?;
        supersedes.retain(|old| old.tape != tape);
        Ok(Placement { placed, tape, supersedes })
    }

    /// The first free name, or the first file that this tape is or may replace.
    fn free_name(
        &mut self,
        out: &OutDir,
        index: &mut Index,
        mut tape: Finished,
        target: &Target<'_>,
        kept: Option<&str>,
    ) -> io::Result<(Placed, String)> {
        let folder = OutDir::folder_name(target.harness);
        if !self.taken.contains_key(&folder) {
            self.taken.insert(folder.clone(), names_in(&out.path(&folder))?);
        }
        for number in 1u64.. {
            let name = numbered(target.stem, number, target.ending);
            let taken = self.taken.entry(folder.clone()).or_default();
            let there = taken.entry(name.to_lowercase()).or_insert_with(|| name.clone()).clone();
            let place = format!("{folder}/{there}");
            if kept == Some(place.as_str()) {
                continue;
            }
            match tape.file.persist_noclobber(out.path(&place)) {
                Ok(()) => return Ok((Placed::New, place)),
                Err(refused) if refused.error.kind() == ErrorKind::AlreadyExists => tape.file = refused.path,
                Err(refused) => return Err(refused.error),
            }
            let path = out.path(&place);
            if !is_file(&path) {
                continue;
            }
            if hash_of(&path)? == (tape.hash.clone(), tape.bytes) {
                return Ok((Placed::Unchanged, place));
            }
            // Names that differ only in case are those of different sessions.
            if there == name && !is_claimed(index, &place, target.key) && has_events_of(&tape.file, &path)? {
                forget_missing(index, &place, target.key);
                tape.file.persist(&path).map_err(|error| error.error)?;
                return Ok((Placed::Replaced, place));
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }
}

/// Why the tape of a source may not be replaced by its new one; `None` if it may.
fn why_not(
    out: &OutDir,
    index: &Index,
    old: &Entry,
    (name, hash): (&str, &str),
    tape: &Finished,
    target: &Target<'_>,
) -> io::Result<Option<&'static str>> {
    if is_claimed(index, name, target.key) {
        return Ok(Some("it is the tape of another source too"));
    }
    let is_as_written = Some(hash) == old.tape_hash.as_deref();
    // A run that was killed may have replaced it and not come to write that down.
    if !is_as_written && old.state != State::Replacing {
        return Ok(Some("the tape is not as it was written"));
    }
    if (is_as_written && target.extends_old) || has_events_of(&tape.file, &out.path(name))? {
        return Ok(None);
    }
    Ok(Some("the source does not begin as it did, and events of this tape are not in the new one"))
}

/// True if a source that is still there has this tape, besides `own`.
fn is_claimed(index: &Index, tape: &str, own: Option<&Key>) -> bool {
    index.sources_of(tape).any(|key| Some(key) != own && Path::new(&key.0).symlink_metadata().is_ok())
}

/// Removes the entries of sources that are not there any more, and whose tape gets a new source.
fn forget_missing(index: &mut Index, tape: &str, own: Option<&Key>) {
    let missing: Vec<Key> = index.sources_of(tape).filter(|key| Some(*key) != own).cloned().collect();
    missing.iter().for_each(|key| index.remove(key));
}

/// True if a tape with this path may be that of the target: the name, with or without a number.
fn has_name(path: &str, target: &Target<'_>) -> bool {
    let number = || {
        let name = path.strip_prefix(&OutDir::folder_name(target.harness))?.strip_prefix('/')?;
        name.strip_prefix(target.stem)?.strip_suffix(target.ending)
    };
    let is_number = |rest: &str| rest.strip_prefix('-').is_some_and(|digits| digits.parse::<u64>().is_ok());
    number().is_some_and(|rest| rest.is_empty() || is_number(rest))
}

fn names_in(folder: &Path) -> io::Result<HashMap<String, String>> {
    let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    let names = entries.into_iter().filter_map(|entry| entry.file_name().into_string().ok());
    Ok(names.map(|name| (name.to_lowercase(), name)).collect())
}

/// True for a regular file that is not reached by a link.
fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_file())
}

/// Hash and size of a file.
fn hash_of(path: &PathBuf) -> io::Result<(String, u64)> {
    let (mut file, mut hasher, mut buffer) = (File::open(path)?, StreamHasher::default(), vec![0; 256 << 10]);
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            read => hasher.update(&buffer[..read]),
        }
    }
    let (hash, bytes) = hasher.finish();
    Ok((hash.to_string(), bytes))
}

#[cfg(test)]
mod tests;
