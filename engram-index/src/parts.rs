//! The data of steps, in parts that are stored once: most sessions read a file that others have read before.
//!
//! A part ends where the bytes before its end say so. So a text with a few other lines has a few other parts, wherever these lines stand.

use std::collections::HashMap;
use std::rc::Rc;

use engram_core::hash::Hash;
use rusqlite::{Connection, OptionalExtension, params};

/// Data with fewer bytes stands in its row.
const FEW: usize = 200;
/// A part has so many bytes, and on average 64 more.
const SHORTEST: usize = 64;
const LONGEST: usize = 1024;
const ENDS_ONE_IN: u32 = 64;

/// What the first byte of a row says of the others.
const AS_IT_IS: u8 = 0;
const NAMES_OF_PARTS: u8 = 1;

/// Stores the parts of data that are not there yet, and returns what stands in the row.
pub fn pack(db: &Connection, data: &[u8]) -> rusqlite::Result<Vec<u8>> {
    if data.len() < FEW {
        return Ok(as_it_is(data));
    }
    let mut names = vec![NAMES_OF_PARTS];
    let mut rest = data;
    while !rest.is_empty() {
        let (part, after) = rest.split_at(end_of_part(rest));
        let name = name(part);
        let known = db
            .prepare_cached("SELECT data FROM part WHERE name = ?1")?
            .query_row([name], |row| Ok(row.get_ref(0)?.as_blob()? == part))
            .optional()?;
        match known {
            Some(true) => {}
            // Another part with the same name: rare by chance, but somebody may make one.
            Some(false) => return Ok(as_it_is(data)),
            None => db
                .prepare_cached("INSERT INTO part (name, data) VALUES (?1, ?2)")?
                .execute(params![name, part])
                .map(drop)?,
        }
        names.extend_from_slice(&name.to_le_bytes());
        rest = after;
    }
    Ok(names)
}

fn as_it_is(data: &[u8]) -> Vec<u8> {
    [&[AS_IT_IS], data].concat()
}

fn end_of_part(data: &[u8]) -> usize {
    let is_end = |end: &usize| {
        let last = data[..*end].last_chunk().copied().unwrap_or_default();
        // The product mixes the bytes; its highest bits depend on all of them.
        u32::from_le_bytes(last).wrapping_mul(0x9E37_79B1) < u32::MAX / ENDS_ONE_IN
    };
    let most = data.len().min(LONGEST);
    (SHORTEST..most).find(is_end).unwrap_or(most)
}

fn name(part: &[u8]) -> i64 {
    let hash = Hash::of_bytes(part);
    let first = hash.bytes().first_chunk().copied().unwrap_or_default();
    i64::from_le_bytes(first)
}

/// Puts data together again. Keeps the parts, since the steps of one file have most of them in common.
#[derive(Default)]
pub struct Parts(HashMap<i64, Rc<[u8]>>);

/// Parts that are kept.
const MAX_KEPT: usize = 20_000;

impl Parts {
    /// The data of a row; `None` if it is damaged.
    pub fn unpack(&mut self, db: &Connection, row: &[u8]) -> rusqlite::Result<Option<Vec<u8>>> {
        let names = match row.split_first() {
            Some((&AS_IT_IS, data)) => return Ok(Some(data.to_vec())),
            Some((&NAMES_OF_PARTS, names)) => names,
            _ => return Ok(None),
        };
        let (names, rest) = names.as_chunks();
        let mut data = Vec::with_capacity(names.len() * (SHORTEST + ENDS_ONE_IN as usize));
        for name in names {
            match self.part(db, i64::from_le_bytes(*name))? {
                Some(part) => data.extend_from_slice(&part),
                None => return Ok(None),
            }
        }
        Ok(rest.is_empty().then_some(data))
    }

    fn part(&mut self, db: &Connection, name: i64) -> rusqlite::Result<Option<Rc<[u8]>>> {
        if let Some(part) = self.0.get(&name) {
            return Ok(Some(part.clone()));
        }
        let found = db
            .prepare_cached("SELECT data FROM part WHERE name = ?1")?
            .query_row([name], |row| Ok(Rc::from(row.get_ref(0)?.as_blob()?)))
            .optional()?;
        if let Some(part) = &found {
            if self.0.len() >= MAX_KEPT {
                self.0.clear();
            }
            self.0.insert(name, Rc::clone(part));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database() -> Connection {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(include_str!("schema.sql")).unwrap();
        db
    }

    fn bytes_of_parts(db: &Connection) -> usize {
        db.query_row("SELECT ifnull(sum(length(data)), 0) FROM part", [], |row| {
            row.get(0)
        })
        .unwrap()
    }

    fn random(count: usize, seed: u64) -> Vec<u8> {
        let mut random = fastrand::Rng::with_seed(seed);
        (0..count).map(|_| random.u8(..)).collect()
    }

    #[test]
    fn data_comes_back_as_it_was() {
        let (db, mut parts) = (database(), Parts::default());
        for count in [0, 1, FEW - 1, FEW, LONGEST, 5000] {
            for data in [random(count, 3), vec![7; count]] {
                let row = pack(&db, &data).unwrap();
                assert_eq!(parts.unpack(&db, &row).unwrap(), Some(data));
            }
        }
    }

    #[test]
    fn a_text_with_a_few_other_lines_has_few_other_parts() {
        let db = database();
        let data = random(8000, 1);
        pack(&db, &data).unwrap();
        let before = bytes_of_parts(&db);
        let row = pack(
            &db,
            &[&data[..4000], &random(24, 2), &data[4008..]].concat(),
        )
        .unwrap();
        assert!(bytes_of_parts(&db) - before < 600 && row.len() < 1000);
    }

    #[test]
    fn a_part_that_is_another_one_or_is_gone_is_no_data() {
        let (db, data) = (database(), random(1000, 5));
        let row = pack(&db, &data).unwrap();
        db.execute(
            "UPDATE part SET data = x'00' WHERE name = (SELECT min(name) FROM part)",
            [],
        )
        .unwrap();
        assert_eq!(pack(&db, &data).unwrap()[0], AS_IT_IS);
        db.execute("DELETE FROM part", []).unwrap();
        assert_eq!(Parts::default().unpack(&db, &row).unwrap(), None);
        assert_eq!(Parts::default().unpack(&db, &[]).unwrap(), None);
    }
}
