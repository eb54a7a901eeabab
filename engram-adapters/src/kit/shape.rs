//! The shapes of JSON values: what a view demands of its fields.

use engram_core::emit::Fault;

/// What kind of value a field must have, where it has one. A bit each: a value may have several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Any value.
    Any = 0b11111,
    /// A string.
    Text = 0b00001,
    /// `true` or `false`.
    Flag = 0b00010,
    /// A number.
    Number = 0b00100,
    /// An object.
    Object = 0b01000,
    /// An array.
    List = 0b10000,
}

/// The shapes of `null`, a bit each: it is absence, and fits every one.
pub(super) const ABSENT: u8 = Shape::Any as u8;

/// The shapes that a value which begins with a byte has.
pub(super) static SHAPES: [u8; 256] = {
    let mut shapes = [0; 256];
    shapes[b'"' as usize] = Shape::Text as u8;
    shapes[b't' as usize] = Shape::Flag as u8;
    shapes[b'f' as usize] = Shape::Flag as u8;
    shapes[b'-' as usize] = Shape::Number as u8;
    let mut digit = b'0';
    while digit <= b'9' {
        shapes[digit as usize] = Shape::Number as u8;
        digit += 1;
    }
    shapes[b'{' as usize] = Shape::Object as u8;
    shapes[b'[' as usize] = Shape::List as u8;
    shapes[b'n' as usize] = ABSENT;
    shapes
};

impl Shape {
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
            Shape::Any => "a value",
            Shape::Text => "text",
            Shape::Flag => "true or false",
            Shape::Number => "a number",
            Shape::Object => "an object",
            Shape::List => "a list",
        }
    }
}
