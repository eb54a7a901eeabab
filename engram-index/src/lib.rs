//! Which session, prompt and call put these lines here: an index over tapes.
//!
//! An index is a directory with one SQLite database, made from tapes. It can be deleted at any time and made again. It holds hashes, fingerprints,
//! ranges and places, and of the texts of tapes only the titles of sessions. Answers name what they rest on ([`Tier`]), and say `unknown` for the rest.
//!
//! ```
//! use engram_index::{Index, Query};
//! # fn ask(dir: &std::path::Path) -> Result<(), engram_index::Error> {
//! let text = "fn main() {}\n";
//! let answer = Index::open(dir)?.explain(&Query::of_file("/home/dev/proj/src/main.rs", text))?;
//! for item in answer.items {
//!     println!("{:?} {} {:?}", item.lines, item.tier.as_str(), item.prompt.map(|prompt| prompt.text));
//! }
//! # Ok(())
//! # }
//! ```

mod add;
mod align;
mod anchors;
mod answer;
mod arguments;
mod asked;
mod attribute;
mod change;
mod costs;
mod diff;
mod doubt;
mod error;
mod explain;
mod files;
mod grep;
mod history;
mod hit;
mod line;
mod line_key;
mod lineage;
mod maintain;
mod names;
mod origin;
mod parts;
mod query;
mod read_back;
mod reading;
mod rebuild;
mod repeats;
mod replay;
mod rows;
mod runs;
mod said;
mod shell;
mod shell_words;
mod sink;
mod sql;
mod step_text;
mod steps;
mod store;
mod supersede;
mod take_in;
mod tape_file;
mod text_state;
mod varint;
mod views;
mod window;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use engram_core::prices::Prices;
use rusqlite::{Connection, OptionalExtension};

pub use add::Added;
pub use answer::{About, Answer, CallInfo, Item, LineCounts, Mention, Quote, Tier, Why};
pub use error::Error;
pub use explain::Made;
pub use grep::{Match, Pattern};
pub use history::{Event, Events};
pub use maintain::{Status, Verified, rebuild};
pub use query::{Earlier, InRepo, Query, Words};
pub use sink::TapeSink;
pub use sql::{Next, TakeRow, Value};
pub use store::{DATABASE, SCHEMA, Writer};
pub use views::{Column, Projects, VIEWS, View};
pub use window::Keys;

/// An index, opened for reading. A process that writes it does not disturb.
#[derive(Debug)]
pub struct Index {
    path: PathBuf,
    db: Connection,
    /// For costs that no log states.
    prices: Arc<Prices>,
    /// Names the project of a directory.
    projects: Projects,
}

/// How much of a directory of tapes was taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// All that it has.
    All,
    /// All that it had before something was written to it.
    Older,
    /// No run over the directory has come to its end.
    Never,
}

impl Writer {
    /// The index, which is only read from now on: another process may write it.
    ///
    /// # Errors
    /// As SQLite gives them.
    pub fn into_index(self) -> Result<Index, Error> {
        let failed = |error| Error::sqlite(&self.path, error);
        self.db
            .pragma_update(None, "query_only", true)
            .map_err(failed)?;
        Ok(Index {
            path: self.path,
            db: self.db,
            prices: Arc::new(Prices::builtin().clone()),
            projects: str::to_owned,
        })
    }
}

impl Index {
    /// Opens the index in a directory.
    ///
    /// # Errors
    /// [`Error::NoIndex`], [`Error::OtherSchema`], or as SQLite gives them.
    pub fn open(directory: &Path) -> Result<Index, Error> {
        let (path, db) = store::open_to_read(directory)?;
        let prices = Arc::new(Prices::builtin().clone());
        Ok(Index {
            path,
            db,
            prices,
            projects: str::to_owned,
        })
    }

    /// The database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// When it was written last, if the file system says so.
    pub fn written(&self) -> Option<SystemTime> {
        let log = self.path.with_extension("db-wal");
        // Whoever opens the database makes its log, which is empty as long as nothing is written.
        let files = [&self.path, &log]
            .into_iter()
            .flat_map(|path| path.metadata());
        let written = files.filter(|file| file.len() > 0);
        written.flat_map(|file| file.modified()).max()
    }

    /// Answers a question about lines: who made them, in which turn, and why.
    ///
    /// # Errors
    /// As SQLite gives them.
    pub fn explain(&self, query: &Query<'_>) -> Result<Answer, Error> {
        self.read(|db| explain::explain(db, query))
    }

    /// Who made each of the asked lines of a text, without words: one answer a line. [`Index::explain`] says the same with words.
    ///
    /// # Errors
    /// As SQLite gives them.
    pub fn attribute(&self, query: &Query<'_>) -> Result<Vec<Made>, Error> {
        self.read(|db| explain::made(db, query))
    }

    /// Everything that happened to the file of a question: edits, reads, moves and failed changes, the newest first. Of lines: the edits that
    /// made them and those that they come from, across files.
    ///
    /// # Errors
    /// As SQLite gives them.
    pub fn history(&self, query: &Query<'_>) -> Result<Events, Error> {
        self.read(|db| history::history(db, query))
    }

    /// What was taken away from the file of a question, or of its text if it names no file, and by whom.
    ///
    /// # Errors
    /// As SQLite gives them.
    pub fn removed(&self, query: &Query<'_>) -> Result<Events, Error> {
        self.read(|db| history::removed(db, query))
    }

    /// Edits that left something like the asked lines, the most alike first; with `all` from a share of 0.30 of the fingerprints on, else
    /// 0.50. It proves nothing about who made a line.
    ///
    /// # Errors
    /// As SQLite gives them.
    pub fn like(&self, query: &Query<'_>, all: bool) -> Result<Events, Error> {
        self.read(|db| history::like(db, query, all))
    }

    /// What one prompt changed, over sub-agents, in the order of time: `seq` is the prompt on the tape, or any call of its turn.
    ///
    /// # Errors
    /// [`Error::NotFound`], or as SQLite gives them.
    pub fn changes(&self, tape: &Path, seq: i64, query: &Query<'_>) -> Result<Events, Error> {
        let found = self.read(|db| history::changes(db, &tape.to_string_lossy(), seq, query))?;
        found.ok_or_else(|| {
            Error::NotFound(format!(
                "{}#{seq}: the index has no such prompt or call",
                tape.display()
            ))
        })
    }

    /// Answers one SQL statement that only reads, within so long. It sees the views of [`VIEWS`], whose names and columns stay.
    ///
    /// # Errors
    /// [`Error::BadQuery`].
    pub fn query(&mut self, sql: &str, longest: Duration, take: TakeRow<'_>) -> Result<(), Error> {
        sql::query(
            &mut self.db,
            (&self.prices, self.projects),
            sql,
            longest,
            take,
        )
    }

    /// Sets the prices by which views compute costs that no log states. Without them they are the built-in ones.
    pub fn set_prices(&mut self, prices: Prices) {
        self.prices = Arc::new(prices);
    }

    /// Sets what names the project of a directory in views. Without it, the directory is the project.
    pub fn set_projects(&mut self, projects: Projects) {
        self.projects = projects;
    }

    /// What the index holds.
    ///
    /// # Errors
    /// As SQLite gives them.
    pub fn status(&self) -> Result<Status, Error> {
        self.read(|db| maintain::status(&self.path, db))
    }

    /// Checks the database, and compares it with up to `most` of its tapes, which are read again.
    ///
    /// # Errors
    /// [`Error::Damaged`], or as SQLite gives them.
    pub fn verify(&self, most: usize) -> Result<Verified, Error> {
        maintain::verify(&self.path, &self.db, most)
    }

    /// True if no tape was taken in.
    ///
    /// # Errors
    /// As SQLite gives them.
    pub fn is_empty(&self) -> Result<bool, Error> {
        self.read(|db| {
            db.query_row("SELECT NOT EXISTS (SELECT 1 FROM tape)", [], |row| {
                row.get(0)
            })
        })
    }

    /// The files of the current tapes that are there, the newest session first.
    ///
    /// # Errors
    /// As SQLite gives them.
    pub fn tapes(&self) -> Result<Vec<PathBuf>, Error> {
        self.read(|db| {
            let sql = "SELECT min(place.path) FROM tape JOIN place ON place.tape = tape.id WHERE superseded_by IS NULL GROUP BY tape.id
                ORDER BY t1 DESC, 1";
            let paths: Vec<String> = db.prepare(sql)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            Ok(paths.into_iter().map(PathBuf::from).filter(|path| path.is_file()).collect())
        })
    }

    /// What the tape at this path says that its session is about.
    ///
    /// # Errors
    /// As SQLite gives them.
    pub fn about(&self, tape: &Path) -> Result<About, Error> {
        self.read(|db| {
            let sql = "SELECT tape FROM place WHERE path = ?1 AND tape IS NOT NULL";
            let path = tape.to_string_lossy();
            let tape: Option<i64> = db
                .prepare_cached(sql)?
                .query_row([&*path], |row| row.get(0))
                .optional()?;
            tape.map_or_else(|| Ok(About::default()), |tape| window::about(db, tape))
        })
    }

    /// The tape with this name: the name of its file without the ending, as [`CallInfo::name`] has it before the `#`; else the only tape of a
    /// session whose name begins so, as lists of sessions shorten it. `None` if there is none, or several.
    ///
    /// # Errors
    /// As SQLite gives them.
    pub fn tape_named(&self, id: &str) -> Result<Option<PathBuf>, Error> {
        let fits = |path: PathBuf| {
            let rest = path.file_name()?.to_str()?.strip_prefix(id)?;
            // A sub-agent has a part of its own in the name.
            let (more, ending) = rest.split_once('.')?;
            let is_short = !more.is_empty();
            ending
                .starts_with("tape.jsonl")
                .then(|| (is_short, path.clone()))
        };
        let mut named: Vec<_> = self.tapes()?.into_iter().filter_map(fits).collect();
        if named.iter().any(|(is_short, _)| !is_short) {
            named.retain(|(is_short, _)| !is_short);
        }
        let tape = named.pop().map(|(_, path)| path);
        Ok(tape.filter(|_| named.is_empty()))
    }

    /// How much of a directory of tapes was taken in, as its list says.
    ///
    /// # Errors
    /// As SQLite gives them.
    pub fn taken(&self, tapes: &Path) -> Result<Taken, Error> {
        let Some(now) = add::list_state(tapes) else {
            return Ok(Taken::All);
        };
        self.read(|db| {
            let sql = "SELECT size, modified FROM place WHERE path = ?1";
            let mut known = db.prepare(sql)?;
            let known = known
                .query_map([&now.0], |row| Ok((row.get(0)?, row.get(1)?)))?
                .next()
                .transpose()?;
            Ok(match known {
                Some(known) if known == (now.1, now.2) => Taken::All,
                Some(_) => Taken::Older,
                None => Taken::Never,
            })
        })
    }

    /// One answer is read from one state of the database.
    fn read<T>(&self, ask: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        let failed = |error| Error::sqlite(&self.path, error);
        self.db.execute_batch("BEGIN").map_err(failed)?;
        let answer = ask(&self.db);
        let ended = self.db.execute_batch("COMMIT");
        let answer = answer.map_err(failed)?;
        ended.map_err(failed)?;
        Ok(answer)
    }
}

/// The examples of the page of the crate.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
