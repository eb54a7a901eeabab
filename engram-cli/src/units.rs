//! The units that `engram ingest --units --shard` converts: a part of what `engram-lab units` lists.

use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, stdin};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use engram_adapters::sessions::{SessionLocation, Unit};
use engram_command::small_file;
use engram_core::bounds::BoundedLines;
use engram_core::error::{AdapterError, ErrorCode};

/// One of several parts of some units: `I/N`, with I from 1 to N.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    number: u32,
    of: u32,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let numbers = text
            .split_once('/')
            .and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        let shard = numbers
            .filter(|(number, of)| (1..=*of).contains(number))
            .map(|(number, of)| Shard { number, of });
        shard.ok_or_else(|| {
            "a part is its number and how many there are, from `1/4` to `4/4`".to_owned()
        })
    }
}

/// What the units that `--units` and `--shard` choose are made from.
#[derive(Debug, Default)]
pub struct Chosen {
    paths: BTreeSet<PathBuf>,
    /// The sessions of stores, each with the path of its store.
    stored: HashSet<(PathBuf, String)>,
}

impl Chosen {
    /// The units of a part; of all without one.
    ///
    /// # Errors
    /// `io` if the file cannot be read, `malformed_record` with its line if it is not what `engram-lab units --json` writes.
    pub fn read(file: &Path, shard: Option<Shard>) -> Result<Chosen, AdapterError> {
        let at_file = |error: io::Error| small_file::error(error, file);
        let reader: Box<dyn BufRead> = match file.as_os_str() == "-" {
            true => Box::new(stdin().lock()),
            false => Box::new(BufReader::new(BoundedLines::new(
                File::open(file).map_err(at_file)?,
            ))),
        };
        let mut chosen = Chosen::default();
        for (line, number) in reader.lines().zip(1..) {
            let unit: Unit = serde_json::from_str(&line.map_err(at_file)?).map_err(|error| {
                let fault = AdapterError::new(ErrorCode::MalformedRecord)
                    .expected("a line of `engram-lab units --json`");
                fault
                    .found(&error.to_string())
                    .path(format!("{}:{number}", file.display()))
            })?;
            if shard.is_none_or(|shard| unit.shard(shard.of) + 1 == shard.number) {
                chosen.add(unit);
            }
        }
        Ok(chosen)
    }

    fn add(&mut self, unit: Unit) {
        let paths = unit.paths.into_iter().map(PathBuf::from);
        if let Some(session) = unit.session.filter(|_| unit.in_store) {
            self.stored
                .extend(paths.clone().map(|store| (store, session.clone())));
        }
        self.paths.extend(paths);
    }

    /// What is to be converted: logs and stores, each once.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.paths.iter().cloned().collect()
    }

    /// True for a log, and for a session of a store that is one of the units.
    pub fn wants(&self, location: &SessionLocation) -> bool {
        let stored = |id: &str| {
            self.stored
                .contains(&(location.container().to_owned(), id.to_owned()))
        };
        location.id_in_store().is_none_or(stored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_numbered_from_one() {
        assert_eq!("4/4".parse(), Ok(Shard { number: 4, of: 4 }));
        for text in ["0/4", "5/4", "1", "1/0", "a/b", "-1/2", ""] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
