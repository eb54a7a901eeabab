//! Columns of lists and of structs.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, StructArray};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use arrow_schema::{DataType, Field, Fields};
use engram_core::event::{Range, Tokens};

use super::column::{Column, Ints, Texts, int};

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
        words
            .into_iter()
            .for_each(|word| self.0.values().append_value(word));
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
        let Tokens {
            input,
            cache_read,
            cache_write,
            cache_write_1h,
            output,
            reasoning,
        } = *tokens;
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
