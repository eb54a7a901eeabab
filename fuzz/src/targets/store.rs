//! The store openers: databases with damaged pages, and with damaged values in their rows.

use std::fs;
use std::path::{Path, PathBuf};

use engram_adapters::Registry;
use engram_adapters::sessions::open_store;
use engram_core::error::AdapterError;
use engram_core::keys::hash64;
use engram_core::limits::Limits;
use engram_core::policy::Policy;
use fastrand::Rng;
use rusqlite::types::Value as Cell;
use tempfile::TempDir;

use super::adapter;
use crate::corpus::Corpus;
use crate::target::Target;
use crate::{mutate, seeds};

/// The largest database that is a seed, in bytes.
const MAX_STORE: u64 = 400 << 10;
/// The most sessions of a store that are converted.
const SESSIONS: usize = 4;

/// Databases of all harnesses.
pub struct Stores {
    directory: TempDir,
    registry: Registry,
}

impl Stores {
    pub fn new() -> Stores {
        Stores {
            directory: tempfile::tempdir().expect("a temporary directory"),
            registry: Registry::builtin(),
        }
    }

    fn database(&self) -> PathBuf {
        self.directory.path().join("store.db")
    }
}

impl Target for Stores {
    fn name(&self) -> &'static str {
        "store"
    }

    fn seeds(&self) -> Vec<Vec<u8>> {
        let is_store = |path: &PathBuf| {
            path.extension()
                .is_some_and(|extension| extension == "db" || extension == "vscdb")
                && path.metadata().is_ok_and(|file| file.len() <= MAX_STORE)
        };
        let mut stores: Vec<Vec<u8>> = seeds::files(&seeds::root().join("fixtures"))
            .into_iter()
            .filter(is_store)
            .filter_map(|path| fs::read(path).ok())
            .collect();
        stores.sort();
        stores.dedup();
        stores
    }

    fn mutate(&self, corpus: &mut Corpus, rng: &mut Rng) -> Vec<u8> {
        let mut store = corpus.any(rng).to_vec();
        if rng.u8(..3) == 0 {
            for _ in 0..rng.usize(1..=8) {
                let at = rng.usize(..store.len());
                store[at] ^= 1 << rng.u8(..8);
            }
            return store;
        }
        let path = self.directory.path().join("changed.db");
        let changed = fs::write(&path, &store)
            .ok()
            .and_then(|()| change_cell(&path, rng))
            .and_then(|()| fs::read(&path).ok());
        changed.unwrap_or(store)
    }

    fn run(&mut self, input: &[u8]) -> Result<u64, String> {
        let path = self.database();
        fs::write(&path, input).map_err(|error| error.to_string())?;
        let opened = match open_store(&self.registry, &path, Limits::default()) {
            Ok(Some((_, opened))) => opened,
            Ok(None) => return Ok(0),
            Err(error) => return Ok(hash64(kind(&error))),
        };
        let mut behaviours = Vec::new();
        for session in opened.sessions().iter().take(SESSIONS) {
            match opened.export(session) {
                Ok(export) => behaviours.push(adapter::behaviour(&adapter::convert(
                    &self.registry,
                    export.text.as_bytes(),
                    Policy::Permissive,
                ))?),
                Err(error) => behaviours.push(vec![kind(&error)]),
            }
        }
        Ok(hash64((
            opened.sessions().len(),
            opened.skipped().len(),
            behaviours,
        )))
    }
}

fn kind(error: &AdapterError) -> String {
    format!(
        "{} {}",
        error.code.as_str(),
        error.expected.as_deref().unwrap_or_default()
    )
}

/// Changes one cell of a random row. JSON is changed as JSON.
fn change_cell(path: &Path, rng: &mut Rng) -> Option<()> {
    let connection = rusqlite::Connection::open(path).ok()?;
    let tables: Vec<String> = {
        let mut query = connection
            .prepare(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
            )
            .ok()?;
        query
            .query_map([], |row| row.get(0))
            .ok()?
            .flatten()
            .collect()
    };
    let table = rng.choice(&tables)?.replace('"', "\"\"");
    let columns: Vec<String> = {
        let query = connection
            .prepare(&format!("SELECT * FROM \"{table}\" LIMIT 0"))
            .ok()?;
        query
            .column_names()
            .into_iter()
            .map(str::to_owned)
            .collect()
    };
    let column = rng.choice(&columns)?.replace('"', "\"\"");
    let rows: i64 = connection
        .query_row(&format!("SELECT count(*) FROM \"{table}\""), [], |row| {
            row.get(0)
        })
        .ok()?;
    let at = rng.i64(..rows.max(1));
    let (id, cell): (i64, Cell) = connection
        .query_row(
            &format!("SELECT rowid, \"{column}\" FROM \"{table}\" LIMIT 1 OFFSET {at}"),
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .ok()?;
    let changed = changed_cell(cell, rng);
    connection
        .execute(
            &format!("UPDATE OR REPLACE \"{table}\" SET \"{column}\" = ?1 WHERE rowid = ?2"),
            (changed, id),
        )
        .ok()?;
    Some(())
}

fn changed_cell(cell: Cell, rng: &mut Rng) -> Cell {
    match (rng.u8(..8), cell) {
        (0, _) => Cell::Null,
        (1, _) => Cell::Integer(*rng.choice(&[0, -1, i64::MAX, i64::MIN]).unwrap_or(&0)),
        (2, Cell::Text(text)) => Cell::Blob(mutate::bytes(text.into_bytes(), rng)),
        (_, Cell::Text(text)) => Cell::Text(changed_text(text, rng)),
        (_, Cell::Blob(blob)) => match String::from_utf8(blob) {
            Ok(text) => Cell::Blob(changed_text(text, rng).into_bytes()),
            Err(error) => Cell::Blob(mutate::bytes(error.into_bytes(), rng)),
        },
        (_, Cell::Integer(number)) => Cell::Integer(number.wrapping_add(rng.i64(-2..=2))),
        (_, other) => other,
    }
}

fn changed_text(text: String, rng: &mut Rng) -> String {
    match serde_json::from_str(&text) {
        Ok(mut value) => {
            mutate::json(&mut value, rng);
            value.to_string()
        }
        Err(_) => String::from_utf8_lossy(&mutate::bytes(text.into_bytes(), rng)).into_owned(),
    }
}
