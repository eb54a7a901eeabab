//! Borrowed access to raw JSON values: what a value is, without building a tree.

mod de;
mod index;
mod scan;

pub use de::parse;
use engram_core::emit::Fault;
use engram_core::text::Text;
pub use index::Index;
pub(in crate::kit) use index::Node;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A raw value of the source, or absent. JSON `null` counts as absent.
pub type Raw<'a> = Option<&'a RawValue>;

/// The text of a raw value, if it is a string.
pub fn text<'a>(raw: Raw<'a>) -> Option<Text<'a>> {
    raw.and_then(Text::of)
}

/// The text of a raw value, if it is a string that is not empty.
pub fn filled_text<'a>(raw: Raw<'a>) -> Option<Text<'a>> {
    text(raw).filter(|text| !text.is_empty())
}

/// The truth of a raw value, if it is a Boolean.
pub fn boolean(raw: Raw<'_>) -> Option<bool> {
    match raw?.get() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// The number of a raw value, if it is a whole number in range.
pub fn integer(raw: Raw<'_>) -> Option<i64> {
    raw?.get().parse().ok()
}

/// As [`integer`], for numbers that cannot be negative.
pub fn unsigned(raw: Raw<'_>) -> Option<u64> {
    raw?.get().parse().ok()
}

/// True when the value is an object.
pub fn is_object(raw: &RawValue) -> bool {
    raw.get().starts_with('{')
}

/// True when the value is an array.
pub fn is_array(raw: &RawValue) -> bool {
    raw.get().starts_with('[')
}

/// Reads a raw value as `T`.
///
/// # Errors
/// [`Fault::Malformed`] that names the field at `pointer`.
pub fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue, pointer: &str, expected: &'static str) -> Result<T, Fault> {
    parse(raw.get()).map_err(|error| Fault::malformed(pointer, expected, &error.to_string()))
}
