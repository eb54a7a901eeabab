//! Spans as questions find them.

use rusqlite::{Connection, Row};

use crate::rows::{Digest, UNCONFIRMED, What};

/// A span of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    pub id: i64,
    pub tape: i64,
    pub seq: i64,
    pub call: Option<i64>,
    pub file: i64,
    pub what: What,
    pub before: Option<(i64, i64)>,
    pub after: Option<(i64, i64)>,
    pub bh: Option<Digest>,
    pub ah: Option<Digest>,
    pub fbh: Option<Digest>,
    pub fah: Option<Digest>,
    pub lines: Option<i64>,
    pub flags: i64,
    pub t: Option<i64>,
}

/// The columns that [`Hit::of`] reads.
pub const COLUMNS: &str =
    "id, tape, seq, call, file, what, b0, b1, a0, a1, bh, ah, fbh, fah, lines, flags, t";

impl Hit {
    fn of(row: &Row<'_>) -> rusqlite::Result<Hit> {
        let pair = |first: Option<i64>, last: Option<i64>| first.zip(last);
        Ok(Hit {
            id: row.get(0)?,
            tape: row.get(1)?,
            seq: row.get(2)?,
            call: row.get(3)?,
            file: row.get(4)?,
            what: What::of_number(row.get(5)?),
            before: pair(row.get(6)?, row.get(7)?),
            after: pair(row.get(8)?, row.get(9)?),
            bh: row.get(10)?,
            ah: row.get(11)?,
            fbh: row.get(12)?,
            fah: row.get(13)?,
            lines: row.get(14)?,
            flags: row.get(15)?,
            t: row.get(16)?,
        })
    }

    /// The spans that a condition finds.
    pub fn find(
        db: &Connection,
        condition: &str,
        key: impl rusqlite::Params,
    ) -> rusqlite::Result<Vec<Hit>> {
        let mut find =
            db.prepare_cached(&format!("SELECT {COLUMNS} FROM span WHERE {condition}"))?;
        find.query_map(key, Hit::of)?.collect()
    }

    /// When it happened, for comparisons: time, tape, place on the tape. A tape without times is older than any other.
    pub fn when(&self) -> (i64, i64, i64) {
        (self.t.unwrap_or(i64::MIN), self.tape, self.seq)
    }

    /// True if the span is known to be applied.
    pub fn is_confirmed(&self) -> bool {
        self.flags & UNCONFIRMED == 0
    }

    /// The call, or the event itself where the tape names no call.
    pub fn step(&self) -> (i64, i64) {
        (self.tape, self.call.unwrap_or(self.seq))
    }
}
