//! Which session, prompt and call put these lines here: an index over tapes.
//!
//! An index is a directory with one SQLite database, made from tapes. It can be deleted at any time and made again. It holds no text: hashes,
//! fingerprints, ranges and places. Answers name what they rest on ([`Tier`]), and say `unknown` for the rest.
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
mod anchors;
mod answer;
mod error;
mod explain;
mod files;
mod hit;
mod lines;
mod names;
mod new_lines;
mod read_back;
mod rows;
mod span;
mod state;
mod store;
mod supersede;
mod take_in;
mod tape_file;
mod window;
mod write;

use std::path::{Path, PathBuf};

use rusqlite::Connection;

pub use add::Added;
pub use answer::{Answer, CallInfo, Item, LineCounts, Quote, Tier};
pub use error::Error;
pub use explain::{Made, Query};
pub use files::InRepo;
pub use hit::Hit;
pub use rows::What;
pub use store::{DATABASE, SCHEMA, Writer};

/// An index, opened for reading. A process that writes it does not disturb.
#[derive(Debug)]
pub struct Index {
    path: PathBuf,
    db: Connection,
}

impl Index {
    /// Opens the index in a directory.
    ///
    /// # Errors
    /// [`Error::NoIndex`], [`Error::OtherSchema`], or as SQLite gives them.
    pub fn open(directory: &Path) -> Result<Index, Error> {
        let (path, db) = store::open_to_read(directory)?;
        Ok(Index { path, db })
    }

    /// The database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Answers a question about lines: who made them, in which turn, and why.
    ///
    /// # Errors
    /// As SQLite gives them.
    pub fn explain(&self, query: &Query<'_>) -> Result<Answer, Error> {
        self.read(|db| explain::explain(db, query))
    }

    /// Who made each line of a text.
    ///
    /// # Errors
    /// As SQLite gives them.
    pub fn attribute(&self, query: &Query<'_>) -> Result<Vec<Made>, Error> {
        self.read(|db| Ok(explain::attribute(db, query)?.made))
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
