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
    /// It gives no event. The descriptor's omission rule for this record type says why.
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
}
