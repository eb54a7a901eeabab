//! Sets of JSON types.

use std::borrow::Cow;

/// A set of JSON types, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonTypes(pub u8);

impl JsonTypes {
    /// A string.
    pub const STRING: JsonTypes = JsonTypes(0b00001);
    /// `true` or `false`.
    pub const BOOL: JsonTypes = JsonTypes(0b00010);
    /// A number.
    pub const NUMBER: JsonTypes = JsonTypes(0b00100);
    /// An object.
    pub const OBJECT: JsonTypes = JsonTypes(0b01000);
    /// An array.
    pub const ARRAY: JsonTypes = JsonTypes(0b10000);
    /// Any type. `null` has this set, because it counts as absent.
    pub const ANY: JsonTypes = JsonTypes(0b11111);

    const NAMES: [(JsonTypes, &'static str); 5] = [
        (JsonTypes::STRING, "string"),
        (JsonTypes::NUMBER, "number"),
        (JsonTypes::BOOL, "bool"),
        (JsonTypes::OBJECT, "object"),
        (JsonTypes::ARRAY, "array"),
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

    /// The type with this name in a table.
    pub(super) fn from_name(name: &str) -> Option<JsonTypes> {
        if name == "any" {
            return Some(JsonTypes::ANY);
        }
        JsonTypes::NAMES.iter().find(|(_, known)| *known == name).map(|(types, _)| *types)
    }

    /// The names of the types, joined with `|`; `any` for all of them.
    pub fn name(self) -> Cow<'static, str> {
        let mut names = JsonTypes::NAMES.iter().filter(|(types, _)| self.meets(*types)).map(|(_, name)| *name);
        match (self == JsonTypes::ANY, names.clone().count()) {
            (true, _) => Cow::Borrowed("any"),
            (false, 1) => Cow::Borrowed(names.next().unwrap_or_default()),
            _ => Cow::Owned(names.collect::<Vec<_>>().join("|")),
        }
    }

    pub(super) fn of_first_byte(first: Option<u8>) -> JsonTypes {
        match first {
            Some(b'"') => JsonTypes::STRING,
            Some(b't' | b'f') => JsonTypes::BOOL,
            Some(b'{') => JsonTypes::OBJECT,
            Some(b'[') => JsonTypes::ARRAY,
            Some(b'-' | b'0'..=b'9') => JsonTypes::NUMBER,
            _ => JsonTypes::ANY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_types_have_names() {
        assert_eq!(JsonTypes::ANY.name(), "any");
        assert_eq!(JsonTypes::BOOL.name(), "bool");
        assert_eq!(JsonTypes::STRING.or(JsonTypes::ARRAY).name(), "string|array");
        assert_eq!(JsonTypes::from_name("number"), Some(JsonTypes::NUMBER));
        assert_eq!(JsonTypes::from_name("int"), None);
    }
}
