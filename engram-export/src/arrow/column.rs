//! Columns that are filled row by row. A column that a row leaves out gets a null there.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, FixedSizeBinaryBuilder, Float64Builder, Int32Builder, Int64Builder,
    StringBuilder, TimestampNanosecondBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray};
use arrow_schema::{DataType, TimeUnit};
use engram_core::hash::Hash;

/// A column of a table.
pub trait Column: Default {
    /// Whether the column can be null.
    const NULLABLE: bool = true;
    /// Its Arrow type.
    fn data_type() -> DataType;
    /// The rows so far.
    fn len(&self) -> usize;
    /// Appends a null, or the value that stands for nothing in a column without nulls.
    fn push_null(&mut self);
    /// The bytes of its texts, roughly.
    fn bytes(&self) -> usize {
        0
    }
    /// The array of the rows. The column is empty after it.
    fn finish(&mut self) -> ArrayRef;
}

/// Strings.
#[derive(Debug, Default)]
pub struct Texts(StringBuilder);

impl Texts {
    /// Appends a string.
    pub fn push(&mut self, text: &str) {
        self.0.append_value(text);
    }
}

impl Column for Texts {
    fn data_type() -> DataType {
        DataType::Utf8
    }

    fn len(&self) -> usize {
        self.0.offsets_slice().len() - 1
    }

    fn push_null(&mut self) {
        self.0.append_null();
    }

    fn bytes(&self) -> usize {
        self.0.values_slice().len()
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

/// Strings of which few differ: a dictionary with 32-bit keys.
#[derive(Debug, Default)]
pub struct Words {
    keys: Int32Builder,
    values: StringBuilder,
    key_of: HashMap<String, i32, foldhash::fast::RandomState>,
    last: Option<(String, i32)>,
}

impl Words {
    /// Appends a string.
    pub fn push(&mut self, word: &str) {
        let key = match &self.last {
            Some((last, key)) if last == word => *key,
            _ => self.key(word),
        };
        self.keys.append_value(key);
    }

    fn key(&mut self, word: &str) -> i32 {
        let key = match self.key_of.get(word) {
            Some(key) => *key,
            None => {
                let key = i32::try_from(self.key_of.len()).unwrap_or(i32::MAX);
                self.values.append_value(word);
                self.key_of.insert(word.to_owned(), key);
                key
            }
        };
        let (last, last_key) = self.last.get_or_insert_default();
        last.clear();
        last.push_str(word);
        *last_key = key;
        key
    }
}

impl Column for Words {
    fn data_type() -> DataType {
        DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
    }

    fn len(&self) -> usize {
        self.keys.values_slice().len()
    }

    fn push_null(&mut self) {
        self.keys.append_null();
    }

    fn bytes(&self) -> usize {
        self.values.values_slice().len()
    }

    fn finish(&mut self) -> ArrayRef {
        self.key_of.clear();
        self.last = None;
        Arc::new(DictionaryArray::<Int32Type>::new(
            self.keys.finish(),
            Arc::new(self.values.finish()),
        ))
    }
}

/// As [`Words`], in every row.
#[derive(Debug, Default)]
pub struct Names(Words);

impl Names {
    /// Appends a string.
    pub fn push(&mut self, name: &str) {
        self.0.push(name);
    }
}

impl Column for Names {
    const NULLABLE: bool = false;

    fn data_type() -> DataType {
        Words::data_type()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn push_null(&mut self) {
        self.0.push("");
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    fn finish(&mut self) -> ArrayRef {
        self.0.finish()
    }
}

/// A column of numbers or truth values: the same code for each.
macro_rules! simple_column {
    ($(#[$doc:meta])* $name:ident, $builder:ty, $value:ty, $type:expr, $nullable:expr, $null:expr) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub struct $name {
            values: $builder,
            rows: usize,
        }

        impl $name {
            /// Appends a value.
            pub fn push(&mut self, value: $value) {
                self.values.append_value(value);
                self.rows += 1;
            }
        }

        impl Column for $name {
            const NULLABLE: bool = $nullable;

            fn data_type() -> DataType {
                $type
            }

            fn len(&self) -> usize {
                self.rows
            }

            fn push_null(&mut self) {
                let null: Option<$value> = $null;
                self.values.append_option(null);
                self.rows += 1;
            }

            fn finish(&mut self) -> ArrayRef {
                self.rows = 0;
                Arc::new(self.values.finish())
            }
        }
    };
}

simple_column!(
    /// Whole numbers.
    Ints, Int64Builder, i64, DataType::Int64, true, None
);
simple_column!(
    /// Whole numbers, in every row.
    Counts, Int64Builder, i64, DataType::Int64, false, Some(0)
);
simple_column!(
    /// Decimal numbers.
    Decimals, Float64Builder, f64, DataType::Float64, true, None
);
simple_column!(
    /// Truth values.
    Bools, BooleanBuilder, bool, DataType::Boolean, true, None
);
simple_column!(
    /// Truth values, false where nothing is said.
    Flags, BooleanBuilder, bool, DataType::Boolean, false, Some(false)
);

/// Moments in UTC, in nanoseconds since 1970.
#[derive(Debug, Default)]
pub struct Times {
    values: TimestampNanosecondBuilder,
    rows: usize,
}

impl Times {
    /// Appends a moment.
    pub fn push(&mut self, nanoseconds: i64) {
        self.values.append_value(nanoseconds);
        self.rows += 1;
    }
}

impl Column for Times {
    fn data_type() -> DataType {
        DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))
    }

    fn len(&self) -> usize {
        self.rows
    }

    fn push_null(&mut self) {
        self.values.append_null();
        self.rows += 1;
    }

    fn finish(&mut self) -> ArrayRef {
        self.rows = 0;
        Arc::new(self.values.finish().with_timezone("UTC"))
    }
}

/// Hashes, as their 32 bytes.
#[derive(Debug)]
pub struct Hashes {
    values: FixedSizeBinaryBuilder,
    rows: usize,
}

impl Default for Hashes {
    fn default() -> Self {
        Hashes {
            values: FixedSizeBinaryBuilder::new(32),
            rows: 0,
        }
    }
}

impl Hashes {
    /// Appends a hash.
    pub fn push(&mut self, hash: &Hash) {
        match self.values.append_value(hash.bytes()) {
            Ok(()) => self.rows += 1,
            // All hashes have 32 bytes.
            Err(_) => self.push_null(),
        }
    }
}

impl Column for Hashes {
    fn data_type() -> DataType {
        DataType::FixedSizeBinary(32)
    }

    fn len(&self) -> usize {
        self.rows
    }

    fn push_null(&mut self) {
        self.values.append_null();
        self.rows += 1;
    }

    fn finish(&mut self) -> ArrayRef {
        self.rows = 0;
        Arc::new(self.values.finish())
    }
}

/// A count of a tape. The tables have 63 bits, and no log has more of anything.
pub fn int(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
