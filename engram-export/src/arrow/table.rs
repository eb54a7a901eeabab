//! The tables, and a batch of rows of one.

use std::fmt;
use std::io;

use arrow_array::RecordBatch;

/// The tables that tapes become.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// A row for each event.
    Events,
    /// A row for each tape.
    Tapes,
    /// A row for each session or sub-agent of a tape.
    Sessions,
    /// A row for each prompt of a person or an agent.
    Prompts,
    /// A row for each call of a tool, with its result.
    Calls,
    /// A row for each change of a file.
    Edits,
    /// A row for each response that says what it cost.
    Usage,
}

impl Table {
    /// All tables. `table as usize` is its index here.
    pub const ALL: [Table; 7] = [
        Table::Events,
        Table::Tapes,
        Table::Sessions,
        Table::Prompts,
        Table::Calls,
        Table::Edits,
        Table::Usage,
    ];

    /// The name, which is that of its directory too.
    pub const fn as_str(self) -> &'static str {
        match self {
            Table::Events => "events",
            Table::Tapes => "tapes",
            Table::Sessions => "sessions",
            Table::Prompts => "prompts",
            Table::Calls => "calls",
            Table::Edits => "edits",
            Table::Usage => "usage",
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Takes batches of rows. The batches of one table are in the order of its rows.
pub trait BatchSink {
    /// Takes the next batch of a table.
    ///
    /// # Errors
    /// What the sink's own output fails with.
    fn batch(&mut self, table: Table, batch: RecordBatch) -> io::Result<()>;
}

/// Keeps all batches in memory.
impl BatchSink for Vec<(Table, RecordBatch)> {
    fn batch(&mut self, table: Table, batch: RecordBatch) -> io::Result<()> {
        self.push((table, batch));
        Ok(())
    }
}

impl<B: BatchSink + ?Sized> BatchSink for &mut B {
    fn batch(&mut self, table: Table, batch: RecordBatch) -> io::Result<()> {
        (**self).batch(table, batch)
    }
}
