//! Tapes and directories of tapes are taken in: only what is new, whole tapes only.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::Scope;
use std::time::{Duration, Instant, UNIX_EPOCH};

use engram_core::bounds::BoundedLines;
use rusqlite::{OptionalExtension, params};
use serde::{Deserialize, Serialize};
use walkdir::WalkDir;

use crate::error::Error;
use crate::reading;
use crate::rows::TapeRows;
use crate::store::Writer;
use crate::write::{Anchors, Put};

/// Name endings of tapes.
const TAPE_ENDINGS: [&str; 2] = [".tape.jsonl", ".tape.jsonl.zst"];
/// What `engram ingest` says about a directory of tapes.
const LIST: &str = "index.jsonl";
/// A transaction ends after so much text of tapes, so many fingerprints, or so long.
const BATCH_BYTES: u64 = 64 << 20;
const BATCH_ANCHORS: usize = 2 << 20;
const BATCH_TIME: Duration = Duration::from_secs(5);

/// Threads that read tapes, and tapes that each of them reads ahead.
const MAX_READERS: usize = 4;
const WAITING: usize = 1;

/// What a run has done.
#[derive(Debug, Default, Serialize)]
pub struct Added {
    /// Tapes that are new.
    pub new: u64,
    /// Tapes of sessions that grew.
    pub grew: u64,
    /// Tapes of which another one of the session has all.
    pub superseded: u64,
    /// Tapes that were there under another path.
    pub known: u64,
    /// Tapes that have not changed since they were read.
    pub unchanged: u64,
    /// Bytes of text that were read.
    pub bytes: u64,
    /// Files that are no valid tapes, or could not be read.
    #[serde(skip)]
    pub failed: Vec<Error>,
}

impl Added {
    pub(crate) fn count(&mut self, put: Put) {
        *match put {
            Put::New => &mut self.new,
            Put::Grew => &mut self.grew,
            Put::Superseded => &mut self.superseded,
            Put::Known => &mut self.known,
        } += 1;
    }
}

/// A tape file, and its state on disk.
struct Found {
    path: PathBuf,
    name: String,
    size: u64,
    modified: i64,
}

struct Place {
    size: u64,
    modified: i64,
    tape: Option<i64>,
    fault: Option<String>,
}

/// A line of the list of a directory.
#[derive(Deserialize)]
struct Listed {
    tape: Option<String>,
    #[serde(default)]
    supersedes: Vec<Older>,
}

#[derive(Deserialize)]
struct Older {
    tape: String,
}

impl Writer {
    /// Takes in these tapes, and those in these directories. A file that is no valid tape is left out and returned as a failure.
    ///
    /// # Errors
    /// As the database gives them. Tapes that were taken in before stay.
    pub fn add(&mut self, paths: &[PathBuf], each: &mut dyn FnMut(&Path)) -> Result<Added, Error> {
        let mut added = Added::default();
        let (mut found, mut older) = (Vec::new(), Vec::new());
        let mut lists = Vec::new();
        for path in paths {
            let path = std::path::absolute(path).map_err(Error::io(path))?;
            if path.is_dir() {
                // Its state before its tapes are looked at: what is written meanwhile counts as new the next time.
                lists.extend(list_state(&path));
                older.extend(superseded_in(&path));
                let left_out: HashSet<&Path> = older.iter().map(|(old, _)| old.as_path()).collect();
                tapes_in(&path, &left_out, &mut found, &mut added);
            } else {
                look_at(path, &mut found, &mut added);
            }
        }
        let places = self.places().map_err(|error| self.failed(error))?;
        let is_known = |found: &Found| {
            places
                .get(&found.name)
                .filter(|place| (place.size, place.modified) == (found.size, found.modified))
        };
        let mut changed = Vec::new();
        for found in found {
            match is_known(&found).map(|place| &place.fault) {
                None => changed.push(found),
                Some(None) => added.unchanged += 1,
                Some(Some(what)) => added.failed.push(Error::BadTape {
                    path: found.path,
                    line: 0,
                    what: what.clone(),
                }),
            }
        }
        let taken = self
            .take(&changed, &places, &mut added, each)
            .and_then(|()| self.supersede_listed(&older));
        let taken = taken.and_then(|()| self.keep_lists(&lists, &places));
        if taken.is_err() {
            // Whatever the error was, nothing half done may stay.
            let _ = self.db.execute_batch("ROLLBACK");
            self.interned = Default::default();
        }
        taken.map(|()| added)
    }

    fn take(
        &mut self,
        changed: &[Found],
        places: &HashMap<String, Place>,
        added: &mut Added,
        each: &mut dyn FnMut(&Path),
    ) -> Result<(), Error> {
        std::thread::scope(|threads| {
            let readers = readers(threads, changed, self.texts);
            self.write_in_order(changed, &readers, places, added, each)
        })
    }

    fn write_in_order(
        &mut self,
        changed: &[Found],
        readers: &[Receiver<Result<TapeRows, Error>>],
        places: &HashMap<String, Place>,
        added: &mut Added,
        each: &mut dyn FnMut(&Path),
    ) -> Result<(), Error> {
        let mut batch = Batch::default();
        for (found, reader) in changed.iter().zip(readers.iter().cycle()) {
            each(&found.path);
            // A reader ends early only by a panic, which ends this scope too.
            let Ok(rows) = reader.recv() else { break };
            batch.begin(self)?;
            let old = places.get(&found.name).and_then(|place| place.tape);
            self.db
                .execute("DELETE FROM place WHERE path = ?1", [&found.name])
                .map_err(|error| self.failed(error))?;
            let (tape, fault) = match rows {
                Ok(rows) => {
                    let (tape, put) = self.put(&rows, &mut batch.anchors)?;
                    added.count(put);
                    (added.bytes, batch.bytes) =
                        (added.bytes + rows.tape.bytes, batch.bytes + rows.tape.bytes);
                    (Some(tape), None)
                }
                Err(error @ Error::BadTape { .. }) => {
                    let Error::BadTape { line, what, .. } = &error else {
                        unreachable!("matched above")
                    };
                    let fault = format!("line {line}: {what}");
                    added.failed.push(error);
                    (None, Some(fault))
                }
                // It may be readable the next time.
                Err(error) => {
                    added.failed.push(error);
                    continue;
                }
            };
            let sql = "INSERT OR REPLACE INTO place (path, tape, size, modified, fault) VALUES (?1, ?2, ?3, ?4, ?5)";
            let row = params![found.name, tape, found.size, found.modified, fault];
            let placed = self
                .db
                .prepare_cached(sql)
                .and_then(|mut insert| insert.execute(row));
            placed
                .and_then(|_| old.map_or(Ok(()), |old| self.drop_if_nowhere(old)))
                .map_err(|error| self.failed(error))?;
            if batch.is_full() {
                batch.end(self)?;
            }
        }
        batch.end(self)
    }

    fn places(&self) -> rusqlite::Result<HashMap<String, Place>> {
        let mut all = self
            .db
            .prepare("SELECT path, size, modified, tape, fault FROM place")?;
        let place = |row: &rusqlite::Row<'_>| {
            Ok((
                row.get(0)?,
                Place {
                    size: row.get(1)?,
                    modified: row.get(2)?,
                    tape: row.get(3)?,
                    fault: row.get(4)?,
                },
            ))
        };
        all.query_map([], place)?.collect()
    }

    /// Remembers the states of lists, so that a question can tell whether there is something new.
    fn keep_lists(
        &self,
        lists: &[(String, u64, i64)],
        places: &HashMap<String, Place>,
    ) -> Result<(), Error> {
        let is_new = |(name, size, modified): &&(String, u64, i64)| {
            places
                .get(name)
                .is_none_or(|place| (place.size, place.modified) != (*size, *modified))
        };
        for list in lists.iter().filter(is_new) {
            let sql = "INSERT OR REPLACE INTO place (path, size, modified) VALUES (?1, ?2, ?3)";
            self.db
                .execute(sql, params![list.0, list.1, list.2])
                .map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    /// Tapes that the list of their directory calls superseded.
    fn supersede_listed(&mut self, older: &[(PathBuf, PathBuf)]) -> Result<(), Error> {
        (|| {
            for (old, new) in older {
                let tape = |path: &Path| -> rusqlite::Result<Option<i64>> {
                    let sql = "SELECT tape FROM place WHERE path = ?1";
                    let found = self.db.prepare_cached(sql)?.query_row([path.to_string_lossy()], |row| row.get(0)).optional()?;
                    Ok(found.flatten())
                };
                if let (Some(old), Some(new)) = (tape(old)?, tape(new)?)
                    && old != new
                {
                    let sql = "UPDATE tape SET superseded_by = ?2 WHERE id = ?1 AND superseded_by IS NULL";
                    if self.db.execute(sql, [old, new])? > 0 {
                        self.delete_rows(old)?;
                    }
                }
            }
            Ok(())
        })()
        .map_err(|error| self.failed(error))
    }
}

/// Threads that read tapes, each of them one of so many: results come in the order of the tapes if they are received from one reader after the other.
/// They end when nobody receives any more.
fn readers<'scope>(
    threads: &'scope Scope<'scope, '_>,
    changed: &'scope [Found],
    texts: bool,
) -> Vec<Receiver<Result<TapeRows, Error>>> {
    let count =
        std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MAX_READERS));
    let reader = |first: usize| {
        let (send, receive) = sync_channel(WAITING);
        threads.spawn(move || {
            let own = changed.iter().skip(first).step_by(count);
            let mut read = own.map(|found| reading::read(&found.path, texts));
            read.all(|rows| send.send(rows).is_ok())
        });
        receive
    };
    (0..count.min(changed.len())).map(reader).collect()
}

/// The tapes of one transaction.
#[derive(Default)]
struct Batch {
    began: Option<Instant>,
    bytes: u64,
    anchors: Anchors,
}

impl Batch {
    fn begin(&mut self, writer: &Writer) -> Result<(), Error> {
        if self.began.is_none() {
            writer
                .db
                .execute_batch("BEGIN IMMEDIATE")
                .map_err(|error| writer.failed(error))?;
            self.began = Some(Instant::now());
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.bytes >= BATCH_BYTES
            || self.anchors.len() >= BATCH_ANCHORS
            || self
                .began
                .is_some_and(|began| began.elapsed() >= BATCH_TIME)
    }

    fn end(&mut self, writer: &Writer) -> Result<(), Error> {
        if self.began.take().is_some() {
            self.anchors.write(writer)?;
            writer
                .db
                .execute_batch("COMMIT")
                .map_err(|error| writer.failed(error))?;
            self.bytes = 0;
        }
        Ok(())
    }
}

/// The path of the list of a directory, its size and when it was written; `None` if there is none.
pub(crate) fn list_state(directory: &Path) -> Option<(String, u64, i64)> {
    let path = std::path::absolute(directory).ok()?.join(LIST);
    let state = path.symlink_metadata().ok().filter(|list| list.is_file())?;
    Some((path.to_str()?.to_owned(), state.len(), modified(&state)))
}

/// When a file was written, in nanoseconds since 1970; 0 if nobody knows.
fn modified(state: &fs::Metadata) -> i64 {
    let modified = state
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    modified
        .and_then(|time| i64::try_from(time.as_nanos()).ok())
        .unwrap_or_default()
}

/// The tapes that the list of a directory calls older, each with the one that took its place.
fn superseded_in(directory: &Path) -> Vec<(PathBuf, PathBuf)> {
    let path = directory.join(LIST);
    // A pipe in its place would be waited for.
    let is_file = path.symlink_metadata().is_ok_and(|list| list.is_file());
    let Some(list) = is_file.then(|| fs::File::open(path).ok()).flatten() else {
        return Vec::new();
    };
    let lines = BufReader::new(BoundedLines::new(list)).lines();
    let lines = lines.map_while(Result::ok);
    let entries = lines
        .filter(|line| line.contains("\"supersedes\""))
        .filter_map(|line| serde_json::from_str::<Listed>(&line).ok());
    let pairs = entries.flat_map(|entry| {
        let new = entry.tape.unwrap_or_default();
        entry
            .supersedes
            .into_iter()
            .map(move |old| (old.tape, new.clone()))
    });
    pairs
        .map(|(old, new)| (directory.join(old), directory.join(new)))
        .collect()
}

fn tapes_in(
    directory: &Path,
    left_out: &HashSet<&Path>,
    found: &mut Vec<Found>,
    added: &mut Added,
) {
    for entry in WalkDir::new(directory).sort_by_file_name() {
        match entry {
            Ok(entry)
                if entry.file_type().is_file()
                    && has_tape_name(entry.path())
                    && !left_out.contains(entry.path()) =>
            {
                look_at(entry.into_path(), found, added);
            }
            Ok(_) => {}
            Err(error) => added.failed.push(Error::io(directory)(error.into())),
        }
    }
}

fn look_at(path: PathBuf, found: &mut Vec<Found>, added: &mut Added) {
    let Some(name) = path.to_str().map(str::to_owned) else {
        let what = "the name of the file is not UTF-8".to_owned();
        return added.failed.push(Error::BadTape {
            path,
            line: 0,
            what,
        });
    };
    match path.metadata() {
        Ok(state) => {
            found.push(Found {
                name,
                size: state.len(),
                modified: modified(&state),
                path,
            });
        }
        Err(error) => added.failed.push(Error::io(&path)(error)),
    }
}

fn has_tape_name(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| TAPE_ENDINGS.iter().any(|ending| name.ends_with(ending)))
}
