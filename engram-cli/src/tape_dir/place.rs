//! Gives a finished tape its name. It takes the place of an older tape only if nothing of that one is lost.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use engram_command::interrupt;
use tempfile::TempPath;

use super::contains::{has_events_of, why_poorer};
use super::directory::OutDir;
use super::entry::{Entry, Key, Setup, Superseded};
use super::file_hash::hash_of;
use super::files;
use super::index::{Index, is_missing};
use super::names::{ENDINGS, numbered};

/// A tape that is written and has no name yet.
#[derive(Debug)]
pub struct Finished {
    /// The temporary file, until it has its name.
    pub file: Option<TempPath>,
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
    /// What decides about tapes in this run.
    pub setup: &'t Setup,
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

/// Where a tape is to be.
#[derive(Debug, Clone)]
pub struct Placement {
    /// What becomes of it.
    pub placed: Placed,
    /// Its path from the directory of tapes.
    pub tape: String,
    /// The hash of the tape that it replaces.
    pub replaces_hash: Option<String>,
    /// Older tapes of the same source that stay.
    pub supersedes: Vec<Superseded>,
    /// The older tape in another form (plain or compressed), which is removed when this one has its name. Until then it is among those that
    /// stay.
    pub removes: Option<String>,
}

/// The names that are used, by directory: in lower case (some file systems treat `A` as `a`), with the name of the file.
#[derive(Debug, Default)]
pub struct Placer {
    taken: HashMap<String, HashMap<String, String>>,
    /// Paths that were decided on for tapes which do not have them yet.
    reserved: HashSet<String>,
    /// What is known of the tapes with one stem, by the path without number. Some harnesses give one id to thousands of sessions.
    passed: HashMap<String, Passed>,
}

/// The first numbers of a stem: each is the tape of another source, so none is free.
#[derive(Debug, Default)]
struct Passed {
    count: u64,
    /// Their paths, by the hash that the index has.
    by_hash: HashMap<String, String>,
}

impl Placer {
    /// Decides on the name of a tape. The caller must give the tape this name before it asks for the next tape that has the same name and
    /// the same bytes. If this tape replaces another tape, or is not in the index, the caller must do so before it asks for any tape of the
    /// same name.
    ///
    /// # Errors
    /// As the file system gives them.
    pub fn decide(
        &mut self,
        out: &OutDir,
        index: &Index,
        tape: &Finished,
        target: &Target<'_>,
    ) -> io::Result<Placement> {
        let old = target.key.and_then(|key| index.get(key));
        let mut supersedes = old.map(|old| old.supersedes.clone()).unwrap_or_default();
        supersedes.retain(|old| is_file(&out.path(&old.tape)));
        let (mut kept, mut removes) = (None, None);
        let old = old
            .and_then(|old| Some((old, old.tape.clone()?)))
            .filter(|(_, name)| is_file(&out.path(name)));
        if let Some((old, name)) = old
            .as_ref()
            .filter(|(_, name)| !has_name(name, target, target.ending))
        {
            let mut why = "it has another session id";
            if ENDINGS.iter().any(|ending| has_name(name, target, ending)) {
                let (hash, _) = hash_of(&out.path(name))?;
                let stays = why_not(out, index, old, (name, &hash), tape, target)?;
                removes = stays.is_none().then(|| name.clone());
                why =
                    stays.unwrap_or("it has another form, and the run ended before it was removed");
            }
            supersedes.push(Superseded {
                tape: name.clone(),
                why: why.to_owned(),
            });
        } else if let Some((old, name)) = old {
            let (hash, _) = hash_of(&out.path(&name))?;
            if hash == tape.hash {
                return Ok(Placement {
                    placed: Placed::Unchanged,
                    tape: name,
                    replaces_hash: None,
                    supersedes,
                    removes: None,
                });
            }
            match why_not(out, index, old, (&name, &hash), tape, target)? {
                None => {
                    let replaces_hash = Some(hash);
                    return Ok(Placement {
                        placed: Placed::Replaced,
                        tape: name,
                        replaces_hash,
                        supersedes,
                        removes: None,
                    });
                }
                Some(why) => {
                    kept = Some(name.clone());
                    supersedes.push(Superseded {
                        tape: name,
                        why: why.to_owned(),
                    });
                }
            }
        }
        let (placed, tape, replaces_hash) =
            self.free_name(out, index, tape, target, kept.as_deref())?;
        supersedes.retain(|old| old.tape != tape);
        Ok(Placement {
            placed,
            tape,
            replaces_hash,
            supersedes,
            removes,
        })
    }

    /// Gives a tape the name that was decided on. False if another program has taken that name meanwhile.
    ///
    /// # Errors
    /// As the file system gives them.
    pub fn commit(
        &mut self,
        out: &OutDir,
        tape: &mut Finished,
        placement: &Placement,
    ) -> io::Result<bool> {
        self.reserved.remove(&placement.tape);
        let Some(file) = tape.file.take() else {
            return Ok(true);
        };
        let (temporary, path) = (file.to_path_buf(), out.path(&placement.tape));
        let named = match placement.placed {
            Placed::Unchanged => file.close(),
            Placed::Replaced => files::replace(file, &path),
            Placed::New => match files::name_new(file, &path) {
                Err(refused) if refused.error.kind() == ErrorKind::AlreadyExists => {
                    tape.file = Some(refused.path);
                    return Ok(false);
                }
                named => named.map_err(|error| error.error),
            },
        };
        interrupt::forget(&temporary);
        named.map(|()| true)
    }

    /// Removes the older tape that this one replaces in another form, and returns its path.
    ///
    /// # Errors
    /// As the file system gives them.
    pub fn remove_other_form<'p>(
        &self,
        out: &OutDir,
        placement: &'p Placement,
    ) -> io::Result<Option<&'p str>> {
        let Some(name) = placement.removes.as_deref() else {
            return Ok(None);
        };
        files::remove(&out.path(name)).map(|()| Some(name))
    }

    /// A tape that was decided on does not get its name.
    pub fn give_back(&mut self, placement: &Placement) {
        self.reserved.remove(&placement.tape);
    }

    /// The first free name, or the first file that this tape is or may replace.
    fn free_name(
        &mut self,
        out: &OutDir,
        index: &Index,
        tape: &Finished,
        target: &Target<'_>,
        kept: Option<&str>,
    ) -> io::Result<(Placed, String, Option<String>)> {
        let directory = OutDir::directory_name(target.harness);
        if !self.taken.contains_key(&directory) {
            self.taken
                .insert(directory.clone(), names_in(&out.path(&directory))?);
        }
        let taken = self.taken.entry(directory.clone()).or_default();
        let passed = self
            .passed
            .entry(format!("{directory}/{}{}", target.stem, target.ending))
            .or_default();
        if let Some(place) = passed
            .by_hash
            .get(&tape.hash)
            .filter(|place| kept != Some(place.as_str()) && !self.reserved.contains(*place))
            && is_same(&out.path(place), tape)?
        {
            return Ok((Placed::Unchanged, place.clone(), None));
        }
        let mut all_passed = true;
        for number in passed.count + 1.. {
            let name = numbered(target.stem, number, target.ending);
            let there = taken
                .entry(name.to_lowercase())
                .or_insert_with(|| name.clone())
                .clone();
            let place = format!("{directory}/{there}");
            let path = out.path(&place);
            let owner = owner(index, &place, target.key);
            // A session may have the id that another one's number gives.
            if kept != Some(place.as_str()) && !self.reserved.contains(&place) {
                if path
                    .symlink_metadata()
                    .is_err_and(|error| error.kind() == ErrorKind::NotFound)
                {
                    self.reserved.insert(place.clone());
                    return Ok((Placed::New, place, None));
                }
                if is_same(&path, tape)? {
                    return Ok((Placed::Unchanged, place, None));
                }
                // Names that differ only in case are those of different sessions.
                if is_file(&path)
                    && there == name
                    && owner.is_none()
                    && has_events_of(tape.path()?, &path)?
                {
                    return Ok((Placed::Replaced, place, Some(hash_of(&path)?.0)));
                }
            }
            all_passed &= owner.is_some();
            if let Some(hash) = owner.filter(|_| all_passed) {
                passed.count = number;
                passed.by_hash.entry(hash.to_owned()).or_insert(place);
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }
}

impl Finished {
    fn path(&self) -> io::Result<&Path> {
        self.file
            .as_deref()
            .ok_or_else(|| ErrorKind::NotFound.into())
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
    if Some(hash) != old.tape_hash.as_deref() {
        return Ok(Some("the tape is not as it was written"));
    }
    why_poorer(
        tape.path()?,
        &out.path(name),
        target.extends_old,
        old.setup == *target.setup,
    )
}

/// True if a source that is still there has this tape, besides `own`.
fn is_claimed(index: &Index, tape: &str, own: Option<&Key>) -> bool {
    owner(index, tape, own).is_some()
}

/// The hash of this tape in the index, if a source that is still there has it, besides `own`.
fn owner<'i>(index: &'i Index, tape: &str, own: Option<&Key>) -> Option<&'i str> {
    let key = index
        .sources_of(tape)
        .find(|key| Some(*key) != own && !is_missing(Path::new(&key.0)))?;
    Some(index.get(key)?.tape_hash.as_deref().unwrap_or_default())
}

/// True if the file at this path has the bytes of a tape. Files of another size are not read.
fn is_same(path: &Path, tape: &Finished) -> io::Result<bool> {
    let has_size = path
        .symlink_metadata()
        .is_ok_and(|found| found.is_file() && found.len() == tape.bytes);
    Ok(has_size && hash_of(path)?.0 == tape.hash)
}

/// True if a tape with this path may be that of the target, in the form with this ending: the name, with or without a number.
fn has_name(path: &str, target: &Target<'_>, ending: &str) -> bool {
    let number = || {
        let name = path
            .strip_prefix(&OutDir::directory_name(target.harness))?
            .strip_prefix('/')?;
        name.strip_prefix(target.stem)?.strip_suffix(ending)
    };
    let is_number = |rest: &str| {
        rest.strip_prefix('-')
            .is_some_and(|digits| digits.parse::<u64>().is_ok())
    };
    number().is_some_and(|rest| rest.is_empty() || is_number(rest))
}

fn names_in(directory: &Path) -> io::Result<HashMap<String, String>> {
    let entries = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
    let names = entries
        .into_iter()
        .filter_map(|entry| entry.file_name().into_string().ok());
    Ok(names.map(|name| (name.to_lowercase(), name)).collect())
}

/// True for a regular file that is not reached by a link.
fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_file())
}

#[cfg(test)]
mod tests;
