//! Columns that are filled row by row. A column that a row leaves out gets a null there.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, FixedSizeBinaryBuilder, Float64Builder, Int32Builder,
    Int64Builder, StringBuilder, TimestampNanosecondBuilder,
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

/// Builders that append many rows without a value at once.
pub trait Gaps: ArrayBuilder {
    /// Appends nulls.
    fn append_gaps(&mut self, rows: usize);
}

macro_rules! gaps {
    ($($builder:ty),+) => {
        $(impl Gaps for $builder {
            fn append_gaps(&mut self, rows: usize) {
                self.append_nulls(rows);
            }
        })+
    };
}

gaps!(
    BooleanBuilder,
    FixedSizeBinaryBuilder,
    Float64Builder,
    Int32Builder,
    Int64Builder,
    StringBuilder,
    TimestampNanosecondBuilder
);

/// A builder, and the nulls that are not in it yet. Most columns of a row are null, and a null that waits costs next to nothing.
#[derive(Debug, Default)]
pub struct Sparse<B> {
    builder: B,
    nulls: usize,
}

impl<B: Gaps> Sparse<B> {
    /// The rows so far.
    pub fn len(&self) -> usize {
        self.builder.len() + self.nulls
    }

    /// Appends a null.
    pub fn push_null(&mut self) {
        self.nulls += 1;
    }

    /// The builder with all rows so far.
    pub fn filled(&mut self) -> &mut B {
        if self.nulls > 0 {
            self.builder.append_gaps(std::mem::take(&mut self.nulls));
        }
        &mut self.builder
    }
}

/// Strings.
#[derive(Debug, Default)]
pub struct Texts(Sparse<StringBuilder>);

impl Texts {
    /// Appends a string.
    pub fn push(&mut self, text: &str) {
        self.0.filled().append_value(text);
    }
}

impl Column for Texts {
    fn data_type() -> DataType {
        DataType::Utf8
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn push_null(&mut self) {
        self.0.push_null();
    }

    fn bytes(&self) -> usize {
        self.0.builder.values_slice().len()
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.0.filled().finish())
    }
}

/// Strings of which few differ: a dictionary with 32-bit keys.
#[derive(Debug, Default)]
pub struct Words {
    keys: Sparse<Int32Builder>,
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
        self.keys.filled().append_value(key);
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
        self.keys.len()
    }

    fn push_null(&mut self) {
        self.keys.push_null();
    }

    fn bytes(&self) -> usize {
        self.values.values_slice().len()
    }

    fn finish(&mut self) -> ArrayRef {
        self.key_of.clear();
        self.last = None;
        Arc::new(DictionaryArray::<Int32Type>::new(
            self.keys.filled().finish(),
            Arc::new(self.values.finish()),
        ))
    }
}

/// A column of numbers or truth values: the same code for each.
macro_rules! simple_column {
    ($(#[$doc:meta])* $name:ident, $builder:ty, $value:ty, $type:expr) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub struct $name(Sparse<$builder>);

        impl $name {
            /// Appends a value.
            pub fn push(&mut self, value: $value) {
                self.0.filled().append_value(value);
            }
        }

        impl Column for $name {
            fn data_type() -> DataType {
                $type
            }

            fn len(&self) -> usize {
                self.0.len()
            }

            fn push_null(&mut self) {
                self.0.push_null();
            }

            fn finish(&mut self) -> ArrayRef {
                Arc::new(self.0.filled().finish())
            }
        }
    };
}

simple_column!(
    /// Whole numbers.
    Ints, Int64Builder, i64, DataType::Int64
);
simple_column!(
    /// Decimal numbers.
    Decimals, Float64Builder, f64, DataType::Float64
);
simple_column!(
    /// Truth values.
    Bools, BooleanBuilder, bool, DataType::Boolean
);

/// A column without nulls: a row without a value gets this default.
macro_rules! full_column {
    ($(#[$doc:meta])* $name:ident, $column:ty, $value:ty, $nothing:expr) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub struct $name($column);

        impl $name {
            /// Appends a value.
            pub fn push(&mut self, value: $value) {
                self.0.push(value);
            }
        }

        impl Column for $name {
            const NULLABLE: bool = false;

            fn data_type() -> DataType {
                <$column>::data_type()
            }

            fn len(&self) -> usize {
                self.0.len()
            }

            fn push_null(&mut self) {
                self.0.push($nothing);
            }

            fn bytes(&self) -> usize {
                self.0.bytes()
            }

            fn finish(&mut self) -> ArrayRef {
                self.0.finish()
            }
        }
    };
}

full_column!(
    /// As [`Words`], in every row.
    Names, Words, &str, ""
);
full_column!(
    /// Whole numbers, in every row.
    Counts, Ints, i64, 0
);
full_column!(
    /// Truth values, false where nothing is said.
    Flags, Bools, bool, false
);

/// Moments in UTC, in nanoseconds since 1970.
#[derive(Debug, Default)]
pub struct Times(Sparse<TimestampNanosecondBuilder>);

impl Times {
    /// Appends a moment.
    pub fn push(&mut self, nanoseconds: i64) {
        self.0.filled().append_value(nanoseconds);
    }
}

impl Column for Times {
    fn data_type() -> DataType {
        DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn push_null(&mut self) {
        self.0.push_null();
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.0.filled().finish().with_timezone("UTC"))
    }
}

/// Hashes, as their 32 bytes.
#[derive(Debug)]
pub struct Hashes(Sparse<FixedSizeBinaryBuilder>);

impl Default for Hashes {
    fn default() -> Self {
        Hashes(Sparse {
            builder: FixedSizeBinaryBuilder::new(32),
            nulls: 0,
        })
    }
}

impl Hashes {
    /// Appends a hash.
    pub fn push(&mut self, hash: &Hash) {
        // All hashes have 32 bytes.
        if self.0.filled().append_value(hash.bytes()).is_err() {
            self.push_null();
        }
    }
}

impl Column for Hashes {
    fn data_type() -> DataType {
        DataType::FixedSizeBinary(32)
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn push_null(&mut self) {
        self.0.push_null();
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.0.filled().finish())
    }
}

/// A count of a tape. The tables have 63 bits, and no log has more of anything.
pub fn int(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
