//! How fields are read that all of Cursor's formats have: text, JSON that may be text, and times in milliseconds.

pub(super) mod faults;
pub(super) mod hex;

use std::borrow::Cow;

use engram_core::emit::{Fault, Pointer};
use engram_core::text::Text;

use crate::shared::time;
use crate::shared::value::{Field, Value, non_empty_text, text};
use faults::absent;

/// The decoded text of a field, if it is a string.
pub(super) fn decoded(field: Field<'_>) -> Option<Cow<'_, str>> {
    text(field).map(|text| text.decode_lossy())
}

/// The decoded text of a field, if it is a string that is not empty.
pub(super) fn decoded_non_empty(field: Field<'_>) -> Option<Cow<'_, str>> {
    decoded(field).filter(|text| !text.is_empty())
}

/// The text of a string field, or the JSON of a field of another type. None for an absent field.
pub(super) fn text_or_json(field: Field<'_>) -> Option<Text<'_>> {
    field.map(Value::text_or_json)
}

/// The time of a field that counts milliseconds, as a number or a string of digits.
pub(super) fn time_of_millis(field: Field<'_>) -> Option<String> {
    time::from_millis(field?.raw().trim_matches('"').parse().ok()?)
}

/// The number of a field, if it is a whole number that is not negative.
pub(super) fn unsigned(field: Field<'_>) -> Option<u64> {
    field.and_then(Value::unsigned)
}

/// The text of a field that must be a string.
///
/// # Errors
/// [`Fault::Malformed`] at `place` where it is not.
pub(super) fn required_text<'a>(field: Field<'a>, place: Pointer<'_>) -> Result<Text<'a>, Fault> {
    text(field).ok_or_else(|| absent(place, "a string", field))
}

/// The text of a field that must be a string that is not empty.
///
/// # Errors
/// [`Fault::Malformed`] at `place` where it is not.
pub(super) fn required_name<'a>(field: Field<'a>, place: Pointer<'_>) -> Result<Text<'a>, Fault> {
    non_empty_text(field).ok_or_else(|| absent(place, "a string that is not empty", field))
}

/// A field that must be there.
///
/// # Errors
/// [`Fault::Malformed`] at `place` where it is not.
pub(super) fn required<'a>(
    field: Field<'a>,
    place: Pointer<'_>,
    expected: &'static str,
) -> Result<Value<'a>, Fault> {
    field.ok_or_else(|| absent(place, expected, None))
}
