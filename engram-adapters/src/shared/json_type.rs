//! The shapes of JSON values: what a view demands of its fields.

use engram_core::emit::Fault;

/// What kind of value a field must have, where it has one. A bit each: a value may have several.
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

/// The shapes of `null`, a bit each: it is absence, and fits every one.
pub(super) const ABSENT: u8 = JsonType::Any as u8;

/// The shapes that a value which begins with a byte has.
pub(super) static SHAPES: [u8; 256] = {
    let mut shapes = [0; 256];
    shapes[b'"' as usize] = JsonType::String as u8;
    shapes[b't' as usize] = JsonType::Bool as u8;
    shapes[b'f' as usize] = JsonType::Bool as u8;
    shapes[b'-' as usize] = JsonType::Number as u8;
    let mut digit = b'0';
    while digit <= b'9' {
        shapes[digit as usize] = JsonType::Number as u8;
        digit += 1;
    }
    shapes[b'{' as usize] = JsonType::Object as u8;
    shapes[b'[' as usize] = JsonType::Array as u8;
    shapes[b'n' as usize] = ABSENT;
    shapes
};

impl JsonType {
    /// True when this is one of these shapes.
    #[inline(always)]
    pub fn is_among(self, shapes: u8) -> bool {
        shapes & self as u8 != 0
    }

    /// Why a field does not take a value of these shapes, which the source spells so: it is of another shape, or the second of its name.
    #[cold]
    pub(crate) fn misfit(self, shapes: u8, raw: &str, pointer: &str, name: &str) -> Fault {
        let expected = if self.is_among(shapes) { "one value of this name" } else { self.expected() };
        Fault::malformed(format!("{pointer}/{name}"), expected, raw)
    }

    /// What it is, for an error.
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
