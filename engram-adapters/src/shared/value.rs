//! Reading fields of a record: the value types, and functions that take a field which may be absent.

use engram_core::emit::Fault;
use engram_core::event::Number;
use engram_core::text::Text;

pub use super::json::{Field, StructuralIndex, Value, one_or_many, parse};

/// The first result of `visit` for a line that is JSON. Other lines are skipped.
pub fn find_line<'t, T>(
    lines: impl Iterator<Item = &'t str>,
    mut visit: impl FnMut(Value<'_>) -> Option<T>,
) -> Option<T> {
    let mut index = StructuralIndex::default();
    for line in lines {
        if let Ok(value) = parse(line, &mut index)
            && let Some(found) = visit(value)
        {
            return Some(found);
        }
    }
    None
}

/// True if an object has all these members, whatever their values are. A bad value of a member is a fault of its record, so detection does
/// not look at it.
///
/// ```
/// use engram_adapters::shared::value::{StructuralIndex, has_members, parse};
///
/// let mut index = StructuralIndex::default();
/// let header = parse(r#"{"id":7,"start":null}"#, &mut index)?;
/// assert!(has_members(header, &["start", "id"]) && !has_members(header, &["id", "end"]));
/// # Ok::<(), engram_core::emit::Fault>(())
/// ```
pub fn has_members(object: Value<'_>, names: &[&str]) -> bool {
    names
        .iter()
        .all(|name| object.members().any(|(other, _)| other == *name))
}

/// The elements of a list; nothing if it is absent.
pub fn elements<'a>(list: Field<'a>) -> impl Iterator<Item = Value<'a>> {
    list.into_iter().flat_map(Value::elements)
}

/// A JSON string without its quotation marks.
pub fn unquote(token: &str) -> &str {
    token
        .strip_prefix('"')
        .and_then(|token| token.strip_suffix('"'))
        .unwrap_or(token)
}

/// The text of a field, if it is a string.
#[inline(always)]
pub fn text(field: Field<'_>) -> Option<Text<'_>> {
    field.and_then(Value::text)
}

/// The text of a field, if it is a string that is not empty.
#[inline(always)]
pub fn non_empty_text(field: Field<'_>) -> Option<Text<'_>> {
    field.and_then(Value::non_empty_text)
}

/// The text of a field as a string, if it is one. Half surrogate pairs are U+FFFD in it.
pub fn owned(field: Field<'_>) -> Option<String> {
    text(field).map(|text| text.decode_lossy().into_owned())
}

/// Checks that a field is there.
///
/// # Errors
/// [`Fault::Malformed`] at this pointer if it is absent.
pub fn required(field: Field<'_>, pointer: &str) -> Result<(), Fault> {
    match field {
        Some(_) => Ok(()),
        None => Err(Fault::malformed(pointer, "a value", "nothing")),
    }
}

/// The text of a field, if it is not empty and another one than `before`, which it then replaces. For a fact that lines repeat.
pub fn changed<'a>(before: &mut String, now: Field<'a>) -> Option<Text<'a>> {
    let new = non_empty_text(now).filter(|_| raw_str(now) != before)?;
    raw_str(now).clone_into(before);
    Some(new)
}

/// The string contents in canonical form, without quotes. Empty if absent or not a string. Only for identifiers.
#[inline(always)]
pub fn raw_str(field: Field<'_>) -> &str {
    field.map(Value::raw_str).unwrap_or_default()
}

/// The number of a field as the source writes it, if it is a number.
#[inline(always)]
pub fn number(field: Field<'_>) -> Option<Number<'_>> {
    field.and_then(Value::number)
}

/// The number of a field, if it is an amount: not negative.
pub fn amount(field: Field<'_>) -> Option<Number<'_>> {
    number(field).filter(|number| !number.as_str().starts_with('-'))
}

/// The number of a field, if it is an integer that fits `i64`.
#[inline(always)]
pub fn integer(field: Field<'_>) -> Option<i64> {
    field.and_then(Value::integer)
}

/// The number of a field, if it is a count: an integer from 0.
#[inline(always)]
pub fn count(field: Field<'_>) -> Option<u64> {
    field.and_then(Value::unsigned)
}

/// The number of a count that other counts are added to or subtracted from: 0 if the field is absent, none if it is not a count. What is
/// computed from it is not known then.
#[inline(always)]
pub fn count_or_zero(field: Field<'_>) -> Option<u64> {
    field.map_or(Some(0), Value::unsigned)
}

/// True if the field is `true`.
pub fn is_true(field: Field<'_>) -> bool {
    field.is_some_and(Value::is_true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_is_absent_is_zero_and_one_that_is_none_is_not_known() {
        let mut index = StructuralIndex::default();
        let object = parse(r#"{"a":7,"b":-1,"c":1.5,"d":"7","e":null}"#, &mut index).unwrap();
        let counts = ["a", "b", "c", "d", "e", "f"].map(|name| count_or_zero(object.member(name)));
        assert_eq!(counts, [Some(7), None, None, None, Some(0), Some(0)]);
        let amounts = ["a", "b", "c", "d", "e", "f"]
            .map(|name| amount(object.member(name)).map(Number::as_str));
        assert_eq!(amounts, [Some("7"), None, Some("1.5"), None, None, None]);
    }

    #[test]
    fn find_line_skips_lines_that_are_not_json() {
        let lines = ["", "not JSON", r#"{"a":1}"#, r#"{"b":2}"#];
        assert_eq!(
            find_line(lines.into_iter(), |value| integer(value.member("b"))),
            Some(2)
        );
        assert_eq!(
            find_line(lines.into_iter(), |value| integer(value.member("c"))),
            None
        );
    }
}
