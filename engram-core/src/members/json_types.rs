//! Sets of JSON types. Numbers have two sub-types: an integer, and a count.

use std::borrow::Cow;

/// A set of JSON types, one bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct JsonTypes(pub u8);

impl JsonTypes {
    /// A string.
    pub const STRING: JsonTypes = JsonTypes(0b000_0001);
    /// `true` or `false`.
    pub const BOOL: JsonTypes = JsonTypes(0b000_0010);
    /// A number of any form.
    pub const NUMBER: JsonTypes = JsonTypes(0b000_0100);
    /// An object.
    pub const OBJECT: JsonTypes = JsonTypes(0b000_1000);
    /// An array.
    pub const ARRAY: JsonTypes = JsonTypes(0b001_0000);
    /// A number that fits `i64`, without fraction and exponent. Such a value is a [`JsonTypes::NUMBER`] too.
    pub const INTEGER: JsonTypes = JsonTypes(0b010_0000);
    /// A number of digits alone that fits `u64`. Such a value is a [`JsonTypes::NUMBER`] too, and mostly a [`JsonTypes::INTEGER`].
    pub const COUNT: JsonTypes = JsonTypes(0b100_0000);
    /// A value that is a count and an integer, as nearly all numbers are.
    pub const NATURAL: JsonTypes = JsonTypes::NUMBER
        .or(JsonTypes::INTEGER)
        .or(JsonTypes::COUNT);
    /// Any type but `null`. The value `null` has this set: a view takes it as absent, whatever type it expects.
    pub const ANY: JsonTypes = JsonTypes(0b111_1111);
    /// `null`, where a table allows it. No value has this bit.
    pub const NULL: JsonTypes = JsonTypes(0b1000_0000);
    /// Any type, and `null`.
    pub const EVERY: JsonTypes = JsonTypes::ANY.or(JsonTypes::NULL);
    /// All types without the sub-types of numbers.
    const WITHOUT_SUBTYPES: JsonTypes = JsonTypes(0b001_1111);

    const NAMES: [(JsonTypes, &'static str); 8] = [
        (JsonTypes::STRING, "string"),
        (JsonTypes::NUMBER, "number"),
        (JsonTypes::INTEGER, "integer"),
        (JsonTypes::COUNT, "count"),
        (JsonTypes::BOOL, "bool"),
        (JsonTypes::OBJECT, "object"),
        (JsonTypes::ARRAY, "array"),
        (JsonTypes::NULL, "null"),
    ];

    /// The types in both sets.
    #[inline(always)]
    #[must_use]
    pub const fn and(self, other: JsonTypes) -> JsonTypes {
        JsonTypes(self.0 & other.0)
    }

    /// The types in either set.
    #[must_use]
    pub const fn or(self, other: JsonTypes) -> JsonTypes {
        JsonTypes(self.0 | other.0)
    }

    /// The types that are not in the other set.
    #[must_use]
    pub(super) const fn without(self, other: JsonTypes) -> JsonTypes {
        JsonTypes(self.0 & !other.0)
    }

    /// True for the empty set.
    #[inline(always)]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True if a type is in both sets.
    #[inline(always)]
    pub const fn meets(self, other: JsonTypes) -> bool {
        !self.and(other).is_empty()
    }

    /// True for a type whose values contain nothing, and for `null`.
    #[inline(always)]
    pub fn is_leaf(self) -> bool {
        !self.meets(JsonTypes::OBJECT.or(JsonTypes::ARRAY)) || self == JsonTypes::ANY
    }

    /// True if a table that allows `self` allows a value with these types.
    #[inline(always)]
    pub const fn allow(self, value: JsonTypes) -> bool {
        if value.0 == JsonTypes::ANY.0 {
            self.meets(JsonTypes::NULL)
        } else {
            self.meets(value)
        }
    }

    /// The types that matter where a table allows `self`: the sub-types of numbers only if it does not allow every number.
    pub(super) const fn relevant(self) -> JsonTypes {
        if self.meets(JsonTypes::NUMBER) {
            JsonTypes::WITHOUT_SUBTYPES
        } else {
            JsonTypes::ANY
        }
    }

    /// The type with this name in a table.
    pub(super) fn from_name(name: &str) -> Option<JsonTypes> {
        if name == "any" {
            return Some(JsonTypes::EVERY);
        }
        JsonTypes::NAMES
            .iter()
            .find(|(_, known)| *known == name)
            .map(|(types, _)| *types)
    }

    /// The names of the types, joined with `|`; `any` for all of them. A number of any form is a `number`.
    pub fn name(self) -> Cow<'static, str> {
        let named = self.and(self.relevant().or(JsonTypes::NULL));
        let mut names = JsonTypes::NAMES
            .iter()
            .filter(|(types, _)| named.meets(*types))
            .map(|(_, name)| *name);
        match (
            self.without(JsonTypes::NULL) == JsonTypes::ANY,
            names.clone().count(),
        ) {
            (true, _) => Cow::Borrowed("any"),
            (false, 1) => Cow::Borrowed(names.next().unwrap_or_default()),
            _ => Cow::Owned(names.collect::<Vec<_>>().join("|")),
        }
    }

    pub(super) fn of_json(json: &str) -> JsonTypes {
        match json.bytes().next() {
            Some(b'"') => JsonTypes::STRING,
            Some(b't' | b'f') => JsonTypes::BOOL,
            Some(b'{') => JsonTypes::OBJECT,
            Some(b'[') => JsonTypes::ARRAY,
            Some(b'-' | b'0'..=b'9') => JsonTypes::of_number(json),
            _ => JsonTypes::ANY,
        }
    }

    /// The types of a number, by its JSON text.
    ///
    /// ```
    /// use engram_core::members::JsonTypes;
    ///
    /// assert_eq!(JsonTypes::of_number("7"), JsonTypes::NATURAL);
    /// assert_eq!(JsonTypes::of_number("-1"), JsonTypes::NUMBER.or(JsonTypes::INTEGER));
    /// assert_eq!(JsonTypes::of_number("1e3"), JsonTypes::NUMBER);
    /// ```
    #[must_use]
    pub fn of_number(json: &str) -> JsonTypes {
        let (mut types, is_negative) = (JsonTypes::NUMBER, json.starts_with('-'));
        if json.parse::<i64>().is_ok() {
            types = types.or(JsonTypes::INTEGER);
        }
        if !is_negative && json.parse::<u64>().is_ok() {
            types = types.or(JsonTypes::COUNT);
        }
        types
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_types_have_names() {
        assert_eq!(JsonTypes::ANY.name(), "any");
        assert_eq!(JsonTypes::BOOL.name(), "bool");
        assert_eq!(
            JsonTypes::STRING.or(JsonTypes::ARRAY).name(),
            "string|array"
        );
        assert_eq!(JsonTypes::from_name("number"), Some(JsonTypes::NUMBER));
        assert_eq!(JsonTypes::from_name("int"), None);
        assert_eq!(
            (
                JsonTypes::EVERY.name(),
                JsonTypes::STRING.or(JsonTypes::NULL).name()
            ),
            ("any".into(), "string|null".into())
        );
        assert!(
            JsonTypes::EVERY.allow(JsonTypes::ANY)
                && !JsonTypes::STRING.allow(JsonTypes::ANY)
                && JsonTypes::STRING.allow(JsonTypes::STRING)
        );
        assert_eq!(
            JsonTypes::COUNT.or(JsonTypes::STRING).name(),
            "string|count"
        );
        assert_eq!(
            (
                JsonTypes::of_number("1").name(),
                JsonTypes::of_number("-1").name()
            ),
            ("number".into(), "number".into())
        );
    }

    #[test]
    fn numbers_have_sub_types() {
        let (count, integer) = (
            |json| JsonTypes::of_json(json).meets(JsonTypes::COUNT),
            |json| JsonTypes::of_json(json).meets(JsonTypes::INTEGER),
        );
        for (json, is_count, is_integer) in [
            ("0", true, true),
            ("9223372036854775807", true, true),
            ("9223372036854775808", true, false),
            ("18446744073709551615", true, false),
            ("18446744073709551616", false, false),
            ("-1", false, true),
            ("-0", false, true),
            ("-9223372036854775808", false, true),
            ("-9223372036854775809", false, false),
            ("1.0", false, false),
            ("1e3", false, false),
            ("1E0", false, false),
            ("null", true, true),
            ("\"1\"", false, false),
        ] {
            assert_eq!(
                (count(json), integer(json)),
                (is_count, is_integer),
                "{json}"
            );
            assert!(
                !JsonTypes::of_json(json).is_empty() && JsonTypes::of_json(json).is_leaf(),
                "{json}"
            );
        }
        assert!(
            JsonTypes::of_json("-1").meets(JsonTypes::NUMBER)
                && JsonTypes::of_json("1e3").meets(JsonTypes::NUMBER)
        );
    }
}
