//! Fingerprints on disk: sorted runs, a few, each several times as large as the one after it.
//!
//! Fingerprints are random numbers, so a tree that takes them one by one writes a page for each. A transaction writes its fingerprints as one
//! run in their order instead. A run that is not much larger than the ones after it is written anew together with them. So a tape costs what
//! it is large, and a question looks at a few runs.

use rusqlite::{Connection, params};

use crate::varint;

/// What the fingerprints are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// The sides of changes: `at` is twice the number of the span, and 1 more for the side after.
    Spans = 0,
    /// Prompts, answers and outputs: `at` is the number of the text.
    Texts = 1,
    /// Lines that calls made, as [keys](crate::line_key): `at` is the number of the file.
    Lines = 2,
}

/// A fingerprint, and where it is.
pub type Entry = (u64, i64);

/// A run is this many times as large as all later ones together, or it is written anew with them.
const GROWTH: usize = 4;
/// A run of so many entries stays as it is: what is sorted in memory has a bound.
const MAX_MERGED: usize = 4 << 20;
/// Bytes of a block: four of them fill a page.
const BLOCK: usize = 950;

/// Writes fingerprints, in any order, inside the transaction of the caller.
pub fn write(db: &Connection, of: Of, mut entries: Vec<Entry>) -> rusqlite::Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    for (run, count) in runs(db, of)? {
        if count >= MAX_MERGED || count >= GROWTH * entries.len() {
            break;
        }
        read(db, run, &mut entries)?;
        db.prepare_cached("DELETE FROM block WHERE run = ?1")?
            .execute([run])?;
        db.prepare_cached("DELETE FROM run WHERE id = ?1")?
            .execute([run])?;
    }
    entries.sort_unstable();
    entries.dedup();
    let run = db
        .prepare_cached("INSERT INTO run (what, entries) VALUES (?1, ?2)")?
        .insert(params![of as i64, entries.len() as i64])?;
    let mut insert =
        db.prepare_cached("INSERT INTO block (run, h, at, data) VALUES (?1, ?2, ?3, ?4)")?;
    for (first, data) in (Blocks { rest: &entries }) {
        insert.execute(params![run, order(first.0), first.1, data])?;
    }
    Ok(())
}

/// Where a fingerprint is, at most `most` places.
pub fn find(db: &Connection, of: Of, fingerprint: u64, most: usize) -> rusqlite::Result<Vec<i64>> {
    let mut found = Vec::new();
    for (run, _) in runs(db, of)? {
        // The block that begins before the fingerprint may end with it.
        let sql =
            "SELECT h, at, data FROM block WHERE run = ?1 AND h <= ?2 ORDER BY h DESC, at DESC";
        let mut blocks = db.prepare_cached(sql)?;
        let mut rows = blocks.query(params![run, order(fingerprint)])?;
        while let Some(row) = rows.next()? {
            let first = fingerprint_of(row.get(0)?);
            decode(
                (first, row.get(1)?),
                row.get_ref(2)?.as_blob()?,
                &mut |entry| {
                    found.extend((entry.0 == fingerprint && found.len() < most).then_some(entry.1));
                },
            );
            if first < fingerprint || found.len() >= most {
                break;
            }
        }
    }
    Ok(found)
}

/// True if a fingerprint is at a place. Looks at one block of each run, at however many places the fingerprint is.
pub fn has(db: &Connection, of: Of, entry: Entry) -> rusqlite::Result<bool> {
    let sql = "SELECT h, at, data FROM block WHERE run = ?1 AND (h, at) <= (?2, ?3) ORDER BY h DESC, at DESC LIMIT 1";
    for (run, _) in runs(db, of)? {
        let mut block = db.prepare_cached(sql)?;
        let mut rows = block.query(params![run, order(entry.0), entry.1])?;
        if let Some(row) = rows.next()? {
            let first = (fingerprint_of(row.get(0)?), row.get(1)?);
            let mut is_there = false;
            decode(first, row.get_ref(2)?.as_blob()?, &mut |found| {
                is_there |= found == entry;
            });
            if is_there {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The runs and their sizes, the newest first.
fn runs(db: &Connection, of: Of) -> rusqlite::Result<Vec<(i64, usize)>> {
    let mut runs =
        db.prepare_cached("SELECT id, entries FROM run WHERE what = ?1 ORDER BY id DESC")?;
    runs.query_map([of as i64], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

fn read(db: &Connection, run: i64, entries: &mut Vec<Entry>) -> rusqlite::Result<()> {
    let mut blocks =
        db.prepare_cached("SELECT h, at, data FROM block WHERE run = ?1 ORDER BY h, at")?;
    let mut rows = blocks.query([run])?;
    while let Some(row) = rows.next()? {
        decode(
            (fingerprint_of(row.get(0)?), row.get(1)?),
            row.get_ref(2)?.as_blob()?,
            &mut |entry| entries.push(entry),
        );
    }
    Ok(())
}

/// SQLite has signed numbers: the least becomes the least.
const fn order(fingerprint: u64) -> i64 {
    (fingerprint ^ (1 << 63)).cast_signed()
}

const fn fingerprint_of(order: i64) -> u64 {
    order.cast_unsigned() ^ (1 << 63)
}

/// Sorted entries in blocks: the first entry of each, and the others as differences.
struct Blocks<'e> {
    rest: &'e [Entry],
}

impl Iterator for Blocks<'_> {
    type Item = (Entry, Vec<u8>);

    fn next(&mut self) -> Option<(Entry, Vec<u8>)> {
        let (first, rest) = self.rest.split_first()?;
        let (mut last, mut data, mut count) = (*first, Vec::with_capacity(BLOCK), 0);
        for entry in rest {
            // Two numbers of seven bits a byte have 20 bytes at most.
            if data.len() + 20 > BLOCK {
                break;
            }
            let step = entry.0 - last.0;
            varint::write(&mut data, step);
            varint::write(
                &mut data,
                (if step == 0 { entry.1 - last.1 } else { entry.1 }).cast_unsigned(),
            );
            (last, count) = (*entry, count + 1);
        }
        self.rest = &rest[count..];
        Some((*first, data))
    }
}

fn decode(first: Entry, mut data: &[u8], take: &mut dyn FnMut(Entry)) {
    let mut last = first;
    take(last);
    while let Some((step, at)) = varint::read(&mut data).zip(varint::read(&mut data)) {
        let at = at.cast_signed();
        last = (
            last.0.wrapping_add(step),
            if step == 0 {
                last.1.wrapping_add(at)
            } else {
                at
            },
        );
        take(last);
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

    fn random(count: usize, seed: u64) -> Vec<Entry> {
        let mut random = fastrand::Rng::with_seed(seed);
        (0..count).map(|at| (random.u64(..), at as i64)).collect()
    }

    #[test]
    fn every_entry_is_found_whatever_runs_were_written() {
        let db = database();
        let mut all = Vec::new();
        for (seed, count) in [1, 900, 3, 40_000, 1, 1, 250, 7000, 12]
            .into_iter()
            .enumerate()
        {
            let entries = random(count, seed as u64);
            all.extend(entries.clone());
            write(&db, Of::Spans, entries).unwrap();
        }
        for entry in all.iter().step_by(7) {
            assert!(has(&db, Of::Spans, *entry).unwrap(), "{entry:?}");
            assert!(
                !has(&db, Of::Texts, *entry).unwrap()
                    && !has(&db, Of::Spans, (entry.0 ^ 1, entry.1)).unwrap()
            );
        }
    }

    #[test]
    fn one_fingerprint_at_many_places_fills_several_blocks() {
        let db = database();
        let many = (0..5000)
            .map(|at| (u64::MAX, at * 3))
            .chain([(0, 1), (u64::MAX - 1, 2)]);
        write(&db, Of::Spans, many.collect()).unwrap();
        assert_eq!(
            find(&db, Of::Spans, u64::MAX, usize::MAX).unwrap().len(),
            5000
        );
        assert_eq!(find(&db, Of::Spans, u64::MAX, 20).unwrap().len(), 20);
        for at in 0..15_000 {
            assert_eq!(
                has(&db, Of::Spans, (u64::MAX, at)).unwrap(),
                at % 3 == 0,
                "{at}"
            );
        }
        assert_eq!(
            (
                find(&db, Of::Spans, 0, 9).unwrap(),
                find(&db, Of::Spans, u64::MAX - 1, 9).unwrap()
            ),
            (vec![1], vec![2])
        );
    }

    #[test]
    fn there_are_few_runs_and_each_is_several_times_as_large_as_the_next() {
        let db = database();
        for seed in 0..300 {
            write(&db, Of::Spans, random(100, seed)).unwrap();
        }
        let sizes: Vec<usize> = runs(&db, Of::Spans)
            .unwrap()
            .into_iter()
            .map(|(_, size)| size)
            .collect();
        assert_eq!(sizes.iter().sum::<usize>(), 30_000);
        assert!(
            sizes.windows(2).all(|pair| pair[1] >= GROWTH * pair[0]),
            "{sizes:?}"
        );
    }
}
