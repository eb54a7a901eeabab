//! Is the index true? What it holds, comparison with its tapes, forgetting a tape, and making it again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension};
use serde::Serialize;

use crate::error::Error;
use crate::rows::SpanRow;
use crate::runs::{self, Of};
use crate::store::{self, DATABASE, SCHEMA, Writer, with_suffix};
use crate::write::AFTER;
use crate::{Added, read_back, reading};

/// What an index holds.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// The database.
    pub index: PathBuf,
    /// The version of its schema.
    pub schema: i64,
    /// Its size, with what is being written.
    pub bytes: u64,
    /// Tapes that answer.
    pub tapes: i64,
    /// Bytes of their text.
    pub tape_bytes: i64,
    /// Tapes that others supersede.
    pub superseded: i64,
    /// Tapes whose files are gone.
    pub absent: i64,
    /// Files that are no valid tapes.
    pub invalid: i64,
    /// Calls, and reads and changes of files.
    pub calls: i64,
    /// Reads and changes of files.
    pub spans: i64,
}

/// The state of an index.
pub(crate) fn status(path: &Path, db: &Connection) -> rusqlite::Result<Status> {
    let number = |sql: &str| db.query_row(sql, [], |row| row.get(0));
    let size = |path: PathBuf| {
        fs::metadata(path)
            .map(|file| file.len())
            .unwrap_or_default()
    };
    let sql = "SELECT tape.id, place.path FROM tape LEFT JOIN place ON place.tape = tape.id WHERE superseded_by IS NULL";
    let mut is_there: BTreeMap<i64, bool> = BTreeMap::new();
    for found in db.prepare(sql)?.query_map([], |row| {
        Ok((row.get(0)?, row.get::<_, Option<String>>(1)?))
    })? {
        let (tape, path) = found?;
        *is_there.entry(tape).or_default() |= path.is_some_and(|path| Path::new(&path).is_file());
    }
    Ok(Status {
        index: path.to_owned(),
        schema: SCHEMA,
        bytes: size(path.to_owned()) + size(with_suffix(path, "-wal")),
        tapes: number("SELECT count(*) FROM tape WHERE superseded_by IS NULL")?,
        tape_bytes: number("SELECT ifnull(sum(bytes), 0) FROM tape WHERE superseded_by IS NULL")?,
        superseded: number("SELECT count(*) FROM tape WHERE superseded_by IS NOT NULL")?,
        absent: is_there.values().filter(|is_there| !**is_there).count() as i64,
        invalid: number("SELECT count(*) FROM place WHERE fault IS NOT NULL")?,
        calls: number("SELECT count(*) FROM call")?,
        spans: number("SELECT count(*) FROM span")?,
    })
}

/// What a comparison with the tapes found.
#[derive(Debug, Default, Serialize)]
pub struct Verified {
    /// Tapes that were read again.
    pub compared: usize,
    /// Tapes whose files are gone.
    pub absent: usize,
    /// What is not as the tapes say.
    pub faults: Vec<String>,
}

/// Checks the database, and reads up to `most` tapes again, spread over all of them.
pub(crate) fn verify(path: &Path, db: &Connection, most: usize) -> Result<Verified, Error> {
    let failed = |error| Error::sqlite(path, error);
    let mut verified = Verified::default();
    let checked: String = db
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(failed)?;
    if checked != "ok" {
        return Err(Error::Damaged {
            path: path.to_owned(),
            what: checked,
        });
    }
    let current = || -> rusqlite::Result<Vec<i64>> {
        db.prepare("SELECT id FROM tape WHERE superseded_by IS NULL ORDER BY id")?
            .query_map([], |row| row.get(0))?
            .collect()
    };
    let texts = store::has_texts(db).map_err(failed)?;
    let ids = current().map_err(failed)?;
    let every = ids.len().div_ceil(most.max(1)).max(1);
    for id in ids.into_iter().step_by(every) {
        let (tape, absent) = crate::window::place(db, id).map_err(failed)?;
        if absent {
            verified.absent += 1;
            continue;
        }
        verified.compared += 1;
        match reading::read(&tape, texts) {
            Err(error) => verified.faults.push(error.to_string()),
            Ok(rows) => {
                if let Some(what) = difference(db, id, rows).map_err(failed)? {
                    verified.faults.push(format!("{}: {what}", tape.display()));
                }
            }
        }
    }
    Ok(verified)
}

fn difference(
    db: &Connection,
    id: i64,
    mut rows: crate::rows::TapeRows,
) -> rusqlite::Result<Option<&'static str>> {
    let mut stored = read_back::rows(db, id)?;
    if stored.rows.tape.tape_hash != rows.tape.tape_hash {
        return Ok(Some(
            "the tape has changed since it was taken in; run `engram index add`",
        ));
    }
    rows.spans.sort_by_key(|span| span.seq);
    for (span, stored_id) in rows.spans.iter().zip(&stored.span_ids) {
        for (side, anchors) in [(0, &span.before_anchors), (AFTER, &span.after_anchors)] {
            for anchor in anchors {
                if !runs::has(db, Of::Spans, (*anchor, stored_id * 2 + side))? {
                    return Ok(Some(
                        "a fingerprint is missing; make the index again with `engram index rebuild`",
                    ));
                }
            }
        }
    }
    let said = std::mem::take(&mut rows.said);
    let stored_said = read_back::speeches(db, id)?;
    let is_same = said.len() == stored_said.len()
        && said
            .iter()
            .zip(&stored_said)
            .all(|(row, (offset, _))| row.offset == *offset);
    for (row, (_, speech)) in said.iter().zip(&stored_said) {
        if !is_same || !read_back::has_said(db, *speech, &row.anchors)? {
            return Ok(Some(
                "what was said is not that of the tape; make the index again with `engram index rebuild`",
            ));
        }
    }
    let bare = |span: SpanRow| SpanRow {
        before_anchors: Vec::new(),
        after_anchors: Vec::new(),
        ..span
    };
    rows.spans = rows.spans.into_iter().map(bare).collect();
    stored.rows.tape.clone_from(&rows.tape);
    Ok((stored.rows != rows).then_some(
        "the rows are not those of the tape; make the index again with `engram index rebuild`",
    ))
}

impl Writer {
    /// Removes everything that a tape says: by its path, or by the id of its session. The tape stays. Returns how many were removed.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is none, or as SQLite gives them.
    pub fn forget(&mut self, name: &str) -> Result<usize, Error> {
        let path = std::path::absolute(name)
            .map(|path| path.to_string_lossy().into_owned())
            .unwrap_or_default();
        let forgotten = (|| {
            self.db.execute_batch("BEGIN IMMEDIATE")?;
            let sql = "SELECT tape FROM place WHERE path = ?1 AND tape IS NOT NULL UNION
                SELECT tape.id FROM tape JOIN name ON name.id = tape.session WHERE name.text = ?2";
            let tapes: Vec<i64> = self
                .db
                .prepare(sql)?
                .query_map([&path, name], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            for tape in &tapes {
                self.delete_rows(*tape)?;
                // What it superseded answers again, once it is read again.
                self.db.execute("DELETE FROM place WHERE tape IN (SELECT id FROM tape WHERE superseded_by = ?1) OR tape = ?1", [tape])?;
                self.db.execute(
                    "DELETE FROM tape WHERE id = ?1 OR superseded_by = ?1",
                    [tape],
                )?;
            }
            self.db.execute_batch("COMMIT")?;
            Ok(tapes.len())
        })();
        match forgotten {
            Ok(0) => Err(Error::NotFound(format!(
                "the index has no tape and no session `{name}`; name the file of a tape, or the whole id of a session, as `engram list --json` has it"
            ))),
            Ok(count) => Ok(count),
            Err(error) => {
                let _ = self.db.execute_batch("ROLLBACK");
                Err(self.failed(error))
            }
        }
    }
}

/// Makes the index again from the tapes that it knows and those at `paths`, beside the old one, which stays as `index.db.old`. With
/// `texts`, the new one also knows what was said, and so do runs of [`Writer::add`] after it.
///
/// # Errors
/// As the file system and SQLite give them; the old index then stays as it is.
pub fn rebuild(
    directory: &Path,
    paths: &[PathBuf],
    texts: bool,
    wait: impl FnOnce(),
) -> Result<Added, Error> {
    let lock = store::lock(directory, wait)?;
    let (old, new) = (directory.join(DATABASE), directory.join("index.db.new"));
    let older = directory.join("index.db.old");
    // Nothing that is somebody else's is moved or removed.
    for path in [&old, &new, &older] {
        store::look_at(path)?;
    }
    remove(&new)?;
    let mut all: Vec<PathBuf> = known_paths(&old)
        .into_iter()
        .filter(|path| path.is_file())
        .collect();
    all.extend(paths.iter().cloned());
    let mut writer = Writer::at(&new, lock)?;
    if texts {
        writer.keep_texts()?;
    }
    let added = writer.add(&all, &mut |_| ())?;
    let failed = |error| Error::sqlite(&new, error);
    let checked: String = writer
        .db
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(failed)?;
    if checked != "ok" {
        return Err(Error::Damaged {
            path: new,
            what: checked,
        });
    }
    writer
        .db
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .map_err(failed)?;
    let lock = writer.into_lock();
    remove(&older)?;
    if old.exists() {
        // The log of the old database belongs to its name.
        if let Ok(db) = Connection::open(&old) {
            let _: Option<()> = db
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
                .optional()
                .unwrap_or_default();
        }
        fs::rename(&old, &older).map_err(Error::io(&old))?;
        for suffix in ["-wal", "-shm"] {
            let _ = fs::remove_file(with_suffix(&old, suffix));
        }
    }
    fs::rename(&new, &old).map_err(Error::io(&new))?;
    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(with_suffix(&new, suffix));
    }
    drop(lock);
    Ok(added)
}

/// The tapes of a database of any schema that has places.
fn known_paths(database: &Path) -> Vec<PathBuf> {
    let paths = || -> rusqlite::Result<Vec<PathBuf>> {
        let db = Connection::open_with_flags(database, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let mut paths =
            db.prepare("SELECT path FROM place WHERE tape IS NOT NULL OR fault IS NOT NULL")?;
        paths
            .query_map([], |row| row.get::<_, String>(0).map(PathBuf::from))?
            .collect()
    };
    paths().unwrap_or_default()
}

fn remove(database: &Path) -> Result<(), Error> {
    let logs = store::LOGS.map(|suffix| with_suffix(database, suffix));
    for path in logs.into_iter().chain([database.to_owned()]) {
        match fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io(&path)(error)),
        }
    }
    Ok(())
}
