//! Rows of a table: one column each for what the table says, and batches of them.

use arrow_array::ArrayRef;
use arrow_schema::Field;

/// Rows of a table, on their way to a batch.
pub(crate) trait Rows: Default {
    /// Each column with what it means.
    const MEANINGS: &'static [(&'static str, &'static str)];
    /// The columns.
    fn fields() -> Vec<Field>;
    /// Ends a row. Columns that it leaves out are null.
    fn end_row(&mut self);
    /// The rows since the last batch.
    fn len(&self) -> usize;
    /// The bytes of the texts of these rows, roughly.
    fn bytes(&self) -> usize;
    /// The arrays of these rows. There are no rows after it.
    fn finish(&mut self) -> Vec<ArrayRef>;
}

/// Defines the columns of a table, with what each means: the schema, the document and the code that fills it have them from here.
macro_rules! rows {
    ($(#[$doc:meta])* $name:ident { $($meaning:literal $column:ident: $type:ty),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub(crate) struct $name {
            rows: usize,
            $(pub(crate) $column: $type,)+
        }

        impl $crate::arrow::rows::Rows for $name {
            const MEANINGS: &'static [(&'static str, &'static str)] = &[$((stringify!($column), $meaning)),+];

            fn fields() -> Vec<arrow_schema::Field> {
                vec![$(arrow_schema::Field::new(stringify!($column), <$type>::data_type(), <$type>::NULLABLE)),+]
            }

            fn end_row(&mut self) {
                self.rows += 1;
                $(if self.$column.len() < self.rows { self.$column.push_null(); })+
            }

            fn len(&self) -> usize {
                self.rows
            }

            fn bytes(&self) -> usize {
                0 $(+ self.$column.bytes())+
            }

            fn finish(&mut self) -> Vec<arrow_array::ArrayRef> {
                self.rows = 0;
                vec![$(self.$column.finish()),+]
            }
        }
    };
}

pub(crate) use rows;
