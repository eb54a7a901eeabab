//! JSON types as bits: what a view requires of its fields.

use crate::emit::Fault;
use crate::members::JsonTypes;

/// The JSON type that a field must have, if it is present. One bit each; `null` counts as absent and has all bits. A value that is a number
/// has the bits of its sub-types too (see [`JsonTypes`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonType {
    /// Any value.
    Any = JsonTypes::ANY.0 as isize,
    /// A string.
    String = JsonTypes::STRING.0 as isize,
    /// `true` or `false`.
    Bool = JsonTypes::BOOL.0 as isize,
    /// A number.
    Number = JsonTypes::NUMBER.0 as isize,
    /// An object.
    Object = JsonTypes::OBJECT.0 as isize,
    /// An array.
    Array = JsonTypes::ARRAY.0 as isize,
}

/// The types of `null`.
pub const NULL: u8 = JsonType::Any as u8;

impl JsonType {
    /// True if a value with these type bits is acceptable here.
    #[inline(always)]
    pub fn is_among(self, types: u8) -> bool {
        types & self as u8 != 0
    }

    /// The error for the field `name`, which must have this type. `types` and `raw` describe the value: it has another type, or is the
    /// second one with that name.
    #[cold]
    pub fn mismatch(self, types: u8, raw: &str, pointer: &str, name: &str) -> Fault {
        let expected = if self.is_among(types) {
            "one value of this name"
        } else {
            self.expected()
        };
        Fault::malformed(format!("{pointer}/{name}"), expected, raw)
    }

    /// The name of the type in errors.
    pub fn expected(self) -> &'static str {
        match self {
            JsonType::Any => "a value",
            JsonType::String => "text",
            JsonType::Bool => "true or false",
            JsonType::Number => "a number",
            JsonType::Object => "an object",
            JsonType::Array => "a list",
        }
    }
}
