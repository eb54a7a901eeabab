//! Columns that are filled row by row. A column that a row leaves out gets a null there.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, FixedSizeBinaryBuilder, Int32Builder, Int64Builder, ListBuilder, StringBuilder};
use arrow_array::builder::{Float64Builder, TimestampNanosecondBuilder, UInt64Builder};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, StructArray};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use arrow_schema::{DataType, Field, Fields, TimeUnit};
use engram_core::event::{Range, Tokens};
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
        Arc::new(DictionaryArray::<Int32Type>::new(self.keys.finish(), Arc::new(self.values.finish())))
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
        Hashes { values: FixedSizeBinaryBuilder::new(32), rows: 0 }
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

/// Lists of fingerprints.
#[derive(Debug)]
pub struct Anchors(ListBuilder<UInt64Builder>);

impl Default for Anchors {
    fn default() -> Self {
        Anchors(ListBuilder::new(UInt64Builder::new()))
    }
}

impl Anchors {
    /// Appends a list; an empty one is null.
    pub fn push(&mut self, anchors: &[u64]) {
        self.0.values().append_slice(anchors);
        self.0.append(!anchors.is_empty());
    }
}

impl Column for Anchors {
    fn data_type() -> DataType {
        DataType::List(Arc::new(Field::new("item", DataType::UInt64, true)))
    }

    fn len(&self) -> usize {
        self.0.offsets_slice().len() - 1
    }

    fn push_null(&mut self) {
        self.0.append_null();
    }

    fn bytes(&self) -> usize {
        8 * self.0.values_ref().values_slice().len()
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

/// Lists of strings.
#[derive(Debug)]
pub struct Lists(ListBuilder<StringBuilder>);

impl Default for Lists {
    fn default() -> Self {
        Lists(ListBuilder::new(StringBuilder::new()))
    }
}

impl Lists {
    /// Appends a list.
    pub fn push<'w>(&mut self, words: impl IntoIterator<Item = &'w str>) {
        words.into_iter().for_each(|word| self.0.values().append_value(word));
        self.0.append(true);
    }
}

impl Column for Lists {
    const NULLABLE: bool = false;

    fn data_type() -> DataType {
        DataType::List(Arc::new(Field::new("item", DataType::Utf8, true)))
    }

    fn len(&self) -> usize {
        self.0.offsets_slice().len() - 1
    }

    fn push_null(&mut self) {
        self.0.append(true);
    }

    fn bytes(&self) -> usize {
        self.0.values_ref().values_slice().len()
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

/// A column of structs of these columns. A struct is null, or each of its members may be.
macro_rules! struct_column {
    ($(#[$doc:meta])* $name:ident { $($member:ident: $type:ty),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name {
            valid: BooleanBufferBuilder,
            $(
                /// A member.
                pub $member: $type,
            )+
        }

        impl Default for $name {
            fn default() -> Self {
                $name { valid: BooleanBufferBuilder::new(0), $($member: <$type>::default()),+ }
            }
        }

        impl $name {
            /// Ends a struct. Members that it leaves out are null.
            pub fn end(&mut self) {
                self.valid.append(true);
                self.pad();
            }

            fn pad(&mut self) {
                let rows = self.valid.len();
                $(if self.$member.len() < rows { self.$member.push_null(); })+
            }

            fn members() -> Fields {
                vec![$(Field::new(stringify!($member), <$type>::data_type(), true)),+].into()
            }
        }

        impl Column for $name {
            fn data_type() -> DataType {
                DataType::Struct($name::members())
            }

            fn len(&self) -> usize {
                self.valid.len()
            }

            fn push_null(&mut self) {
                self.valid.append(false);
                self.pad();
            }

            fn bytes(&self) -> usize {
                0 $(+ self.$member.bytes())+
            }

            fn finish(&mut self) -> ArrayRef {
                let valid = NullBuffer::new(self.valid.finish());
                Arc::new(StructArray::new($name::members(), vec![$(self.$member.finish()),+], Some(valid)))
            }
        }
    };
}

struct_column!(
    /// Lines of files.
    Ranges { first: Ints, last: Ints }
);
struct_column!(
    /// Tokens of responses.
    TokenSets { input: Ints, cache_read: Ints, cache_write: Ints, cache_write_1h: Ints, output: Ints, reasoning: Ints }
);
struct_column!(
    /// Places in logs.
    Origins { line: Ints, part: Ints, pointer: Texts, id: Texts }
);

impl Ranges {
    /// Appends lines.
    pub fn push(&mut self, range: Range) {
        self.first.push(int(range.first));
        self.last.push(int(range.last));
        self.end();
    }
}

impl TokenSets {
    /// Appends the tokens of a response.
    pub fn push(&mut self, tokens: &Tokens) {
        let Tokens { input, cache_read, cache_write, cache_write_1h, output, reasoning } = *tokens;
        let push = |column: &mut Ints, count: Option<u64>| {
            if let Some(count) = count {
                column.push(int(count));
            }
        };
        push(&mut self.input, input);
        push(&mut self.cache_read, cache_read);
        push(&mut self.cache_write, cache_write);
        push(&mut self.cache_write_1h, cache_write_1h);
        push(&mut self.output, output);
        push(&mut self.reasoning, reasoning);
        self.end();
    }
}

/// A count of a tape. The tables have 63 bits, and no log has more of anything.
pub fn int(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
