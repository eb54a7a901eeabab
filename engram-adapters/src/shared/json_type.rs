//! JSON types as bits: what a view requires of its fields.

use engram_core::emit::Fault;

/// The JSON type that a field must have, if it is present. One bit each; `null` counts as absent and has all bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonType {
    /// Any value.
    Any = 0b11111,
    /// A string.
    String = 0b00001,
    /// `true` or `false`.
    Bool = 0b00010,
    /// A number.
    Number = 0b00100,
    /// An object.
    Object = 0b01000,
    /// An array.
    Array = 0b10000,
}

/// The types of `null`.
pub(super) const NULL: u8 = JsonType::Any as u8;

/// The types of a value, by its first byte.
pub(super) static TYPES_OF_FIRST_BYTE: [u8; 256] = {
    let mut types = [0; 256];
    types[b'"' as usize] = JsonType::String as u8;
    types[b't' as usize] = JsonType::Bool as u8;
    types[b'f' as usize] = JsonType::Bool as u8;
    types[b'-' as usize] = JsonType::Number as u8;
    let mut digit = b'0';
    while digit <= b'9' {
        types[digit as usize] = JsonType::Number as u8;
        digit += 1;
    }
    types[b'{' as usize] = JsonType::Object as u8;
    types[b'[' as usize] = JsonType::Array as u8;
    types[b'n' as usize] = NULL;
    types
};

impl JsonType {
    /// True if a value with these type bits is acceptable here.
    #[inline(always)]
    pub fn is_among(self, types: u8) -> bool {
        types & self as u8 != 0
    }

    /// The error for the field `name`, which must have this type. `types` and `raw` describe the value: it has another type, or is the
    /// second one with that name.
    #[cold]
    pub(crate) fn mismatch(self, types: u8, raw: &str, pointer: &str, name: &str) -> Fault {
        let expected = if self.is_among(types) { "one value of this name" } else { self.expected() };
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
