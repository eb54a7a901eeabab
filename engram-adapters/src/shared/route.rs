//! The record table of an adapter: one row per record type, with what happens to a record of it.

/// One row of an adapter's record table.
#[derive(Debug, Clone, Copy)]
pub struct Route<H> {
    /// The record type, as the adapter names it.
    pub record: &'static str,
    /// What happens to such a record.
    pub action: Action<H>,
}

/// What happens to a record of one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action<H> {
    /// This function converts it.
    Convert(H),
    /// It gives no event. The descriptor's omission rule for this record type gives the reason.
    Omit,
}

impl<H: Copy> Route<H> {
    /// A row whose records are converted by `handler`.
    pub const fn convert(record: &'static str, handler: H) -> Route<H> {
        Route { record, action: Action::Convert(handler) }
    }

    /// A row whose records give no event.
    pub const fn omit(record: &'static str) -> Route<H> {
        Route { record, action: Action::Omit }
    }

    /// The action of the first row for `record`. List frequent record types first.
    pub fn find(table: &[Route<H>], record: &str) -> Option<Action<H>> {
        table.iter().find(|row| row.record == record).map(|row| row.action)
    }
}

/// The rows of a long table by the length and the last byte of their record types.
#[derive(Debug)]
pub struct RouteIndex<const ROWS: usize> {
    /// The number of the first row of each bucket, plus one; 0 if there is none.
    first: [u8; BUCKETS],
    /// For each row: the same for the next one of its bucket.
    next: [u8; ROWS],
    /// For each row: where its name begins, after the last `/`.
    names: [u8; ROWS],
}

const BUCKETS: usize = 64;

const fn bucket(len: usize, last: u8) -> usize {
    (len + 31 * last as usize) % BUCKETS
}

const fn name_start(record: &[u8]) -> usize {
    let mut at = record.len();
    while at > 0 && record[at - 1] != b'/' {
        at -= 1;
    }
    at
}

impl<const ROWS: usize> RouteIndex<ROWS> {
    /// The index of these rows.
    pub const fn of<H: Copy>(rows: &[Route<H>]) -> Self {
        assert!(rows.len() == ROWS && ROWS < u8::MAX as usize, "an index of other rows, or too many rows");
        let mut index = RouteIndex { first: [0; BUCKETS], next: [0; ROWS], names: [0; ROWS] };
        let mut row = ROWS;
        while row > 0 {
            let record = rows[row - 1].record.as_bytes();
            let first = &mut index.first[bucket(record.len(), record[record.len() - 1])];
            index.next[row - 1] = *first;
            *first = row as u8;
            index.names[row - 1] = name_start(record) as u8;
            row -= 1;
        }
        index
    }

    /// The first of `rows` whose record type is `prefix`, which is empty or ends with `/`, followed by `name`, which has no `/` and is not
    /// empty.
    pub fn find<'t, H: Copy>(&self, rows: &'t [Route<H>], prefix: &str, name: &str) -> Option<&'t Route<H>> {
        rows.get(self.place(rows, prefix, name)?)
    }

    /// The place of the row that [`RouteIndex::find`] finds.
    pub fn place<H: Copy>(&self, rows: &[Route<H>], prefix: &str, name: &str) -> Option<usize> {
        let len = prefix.len() + name.len();
        let mut row = self.first[bucket(len, *name.as_bytes().last()?)];
        while let Some(at) = usize::from(row).checked_sub(1) {
            let found = rows.get(at)?;
            let has_lengths = found.record.len() == len && usize::from(*self.names.get(at)?) == prefix.len();
            if has_lengths && found.record.ends_with(name) && found.record.starts_with(prefix) {
                return Some(at);
            }
            row = *self.next.get(at)?;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_type_has_the_action_of_its_row() {
        let table = [Route::convert("user", 1), Route::omit("state")];
        assert_eq!(Route::find(&table, "user"), Some(Action::Convert(1)));
        assert_eq!(Route::find(&table, "state"), Some(Action::Omit));
        assert_eq!(Route::find(&table, "other"), None);
    }

    #[test]
    fn an_index_finds_what_the_table_has() {
        const TABLE: [Route<u8>; 5] =
            [Route::convert("a/b", 1), Route::omit("b/b"), Route::convert("a/bb", 2), Route::convert("b", 3), Route::convert("b", 4)];
        static INDEX: RouteIndex<5> = RouteIndex::of(&TABLE);
        for (prefix, name) in [("a/", "b"), ("b/", "b"), ("a/", "bb"), ("", "b"), ("", "a/b"), ("c/", "b"), ("a/", ""), ("", "")] {
            let is_name = !name.is_empty() && !name.contains('/');
            let expected = TABLE.iter().find(|row| is_name && row.record == format!("{prefix}{name}"));
            assert_eq!(INDEX.find(&TABLE, prefix, name).map(|row| row.action), expected.map(|row| row.action), "{prefix} {name}");
        }
    }
}
