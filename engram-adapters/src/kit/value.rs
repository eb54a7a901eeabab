//! Walking JSON that a parser has accepted: each value is found by its ends and never parsed again.

use engram_core::text::Text;
use serde::de::IgnoredAny;

/// A JSON value as a slice of its source, without white space around it.
///
/// Made by [`parse`], which checks the whole of it once; what is inside is then found by looking for its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value<'a>(&'a str);

/// A value, or absent. JSON `null` counts as absent.
pub type Field<'a> = Option<Value<'a>>;

/// The one JSON value that `text` holds.
///
/// # Errors
/// The parser's, where `text` is not one JSON value.
pub fn parse(text: &str) -> Result<Value<'_>, serde_json::Error> {
    serde_json::from_str::<IgnoredAny>(text)?;
    Ok(Value(text.trim_ascii()))
}

impl<'a> Value<'a> {
    /// The source text.
    pub fn raw(self) -> &'a str {
        self.0
    }

    /// The text, if this is a string.
    pub fn text(self) -> Option<Text<'a>> {
        Text::of_str(self.0)
    }

    /// True for an object.
    pub fn is_object(self) -> bool {
        self.0.starts_with('{')
    }

    /// True for an array.
    pub fn is_array(self) -> bool {
        self.0.starts_with('[')
    }

    /// True for `true`.
    pub fn is_true(self) -> bool {
        self.0 == "true"
    }

    /// The number, if this is a whole number that is not negative.
    pub fn unsigned(self) -> Option<u64> {
        self.0.parse().ok()
    }

    /// The elements, if this is an array.
    pub fn elements(self) -> impl Iterator<Item = Value<'a>> {
        let mut walk = Walk::into(self.0, b'[');
        std::iter::from_fn(move || walk.value())
    }

    /// Names and values, if this is an object. Names are as the source spells them, so one with escapes matches nothing.
    pub fn members(self) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        let mut walk = Walk::into(self.0, b'{');
        std::iter::from_fn(move || {
            let name = walk.value()?.0;
            Some((name.get(1..name.len() - 1)?, walk.value()?))
        })
    }

    /// The member of that name; the last where there are several.
    pub fn member(self, name: &str) -> Field<'a> {
        self.members().filter(|(found, value)| *found == name && !value.is_null()).last().map(|(_, value)| value)
    }

    /// True for `null`.
    pub fn is_null(self) -> bool {
        self.0 == "null"
    }
}

/// The text of a field, if it is a string.
pub fn text(field: Field<'_>) -> Option<Text<'_>> {
    field.and_then(Value::text)
}

/// The text of a field, if it is a string that is not empty.
pub fn filled_text(field: Field<'_>) -> Option<Text<'_>> {
    text(field).filter(|text| !text.is_empty())
}

/// The text of a field as the source spells it, without its quotes. For names, which never hold escapes; empty for what is no string.
pub fn word(field: Field<'_>) -> &str {
    field.and_then(|value| value.raw().strip_prefix('"')?.strip_suffix('"')).unwrap_or_default()
}

/// True if the field is `true`.
pub fn is_true(field: Field<'_>) -> bool {
    field.is_some_and(Value::is_true)
}

/// Declares a borrowed view of an object: each field with the name that it has in the source.
macro_rules! view {
    ($(#[$meta:meta])* $view:ident { $($(#[$field_meta:meta])* $field:ident: $name:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, Default)]
        pub(super) struct $view<'a> {
            $($(#[$field_meta])* pub $field: $crate::kit::value::Field<'a>,)*
        }

        impl<'a> $view<'a> {
            /// The fields of `value`; none where it is no object.
            pub fn of(value: $crate::kit::value::Value<'a>) -> Self {
                let mut view = Self::default();
                for (name, value) in value.members() {
                    let field = match name {
                        $($name => &mut view.$field,)*
                        _ => continue,
                    };
                    *field = (!value.is_null()).then_some(value);
                }
                view
            }
        }
    };
}
pub(crate) use view;

/// A walk along the values of one array or object.
struct Walk<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Walk<'a> {
    /// Begins inside `text`, if it opens with `bracket`.
    fn into(text: &'a str, bracket: u8) -> Self {
        let at = if text.as_bytes().first() == Some(&bracket) { 1 } else { text.len() };
        Walk { text, at }
    }

    /// The next value, or none at the end.
    fn value(&mut self) -> Option<Value<'a>> {
        let bytes = self.text.as_bytes();
        let gap = bytes.get(self.at..)?.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':'))?;
        let start = self.at + gap;
        let end = match bytes[start] {
            b'}' | b']' => return None,
            b'"' => string_end(bytes, start),
            b'{' | b'[' => nest_end(bytes, start),
            _ => word_end(bytes, start),
        };
        self.at = end;
        self.text.get(start..end).map(Value)
    }
}

/// The index after the closing quote of the string that begins at `start`.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        if bytes[at + found] == b'"' {
            return at + found + 1;
        }
        at += found + 2;
    }
    bytes.len()
}

/// The index after the bracket that closes the one at `start`.
fn nest_end(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(bytes, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// The index after the number or word that begins at `start`.
fn word_end(bytes: &[u8], start: usize) -> usize {
    let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b':' | b' ' | b'\t' | b'\n' | b'\r');
    bytes[start..].iter().position(ends).map_or(bytes.len(), |len| start + len)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn members_are_found_by_their_ends() {
        let value = parse(r#" { "a" : [1, {"x":"}\""}] ,"b":"\\","c":null,"a":true } "#).unwrap();
        let members: Vec<_> = value.members().map(|(name, value)| (name, value.raw())).collect();
        assert_eq!(members, [("a", r#"[1, {"x":"}\""}]"#), ("b", r#""\\""#), ("c", "null"), ("a", "true")]);
        assert_eq!(value.member("a").map(Value::raw), Some("true"));
        assert_eq!(value.member("c"), None);
        assert_eq!(parse("[]").unwrap().elements().count(), 0);
        assert_eq!(parse("7").unwrap().members().count(), 0);
    }

    #[test]
    fn what_is_not_one_value_is_refused() {
        for text in ["", "{", "{} {}", "[1,]", "{\"a\":}", "\"\\x\""] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into)
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
                proptest::collection::btree_map(any::<String>(), inner, 0..5).prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_part_is_found_whole(values in proptest::collection::vec(json(), 0..6)) {
            let source = serde_json::to_string_pretty(&values).unwrap();
            let found: Vec<serde_json::Value> =
                parse(&source).unwrap().elements().map(|value| serde_json::from_str(value.raw()).unwrap()).collect();
            prop_assert_eq!(&found, &values);
            for (value, expected) in parse(&source).unwrap().elements().zip(&values) {
                if let Some(map) = expected.as_object() {
                    let inner: Vec<serde_json::Value> = value.members().map(|(_, value)| serde_json::from_str(value.raw()).unwrap()).collect();
                    let mut inner_sorted: Vec<String> = inner.iter().map(ToString::to_string).collect();
                    let mut expected: Vec<String> = map.values().map(ToString::to_string).collect();
                    inner_sorted.sort();
                    expected.sort();
                    prop_assert_eq!(inner_sorted, expected);
                }
            }
        }
    }
}
