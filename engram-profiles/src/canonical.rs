//! Canonical JSON: RFC 8785, of values that have one spelling.
//!
//! Numbers are whole, from 0 to 2^53 - 1. `null`, other numbers and repeated keys are refused, so canonical bytes differ from any other
//! spelling only in spaces, in the order of keys (UTF-16 code units) and in escapes.

use std::fmt;

use serde::de::{self, Deserialize, DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::Serialize;
use serde_json::{Map, Value};
use serde_path_to_error::{Path, Segment};

use crate::error::ProfileError;
use crate::limits::MAX_INTEGER;

/// The canonical bytes of a value.
///
/// # Errors
/// `profile_invalid` if it is no JSON value: a map whose keys are not text.
pub fn to_vec(value: &impl Serialize) -> Result<Vec<u8>, ProfileError> {
    serde_jcs::to_vec(value).map_err(|error| ProfileError::invalid("", error))
}

/// Reads a value of any spelling.
///
/// # Errors
/// `profile_invalid` with the place of a repeated key, a `null`, or a number out of range.
pub fn parse(bytes: &[u8]) -> Result<Value, ProfileError> {
    read::<Strict>(bytes).map(|strict| strict.0)
}

/// Reads a value whose bytes must be canonical.
///
/// # Errors
/// As [`parse`]; `profile_invalid` if the bytes are not canonical, with the place of the first difference.
pub fn parse_exact(bytes: &[u8]) -> Result<Value, ProfileError> {
    let value = parse(bytes)?;
    let canonical = to_vec(&value)?;
    if canonical == bytes {
        return Ok(value);
    }
    let same = canonical
        .iter()
        .zip(bytes)
        .take_while(|(left, right)| left == right)
        .count();
    Err(ProfileError::invalid(
        "",
        format!(
            "not canonical (RFC 8785) from byte {same} on: sort the keys, leave out spaces and the last line end"
        ),
    ))
}

/// Reads a type from JSON, and names the place of an error.
///
/// # Errors
/// `profile_invalid`.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ProfileError> {
    let mut source = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut source)
        .map_err(|error| ProfileError::invalid(pointer(error.path()), error.into_inner()))?;
    source
        .end()
        .map_err(|error| ProfileError::invalid("", error))?;
    Ok(value)
}

/// A path as an RFC 6901 pointer.
fn pointer(path: &Path) -> String {
    path.iter()
        .map(|segment| match segment {
            Segment::Seq { index } => format!("/{index}"),
            Segment::Map { key } => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
            Segment::Enum { variant } => format!("/{variant}"),
            Segment::Unknown => String::new(),
        })
        .collect()
}

/// A value without `null`, repeated keys and numbers out of range.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, true, false, a list, an object, or a whole number from 0 to 2^53 - 1")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        if value > MAX_INTEGER {
            return Err(E::invalid_value(de::Unexpected::Unsigned(value), &self));
        }
        Ok(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(de::Error::custom(format!(
                    "the key `{name}` is there twice"
                )));
            }
            let Strict(value) = members.next_value()?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// The example of RFC 8785, section 3.2.3, without its numbers: keys are sorted by UTF-16 code units.
    #[test]
    fn keys_are_sorted_as_the_standard_says() {
        let value = json!({"\u{20ac}": "Euro Sign", "\r": "Carriage Return", "\u{fb33}": "Hebrew Letter Dalet With Dagesh", "1": "One",
            "\u{1f600}": "Emoji: Grinning Face", "\u{80}": "Control", "\u{f6}": "Latin Small Letter O With Diaeresis"});
        let text = String::from_utf8(to_vec(&value).unwrap()).unwrap();
        let order = [
            "Carriage Return",
            "One",
            "Control",
            "Latin Small",
            "Euro Sign",
            "Emoji",
            "Hebrew",
        ];
        let places: Vec<usize> = order.iter().map(|word| text.find(word).unwrap()).collect();
        assert!(places.is_sorted(), "{text}");
    }

    #[test]
    fn refused_values_are_named_with_their_place() {
        let place = |text: &str| parse(text.as_bytes()).unwrap_err().pointer;
        assert_eq!(place(r#"{"a":[0,null]}"#), "/a/1");
        assert_eq!(place(r#"{"a":{"b/c":1.5}}"#), "/a/b~1c");
        assert_eq!(place(r#"{"a":-1}"#), "/a");
        assert_eq!(place(r#"{"a":9007199254740992}"#), "/a");
        assert!(parse(br#"{"a":9007199254740991}"#).is_ok());
        assert!(
            parse(br#"{"a":1,"a":1}"#)
                .unwrap_err()
                .what
                .contains("twice")
        );
        assert!(parse(br#"{"a":1} x"#).is_err());
    }

    #[test]
    fn other_spellings_are_refused() {
        assert!(parse_exact(br#"{"a":"b","c":[1,2]}"#).is_ok());
        for text in [
            r#"{"c":[1,2],"a":"b"}"#,
            r#"{"a":"b", "c":[1,2]}"#,
            r#"{"a":"\u0062","c":[1,2]}"#,
            "{\"a\":\"b\",\"c\":[1,2]}\n",
        ] {
            let error = parse_exact(text.as_bytes()).unwrap_err();
            assert!(error.what.contains("not canonical"), "{text}: {error}");
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            (0..=MAX_INTEGER).prop_map(Value::from),
            any::<String>().prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn canonical_bytes_say_the_same_and_are_exact(value in values()) {
            let bytes = to_vec(&value).unwrap();
            prop_assert_eq!(&parse_exact(&bytes).unwrap(), &value);
            let spaced = serde_json::to_vec_pretty(&value).unwrap();
            prop_assert_eq!(to_vec(&parse(&spaced).unwrap()).unwrap(), bytes);
        }
    }
}
