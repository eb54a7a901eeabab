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

/// The name of a member in a table.
#[derive(Debug, Clone)]
pub struct MemberName {
    text: Box<str>,
    /// The first 16 bytes of the name and the quote after it.
    head: u128,
    /// The bytes of `head` that count.
    mask: u128,
}

/// The bytes of a name that are compared at once.
const HEAD: usize = size_of::<u128>();

impl MemberName {
    pub(super) fn new(name: &str) -> MemberName {
        let mut head = [0; HEAD];
        let mut mask = [0; HEAD];
        for ((byte, mask), of_name) in head.iter_mut().zip(&mut mask).zip(name.bytes().chain([b'"'])) {
            (*byte, *mask) = (of_name, u8::MAX);
        }
        MemberName { text: name.into(), head: u128::from_le_bytes(head), mask: u128::from_le_bytes(mask) }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// True if `text` continues at `at` with this name and a quote.
    #[inline(always)]
    pub fn is_at(&self, text: &[u8], at: usize) -> bool {
        match text.get(at..).and_then(<[u8]>::first_chunk::<HEAD>) {
            Some(head) => u128::from_le_bytes(*head) & self.mask == self.head && (self.text.len() < HEAD || self.is_all_at(text, at)),
            None => self.is_all_at(text, at),
        }
    }

    #[inline(never)]
    fn is_all_at(&self, text: &[u8], at: usize) -> bool {
        let end = at + self.text.len();
        text.get(end) == Some(&b'"') && text.get(at..end) == Some(self.text.as_bytes())
    }
}

/// A JSON value that a member table can be compared with.
pub trait JsonNode<'a>: Copy {
    /// The name of a member, in a form that is cheap to compare.
    type Name: Copy;

    /// Its type; all types for `null`.
    fn types(self) -> JsonTypes;
    /// Names and values of its members, if it is an object.
    fn named(self) -> impl Iterator<Item = (Self::Name, Self)>;
    /// The text of a name. Escapes are not decoded.
    fn text_of(name: Self::Name) -> &'a str;
    /// True if this is the expected name.
    fn is_name(name: Self::Name, expected: &MemberName) -> bool;
    /// Its items, if it is an array.
    fn items(self) -> impl Iterator<Item = Self>;
    /// Its JSON text.
    fn json(self) -> &'a str;

    /// As [`JsonNode::named`], with the texts of the names.
    #[inline(always)]
    fn members(self) -> impl Iterator<Item = (&'a str, Self)> {
        self.named().map(|(name, value)| (Self::text_of(name), value))
    }

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
    type Name = &'a str;

    fn text_of(name: &'a str) -> &'a str {
        name
    }

    fn is_name(name: &'a str, expected: &MemberName) -> bool {
        name == expected.as_str()
    }

    fn types(self) -> JsonTypes {
        JsonTypes::of_first_byte(self.json().bytes().next())
    }

    fn named(self) -> impl Iterator<Item = (&'a str, Self)> {
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
    fn names_are_compared_with_the_quote_after_them() {
        for name in ["", "a", "fifteen_letters", "sixteen_letters_", "seventeen_letters"] {
            for after in ["", "\":1,\"and some more text\":2"] {
                let text = format!("\"{name}\"{after}");
                let is_at = |expected: &str| MemberName::new(expected).is_at(text.as_bytes(), 1);
                assert!(is_at(name), "{text}");
                assert!(!is_at(&format!("{name}x")) && !is_at("other") && (name.is_empty() || !is_at(&name[1..])), "{text}");
            }
        }
        assert!(!MemberName::new("long name without an end").is_at(b"\"long name without an end", 1));
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
