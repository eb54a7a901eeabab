//! JSON values as a member table sees them, however they are stored.

use std::borrow::Cow;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

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

    fn of_first_byte(first: Option<u8>) -> JsonTypes {
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

/// A JSON value that a member table can be compared with.
pub trait JsonNode<'a>: Copy {
    /// Its type; all types for `null`.
    fn types(self) -> JsonTypes;
    /// Names and values of its members, if it is an object. Escapes in names are not decoded.
    fn members(self) -> impl Iterator<Item = (&'a str, Self)>;
    /// Its items, if it is an array.
    fn items(self) -> impl Iterator<Item = Self>;
    /// Its JSON text.
    fn json(self) -> &'a str;

    /// True for `null`.
    #[inline(always)]
    fn is_null(self) -> bool {
        self.types() == JsonTypes::ANY
    }

    /// The contents of a string, escapes not decoded, or the JSON text of another value.
    fn word(self) -> &'a str {
        let json = self.json();
        json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(json)
    }

    /// The first member with this name, unless it is `null`.
    fn find(self, name: &str) -> Option<Self> {
        self.members().find(|(key, _)| *key == name).map(|(_, value)| value).filter(|value| !value.is_null())
    }
}

/// A JSON value that is parsed level by level, where speed does not matter.
#[derive(Debug, Clone, Copy)]
pub struct RawNode<'a>(pub &'a RawValue);

impl<'a> RawNode<'a> {
    /// The value of a JSON text. `None` if it is not JSON.
    pub fn parse(json: &'a str) -> Option<RawNode<'a>> {
        serde_json::from_str(json).ok().map(RawNode)
    }
}

impl<'a> JsonNode<'a> for RawNode<'a> {
    fn types(self) -> JsonTypes {
        JsonTypes::of_first_byte(self.json().bytes().next())
    }

    fn members(self) -> impl Iterator<Item = (&'a str, Self)> {
        let is_object = self.types() == JsonTypes::OBJECT;
        let mut read = serde_json::Deserializer::from_str(self.json());
        let members = if is_object { read.deserialize_map(RawMembers).unwrap_or_default() } else { Vec::new() };
        members.into_iter()
    }

    fn items(self) -> impl Iterator<Item = Self> {
        let is_array = self.types() == JsonTypes::ARRAY;
        let items: Vec<&RawValue> = if is_array { serde_json::from_str(self.json()).unwrap_or_default() } else { Vec::new() };
        items.into_iter().map(RawNode)
    }

    fn json(self) -> &'a str {
        self.0.get()
    }
}

/// Reads the members of an object, with names as they are written.
struct RawMembers;

impl<'a> Visitor<'a> for RawMembers {
    type Value = Vec<(&'a str, RawNode<'a>)>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut members = Vec::new();
        while let Some((name, value)) = map.next_entry::<&RawValue, &RawValue>()? {
            let token = name.get();
            members.push((token.get(1..token.len() - 1).unwrap_or_default(), RawNode(value)));
        }
        Ok(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_items_are_read_with_their_types() {
        let node = RawNode::parse(r#"{"a\n":[1,"x",true,null,{}],"b":"y"}"#).unwrap();
        let members: Vec<(&str, &str)> = node.members().map(|(name, value)| (name, value.json())).collect();
        assert_eq!(members, [("a\\n", r#"[1,"x",true,null,{}]"#), ("b", r#""y""#)]);
        let types: Vec<JsonTypes> = node.find("a\\n").unwrap().items().map(RawNode::types).collect();
        assert_eq!(types, [JsonTypes::NUMBER, JsonTypes::STRING, JsonTypes::BOOL, JsonTypes::ANY, JsonTypes::OBJECT]);
        assert_eq!((node.find("b").unwrap().word(), node.items().count()), ("y", 0));
        assert!(RawNode::parse("{").is_none());
    }

    #[test]
    fn sets_of_types_have_names() {
        assert_eq!(JsonTypes::ANY.name(), "any");
        assert_eq!(JsonTypes::BOOL.name(), "bool");
        assert_eq!(JsonTypes::STRING.or(JsonTypes::ARRAY).name(), "string|array");
        assert_eq!(JsonTypes::from_name("number"), Some(JsonTypes::NUMBER));
        assert_eq!(JsonTypes::from_name("int"), None);
    }
}
